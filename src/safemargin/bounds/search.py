"""Outer and inner intervals of many targets while they are being settled."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from safemargin.bounds.closed import decomposable, junction
from safemargin.bounds.collapse import collapse
from safemargin.bounds.grid import Grid, grids
from safemargin.bounds.propagate import propagate
from safemargin.bounds.system import System
from safemargin.core import BoolArray, FloatArray, IntArray

CLOSED, PROPAGATED, WITNESSED, LINEAR, INTEGER = 0, 1, 2, 3, 4
"""Places in `model.exposure.METHODS`."""

MOST_TO_COMPARE_WITH_ROWS = 20_000
FAR = np.iinfo(np.int64).max // 4


@dataclass(frozen=True)
class Targets:
    """Linear functionals `offset + sign * (matrix @ x)` of the variables, one per row."""

    matrix: sparse.csr_array
    offset: IntArray
    sign: IntArray

    def of(self, counts: IntArray) -> IntArray:
        """Values of all targets in one table."""
        values: IntArray = self.offset + self.sign * (self.matrix @ counts)
        return values

    @property
    def are_cells(self) -> bool:
        """Whether target `t` is just variable `t`."""
        rows, columns = self.matrix.shape
        return bool(
            rows == columns == self.matrix.nnz
            and (self.matrix.indices == np.arange(rows)).all()
            and (self.sign > 0).all()
            and not self.offset.any()
        )


class Search:
    """From outside the intervals shrink, from inside they grow: by integer tables, and by real-valued ones.

    `enough` is the width beyond which an interval need not be known better, and with `narrow` within which too; None
    asks for the sharp one.
    """

    def __init__(self, known: System, targets: Targets, enough: int | None = None, narrow: bool = False) -> None:
        self.known, self.targets, self.enough, self.narrow = known, targets, enough, narrow
        self.grids: tuple[Grid, ...] = grids(known)
        self.low, self.high = propagate(known)
        self.is_closed = self._close()
        if not self.is_closed:
            self._collapse()
        least, most = targets.matrix @ self.low, targets.matrix @ self.high
        flipped = targets.sign < 0
        self.lower = targets.offset + np.where(flipped, -most, least)
        self.upper = targets.offset + np.where(flipped, -least, most)
        self._follow_rows()
        count = len(self.lower)
        self.inner_lower, self.inner_upper = np.full(count, FAR), np.full(count, -FAR)
        self.seen_lower, self.seen_upper = np.full(count, FAR), np.full(count, -FAR)
        self.method = np.full(count, CLOSED if self.is_closed else PROPAGATED, dtype=np.int64)
        self.tables = 0
        if self.is_closed and targets.are_cells:
            self.inner_lower, self.inner_upper = self.lower.copy(), self.upper.copy()

    @property
    def are_joint_cells(self) -> bool:
        """Whether target `profile * options + option` is that option in that profile."""
        known, targets = self.known, self.targets
        count = len(known.options)
        if len(targets.offset) != len(known.codes) * count or known.free + known.reference != count:
            return False
        firsts = targets.matrix.indices[targets.matrix.indptr[:-1:count]]
        return bool(
            (np.diff(targets.matrix.indptr)[::count] == 1).all()
            and (firsts == np.arange(len(known.codes)) * known.free).all()
        )

    def _close(self) -> bool:
        """The closed form for decomposable margins: sharp in integers, as long as nothing caps the cells."""
        orders = [junction(grid.faces) for grid in self.grids]
        if not orders or self.known.people is not None or not all(grid.is_full for grid in self.grids):
            return False
        if any(order is None for order in orders) or (self.known.high == 0).any():
            return False
        for option, (grid, order) in enumerate(zip(self.grids, orders, strict=True)):
            assert order is not None
            mine = slice(option, None, self.known.free)
            self.low[mine], self.high[mine] = decomposable(grid, order)
        return True

    def _collapse(self) -> None:
        for option, grid in enumerate(self.grids):
            mine = slice(option, None, self.known.free)
            self.low[mine], self.high[mine] = collapse(grid, self.low[mine], self.high[mine])

    def _follow_rows(self) -> None:
        """A target that a published row states outright has that row's range."""
        if len(self.lower) > MOST_TO_COMPARE_WITH_ROWS or self.targets.are_cells:
            return
        matrix, rows = self.targets.matrix, self.known.rows
        spans = zip(rows.indptr, rows.indptr[1:], strict=False)
        stated = {tuple(rows.indices[a:b].tolist()): row for row, (a, b) in enumerate(spans)}
        for t, (a, b) in enumerate(zip(matrix.indptr, matrix.indptr[1:], strict=False)):
            row = stated.get(tuple(sorted(matrix.indices[a:b].tolist())))
            if row is not None:
                ends = np.array([self.known.lower[row], self.known.upper[row]])
                ends = self.targets.offset[t] + self.targets.sign[t] * ends
                self.lower[t], self.upper[t] = max(self.lower[t], ends.min()), min(self.upper[t], ends.max())

    def take(self, counts: IntArray) -> None:
        """An integer table that satisfies every fact: what it shows can happen."""
        values = self.targets.of(counts)
        self.show(values, values)
        self.tables += 1

    def show(self, lower: IntArray, upper: IntArray, places: slice = slice(None)) -> None:
        """Values of targets that integer tables attain."""
        was_open = ~(self.attained | self.wide)
        self.inner_lower[places] = np.minimum(self.inner_lower[places], lower)
        self.inner_upper[places] = np.maximum(self.inner_upper[places], upper)
        self.method[was_open & (self.attained | self.wide) & (self.method == PROPAGATED)] = WITNESSED

    def see(self, values: FloatArray) -> None:
        """A real-valued table: what the linear programs cannot exclude."""
        reached = self.targets.offset + self.targets.sign * (self.targets.matrix @ values)
        self.seen_upper = np.maximum(self.seen_upper, np.floor(reached + 1e-6).astype(np.int64))
        self.seen_lower = np.minimum(self.seen_lower, np.ceil(reached - 1e-6).astype(np.int64))

    @property
    def wide(self) -> BoolArray:
        """Targets that integer tables show to be wide enough."""
        if self.enough is None:
            return np.zeros(len(self.lower), dtype=bool)
        found: BoolArray = self.inner_upper - self.inner_lower > self.enough
        return found

    @property
    def decided(self) -> BoolArray:
        """Targets whose width is known as well as it need be."""
        if self.enough is None or not self.narrow:
            return self.wide
        found: BoolArray = self.wide | (self.upper - self.lower <= self.enough)
        return found

    @property
    def attained(self) -> BoolArray:
        """Targets both ends of which integer tables attain."""
        found: BoolArray = (self.inner_upper >= self.upper) & (self.inner_lower <= self.lower)
        return found

    @property
    def open_above(self) -> BoolArray:
        """Upper ends that no integer table attains yet."""
        found: BoolArray = (self.inner_upper < self.upper) & ~self.decided
        return found

    @property
    def open_below(self) -> BoolArray:
        """Lower ends that no integer table attains yet."""
        found: BoolArray = (self.inner_lower > self.lower) & ~self.decided
        return found

    @property
    def unseen_above(self) -> BoolArray:
        """Upper ends that no table of any kind attains yet."""
        found: BoolArray = self.open_above & (self.seen_upper < self.upper)
        return found

    @property
    def unseen_below(self) -> BoolArray:
        """Lower ends that no table of any kind attains yet."""
        found: BoolArray = self.open_below & (self.seen_lower > self.lower)
        return found

    def is_open(self, target: int, upwards: bool, linear: bool) -> bool:
        """Whether one end of one target is open; with `linear`, for real-valued tables too."""
        inner, seen = (self.inner_upper, self.seen_upper) if upwards else (self.inner_lower, self.seen_lower)
        end = self.upper if upwards else self.lower
        if self.enough is not None:
            if self.inner_upper[target] - self.inner_lower[target] > self.enough:
                return False
            if self.narrow and self.upper[target] - self.lower[target] <= self.enough:
                return False
        return bool(inner[target] != end[target] and (not linear or seen[target] != end[target]))

    def tighten(self, target: int, upwards: bool, value: float) -> bool:
        """No table goes beyond `value`, found in floating point; whether that moves the end."""
        if not np.isfinite(value):
            return False
        slack = 1e-6 * max(1.0, abs(value)) ** 0.5
        ends = self.upper if upwards else self.lower
        end = int(np.floor(value + slack) if upwards else np.ceil(value - slack))
        if end >= ends[target] if upwards else end <= ends[target]:
            return False
        ends[target] = end
        return True

    def unsettled(self) -> int:
        """How many ends are open."""
        return int(self.open_above.sum() + self.open_below.sum())
