"""The search: patterns from below, by breaking all barriers found, and from above, by completing them.

From below, the fewest cells that break every barrier are a bound on every pattern. If they protect all their cells they
are a pattern, and the best one. If not, the cells that stay known yield new barriers.
"""

import math
import time
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from safemargin.core import BoolArray, IntArray, Progress, RefusedError, no_progress
from safemargin.suppress.barriers import Barrier, Reasons, alone
from safemargin.suppress.coalition import PUBLIC, View
from safemargin.suppress.cover import Covering
from safemargin.suppress.moves import Moves
from safemargin.suppress.pool import Pool
from safemargin.suppress.problem import Problem
from safemargin.suppress.repair import Lack, Repair
from safemargin.suppress.wishes import exposed, refine

SMALL = 1_500
"""Cells up to which every round looks at every suppressed cell."""
ROUNDS = 400
LARGE_ROUNDS = 6
ONE_IN = 80
"""Of so many suppressed cells, one more may be spent where most primary counts are known to be primary."""
MOST_SECONDS_TO_REFINE = 30.0
MOST_TO_GROW = 400
"""Cells up to which a barrier that only whole numbers make is grown cell by cell."""

"""Called with the lower bound and the size of the best pattern."""


@dataclass(frozen=True)
class Found:
    """A pattern that protects, and the least number of cells that any such pattern has."""

    suppressed: BoolArray
    lower_bound: int
    pool: Pool
    exposed: IntArray
    """Primary cells whose count is known to lie in the primary range, though not which it is."""
    extra: int = 0


class Search:
    """One run; `seconds` limits how long it looks for fewer cells once it has a pattern."""

    def __init__(self, asked: Problem, seconds: float, progress: Progress = no_progress) -> None:
        self.asked, self.progress = asked, progress
        self.pool = Pool(asked.counts)
        self.repair = Repair(asked, self.pool)
        self.covering = Covering(asked.gone, asked.candidates)
        self.seconds, self.deadline = seconds, math.inf
        self.best: BoolArray | None = None
        self.bound = int(asked.gone.sum())

    @property
    def elsewhere(self) -> int:
        """Cells that are not printed and lie in none of the tables to be published."""
        return int((self.asked.gone & ~self.asked.counted).sum())

    @property
    def small(self) -> bool:
        """Whether there is time to look at every cell in every round."""
        return self.asked.size <= SMALL

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.deadline - time.monotonic()

    def run(self, extra: int | None = None) -> Found:
        """Rounds until bound and pattern meet, nothing new is learnt, or time is up; then `extra` as in `suppress`."""
        trial = self.asked.gone.copy()
        for turn in range(ROUNDS if self.small else LARGE_ROUNDS):
            short = self.repair.lacks(trial) if self.small else None
            if short == [] or self._improve(trial):
                self._take(trial)
                if turn == 0 or self.covered:
                    self.bound = int(trial.sum())
            short = self.repair.short if short is None else short
            if self.done or not self._learn(trial, short):
                break
            trial = self._next()
            if self.done:
                break
        if self.best is None:
            self._improve(self.asked.gone, patient=True)
        best = self._fall_back() if self.best is None else self.best
        pattern, worst = self._refined(best, extra)
        bound = self.bound - self.elsewhere
        return Found(pattern & ~self.asked.untold, bound, self.pool, worst, int(pattern.sum() - best.sum()))

    def _refined(self, best: BoolArray, extra: int | None) -> tuple[BoolArray, IntArray]:
        """The pattern with fewer exposed cells, and those."""
        worst = exposed(self.asked, self.repair, best)
        if not self.small:
            return best, worst
        spend = extra or 0
        limit = time.monotonic() + min(max(self.left, 5.0), MOST_SECONDS_TO_REFINE)
        pattern, worst = refine(self.asked, self.repair, self.covering, best, worst, spend, limit)
        if extra is None and len(worst) > self.asked.primary.sum() / 2:
            spend = int(best.sum()) // ONE_IN
            limit = time.monotonic() + min(max(self.seconds, 5.0), MOST_SECONDS_TO_REFINE)
            pattern, worst = refine(self.asked, self.repair, self.covering, pattern, worst, spend, limit)
        return pattern, worst

    covered = True
    """Whether the last trial was proved to break all barriers with the fewest cells."""

    @property
    def done(self) -> bool:
        """Whether nothing better is possible or time is up."""
        return (self.best is not None and self.bound >= int(self.best.sum())) or self.left <= 0

    def _take(self, pattern: BoolArray) -> None:
        if self.best is None:
            self.deadline = time.monotonic() + self.seconds
        if self.best is None or pattern.sum() < self.best.sum():
            self.best = pattern.copy()
            self._report()

    def _report(self) -> None:
        if self.best is not None:
            least, size = self.bound - self.elsewhere, int(self.best.sum()) - self.elsewhere
            self.progress(f"suppressing: {size:,} cells, at least {least:,} needed", least, size)

    def _improve(self, trial: BoolArray, patient: bool = False) -> bool:
        """Complete and thin a trial; True if it was a pattern already."""
        deadline = self.deadline if self.best is not None and not patient else math.inf
        pattern = self.repair.complete(trial, deadline)
        if pattern is None:
            return False
        if (pattern == trial).all():
            return True
        if self.best is None or pattern.sum() <= 1.02 * self.best.sum() + 3:
            self._take(pattern)
            self._take(self.repair.thin(pattern, self.deadline))
        return False

    def _learn(self, trial: BoolArray, short: list[Lack]) -> bool:
        """New barriers around the cells that fall short."""
        asked, new = self.asked, 0
        reasons = Reasons(asked, trial)
        held: dict[View, set[int]] = {}
        for view, cell in short or [(PUBLIC, -1)]:
            if view not in held:
                simple = alone(asked, trial, view)
                new += sum(self._add(barrier) for barrier in simple)
                held[view] = {barrier.cell for barrier in simple}
            if cell < 0 or cell in held[view]:
                continue
            barrier = reasons.find(view, cell)
            if barrier is None and asked.size <= MOST_TO_GROW:
                barrier = self._grown(trial, view, cell)
            if barrier is not None:
                new += self._add(barrier)
            if self.left <= 0:
                break
        return new > 0

    def _add(self, barrier: Barrier) -> bool:
        new = self.covering.add(barrier)
        if self.asked.gone[barrier.cell] and not self.covering.breakable(barrier):
            raise Unprotectable(barrier)
        return new

    def _next(self) -> BoolArray:
        cover = self.covering.solve(max(self.left, 1.0))
        self.covered = cover.proved
        self.bound = max(self.bound, int(self.asked.gone.sum()) + math.ceil(cover.bound - 1e-6))
        self._report()
        return self.asked.gone | cover.chosen

    def _grown(self, trial: BoolArray, view: View, cell: int) -> Barrier | None:
        """A barrier that rests on whole numbers: all published cells less those that could be suppressed in vain."""
        asked = self.asked
        moves = Moves(asked.equations, asked.counts, asked.floor)

        def never(suppressed: BoolArray, amounts: tuple[int, ...]) -> bool:
            moves.open(suppressed, None, view.known, view.at_least)
            found = [moves.find(cell, amount) for amount in amounts]
            return all(move is None and proved for move, proved in found)

        need, width = int(asked.asks(view)[cell]), asked.width
        ways: list[tuple[int, ...]] = [(need,)] if need else []
        ways += [(up, up - width - 1) for up in range(1, width + 1)]
        amounts = next((way for way in ways if never(trial, way)), None)
        if amounts is None:
            return None
        suppressed = trial.copy()
        blocks = [np.setdiff1d(np.flatnonzero(asked.candidates & ~trial), view.known)]
        while blocks:
            block = blocks.pop()
            wider = suppressed.copy()
            wider[block] = True
            if never(wider, amounts):
                suppressed = wider
            elif len(block) > 1:
                blocks += [block[: len(block) // 2], block[len(block) // 2 :]]
        cells = np.setdiff1d(np.flatnonzero(~suppressed & asked.candidates), view.known)
        return Barrier(cell, amounts[0] if len(amounts) == 1 else 0, tuple(cells.tolist()), view)

    def _fall_back(self) -> BoolArray:
        """A pattern with as many cells as possible, thinned; refuses if a cell is known even so."""
        asked = self.asked
        pattern = asked.gone | asked.candidates
        while short := self.repair.lacks(pattern):
            reasons = Reasons(asked, pattern)
            for view, cell in short:
                if asked.gone[cell]:
                    self._refuse(view, cell, reasons.find(view, cell))
            pattern[[cell for _, cell in short]] = False
        self._take(pattern)
        self._take(self.repair.thin(pattern, self.deadline))
        return pattern if self.best is None else self.best

    def _refuse(self, view: View, cell: int, barrier: Barrier | None) -> NoReturn:
        if barrier is None and view == PUBLIC and self.asked.width == 1 and not self.asked.needs[cell]:
            raise RefusedError("no pattern was found that protects every primary cell; suppress more by hand")
        raise Unprotectable(barrier or Barrier(cell, 0, (), view))


class Unprotectable(RefusedError):
    """A cell that somebody knows, or that cannot rise by `need`, whatever is suppressed."""

    def __init__(self, barrier: Barrier) -> None:
        self.cell, self.need, self.view = barrier.cell, barrier.need, barrier.view
        super().__init__(f"cell {self.cell} cannot be protected, whatever else is suppressed")
