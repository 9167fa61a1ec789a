"""The state of certifying: cells of one set of axes after the other, and what is still to be shown of them.

Objects
    level       all cells of one set of axes (or of one pair of published blocks); a row per cell
    column      an option, then every further set of options that is secret (`core.Limits`)
    N           people of a cell; `least` and `most` are the counts between which it lies inside the limits
    outer       the interval [outer_lower, outer_upper] that no possible table leaves: proved from the facts
    inner       the interval [lower, upper] spanned by the tables found so far: attained

Statement
    For every cell, outer contains the sharp interval and the sharp interval contains inner. Outer only shrinks
    (`force`), inner only grows (`show`). So a verdict that holds for every interval between the two is final:

        disclosed   the outer interval lies beyond a limit, or is no wider than the tolerance tau and beyond help
        cleared     the inner interval is wider than tau and reaches inside the limits
        open        neither yet: `needs` says whether a higher or a lower count has to be shown

Invariants
    * `show` takes what integer tables attain, each end by itself: two ends may come from two tables.
    * Nothing here decides what the limits are; they come from the target (`core/target.py`).
    * A table with fractions is never shown; `cleared_by` counts what such tables clear, for the weaker statement.

Example
    Ten people in one cell, limits of 10 and 90 %. At first both ends are wanted; a table with 3 times yes leaves the
    width to be shown, one with 5 times yes clears the cell:

    >>> from safemargin.core import Target
    >>> limits = Target(beta=0.1, kappa=1, tau=1).limits((50, 50), 100, ("yes", "no"))
    >>> level = Level(("age",), np.zeros((1, 1), dtype=np.int64), np.array([10]), 2, limits)
    >>> level.open_cells
    1
    >>> level.show(np.array([[3, 7]]), np.array([[3, 7]]))
    >>> level.open_cells
    1
    >>> level.show(np.array([[5, 5]]), np.array([[5, 5]]))
    >>> level.open_cells
    0
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from safemargin.core import BoolArray, FloatArray, Generator, IntArray, Limits, grouped, row_keys


class Level:
    """Cells of one set of axes: what public facts force from outside, what integer tables showed from inside.

    Arrays have a row per cell and a column per option, then one per further set of options that is secret (`Limits`).
    `cell_of[e]` is the cell of profile e, `first[c]` one profile of cell c. `excused` entries are public by other means
    and never open. `_needs`, `_codes` and `_open` cache what follows from the intervals: whoever changes one drops
    them.
    """

    def __init__(self, names: tuple[str, ...], codes: IntArray, people: IntArray, options: int, limits: Limits) -> None:
        self.names = names
        sizes = [int(column.max(initial=0)) + 2 for column in codes.T]
        self.first, self.cell_of = grouped(row_keys(codes + 1, sizes))
        self.codes = codes[self.first]
        self.people = self.add(people[:, None])[:, 0]
        self.limits = limits
        self.least, self.most = limits.least(self.people), limits.most(self.people)
        self.tolerance = limits.tolerance(self.people)[:, None]
        self.few = limits.few(self.people) if limits.fewest else None
        shape = (len(self.first), options + len(limits.sets))
        self.outer_lower = np.zeros(shape, dtype=np.int64)
        self.outer_upper = np.broadcast_to(self.people[:, None], shape).copy()
        self.lower, self.upper = self.outer_upper.copy() + 1, self.outer_lower.copy() - 1
        self.excused = np.zeros(shape, dtype=bool)
        self.may_contain = self.people >= limits.kappa
        self.sensitive = np.zeros(len(self.people), dtype=bool)
        self._needs: tuple[BoolArray, BoolArray] | None = None
        self._codes: IntArray | None = None
        self._open = self._ends = 0
        self._pieces: CellPieces | None = None

    def reordered(self, order: IntArray) -> "Level":
        """The same cells where profile `order[p]` is the one at place `p`."""
        other, place = copy(self), np.empty_like(order)
        place[order] = np.arange(len(order))
        other.cell_of, other.first, other._pieces = self.cell_of[order], place[self.first], None
        other.__dict__.pop("by_cell", None)
        return other

    def members(self, cell: int) -> IntArray:
        """The profiles of a cell."""
        order, start = self.by_cell
        return order[start[cell] : start[cell + 1]]

    @cached_property
    def by_cell(self) -> tuple[IntArray, IntArray]:
        """The profiles cell by cell, and where each cell starts among them."""
        order = np.argsort(self.cell_of, kind="stable")
        return order, np.searchsorted(self.cell_of[order], np.arange(len(self.first) + 1))

    def add(self, values: IntArray) -> IntArray:
        """Sums of per-profile columns by cell, exactly."""
        columns = [np.bincount(self.cell_of, column, minlength=len(self.first)) for column in values.T]
        return np.stack(columns, axis=1).astype(np.int64)

    def pieces(self, split: Callable[[IntArray, int], "CellPieces"]) -> "CellPieces":
        """Its cells in pieces, split once."""
        if self._pieces is None:
            self._pieces = split(self.cell_of, len(self.first))
        return self._pieces

    def excuse(self, members: BoolArray, options: BoolArray) -> None:
        """Omit some columns of the cell of exactly these profiles, if there is one: what it holds is public anyway."""
        cell = int(self.cell_of[members.argmax()])
        if ((self.cell_of == cell) == members).all():
            self.excused[cell] |= options
            self._needs = None

    def show(self, lower: IntArray, upper: IntArray) -> None:
        """Counts per cell and column that integer tables attain, each end by itself."""
        if (lower < self.lower).any() or (upper > self.upper).any():
            self.lower, self.upper = np.minimum(self.lower, lower), np.maximum(self.upper, upper)
            self._needs = None

    def show_some(self, rows: IntArray, lower: IntArray, upper: IntArray) -> None:
        """The same for some cells: where few of many are open, the others cost nothing.

        Counts may be given of options alone: no ends of sets follow from ends that different tables attain.
        """
        up, down = self.needs()
        if (missing := self.lower.shape[1] - lower.shape[1]) > 0:
            lower = np.concatenate([lower, self.lower[rows][:, -missing:]], axis=1)
            upper = np.concatenate([upper, self.upper[rows][:, -missing:]], axis=1)
        self._count(up[rows], down[rows], -1)
        self.lower[rows], self.upper[rows] = np.minimum(self.lower[rows], lower), np.maximum(self.upper[rows], upper)
        up[rows], down[rows] = self._find_needs(rows)
        self._count(up[rows], down[rows], 1)

    def force(self, lower: IntArray, upper: IntArray) -> None:
        """Take counts per cell and column, or per option, that no possible table leaves; ends of sets follow from them.

        The caller must have proved them for every table with these facts. An end that is too sharp would call a
        disclosed cell safe, so ends from floating point are widened before they come here (`programs.py`).
        """
        count = lower.shape[1]
        lower, upper = np.maximum(self.outer_lower[:, :count], lower), np.minimum(self.outer_upper[:, :count], upper)
        lower, upper = self.limits.extended(lower, upper, self.people)
        self.outer_lower = np.maximum(self.outer_lower, lower)
        self.outer_upper = np.minimum(self.outer_upper, upper)
        self._needs = self._codes = None

    def never_contain(self, cells: BoolArray) -> None:
        """Cells that have to stay open whatever their size."""
        self.may_contain &= ~cells
        self.sensitive |= cells
        self._needs = self._codes = None

    def _verdicts(self) -> IntArray:
        """What the outer intervals amount to; a cell that may not be contained is open or disclosed."""
        if self._codes is None:
            given = self.outer_lower, self.outer_upper, self.people, (self.least, self.most)
            self._codes = self.limits.verdicts(*given, self.sensitive)
        return self._codes

    def exposed(self) -> BoolArray:
        """Cells and options that are disclosed whatever the sharp interval within the outer one is.

        A narrow interval of a large cell is contained, not disclosed, if it lies within the limits; so a table has to
        show that it does not.
        """
        # Outer intervals contain the sharp ones: whatever is disclosed by them is disclosed for certain.
        disclosed: BoolArray = self._verdicts() == 2
        if not disclosed.any():
            return disclosed
        beyond = (self.outer_upper < self.least) | (self.outer_lower > self.most)
        strays = (self.lower < self.least) | (self.upper > self.most)
        if self.few is not None:
            beyond |= (self.outer_lower >= 1) & (self.outer_upper <= self.few)
            strays |= (self.upper >= 1) & (self.lower <= self.few) & (self.lower <= self.upper)
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
        sums = self.limits.columns(sums)
        lower, upper = sums.min(axis=0), sums.max(axis=0)
        people = self.people[cells][:, None].astype(np.float64)
        floors = people * np.array([float(share) for share in self.limits.floors])
        ceilings = people * np.array([float(share) for share in self.limits.ceilings])
        # A hundredth of a person is far above the miss that `Fit.found` allows, summed over a cell.
        wide = upper - lower > self.tolerance[cells] + 0.01
        clear = wide & (upper > floors) & (lower < ceilings) | ~(up | down)[cells]
        if self.few is not None:
            clear &= (lower <= 0) | (upper > self.few[cells]) | ~(up | down)[cells]
        return int(clear.all(axis=1).sum())

    def needs(self) -> tuple[BoolArray, BoolArray]:
        """Cells and options that still need a higher count, and those that need a lower one, to be shown possible."""
        if self._needs is None:
            self._needs = self._find_needs()
            self._open = self._ends = 0
            self._count(*self._needs, 1)
        return self._needs

    def _count(self, up: BoolArray, down: BoolArray, sign: int) -> None:
        """Add cells and ends that have a need to their numbers, or take them off: they are asked for all the time."""
        self._open += sign * int(np.count_nonzero((up | down).any(axis=1)))
        self._ends += sign * (int(np.count_nonzero(up)) + int(np.count_nonzero(down)))

    @property
    def open_cells(self) -> int:
        """How many cells have such a need."""
        self.needs()
        return self._open

    @property
    def open_ends(self) -> int:
        """How many ends of cells are still to be shown."""
        self.needs()
        return self._ends

    def _find_needs(self, rows: IntArray | slice = slice(None)) -> tuple[BoolArray, BoolArray]:
        """Which ends are wanted: beyond a limit one inside it; where the interval is narrow, one more count beside it.

        A narrow interval can be widened on the side where the outer interval still has room; if neither end is
        excluded, both sides are wanted until one is found.
        """
        most, least = self.upper[rows], self.lower[rows]
        # Inner intervals are attained by integer tables: once wide they stay wide, so clearing is final.
        narrow = (most - least <= self.tolerance[rows]) & self._states_some(least, most, rows)
        higher, lower = most < self.outer_upper[rows], least > self.outer_lower[rows]
        up = (most < self.least[rows]) | (narrow & (higher | ~lower))
        down = (least > self.most[rows]) | (narrow & (lower | ~higher))
        if self.few is not None:
            few = (least >= 1) & (most <= self.few[rows])
            up, down = up | (few & (higher | ~lower)), down | (few & (lower | ~higher))
        settled = (self._verdicts()[rows] == 0) | self.excused[rows]
        return up & ~settled, down & ~settled

    def _states_some(self, lower: IntArray, upper: IntArray, rows: IntArray | slice) -> BoolArray:
        """Where intervals say that somebody chose within a secret: if they are narrow, that discloses it.

        With a ceiling alone, a table in which nobody chose within the set shows that nobody is known to have; with a
        floor alone, one in which everybody did. With both there is no such table but among wide intervals.
        """
        limits = self.limits
        if limits.has_both_ends:
            return np.ones(lower.shape, dtype=bool)
        states = (limits.has_ceiling & (lower != 0)) | (limits.has_floor & (upper != self.people[rows][:, None]))
        if self.few is not None:
            states |= (self.few[rows] > 0) & (lower != 0)
        return np.asarray(states | self.sensitive[rows][:, None])


@dataclass(frozen=True)
class CellPieces:
    """Cells in pieces, one per class of twins that a cell has people in: its cell, its class and its people.

    Twins are profiles that no published table distinguishes. They may share out their votes in any way, so a piece is
    all that exchanges (`reach.py`) need to know of a cell. Pieces are ordered by cell, then by class.
    """

    cell: IntArray
    twins: IntArray
    people: IntArray
    cells: int

    def of(self, wanted: BoolArray) -> "CellPieces":
        """The pieces of some cells."""
        keep = wanted[self.cell]
        return CellPieces(self.cell[keep], self.twins[keep], self.people[keep], self.cells)

    def only(self, rows: IntArray) -> "CellPieces":
        """The pieces of some cells, which are numbered anew in this order (ascending)."""
        number = np.full(self.cells, -1)
        number[rows] = np.arange(len(rows))
        keep = np.flatnonzero(number[self.cell] >= 0)
        return CellPieces(number[self.cell[keep]], self.twins[keep], self.people[keep], len(rows))

    def add(self, values: IntArray) -> IntArray:
        """Sums of columns, one row per piece, by cell."""
        return np.stack([sums_by(self.cell, column, self.cells) for column in values.T], axis=1)


def sums_by(group_of: IntArray, values: IntArray, count: int) -> IntArray:
    return np.bincount(group_of, values, minlength=count).astype(np.int64)


def show(checked: Sequence[Level], listed: IntArray) -> None:
    """What a table of integers, given per profile and listed option, shows of every cell."""
    listed = checked[0].limits.columns(listed) if checked else listed
    for level in checked:
        if level.open_cells:
            sums = level.add(listed)
            level.show(sums, sums)


def open_cells(checked: Sequence[Level]) -> int:
    """How many cells are still to be cleared."""
    return sum(level.open_cells for level in checked)


def needs(checked: Sequence[Level]) -> int:
    """How many ends of cells are still to be shown."""
    return sum(level.open_ends for level in checked)


def wanted_changes(checked: Sequence[Level], generator: Generator) -> FloatArray:
    """Per profile and listed option which way the next table should differ, to clear the cells that are still open.

    +1 where more people should choose the option, -1 where fewer should, 0 where nothing is wanted. If a cell needs
    both ends, the side is drawn, so that repeated calls ask for either. The first level that wants something of a
    profile decides: adding up the wishes of all levels could cancel them.
    """
    limits = checked[0].limits
    want = np.zeros((len(checked[0].cell_of), checked[0].lower.shape[1]))
    turns = np.where(np.arange(want.shape[1]) % 2 == 0, 1.0, -1.0)
    for level in checked:
        if level.open_cells:
            up, down = level.needs()
            either = generator.choice([-1.0, 1.0], size=len(up))[:, None] * turns
            sign = up.astype(np.float64) - down.astype(np.float64) + (up & down) * either
            # Levels ask for different things of one profile: the first level that wants something decides
            rows = np.flatnonzero(np.asarray((up | down).any(axis=1))[level.cell_of])
            want[rows] = np.where(want[rows] == 0, sign[level.cell_of[rows]], want[rows])  # sums could cancel
    if limits.sets:  # what is wanted of a set is wanted of its options, where nothing else is
        own, of_sets = want[:, : limits.options], want[:, limits.options :] @ limits.members.T
        return np.asarray(np.where(own == 0, of_sets, own))
    return want


def with_rest(want: FloatArray, reference: bool) -> FloatArray:
    """What is wanted per column of a table: the listed options, and nothing of what is left over."""
    return want if reference else np.column_stack([want, np.zeros(len(want))])


def coefficients_of_variables(want: FloatArray, reference: bool) -> FloatArray:
    """Coefficients of listed options as those of the variables: an option that is the rest is N less the others."""
    return np.asarray((want[:, :-1] - want[:, -1:] if reference else want).ravel())
