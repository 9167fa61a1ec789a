"""What is known so far of the intervals that are asked for: from outside by proofs, from inside by tables.

`Search` is the state of bounding (any functionals), `Level` that of certifying (the cells of one set of axes).
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from safemargin.core import BoolArray, FloatArray, IntArray, Limits, grouped, row_keys

CLOSED, PROPAGATED, WITNESSED, LINEAR, INTEGER = 0, 1, 2, 3, 4
"""Places in `model.exposure.METHODS`."""

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

    def are_joint_cells(self, profiles: int, options: int, free: int) -> bool:
        """Whether target `profile * options + option` is that option in that profile."""
        if len(self.offset) != profiles * options:
            return False
        firsts = self.matrix.indices[self.matrix.indptr[:-1:options]]
        return bool(
            (np.diff(self.matrix.indptr)[::options] == 1).all() and (firsts == np.arange(profiles) * free).all()
        )

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

    def __init__(
        self, targets: Targets, low: IntArray, high: IntArray, enough: int | None = None, narrow: bool = False
    ) -> None:
        self.targets, self.enough, self.narrow = targets, enough, narrow
        self.low, self.high = low, high
        self.count = len(targets.offset)
        self.lower, self.upper = self._from_variables()
        self.inner_lower, self.inner_upper = np.full(self.count, FAR), np.full(self.count, -FAR)
        self.seen_lower, self.seen_upper = np.full(self.count, FAR), np.full(self.count, -FAR)
        self.method = np.full(self.count, PROPAGATED, dtype=np.int64)
        self.tables = 0
        self.kept: list[IntArray] | None = None
        """Tables that settled an end, if somebody asks for them."""
        self.is_closed = False

    def narrow_variables(self, low: IntArray, high: IntArray) -> None:
        """Take proved intervals of the variables."""
        self.low, self.high = low, high
        lower, upper = self._from_variables()
        self.lower, self.upper = np.maximum(self.lower, lower), np.minimum(self.upper, upper)

    def _from_variables(self) -> tuple[IntArray, IntArray]:
        targets = self.targets
        least, most = targets.matrix @ self.low, targets.matrix @ self.high
        flipped = targets.sign < 0
        # What the other options leave of a cell, each at its most, may be less than nobody.
        lower = np.maximum(targets.offset + np.where(flipped, -most, least), 0)
        return lower, targets.offset + np.where(flipped, -least, most)

    def close(self) -> None:
        """The intervals of the variables are sharp in integers: where they are the targets, nothing is left."""
        self.is_closed = True
        self.method[:] = CLOSED
        if self.targets.are_cells:
            self.inner_lower, self.inner_upper = self.lower.copy(), self.upper.copy()

    def follow_rows(self, rows: sparse.csr_array, lower: IntArray, upper: IntArray) -> None:
        """A target that a published row states outright has that row's range."""
        matrix = self.targets.matrix
        spans = zip(rows.indptr, rows.indptr[1:], strict=False)
        stated = {tuple(rows.indices[a:b].tolist()): row for row, (a, b) in enumerate(spans)}
        for target, (a, b) in enumerate(zip(matrix.indptr, matrix.indptr[1:], strict=False)):
            row = stated.get(tuple(sorted(matrix.indices[a:b].tolist())))
            if row is not None:
                ends = np.array([lower[row], upper[row]])
                ends = self.targets.offset[target] + self.targets.sign[target] * ends
                self.lower[target] = max(self.lower[target], ends.min())
                self.upper[target] = min(self.upper[target], ends.max())

    def take(self, counts: IntArray) -> None:
        """An integer table that satisfies every fact: what it shows can happen."""
        values, before = self.targets.of(counts), 0 if self.kept is None else self.unsettled()
        self.show(values, values)
        self.tables += 1
        if self.kept is not None and self.unsettled() < before:
            self.kept.append(counts)

    def show(self, lower: IntArray, upper: IntArray, places: slice = slice(None)) -> None:
        """Values of targets that integer tables attain."""
        was_open = ~(self.attained | self.wide)
        self.inner_lower[places] = np.minimum(self.inner_lower[places], lower)
        self.inner_upper[places] = np.maximum(self.inner_upper[places], upper)
        self.method[was_open & (self.attained | self.wide) & (self.method == PROPAGATED)] = WITNESSED

    def see(self, values: FloatArray) -> None:
        """A real-valued table: what the linear programs cannot exclude."""
        reached = self.targets.offset + self.targets.sign * (self.targets.matrix @ values)
        # Real-valued tables: they show what LPs cannot exclude, never that an integer table attains it.
        self.seen_upper = np.maximum(self.seen_upper, np.floor(reached + 1e-6).astype(np.int64))
        self.seen_lower = np.minimum(self.seen_lower, np.ceil(reached - 1e-6).astype(np.int64))

    @property
    def wide(self) -> BoolArray:
        """Targets that integer tables show to be wide enough."""
        if self.enough is None:
            return np.zeros(len(self.lower), dtype=bool)
        is_wide: BoolArray = self.inner_upper - self.inner_lower > self.enough
        return is_wide

    @property
    def decided(self) -> BoolArray:
        """Targets whose width is known as well as it need be."""
        if self.enough is None or not self.narrow:
            return self.wide
        is_decided: BoolArray = self.wide | (self.upper - self.lower <= self.enough)
        return is_decided

    @property
    def attained(self) -> BoolArray:
        """Targets both ends of which integer tables attain."""
        is_attained: BoolArray = (self.inner_upper >= self.upper) & (self.inner_lower <= self.lower)
        return is_attained

    @property
    def open_above(self) -> BoolArray:
        """Upper ends that no integer table attains yet."""
        is_open: BoolArray = (self.inner_upper < self.upper) & ~self.decided
        return is_open

    @property
    def open_below(self) -> BoolArray:
        """Lower ends that no integer table attains yet."""
        is_open: BoolArray = (self.inner_lower > self.lower) & ~self.decided
        return is_open

    @property
    def unseen_above(self) -> BoolArray:
        """Upper ends that no table of any kind attains yet."""
        is_unseen: BoolArray = self.open_above & (self.seen_upper < self.upper)
        return is_unseen

    @property
    def unseen_below(self) -> BoolArray:
        """Lower ends that no table of any kind attains yet."""
        is_unseen: BoolArray = self.open_below & (self.seen_lower > self.lower)
        return is_unseen

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
        # HiGHS' feasibility tolerance is 1e-7 per row; the root covers sums over many rows. Too large only widens.
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


@dataclass(frozen=True)
class Settled:
    """Intervals per target, whether integer tables attain both ends, and the method of the last step."""

    lower: IntArray
    upper: IntArray
    integer: BoolArray
    method: IntArray
    complete: bool


class Level:
    """Cells of one set of axes: what public facts force from outside, what integer tables showed from inside."""

    def __init__(self, names: tuple[str, ...], codes: IntArray, people: IntArray, options: int, limits: Limits) -> None:
        self.names = names
        sizes = [int(column.max(initial=0)) + 2 for column in codes.T]
        self.first, self.cell_of = grouped(row_keys(codes + 1, sizes))
        self.codes = codes[self.first]
        self.people = self.add(people[:, None])[:, 0]
        self.limits = limits
        self.least, self.most = limits.least(self.people), limits.most(self.people)
        self.tolerance = limits.tolerance(self.people)[:, None]
        shape = (len(self.first), options)
        self.outer_lower = np.zeros(shape, dtype=np.int64)
        self.outer_upper = np.broadcast_to(self.people[:, None], shape).copy()
        self.lower, self.upper = self.outer_upper.copy() + 1, self.outer_lower.copy() - 1
        self.excused = np.zeros(shape, dtype=bool)
        self.may_contain = self.people >= limits.kappa
        self._needs: tuple[BoolArray, BoolArray] | None = None
        self._contained: BoolArray | None = None
        self._open = 0
        self._pieces: Parts | None = None

    def reordered(self, order: IntArray) -> "Level":
        """The same cells where profile `order[p]` is the one at place `p`."""
        other, place = copy(self), np.empty_like(order)
        place[order] = np.arange(len(order))
        other.cell_of, other.first, other._pieces = self.cell_of[order], place[self.first], None
        other.__dict__.pop("_by_cell", None)
        return other

    def members(self, cell: int) -> IntArray:
        """The profiles of a cell."""
        order, start = self._by_cell
        return order[start[cell] : start[cell + 1]]

    @cached_property
    def _by_cell(self) -> tuple[IntArray, IntArray]:
        order = np.argsort(self.cell_of, kind="stable")
        return order, np.searchsorted(self.cell_of[order], np.arange(len(self.first) + 1))

    def add(self, values: IntArray) -> IntArray:
        """Sums of per-profile columns by cell, exactly."""
        columns = [np.bincount(self.cell_of, column, minlength=len(self.first)) for column in values.T]
        return np.stack(columns, axis=1).astype(np.int64)

    def pieces(self, split: Callable[[IntArray, int], "Parts"]) -> "Parts":
        """Its cells in pieces, split once."""
        if self._pieces is None:
            self._pieces = split(self.cell_of, len(self.first))
        return self._pieces

    def excuse(self, members: BoolArray, options: BoolArray) -> None:
        """Omit the cell of exactly these profiles, if there is one: what it holds is public anyway."""
        cell = int(self.cell_of[members.argmax()])
        if ((self.cell_of == cell) == members).all():
            self.excused[cell] |= options
            self._needs = None

    def show(self, lower: IntArray, upper: IntArray) -> None:
        """Counts per cell and option that integer tables attain."""
        self.lower, self.upper = np.minimum(self.lower, lower), np.maximum(self.upper, upper)
        self._needs = None

    def force(self, lower: IntArray, upper: IntArray) -> None:
        """Counts per cell and option that no table leaves."""
        self.outer_lower = np.maximum(self.outer_lower, lower)
        self.outer_upper = np.minimum(self.outer_upper, upper)
        self._needs = self._contained = None

    def never_contain(self, cells: BoolArray) -> None:
        """Cells that have to stay open whatever their size."""
        self.may_contain &= ~cells
        self._needs = self._contained = None

    def _verdicts(self) -> IntArray:
        """What the outer intervals amount to; a cell that may not be contained is open or disclosed."""
        codes = self.limits.verdicts(self.outer_lower, self.outer_upper, self.people)
        if not self.limits.sensitive or self.may_contain.all():
            return codes
        never = replace(self.limits, kappa=int(self.people.max(initial=0)) + 1)
        other = never.verdicts(self.outer_lower, self.outer_upper, self.people)
        return np.where(self.may_contain[:, None], codes, other)

    def exposed(self) -> BoolArray:
        """Cells and options that are disclosed whatever the sharp interval within the outer one is.

        A narrow interval of a large cell is contained, not disclosed, if it lies within the limits; so a table has to
        show that it does not.
        """
        # Outer intervals contain the sharp ones: whatever is disclosed by them is disclosed for certain.
        disclosed = self._verdicts() == 2
        beyond = (self.outer_upper < self.least) | (self.outer_lower > self.most)
        strays = (self.lower < self.least) | (self.upper > self.most)
        is_exposed: BoolArray = ~self.excused & disclosed & (beyond | strays | ~self.may_contain[:, None])
        return is_exposed

    def cleared_by(self, tables: Sequence[FloatArray]) -> int:
        """How many open cells these real-valued tables (per profile and option) show to be wide and not forced out."""
        up, down = self.needs()
        cells = np.flatnonzero((up | down).any(axis=1))
        sums = np.stack(
            [
                np.stack([np.bincount(self.cell_of, c, minlength=len(self.first))[cells] for c in table.T], axis=1)
                for table in tables
            ]
        )
        lower, upper = sums.min(axis=0), sums.max(axis=0)
        people = self.people[cells][:, None].astype(np.float64)
        floors = people * np.array([float(share) for share in self.limits.floors])
        ceilings = people * np.array([float(share) for share in self.limits.ceilings])
        # A hundredth of a person is far above the miss that `Fit.found` allows, summed over a cell.
        wide = upper - lower > self.tolerance[cells] + 0.01
        clear = wide & (upper > floors) & (lower < ceilings) | ~(up | down)[cells]
        return int(clear.all(axis=1).sum())

    def needs(self) -> tuple[BoolArray, BoolArray]:
        """Cells and options that still need a higher, or a lower, count to be shown possible."""
        if self._needs is None:
            up, down = self._needs = self._find_needs()
            self._open = int((up | down).any(axis=1).sum())
        return self._needs

    @property
    def open_cells(self) -> int:
        """How many cells have such a need."""
        self.needs()
        return self._open

    def _find_needs(self) -> tuple[BoolArray, BoolArray]:
        if self._contained is None:
            self._contained = self._verdicts() == 0
        # Inner intervals are attained by integer tables: once wide they stay wide, so clearing is final.
        narrow = self.upper - self.lower <= self.tolerance
        higher, lower = self.upper < self.outer_upper, self.lower > self.outer_lower
        up = (self.upper < self.least) | (narrow & (higher | ~lower))
        down = (self.lower > self.most) | (narrow & (lower | ~higher))
        settled = self._contained | self.excused
        return up & ~settled, down & ~settled


@dataclass(frozen=True)
class Parts:
    """Cells in pieces, one per class of twins that a cell has people in: its cell, its class and its people."""

    cell: IntArray
    twins: IntArray
    people: IntArray
    cells: int

    def of(self, wanted: BoolArray) -> "Parts":
        """The pieces of some cells."""
        keep = wanted[self.cell]
        return Parts(self.cell[keep], self.twins[keep], self.people[keep], self.cells)

    def add(self, values: IntArray) -> IntArray:
        """Sums of columns, one row per piece, by cell."""
        return np.stack([sums_by(self.cell, column, self.cells) for column in values.T], axis=1)


def sums_by(group_of: IntArray, values: IntArray, count: int) -> IntArray:
    return np.bincount(group_of, values, minlength=count).astype(np.int64)


def show(checked: Sequence[Level], listed: IntArray) -> None:
    """What a table of integers, given per profile and listed option, shows of every cell."""
    for level in checked:
        if level.open_cells:
            sums = level.add(listed)
            level.show(sums, sums)


def open_cells(checked: Sequence[Level]) -> int:
    """How many cells are still to be cleared."""
    return sum(level.open_cells for level in checked)


def needs(checked: Sequence[Level]) -> int:
    """How many ends of cells are still to be shown."""
    return sum(int(ends.sum()) for level in checked for ends in level.needs())
