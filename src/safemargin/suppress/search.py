"""The search: a lower bound from cuts, and patterns that complete what the cuts suggest.

The fewest cells that satisfy every cut are a lower bound. If they protect all their cells, they are an optimal pattern.
If not, the cells that are still disclosed give new cuts.
"""

import math
import time
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from safemargin.core import BoolArray, IntArray, Progress, RefusedError
from safemargin.suppress.cuts import Cut, CutFinder, MasterProblem, single_gap_cuts
from safemargin.suppress.feasibility import PatternBuilder, Unprotected
from safemargin.suppress.moves import MoveFinder
from safemargin.suppress.problem import Problem
from safemargin.suppress.views import PUBLIC, MoveStore, View

SMALL = 1_500  # cells up to which every round considers every suppressed cell
ROUNDS = 400
LARGE_ROUNDS = 6
REFINING_ROUNDS = 200
CELLS_PER_EXTRA = 80  # one more cell is suppressed per this many where most primary counts are known to be primary
MAX_SECONDS_TO_REFINE = 30.0
MAX_CELLS_TO_GROW = 400  # cells up to which a cut that rests on integrality is grown cell by cell


@dataclass(frozen=True)
class LeastPattern:
    """A pattern that protects, and the least number of cells that any such pattern has."""

    suppressed: BoolArray
    lower_bound: int
    store: MoveStore
    exposed: IntArray  # primary cells whose count is known to lie in the primary range, though not exactly
    extra: int = 0


class Unprotectable(RefusedError):
    """A cell that is disclosed, or that cannot rise by `rise`, whatever is suppressed."""

    def __init__(self, cut: Cut) -> None:
        self.cell, self.rise, self.view = cut.cell, cut.rise, cut.view
        super().__init__(f"cell {self.cell} cannot be protected, whatever else is suppressed")


class PatternSearch:
    """One run; `seconds` limits the search for fewer cells once there is a pattern."""

    def __init__(self, problem: Problem, seconds: float, progress: Progress) -> None:
        self.problem, self.progress = problem, progress
        self.store = MoveStore(problem.counts)
        self.builder = PatternBuilder(problem, self.store)
        self.master = MasterProblem(problem.forced, problem.candidates)
        self.seconds, self.deadline = seconds, math.inf
        self.best: BoolArray | None = None
        self.bound = int(problem.forced.sum())
        # Cells that are not printed and are in none of the tables to be published.
        self.elsewhere = int((problem.forced & ~problem.to_publish).sum())
        self.small = problem.size <= SMALL
        self.master_proved = True  # whether the last trial is proved to satisfy all cuts with the fewest cells

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.deadline - time.monotonic()

    @property
    def done(self) -> bool:
        """Whether nothing better is possible or time is up."""
        return (self.best is not None and self.bound >= int(self.best.sum())) or self.left <= 0

    def run(self, extra: int | None = None) -> LeastPattern:
        """Rounds until bound and pattern meet, no cut is new, or time is up; then `extra` as in `find_pattern`."""
        trial = self.problem.forced.copy()
        for turn in range(ROUNDS if self.small else LARGE_ROUNDS):
            short = self.builder.unprotected(trial) if self.small else None
            if short == [] or self._improve(trial):
                self._accept(trial)
                if turn == 0 or self.master_proved:
                    self.bound = int(trial.sum())
            short = self.builder.needed_more if short is None else short
            if self.done or not self._add_cuts(trial, short):
                break
            trial = self._next_trial()
            if self.done:
                break
        if self.best is None:
            self._improve(self.problem.forced, patient=True)
        best = self._fall_back() if self.best is None else self.best
        pattern, exposed = self._reduce_exposed(best, extra)
        bound = self.bound - self.elsewhere
        return LeastPattern(
            pattern & ~self.problem.unlisted, bound, self.store, exposed, int(pattern.sum() - best.sum())
        )

    def _accept(self, pattern: BoolArray) -> None:
        if self.best is None:
            self.deadline = time.monotonic() + self.seconds
        if self.best is None or pattern.sum() < self.best.sum():
            self.best = pattern.copy()
            self._report()

    def _report(self) -> None:
        if self.best is not None:
            bound, size = self.bound - self.elsewhere, int(self.best.sum()) - self.elsewhere
            self.progress(f"suppressing: {size:,} cells, at least {bound:,} needed")

    def _improve(self, trial: BoolArray, patient: bool = False) -> bool:
        """Complete and reduce a trial; True if it was a pattern already."""
        deadline = self.deadline if self.best is not None and not patient else math.inf
        pattern = self.builder.complete(trial, deadline)
        if pattern is None:
            return False
        if (pattern == trial).all():
            return True
        # Reducing takes longest, so only completions within 2 % of the best are worth it.
        if self.best is None or pattern.sum() <= 1.02 * self.best.sum() + 3:
            self._accept(pattern)
            self._accept(self.builder.reduce(pattern, self.deadline))
        return False

    def _add_cuts(self, trial: BoolArray, short: list[Unprotected]) -> bool:
        """New cuts for the cells that are not protected; False if there are none."""
        problem, new = self.problem, 0
        finder = CutFinder(problem, trial)
        simple: dict[View, set[int]] = {}
        for view, cell in short or [(PUBLIC, -1)]:
            if view not in simple:
                cuts = single_gap_cuts(problem, trial, view)
                new += sum(self._add(cut) for cut in cuts)
                simple[view] = {cut.cell for cut in cuts}
            if cell < 0 or cell in simple[view]:
                continue
            cut = finder.find(view, cell)
            if cut is None and problem.size <= MAX_CELLS_TO_GROW:
                cut = self._integer_cut(trial, view, cell)
            if cut is not None:
                new += self._add(cut)
            if self.left <= 0:
                break
        return new > 0

    def _add(self, cut: Cut) -> bool:
        new = self.master.add(cut)
        if self.problem.forced[cut.cell] and not self.master.satisfiable(cut):
            raise Unprotectable(cut)
        return new

    def _next_trial(self) -> BoolArray:
        solution = self.master.solve(max(self.left, 1.0))
        self.master_proved = solution.proved
        self.bound = max(self.bound, int(self.problem.forced.sum()) + math.ceil(solution.bound - 1e-6))
        self._report()
        return self.problem.forced | solution.chosen

    def _integer_cut(self, trial: BoolArray, view: View, cell: int) -> Cut | None:
        """A cut that rests on integrality: all published cells less those that could be suppressed in vain."""
        problem = self.problem
        moves = MoveFinder(problem.equations, problem.counts, problem.minimum)

        def impossible(suppressed: BoolArray, amounts: tuple[int, ...]) -> bool:
            moves.open(suppressed, None, view.known, view.at_least)
            return all(move is None and proved for move, proved in (moves.find(cell, amount) for amount in amounts))

        rise, width = int(problem.rise_for(view)[cell]), problem.width
        ways: list[tuple[int, ...]] = [(rise,)] if rise else []
        ways += [(up, up - width - 1) for up in range(1, width + 1)]
        amounts = next((way for way in ways if impossible(trial, way)), None)
        if amounts is None:
            return None
        suppressed = trial.copy()
        blocks = [np.setdiff1d(np.flatnonzero(problem.candidates & ~trial), view.known)]
        while blocks:  # bisection: a block that changes nothing is not part of the cut
            block = blocks.pop()
            wider = suppressed.copy()
            wider[block] = True
            if impossible(wider, amounts):
                suppressed = wider
            elif len(block) > 1:
                blocks += [block[: len(block) // 2], block[len(block) // 2 :]]
        cells = np.setdiff1d(np.flatnonzero(~suppressed & problem.candidates), view.known)
        return Cut(cell, amounts[0] if len(amounts) == 1 else 0, tuple(cells.tolist()), view)

    def _fall_back(self) -> BoolArray:
        """A pattern with as many cells as possible, reduced; refuses if a cell is disclosed even so."""
        problem = self.problem
        pattern = problem.forced | problem.candidates
        while short := self.builder.unprotected(pattern):
            finder = CutFinder(problem, pattern)
            for view, cell in short:
                if problem.forced[cell]:
                    self._refuse(view, cell, finder.find(view, cell))
            pattern[[cell for _, cell in short]] = False
        self._accept(pattern)
        self._accept(self.builder.reduce(pattern, self.deadline))
        return pattern if self.best is None else self.best

    def _refuse(self, view: View, cell: int, cut: Cut | None) -> NoReturn:
        if cut is None and view == PUBLIC and self.problem.width == 1 and not self.problem.required_rise[cell]:
            raise RefusedError("no pattern was found that protects every primary cell; suppress more cells by hand")
        raise Unprotectable(cut or Cut(cell, 0, (), view))

    def _reduce_exposed(self, best: BoolArray, extra: int | None) -> tuple[BoolArray, IntArray]:
        """A pattern with fewer exposed cells and at most `extra` more cells than `best`; and the exposed cells."""
        pattern, exposed = best, self.builder.exposed(best)
        if not self.small:
            return pattern, exposed
        pattern, exposed = self._refine(pattern, exposed, extra or 0, self.left)
        if extra is None and len(exposed) > self.problem.primary.sum() / 2:
            pattern, exposed = self._refine(pattern, exposed, int(best.sum()) // CELLS_PER_EXTRA, self.seconds)
        return pattern, exposed

    def _refine(self, pattern: BoolArray, worst: IntArray, extra: int, seconds: float) -> tuple[BoolArray, IntArray]:
        """Only feasible patterns are compared: a choice that leaves a cell disclosed gives cuts as in the search."""
        problem, builder, master = self.problem, self.builder, self.master
        deadline = time.monotonic() + min(max(seconds, 5.0), MAX_SECONDS_TO_REFINE)
        best, least = pattern, 0
        size = int((pattern & ~problem.forced).sum()) + extra
        self._add_soft_cuts(pattern, worst)
        for _ in range(REFINING_ROUNDS):
            if len(worst) <= least or time.monotonic() > deadline:
                break
            solution = master.solve(max(deadline - time.monotonic(), 1.0), size)
            least = max(least, int(np.ceil(solution.bound - 1e-6)))
            trial = problem.forced | solution.chosen
            short = builder.unprotected(trial)
            if short:
                finder = CutFinder(problem, trial)
                cuts = [finder.find(view, cell) for view, cell in short]
                if not any([master.add(cut) for cut in cuts if cut is not None]):
                    break
                continue
            exposed = builder.exposed(trial)
            if len(exposed) < len(worst):
                best, worst = trial, exposed
            if not self._add_soft_cuts(trial, np.setdiff1d(exposed, list(solution.exposed))):
                break
        return best, worst

    def _add_soft_cuts(self, pattern: BoolArray, cells: IntArray) -> bool:
        """Cuts against the preferred rise of some cells; False if none is new."""
        finder, new = CutFinder(self.problem, pattern), False
        for cell in cells.tolist():
            cut = finder.against_rise(PUBLIC, cell, int(self.problem.preferred_rise[cell]))
            new |= cut is not None and self.master.add(cut, soft=True)
        return new
