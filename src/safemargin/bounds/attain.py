"""Integer tables that attain given ends of intervals, as few as will do.

The optimum of a linear program is rarely a table of whole people, but one is nearly always close by: an integer program
that may move each count by one from there is solved in milliseconds, where the same program over all tables takes
seconds. Each table is asked to attain as many ends as it can.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from safemargin.bounds.duals import Facts, form_of
from safemargin.bounds.propagate import propagate
from safemargin.bounds.search import Targets
from safemargin.bounds.solver import PRIMAL, add_sum, drop_row, limits, solver_of, values_of
from safemargin.core import UNBOUNDED, BoolArray, FloatArray, IntArray, numpy_generator

if TYPE_CHECKING:
    from highspy import Highs

SEED = 30_000
GROUPS = 200
WORTHWHILE = 2
"""Ends that an objective over all open ones must close, or it was the last."""
STEPS = (1, 4)
"""How far each count may move from a linear optimum."""
SECONDS_NEARBY = 2.0
SECONDS = 20.0
MOST_VARIABLES_FOR_INTEGERS = 20_000


class Attained:
    """Which table attains each end; -1 for none. `above[t]` is for the upper end of target `t`."""

    def __init__(self, facts: Facts, targets: Targets, lower: IntArray, upper: IntArray) -> None:
        self.facts, self.targets, self.lower, self.upper = facts, targets, lower, upper
        self.tables: list[IntArray] = []
        self.above = np.full(len(upper), -1, dtype=np.int64)
        self.below = np.full(len(lower), -1, dtype=np.int64)
        self.unlimited = upper >= UNBOUNDED

    @property
    def open_above(self) -> BoolArray:
        """Upper ends without a table."""
        found: BoolArray = (self.above < 0) & ~self.unlimited
        return found

    @property
    def open_below(self) -> BoolArray:
        """Lower ends without a table."""
        found: BoolArray = self.below < 0
        return found

    def left(self) -> int:
        """How many ends have no table."""
        return int(self.open_above.sum() + self.open_below.sum())

    def take(self, counts: IntArray) -> bool:
        """Keep a table if it attains an end that none did; it must satisfy every fact."""
        values = self.targets.of(counts)
        above, below = self.open_above & (values == self.upper), self.open_below & (values == self.lower)
        if not (above.any() or below.any()) or not self.facts.known.admits(counts):
            return False
        self.above[above] = self.below[below] = len(self.tables)
        self.tables.append(counts)
        return True

    def take_near(self, values: FloatArray | None) -> bool:
        """Keep a real-valued table if rounding makes it one of whole people."""
        return values is not None and self.take(np.rint(values).astype(np.int64))

    def thinned(self) -> tuple[IntArray, ...]:
        """Few tables for the same ends: those that attain most are chosen first."""
        shape = len(self.tables), len(self.lower)
        found = np.array([self.targets.of(counts) for counts in self.tables]).reshape(shape)
        missing = np.hstack([self.above >= 0, self.below >= 0])
        attains = np.hstack([found == self.upper, found == self.lower])
        chosen: list[IntArray] = []
        self.above[:], self.below[:] = -1, -1
        while missing.any():
            best = int((attains & missing).sum(axis=1).argmax())
            mine = attains[best] & missing
            self.above[mine[: len(self.upper)]] = len(chosen)
            self.below[mine[len(self.upper) :]] = len(chosen)
            missing &= ~mine
            chosen.append(self.tables[best])
        self.tables = chosen
        return tuple(chosen)


class Nearby:
    """Linear and integer programs over the tables of one system that look for whole people."""

    def __init__(self, facts: Facts) -> None:
        self.facts, count = facts, facts.known.size
        self.low, self.high = propagate(facts.known)
        self.every = np.arange(count, dtype=np.int32)
        form = form_of(facts, self.low, self.high)
        self.linear, self.integer = solver_of(form, PRIMAL), solver_of(form, whole=True)

    def find(self, pull: FloatArray, places: IntArray, value: int, patient: bool) -> IntArray | None:
        """A table of whole people far along `pull`, in which the counts at `places` (if any) add up to `value`."""
        solvers = (self.linear, self.integer) if len(places) else ()
        fixed = [(solver, add_sum(solver, places, np.ones(len(places)), float(value))) for solver in solvers]
        try:
            return self._search(pull, patient)
        finally:
            for solver, row in fixed:
                drop_row(solver, row)

    def _search(self, pull: FloatArray, patient: bool) -> IntArray | None:
        vertex = _run(self.linear, self.every, pull)
        if vertex is None:
            return None
        counts = np.rint(vertex).astype(np.int64)
        if np.abs(vertex - counts).max(initial=0.0) < 1e-6:
            return counts
        for step in STEPS:
            found = self._whole(np.floor(vertex + 1e-6) - step, np.ceil(vertex - 1e-6) + step, SECONDS_NEARBY)
            if found is not None:
                return found
        if not patient or self.facts.known.size > MOST_VARIABLES_FOR_INTEGERS:
            return None
        return self._whole(self.low.astype(np.float64), self.high.astype(np.float64), SECONDS)

    def _whole(self, low: FloatArray, high: FloatArray, seconds: float) -> IntArray | None:
        highest = limits(np.minimum(high, self.high))
        self.integer.changeColsBounds(len(low), self.every, np.maximum(low, self.low), highest)
        self.integer.setOptionValue("time_limit", seconds)
        values = _run(self.integer, self.every, np.zeros(len(low)))
        return None if values is None else np.rint(values).astype(np.int64)


def attain(found: Attained, given: Sequence[IntArray], hopeful: BoolArray, report: Callable[[], None]) -> None:
    """Find tables for as many ends as possible. Only `hopeful` targets get a long search of their own."""
    for counts in given:
        if counts.shape == found.facts.known.low.shape:
            found.take(counts)
    if found.left():
        nearby = Nearby(found.facts)
        found.take(nearby.low)
        _by_groups(found, nearby, report)
        _one_by_one(found, nearby, hopeful, report)


def _pull(found: Attained, chance: FloatArray) -> FloatArray:
    """Towards the open ends of all targets at once; where both are open, either."""
    above, below = found.open_above, found.open_below
    want = np.where(above & below, np.where(chance < 0.5, -1.0, 1.0), above.astype(np.float64) - below)
    pull: FloatArray = found.targets.matrix.T @ (want * (1 + chance) * found.targets.sign)
    return pull


def _by_groups(found: Attained, nearby: Nearby, report: Callable[[], None]) -> None:
    generator = numpy_generator(SEED)
    nowhere = np.zeros(0, dtype=np.int64)
    for _ in range(GROUPS):
        before = found.left()
        if before <= WORTHWHILE:
            return
        counts = nearby.find(_pull(found, generator.random(len(found.lower))), nowhere, 0, patient=False)
        if counts is None or not found.take(counts) or before - found.left() < WORTHWHILE:
            return
        report()


def _one_by_one(found: Attained, nearby: Nearby, hopeful: BoolArray, report: Callable[[], None]) -> None:
    targets, generator = found.targets, numpy_generator(SEED + 1)
    for target in range(len(found.lower)):
        for ends, is_open in ((found.upper, found.open_above), (found.lower, found.open_below)):
            if not is_open[target]:
                continue
            value = int(ends[target] - targets.offset[target]) * int(targets.sign[target])
            a, b = targets.matrix.indptr[target], targets.matrix.indptr[target + 1]
            places = np.asarray(targets.matrix.indices[a:b], dtype=np.int64)
            pull = _pull(found, generator.random(len(found.lower)))
            counts = nearby.find(pull, places, value, bool(hopeful[target]))
            if counts is not None:
                found.take(counts)
            report()


def _run(solver: "Highs", every: NDArray[np.int32], pull: FloatArray) -> FloatArray | None:
    solver.changeColsCost(len(every), every, -pull)
    solver.run()
    return values_of(solver)
