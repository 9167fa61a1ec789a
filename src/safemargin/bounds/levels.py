"""The cells that a certificate looks at: joint ones, and those of every smaller set of axes."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from safemargin.bounds.reach import Parts, Reach
from safemargin.bounds.rounding import Rounder
from safemargin.bounds.system import System
from safemargin.core import BoolArray, FloatArray, IntArray, Limits, distinct, grouped, label, row_keys

MOST_CELLS_TO_SUM = 400_000


class Level:
    """Cells of one set of axes: what public facts force from outside, what integer tables showed from inside."""

    def __init__(self, known: System, names: tuple[str, ...], codes: IntArray, limits: Limits) -> None:
        assert known.people is not None
        self.known, self.names = known, names
        sizes = [int(column.max(initial=0)) + 2 for column in codes.T]
        self.first, self.cell_of = grouped(row_keys(codes + 1, sizes))
        self.codes = codes[self.first]
        self.people = self.add(known.people[:, None])[:, 0]
        self.limits = limits
        self.least, self.most = limits.least(self.people), limits.most(self.people)
        self.tolerance = limits.tolerance(self.people)[:, None]
        shape = (len(self.first), len(known.options))
        self.outer_lower = np.zeros(shape, dtype=np.int64)
        self.outer_upper = np.broadcast_to(self.people[:, None], shape).copy()
        self.lower, self.upper = self.outer_upper.copy() + 1, self.outer_lower.copy() - 1
        self.excused = np.zeros(shape, dtype=bool)
        self._needs: tuple[BoolArray, BoolArray] | None = None
        self._contained: BoolArray | None = None
        self._open = 0
        self._pieces: Parts | None = None

    def add(self, values: IntArray) -> IntArray:
        """Sums of per-profile columns by cell, exactly."""
        columns = [np.bincount(self.cell_of, column, minlength=len(self.first)) for column in values.T]
        return np.stack(columns, axis=1).astype(np.int64)

    def pieces(self, reach: Reach) -> Parts:
        """Its cells in pieces."""
        if self._pieces is None:
            self._pieces = reach.parts(self.cell_of, len(self.first))
        return self._pieces

    def excuse(self, members: BoolArray, options: BoolArray) -> None:
        """Leave out the cell of exactly these profiles, if there is one: what it holds is public anyway."""
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

    def exposed(self) -> BoolArray:
        """Cells and options that are given away whatever the sharp interval within the outer one is.

        A narrow interval of a large cell is contained, not disclosed, if it lies within the limits; so a table has to
        show that it does not.
        """
        disclosed = self.limits.verdicts(self.outer_lower, self.outer_upper, self.people) == 2
        beyond = (self.outer_upper < self.least) | (self.outer_lower > self.most)
        strays = (self.lower < self.least) | (self.upper > self.most)
        found: BoolArray = ~self.excused & disclosed & (beyond | strays | (self.people < self.limits.kappa)[:, None])
        return found

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
            self._contained = self.limits.verdicts(self.outer_lower, self.outer_upper, self.people) == 0
        narrow = self.upper - self.lower <= self.tolerance
        higher, lower = self.upper < self.outer_upper, self.lower > self.outer_lower
        up = (self.upper < self.least) | (narrow & (higher | ~lower))
        down = (self.lower > self.most) | (narrow & (lower | ~higher))
        settled = self._contained | self.excused
        return up & ~settled, down & ~settled

    def labels(self, cell: int) -> dict[str, str]:
        """The cell in words: every category of the axis that its profiles have, where that is not all of them."""
        members = self.known.codes[self.cell_of == cell]
        found = {}
        for name in self.names:
            at = self.known.axes.index(name)
            categories = self.known.categories[at]
            found[name] = label(frozenset(categories[c] for c in np.unique(members[:, at])), categories)
        return found


def levels(known: System, rounder: Rounder, limits: Limits) -> list[Level]:
    """The joint cells first, then pairs of axes and larger sets while there is room, then pairs of merged slices."""
    count = len(known.axes)
    plain = _plain_axes(known)  # pairs of these come with the slices below
    found = [Level(known, known.axes, known.codes, limits)]
    summed = 0
    for order in range(2, count):
        chosen = list(combinations(range(count), order))
        if order > 2 and summed + len(chosen) * len(known.codes) > MOST_CELLS_TO_SUM:
            break
        for columns in chosen:
            names = tuple(known.axes[c] for c in columns)
            if order > 2 or not rounder.possible or not plain.issuperset(names):
                found.append(Level(known, names, known.codes[:, list(columns)], limits))
        summed += len(chosen) * len(known.codes)
    if count > 1:
        found += [_categories(known, rounder, limits, axis) for axis in known.axes if axis not in plain]
    found += _single_slices(known, rounder, limits) + _slice_pairs(known, rounder, limits)
    crossed = any(len(known.axes_of(block)) > 1 for block in range(len(known.blocks)))
    if rounder.possible and (crossed or not (known.blocks >= 0).all(axis=1).any()):
        for level in found[1:]:
            _enclose(level, rounder)
    return found


def _enclose(level: Level, rounder: Rounder) -> None:
    """What single slices leave of a cell, where no table is about everybody: slices inside it, and slices around it."""
    known = level.known
    assert known.people is not None
    count, size, cells = len(known.options), known.slices @ known.people, len(level.first)
    for block in known.blocks:
        inside = block >= 0
        slices = distinct(block[inside])
        least_cell = np.full(len(size), cells, dtype=np.int64)
        most_cell = np.full(len(size), -1, dtype=np.int64)
        np.minimum.at(least_cell, block[inside], level.cell_of[inside])
        np.maximum.at(most_cell, block[inside], level.cell_of[inside])
        whole = slices[least_cell[slices] == most_cell[slices]]  # slices that lie in one cell
        lower = np.zeros((cells, count), dtype=np.int64)
        upper = np.broadcast_to(level.people[:, None], lower.shape).copy()
        np.add.at(lower, least_cell[whole], rounder.least[whole][:, :count])
        np.add.at(upper, least_cell[whole], rounder.most[whole][:, :count] - size[whole][:, None])
        around = block[level.first]
        apart = np.bincount(level.cell_of, block != around[level.cell_of], minlength=cells)
        within = ((apart == 0) & (around >= 0))[:, None]  # cells that lie in one slice
        others = (size[around] - level.people)[:, None]
        level.force(
            np.maximum(lower, np.where(within, rounder.least[around][:, :count] - others, 0)),
            np.minimum(upper, np.where(within, rounder.most[around][:, :count], upper)),
        )


def _categories(known: System, rounder: Rounder, limits: Limits, axis: str) -> Level:
    """The categories of an axis that is merged somewhere, with what the slices they lie in leave of them."""
    assert known.people is not None
    level = Level(known, (axis,), known.codes[:, [known.axes.index(axis)]], limits)
    count, size = len(known.options), known.slices @ known.people
    for block in known.blocks if rounder.possible else []:
        inside = block[level.first]
        apart = np.bincount(level.cell_of, block != inside[level.cell_of], minlength=len(inside))
        within = ((apart == 0) & (inside >= 0))[:, None]
        others = (size[inside] - level.people)[:, None]
        level.force(
            np.where(within, rounder.least[inside][:, :count] - others, 0),
            np.where(within, rounder.most[inside][:, :count], level.people[:, None]),
        )
    return level


def _single_slices(known: System, rounder: Rounder, limits: Limits) -> list[Level]:
    """The published slices themselves, with the range that was published; everybody, where nothing else is."""
    found = []
    count = len(known.options)
    axes_of = [known.axes_of(block) for block in range(len(known.blocks))]
    for block, axes in zip(known.blocks, axes_of, strict=True) if rounder.possible else []:
        if not axes and (any(axes_of) or len(distinct(block)) > 1):
            continue
        level = Level(known, axes, block[:, None], limits)
        listed = (level.codes[:, 0] >= 0)[:, None]
        code = level.codes[:, 0]
        level.force(
            np.where(listed, rounder.least[code][:, :count], 0),
            np.where(listed, rounder.most[code][:, :count], level.people[:, None]),
        )
        found.append(level)
    return found


def _plain_axes(known: System) -> set[str]:
    """Axes of which one table states every category by itself."""
    found = set()
    for place, block in enumerate(known.blocks):
        axes = known.axes_of(place)
        if len(axes) == 1 and (block >= 0).all():
            column = known.codes[:, known.axes.index(axes[0])]
            if len(distinct(block)) == len(distinct(column)):
                found.add(axes[0])
    return found


def _slice_pairs(known: System, rounder: Rounder, limits: Limits) -> list[Level]:
    """Two blocks at a time: cells of published slices, with the sharp interval of the 2 x 2 table each stands in."""
    if not rounder.possible:
        return []
    axes_of = [known.axes_of(block) for block in range(len(known.blocks))]
    total = _totals(known, rounder)
    found = []
    for i, j in combinations(range(len(known.blocks)), 2):
        if not axes_of[i] or not axes_of[j] or set(axes_of[i]) & set(axes_of[j]):
            continue
        codes = np.stack([known.blocks[i], known.blocks[j]], axis=1)
        level = Level(known, (*axes_of[i], *axes_of[j]), codes, limits)
        _force_pairs(level, rounder, total)
        found.append(level)
    return found


def _totals(known: System, rounder: Rounder) -> tuple[IntArray, IntArray]:
    assert known.people is not None
    count = len(known.options)
    least = np.zeros(count, dtype=np.int64)
    most = np.full(count, int(known.people.sum()), dtype=np.int64)
    for block in known.blocks:
        if (block >= 0).all():
            mine = distinct(block)
            least = np.maximum(least, rounder.least[mine][:, :count].sum(axis=0))
            most = np.minimum(most, rounder.most[mine][:, :count].sum(axis=0))
    return least, most


def _force_pairs(level: Level, rounder: Rounder, total: tuple[IntArray, IntArray]) -> None:
    """Lemma 1 of the paper with the roll's caps on all four cells: sharp for each 2 x 2 table by itself."""
    known = level.known
    assert known.people is not None
    count, everybody = len(known.options), int(known.people.sum())
    size = known.slices @ known.people
    both = level.people[:, None]
    ends = []
    for at in (0, 1):
        code = level.codes[:, at]
        inside = np.where(code >= 0, size[code], everybody - size[np.unique(level.codes[:, at][code >= 0])].sum())
        least = np.where((code >= 0)[:, None], rounder.least[code][:, :count], 0)
        most = np.where((code >= 0)[:, None], rounder.most[code][:, :count], inside[:, None])
        ends.append((inside[:, None], least, most))
    (size_a, least_a, most_a), (size_b, least_b, most_b) = ends
    neither = everybody - size_a - size_b + both
    lower = np.maximum.reduce(
        [least_a - (size_a - both), least_b - (size_b - both), least_a + least_b - total[1], np.zeros_like(least_a)]
    )
    upper = np.minimum.reduce(
        [most_a, most_b, neither - total[0] + most_a + most_b, np.broadcast_to(both, most_a.shape)]
    )
    level.force(lower, upper)


def show(checked: Sequence[Level], known: System, counts: IntArray) -> None:
    """What a table of whole people shows of every cell."""
    listed = known.listed(counts)
    for level in checked:
        if level.open_cells:
            sums = level.add(listed)
            level.show(sums, sums)


def open_cells(checked: Sequence[Level]) -> int:
    """How many cells are still to be cleared."""
    return sum(level.open_cells for level in checked)


def needs(checked: Sequence[Level]) -> int:
    """How many ends of cells are still to be shown."""
    return sum(int(each.sum()) for level in checked for each in level.needs())
