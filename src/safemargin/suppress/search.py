"""The search: a lower bound from cuts, and patterns that complete what the cuts suggest.

Objects
    F           cells that are never printed: primary ones, and those suppressed before
    cost[j]     of suppressing cell j; the value of a pattern is |F| plus the cost of its other cells
    cuts        sets of cells of which every pattern suppresses one (`cuts.py`)
    bound       the least value of any set of cells that meets all cuts found so far

Statement
    bound <= value of the best pattern <= value of every pattern found. If the set that attains the bound protects all
    its cells, it is an optimal pattern. If not, each cell that it leaves disclosed gives a cut that it violates.
    There are finitely many cuts, so the two meet, given time (Benders decomposition; Fischetti and Salazar 2001).

Method
    1. `complete` builds a first pattern of boxes, within a tenth of a second for a thousand cells, then one by linear
       programs, in half a second; `exchange.py` makes that cheaper, move by move.
    2. The master problem proposes a trial: the cheapest cells that meet all cuts.
    3. Stop if the trial protects. Else complete and reduce it (a better upper value), add its cuts, and repeat from 2.

    Of patterns of equal value, `refine` takes one with the fewest totals, then with the fewest primary cells that are
    known to be primary, and costs drawn at random choose among equals: see `rerun.py` for why chance must.

What callers may rely on
    * `best` protects at every moment and only gets better; a search that runs out of time keeps it.
    * `bound` is proved at every moment. `settled` is true only if nothing better exists in all respects.
    * Time decides how good a pattern is, never whether it protects.

Example
    The table of `moves.py`: four gaps, and no pattern has fewer.

    >>> from safemargin.core import Hierarchy, lattice, no_progress
    >>> from safemargin.suppress.linked import single
    >>> from safemargin.suppress.problem import build_problem
    >>> table = lattice([Hierarchy.flat("sex", ["f", "m"]), Hierarchy.flat("age", ["old", "young"])], [[1, 4], [5, 6]])
    >>> found = PatternSearch(build_problem(single(table), (1, 1)), 10.0, no_progress).run()
    >>> int(found.suppressed.sum()), found.lower_bound
    (4, 4)
"""

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from safemargin.core import BoolArray, IntArray, Progress, RefusedError
from safemargin.suppress.cuts import Cut, CutFinder, Limit, MasterProblem, single_gap_cuts
from safemargin.suppress.exchange import MoveExchange
from safemargin.suppress.feasibility import PatternBuilder, Unprotected
from safemargin.suppress.integer_cuts import integer_cut
from safemargin.suppress.moves import PUBLIC, MoveStore, Problem, View

SMALL = 1_500  # cells up to which every round considers every suppressed cell
ROUNDS = 400
REFINING_ROUNDS = 200
CELLS_PER_EXTRA = 80  # one more cell is suppressed per this many where most primary counts are known to be primary
MAX_SECONDS_TO_POLISH = 15.0
LEVEL_WEIGHT, MAX_LEVEL = 20, 3  # one total weighs as much as 20 cells that sum up over one axis less
CHANCE = 1_000  # costs drawn at random that choose among patterns that are equally good are below this
MIN_CELLS_FOR_BOXES = 100  # cells from which on the first pattern is built of boxes
MIN_SECONDS_TO_EXCHANGE, SHARE_TO_EXCHANGE = 1.0, 0.05
MAX_CELLS_TO_GROW = 400  # cells up to which a cut that rests on integrality is grown cell by cell


@dataclass(frozen=True)
class LeastPattern:
    """A pattern that protects, and the least number of cells that any such pattern has."""

    suppressed: BoolArray
    lower_bound: int
    search: "PatternSearch"  # which found it, with all moves and cuts
    cuts: frozenset[Cut]  # that prove it to be best, preferred rises included
    exposed: IntArray  # primary cells whose count is known to lie in the primary range, though not exactly
    extra: int
    settled: bool  # whether nothing is better in cost, totals and exposed cells: then chance chose it


class Unprotectable(RefusedError):
    """A cell that is disclosed, or cannot rise by `rise`, whatever is suppressed; if not `proved`, perhaps."""

    def __init__(self, cut: Cut, proved: bool = True) -> None:
        self.cell, self.rise, self.view, self.proved = cut.cell, cut.rise, cut.view, proved
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
        self.comparing = False  # whether a pattern is given, and any better one ends the search
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
        self.search()
        if self.best is None:
            raise RefusedError(f"seconds = {self.seconds:g}: no pattern was found in this time; give more seconds")
        best, builder = self.best, self.builder
        pattern, limits, settled = self.refine(best, extra)
        if self.small:  # of equal patterns, costs drawn at random choose one
            chance = builder.generator.integers(1, CHANCE, self.problem.size)
            pattern, shown = self._descend(pattern, chance, limits, len(self.exposed(pattern)))
            settled &= shown
        return LeastPattern(
            suppressed=pattern & ~self.problem.unlisted,
            lower_bound=self.bound - self.elsewhere,
            search=self,
            cuts=frozenset((*self.master.cuts, *self.master.soft)),
            exposed=self.exposed(pattern),
            extra=self.value(pattern) - self.value(best),
            settled=settled and self.bound >= self.value(best) and builder.decided,
        )

    def search(self) -> None:
        """Rounds until bound and pattern meet, no cut is new, or time is up."""
        with suppress(TimeoutError):
            if self.problem.size > MIN_CELLS_FOR_BOXES and self.best is None:
                self._first_patterns()
            trial = self._next_trial() if self.master.cuts else self.problem.forced
            for turn in range(ROUNDS):
                if self.done:
                    return
                if any([self._add(cut) for cut in single_gap_cuts(self.problem, trial)]):
                    trial = self._next_trial()
                    continue
                short = self.builder.unprotected(trial)
                if not short:
                    self._accept(trial)
                    self.bound = self.value(trial) if self.master_proved else self.bound
                    return
                if self.best is None or self.problem.size > MAX_CELLS_TO_GROW or not turn % 5:
                    self._improve(trial)
                if self.done or not self._add_cuts(trial, short):
                    break
                trial = self._next_trial()
            if self.best is None:
                self._improve(self.problem.forced)
            if self.best is None:
                self._fall_back()

    def _first_patterns(self) -> None:
        """A pattern of boxes, one of linear programs, and exchanges of its moves: each is cheaper, in a few seconds."""
        problem, builder = self.problem, self.builder
        self._accept(builder.complete(problem.forced, math.inf))
        cheapest = int(problem.cost.min())
        for box in (0.0,) if self.small else (1.5 * cheapest, 0.5 * cheapest):
            pattern = builder.complete(problem.forced, box)
            self._accept(pattern)
            if pattern is not None and MoveExchange.fits(problem):
                exchange = MoveExchange(builder)
                exchange.keep(pattern)
                seconds = max(MIN_SECONDS_TO_EXCHANGE, self.left * SHARE_TO_EXCHANGE)
                exchange.improve(min(self.deadline, time.monotonic() + seconds), self._accept)

    def _accept(self, pattern: BoolArray | None) -> None:
        if pattern is not None and (self.best is None or self.value(pattern) < self.value(self.best)):
            self.best = pattern.copy()
            self._report()

    def _report(self) -> None:
        if self.best is not None:
            bound, cost = self.bound - self.elsewhere, self.value(self.best) - self.elsewhere
            self.progress(f"suppressing: cost {cost:,}, at least {bound:,} needed")

    def _improve(self, trial: BoolArray) -> bool:
        """Complete and reduce a trial; True if it was a pattern already.

        Only what comes near the best is reduced, since reducing tries every cell once.
        """
        # A box with one cell beyond a large pattern is as good as a linear program finds, nearly always.
        pattern = self.builder.complete(trial, 0.0 if self.small else 1.5 * int(self.problem.cost.min()))
        if pattern is None:
            return False
        if (pattern == trial).all():
            return True
        self._accept(pattern)
        # Reducing takes longest, so only what is within 2 % of the best is reduced, with integer programs within 1 %.
        for quick, margin in ((True, 1.02), (False, 1.01)):
            if self.best is None or self.value(pattern) <= margin * self.value(self.best) + 3:
                pattern = self.builder.reduce(pattern, quick, self._accept)
                self._accept(pattern)
        return False

    def _add_cuts(self, trial: BoolArray, short: list[Unprotected]) -> bool:
        """New cuts for the cells that are not protected; False if there are none."""
        new, finder = False, CutFinder(self.problem, trial)
        for view, cell in short:
            cut = finder.find(view, cell)
            if cut is None and self.problem.size <= MAX_CELLS_TO_GROW:
                cut = integer_cut(self.problem, trial, view, cell)
            new |= cut is not None and self._add(cut)
            if self.left <= 0:
                break
        return new

    def _add(self, cut: Cut) -> bool:
        new = self.master.add(cut)
        if self.problem.forced[cut.cell] and not self.master.satisfiable(cut):
            raise Unprotectable(cut)
        return new

    def _next_trial(self) -> BoolArray:
        """The cheapest set of cells that meets all cuts, with those that must be suppressed; raises the bound if it is
        proved.
        """
        solution = self.master.solve(max(self.left, 1.0))
        self.master_proved = solution.proved
        self.bound = max(self.bound, int(self.problem.forced.sum()) + math.ceil(solution.bound - 1e-6))
        self._report()
        return self.problem.forced | solution.chosen

    def _fall_back(self) -> None:
        """A pattern with as many cells as possible, reduced; refuses if a cell is disclosed even so.

        Suppressing more never discloses more, so a cell that is disclosed here is disclosed by every pattern.
        """
        problem = self.problem
        pattern = problem.forced | problem.candidates
        while short := self.builder.unprotected(pattern):
            finder = CutFinder(problem, pattern)
            for view, cell in short:
                if problem.forced[cell]:
                    self._refuse(view, cell, finder.find(view, cell))
            pattern[[cell for _, cell in short]] = False
        self._accept(pattern)
        self._accept(self.builder.reduce(pattern, accept=self._accept))

    def _refuse(self, view: View, cell: int, cut: Cut | None) -> NoReturn:
        unproved = cut is None and view == PUBLIC and self.problem.width == 1 and not self.problem.required_rise[cell]
        raise Unprotectable(cut or Cut(cell, 0, (), view), proved=not unproved)

    def hopeless(self) -> list[int]:
        """Cells that must be suppressed and that the public can infer even if all others are suppressed too."""
        everything = self.problem.forced | self.problem.candidates
        with suppress(TimeoutError):
            short = self.builder.unprotected(everything)
            return [cell for view, cell in short if view == PUBLIC and self.problem.forced[cell]]
        return []

    def refine(self, best: BoolArray, extra: int | None) -> tuple[BoolArray, list[Limit], bool]:
        """Of all patterns of this cost, one with the fewest totals, then with the fewest exposed cells.

        Also the limits of patterns that are as good, and whether every step was proved. Large tables stay as they are.
        With `extra` (or by itself where more than half of the primary cells are known to be primary) some more cells
        may be spent on hiding which are primary.
        """
        problem = self.problem
        cost = int(problem.cost[best & ~problem.forced].sum())
        limits: list[Limit] = [(problem.cost, cost)]
        if not self.small:
            return best, limits, False
        pattern, proved = self._descend(best, self.weights, limits)
        limits.append((self.weights, int(self.weights[pattern & ~problem.forced].sum())))
        room = extra or 0
        if extra is None and len(self.exposed(pattern)) > problem.primary.sum() / 2:
            room = self.value(best) // CELLS_PER_EXTRA
        for more in dict.fromkeys((extra or 0, room)):
            limits[0] = (problem.cost, cost + more)
            self._add_soft_cuts(pattern, self.exposed(pattern))
            pattern, shown = self._descend(pattern, None, limits, -1)
            proved &= shown
        limits[0] = (problem.cost, int(problem.cost[pattern & ~problem.forced].sum()))
        return pattern, limits, proved

    def _descend(
        self, best: BoolArray, goal: IntArray | None, limits: Sequence[Limit], exposed: int | None = None
    ) -> tuple[BoolArray, bool]:
        """A pattern with a smaller goal within the limits, and whether it is proved to be the smallest.

        Lexicographic optimisation: each goal that was reached before is a limit here. Only patterns that protect are
        compared: a choice that leaves a cell disclosed gives cuts as in the search.
        """
        problem, builder, master = self.problem, self.builder, self.master
        deadline = min(self.deadline, time.monotonic() + MAX_SECONDS_TO_POLISH)

        def measure(pattern: BoolArray) -> int:
            return len(self.exposed(pattern)) if goal is None else int(goal[pattern & ~problem.forced].sum())

        if limits[0][1] < problem.cost[problem.candidates].min(initial=1):
            return best, True  # no cell beside the forced ones is within the limit
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
                now = self.exposed(trial)
                if exposed is None or exposed < 0 or len(now) <= exposed:
                    reached = len(now) if goal is None else measure(trial)
                    best, value = (trial, reached) if reached < value else (best, value)
                    if self.comparing and best is trial:
                        return best, False
                if exposed is None or not self._add_soft_cuts(trial, np.setdiff1d(now, list(solution.exposed))):
                    return best, solution.proved and value <= math.ceil(solution.bound - 1e-6)
        return best, not value

    def exposed(self, pattern: BoolArray) -> IntArray:
        """Primary cells whose count is known to lie in the primary range, or is not shown in time to leave it."""
        return self.builder.exposed(pattern, self._blocked(pattern))

    def _blocked(self, pattern: BoolArray) -> IntArray:
        """Cells that a cut keeps from their preferred rise."""
        cells = {cut.cell for cut in self.master.soft if not pattern[list(cut.cells)].any()}
        return np.array(sorted(cells), dtype=np.int64)

    def _add_soft_cuts(self, pattern: BoolArray, cells: IntArray) -> bool:
        """Cuts against the preferred rise of some cells; False if none is new."""
        cells, new = np.setdiff1d(cells, self._blocked(pattern)), False
        if len(cells):
            finder = CutFinder(self.problem, pattern)
            for cell in cells.tolist():
                cut = finder.against_rise(PUBLIC, cell, int(self.problem.preferred_rise[cell]))
                new |= cut is not None and self.master.add(cut, soft=True)
        return new

    def exchange(self, other: "PatternSearch") -> set[Cut]:
        """Take over the moves and cuts of a search in a table that prints the same, but for the cuts that fail here.

        If x' = x + step, then a move m from x to x + m is the move m - step from x'. The multipliers of a cut prove
        the same sums here, but the room differs, so each proof is evaluated again (`Cut.holds_in`).
        """
        step, known = self.problem.counts - other.problem.counts, len(self.store.cells)
        for change in np.r_[np.zeros((1, self.problem.size), dtype=np.int64), other.store.matrix[known:].toarray()]:
            self.store.add(change - step)
        failed: set[Cut] = set()
        for soft, rises in ((False, self.problem.required_rise), (True, self.problem.preferred_rise)):
            for cut in tuple(other.master.soft if soft else other.master.cuts):
                rise = int(rises[cut.cell])
                if cut.holds_in(self.problem, rise):
                    self.master.add(replace(cut, rise=rise if cut.rise else 0), soft)
                else:
                    failed.add(cut)
        return failed

    def is_best(self, original: LeastPattern, extra: int | None) -> bool:
        """Whether no pattern is better than one that was found in another table that prints the same.

        Then chance may choose it here too.
        """
        problem, theirs, pattern = self.problem, original.search, original.suppressed
        if not np.array_equal(problem.cell_ids, theirs.problem.cell_ids) or (problem.forced & ~pattern).any():
            return False  # a cell became empty, or a printed one primary
        alike = np.array_equal(problem.forced, theirs.problem.forced) and np.array_equal(
            problem.cost, theirs.problem.cost
        )
        failed = self.exchange(theirs)
        try:
            if self.builder.unprotected(pattern):
                return False
            # Who sees the gaps infers the same from both tables, so the same cells are exposed in both.
            self.builder.exposed_in[pattern.tobytes()] = original.exposed
            if alike and not failed & original.cuts:
                return True  # the cuts that prove the pattern best there are all the cuts that it needs here
            if not original.extra:
                self.comparing = True
                self.best = self.builder.reduce(pattern)
                if self.value(self.best) < self.value(pattern):
                    return False
            self.search()
        except (TimeoutError, RefusedError):
            return False
        if self.best is None or self.bound < self.value(self.best):
            return False
        if self.comparing and self.value(self.best) < self.value(pattern):
            return False
        other, _, proved = self.refine(self.best, extra)
        chosen, others = pattern & ~problem.forced, other & ~problem.forced
        theirs.exchange(self)
        return bool(
            proved
            and self.builder.decided
            and self.value(pattern) == self.value(other)
            and self.weights[chosen].sum() == self.weights[others].sum()
            and len(original.exposed) == len(self.exposed(other))
        )
