"""The search: a lower bound from cuts, and patterns that complete what the cuts suggest.

The fewest cells that satisfy every cut are a lower bound. If they protect all their cells, they are an optimal pattern.
If not, the cells that are still disclosed give new cuts.
"""

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from safemargin.core import BoolArray, IntArray, Progress, RefusedError
from safemargin.suppress.cuts import Cut, CutFinder, Limit, MasterProblem, single_gap_cuts
from safemargin.suppress.feasibility import PatternBuilder, Unprotected
from safemargin.suppress.moves import MoveFinder
from safemargin.suppress.problem import Problem
from safemargin.suppress.views import PUBLIC, MoveStore, View

SMALL = 1_500  # cells up to which every round considers every suppressed cell
ROUNDS = 400
LARGE_ROUNDS = 6
REFINING_ROUNDS = 200
CELLS_PER_EXTRA = 80  # one more cell is suppressed per this many where most primary counts are known to be primary
MAX_SECONDS_TO_POLISH = 15.0
LEVEL_WEIGHT, MAX_LEVEL = 20, 3  # one total weighs as much as 20 cells that sum up over one axis less
CHANCE = 1_000  # costs drawn at random that choose among patterns that are equally good are below this
MAX_CELLS_TO_GROW = 400  # cells up to which a cut that rests on integrality is grown cell by cell


@dataclass(frozen=True)
class LeastPattern:
    """A pattern that protects, and the least number of cells that any such pattern has."""

    suppressed: BoolArray
    lower_bound: int
    store: MoveStore
    exposed: IntArray  # primary cells whose count is known to lie in the primary range, though not exactly
    extra: int = 0
    settled: bool = False  # whether nothing is better in cost, totals and exposed cells: then chance chose it


class Unprotectable(RefusedError):
    """A cell that is disclosed, or that cannot rise by `rise`, whatever is suppressed."""

    def __init__(self, cut: Cut) -> None:
        self.cell, self.rise, self.view = cut.cell, cut.rise, cut.view
        super().__init__(f"cell {self.cell} cannot be protected, whatever else is suppressed")


class PatternSearch:
    """One run within `seconds`."""

    def __init__(self, problem: Problem, seconds: float, progress: Progress) -> None:
        self.problem, self.progress = problem, progress
        self.store = MoveStore(problem.counts)
        self.builder = PatternBuilder(problem, self.store)
        self.master = MasterProblem(problem.forced, problem.candidates, problem.cost)
        self.seconds, self.deadline = seconds, time.monotonic() + seconds
        self.builder.deadline = self.deadline
        self.weights = np.where(problem.level > 0, LEVEL_WEIGHT ** np.minimum(problem.level, MAX_LEVEL), 0)
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
        return (self.best is not None and self.bound >= self.value(self.best)) or self.left <= 0

    def value(self, pattern: BoolArray) -> int:
        """What a pattern costs; cells that must be suppressed count 1."""
        return int(self.problem.forced.sum()) + int(self.problem.cost[pattern & ~self.problem.forced].sum())

    def run(self, extra: int | None = None) -> LeastPattern:
        """The pattern of least cost, then with the fewest totals and exposed cells; `extra` as in `find_pattern`."""
        with suppress(TimeoutError):
            self._search()
        if self.best is None:
            raise RefusedError(f"seconds = {self.seconds:g}: no pattern was found in this time; give more seconds")
        best = self.best
        pattern, exposed, settled = self._polish(best, extra)
        more = self.value(pattern) - self.value(best)
        bound, settled = self.bound - self.elsewhere, settled and self.bound >= self.value(best)
        return LeastPattern(pattern & ~self.problem.unlisted, bound, self.store, exposed, more, settled)

    def _search(self) -> None:
        """Rounds until bound and pattern meet or no cut is new."""
        trial = self.problem.forced.copy()
        for turn in range(ROUNDS if self.small else LARGE_ROUNDS):
            short = self.builder.unprotected(trial) if self.small else None
            if short == [] or self._improve(trial):
                self._accept(trial)
                if turn == 0 or self.master_proved:
                    self.bound = self.value(trial)
            short = self.builder.needed_more if short is None else short
            if self.done or not self._add_cuts(trial, short):
                break
            trial = self._next_trial()
            if self.done:
                break
        if self.best is None:
            self._improve(self.problem.forced)
        if self.best is None:
            self._fall_back()

    def _accept(self, pattern: BoolArray) -> None:
        if self.best is None or self.value(pattern) < self.value(self.best):
            self.best = pattern.copy()
            self._report()

    def _report(self) -> None:
        if self.best is not None:
            bound, cost = self.bound - self.elsewhere, self.value(self.best) - self.elsewhere
            self.progress(f"suppressing: cost {cost:,}, at least {bound:,} needed")

    def _improve(self, trial: BoolArray) -> bool:
        """Complete and reduce a trial; True if it was a pattern already."""
        pattern = self.builder.complete(trial)
        if pattern is None:
            return False
        if (pattern == trial).all():
            return True
        # Reducing takes longest, so only completions within 2 % of the best are worth it.
        if self.best is None or self.value(pattern) <= 1.02 * self.value(self.best) + 3:
            self._accept(pattern)
            self._accept(self.builder.reduce(pattern))
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

    def _fall_back(self) -> None:
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
        self._accept(self.builder.reduce(pattern))

    def _refuse(self, view: View, cell: int, cut: Cut | None) -> NoReturn:
        if cut is None and view == PUBLIC and self.problem.width == 1 and not self.problem.required_rise[cell]:
            raise RefusedError("no pattern was found that protects every primary cell; suppress more cells by hand")
        raise Unprotectable(cut or Cut(cell, 0, (), view))

    def _polish(self, best: BoolArray, extra: int | None) -> tuple[BoolArray, IntArray, bool]:
        """Of all patterns of this cost, one with the fewest totals, then the fewest exposed cells, then by chance.

        Also the exposed cells, and whether every step was proved. Large tables stay as they are.
        """
        problem, generator = self.problem, self.builder.generator
        chosen = best & ~problem.forced
        exposed = self.builder.exposed(best)
        if not self.small:
            return best, exposed, False
        most: list[Limit] = [(problem.cost, int(problem.cost[chosen].sum()))]
        pattern, proved = self._descend(best, self.weights, most)
        most.append((self.weights, int(self.weights[pattern & ~problem.forced].sum())))
        exposed = self.builder.exposed(pattern)
        room = extra or 0
        if extra is None and len(exposed) > problem.primary.sum() / 2:
            room = self.value(best) // CELLS_PER_EXTRA
        for more in dict.fromkeys((extra or 0, room)):
            most[0] = (problem.cost, int(problem.cost[chosen].sum()) + more)
            self._add_soft_cuts(pattern, exposed)
            pattern, shown = self._descend(pattern, None, most, -1)
            exposed, proved = self.builder.exposed(pattern), proved and shown
        most[0] = (problem.cost, int(problem.cost[pattern & ~problem.forced].sum()))
        chance = generator.integers(1, CHANCE, problem.size)
        pattern, shown = self._descend(pattern, chance, most, len(exposed))
        return pattern, self.builder.exposed(pattern), proved and shown

    def _descend(
        self, best: BoolArray, goal: IntArray | None, limits: Sequence[Limit], exposed: int | None = None
    ) -> tuple[BoolArray, bool]:
        """A pattern with a smaller goal within the limits, and whether it is proved to be the smallest.

        Only feasible patterns are compared: a choice that leaves a cell disclosed gives cuts as in the search.
        """
        problem, builder, master = self.problem, self.builder, self.master
        deadline = min(self.deadline, time.monotonic() + MAX_SECONDS_TO_POLISH)

        def measure(pattern: BoolArray) -> int:
            return len(builder.exposed(pattern)) if goal is None else int(goal[pattern & ~problem.forced].sum())

        value = measure(best)
        with suppress(TimeoutError):
            for _ in range(REFINING_ROUNDS):
                if not value or time.monotonic() > deadline:
                    break
                solution = master.solve(max(deadline - time.monotonic(), 1.0), goal, limits, exposed)
                trial = problem.forced | solution.chosen
                if solution.proved and value <= math.ceil(solution.bound - 1e-6):
                    return best, True
                short = builder.unprotected(trial)
                if short:
                    finder = CutFinder(problem, trial)
                    cuts = [finder.find(view, cell) for view, cell in short]
                    if not any([master.add(cut) for cut in cuts if cut is not None]):
                        break
                    continue
                now = builder.exposed(trial)
                if exposed is None or exposed < 0 or len(now) <= exposed:
                    reached = len(now) if goal is None else measure(trial)
                    best, value = (trial, reached) if reached < value else (best, value)
                if exposed is None or not self._add_soft_cuts(trial, np.setdiff1d(now, list(solution.exposed))):
                    return best, solution.proved
        return best, not value

    def _add_soft_cuts(self, pattern: BoolArray, cells: IntArray) -> bool:
        """Cuts against the preferred rise of some cells; False if none is new."""
        finder, new = CutFinder(self.problem, pattern), False
        for cell in cells.tolist():
            cut = finder.against_rise(PUBLIC, cell, int(self.problem.preferred_rise[cell]))
            new |= cut is not None and self.master.add(cut, soft=True)
        return new
