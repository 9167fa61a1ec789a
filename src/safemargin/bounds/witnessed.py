"""Which counts a set of witness tables shows within the limits.

Objects
    tables      integer tables, one count per profile and option, that agree with everything published
    secret      options (columns) whose sum in a cell is protected, with its ceiling
    a, b        least and most of a secret in a cell, over all tables

Statement (docs/certificate.md, section 5). With t = min(tau, N // 4) and m the largest count below the ceiling, a cell
of N people is shown if a <= m and one of these holds: b - a > t; a = 0 and the cell is not sensitive; N >= kappa, the
cell is not sensitive and a + t <= m. A cell of kappa people that is printed with a count of at most m is shown by what
is printed. What the total and the roll alone disclose does not count.

The rule is the one of the checker, which adds up what is carried. `further_tables.py` finds more tables.

Invariants
    * Taking a table only ever shows more: `least` falls, `most` rises, and what is shown stays shown.
    * Ceilings are compared in integers: `limit` is floor(N * ceiling) by fractions, never a rounded product.
    * What is `settled` is settled before any table: it depends on rolls, totals and printed counts alone.

Example
    One cell of 20 people, tau 2, ceiling 18 of 20. A table with 19 shows nothing; another with 10 shows the count, for
    10 is within and 19 - 10 is wider than 2.

    >>> number, one = (lambda n: np.array([[n]])), np.zeros((1, 1), dtype=bool)
    >>> cell = Cells(
    ...     np.zeros(2, dtype=np.int64), np.array([20]), one, np.array([False]), number(18), number(2**60),
    ...     number(-(2**60)), np.array([True]), np.array([2]), one,
    ... )
    >>> cell.take(np.array([[9], [10]]))  # two profiles
    >>> bool(cell.missing(0)[0])
    True
    >>> cell.take(np.array([[5], [5]]))
    >>> bool(cell.missing(0)[0]), int(cell.least[0, 0]), int(cell.most[0, 0])
    (False, 10, 19)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from safemargin.bounds.system import EVERY, System
from safemargin.core import (
    BoolArray,
    FloatArray,
    Generator,
    IntArray,
    PublishedTable,
    Target,
    grouped,
    row_keys,
)

Secret = tuple[tuple[int, ...], Fraction, Fraction]
"""Options, overall share, ceiling."""


@dataclass(eq=False)
class Cells:
    """The cells of one set of axes, or of published groups: the cell of every profile, and what is shown of them."""

    cell_of: IntArray
    people: IntArray
    printed: BoolArray
    """Per cell and secret, whether a table prints it within the limits."""
    sensitive: BoolArray
    limit: IntArray
    """Per cell and secret, the largest count below the ceiling."""
    least: IntArray
    most: IntArray
    large: BoolArray
    """Per cell, whether it has `kappa` people and is not sensitive."""
    near: IntArray
    """Per cell, how narrow an interval discloses."""
    settled: BoolArray
    """Per cell and secret, what no table has to show."""
    left: int = -1
    """How many counts were missing when they were counted last. What is shown stays shown, so 0 is for good."""

    def sums(self, columns: IntArray) -> IntArray:
        """Sums by cell of a number per profile and secret."""
        added = [np.bincount(self.cell_of, column, minlength=len(self.people)) for column in columns.T]
        return np.stack(added, axis=1).astype(np.int64)

    def take(self, columns: IntArray) -> None:
        """What one more table shows, given as the number per profile and secret."""
        if not self.left:
            return
        values = self.sums(columns)
        np.minimum(self.least, values, out=self.least)
        np.maximum(self.most, values, out=self.most)

    def missing(self, cell: int | slice = slice(None)) -> BoolArray:
        """Per secret, and per cell if it is a slice, what is not shown: what the statement above denies."""
        least, most, limit = self.least[cell], self.most[cell], self.limit[cell]
        large, near, sensitive = self.large[cell], self.near[cell], self.sensitive[cell]
        if isinstance(cell, slice):
            large, near, sensitive = large[:, None], near[:, None], sensitive[:, None]
        shown = (least <= limit) & (
            (most - least > near) | ((least == 0) & ~sensitive) | (large & (least + near <= limit))
        )
        missing: BoolArray = ~(shown | self.settled[cell])
        return missing


class WitnessCoverage:
    """All cells that a certificate is about, and what the tables taken so far show of them.

    `sets` are the sets of axes that are certified, `tables` what is published, `secrets` what must not be inferred.
    Cells are kept per set (`cells`); a table that is taken can only show more of them.
    """

    def __init__(
        self,
        system: System,
        tables: Sequence[PublishedTable],
        sets: Sequence[Sequence[str]],
        secrets: Sequence[Secret],
        target: Target,
    ) -> None:
        assert system.people is not None
        self.system, self.target, self.secrets = system, target, secrets
        self.everybody = int(system.people.sum())
        self.over = np.array([ceiling.numerator for _, _, ceiling in secrets], dtype=object)
        self.under = np.array([ceiling.denominator for _, _, ceiling in secrets], dtype=object)
        self.settled = np.array([share in (0, 1) for _, share, _ in secrets])
        self.totals = np.array([int(share * self.everybody) for _, share, _ in secrets], dtype=np.int64)
        self.published = [(table, self._groups(table)) for table in tables if table.axes]
        self.cells = [self._cells(key, sensitive) for key, sensitive in self._keys(sets)]

    def _groups(self, table: PublishedTable) -> IntArray:
        """The cell of every profile in a published table."""
        codes = []
        for axis, groups in zip(table.axes, table.groups, strict=True):
            of = {name: number for number, group in enumerate(groups) for name in group}
            column = self.system.axes.index(axis)
            lookup = np.array([of.get(name, len(groups)) for name in self.system.categories[column]], dtype=np.int64)
            codes.append(lookup[self.system.codes[:, column]])
        stacked = np.stack(codes, axis=1)
        return row_keys(stacked, [int(column.max(initial=0)) + 1 for column in stacked.T])

    def _keys(self, sets: Sequence[Sequence[str]]) -> Iterator[tuple[IntArray, tuple[str, ...]]]:
        """The cells to look at, as one key per profile: profiles, sets of axes, published groups, and crossings of two
        tables.

        The single axis of a set comes with it, as categories of a sensitive axis are never contained.
        """
        codes, sizes = self.system.codes, [len(names) for names in self.system.categories]
        yield row_keys(codes, sizes), ()
        for axes in sets:
            if len(axes) == len(sizes) > 1:
                continue  # the profiles, which come first
            columns = [self.system.axes.index(axis) for axis in axes]
            yield row_keys(codes[:, columns], [sizes[c] for c in columns]), tuple(axes) if len(axes) == 1 else ()
        for _, key in self.published:
            yield key, ()
        for (one, first), (other, second) in combinations(self.published, 2):
            if not set(one.axes) & set(other.axes):
                both = np.stack([first, second], axis=1)
                yield row_keys(both, [int(first.max()) + 1, int(second.max()) + 1]), ()

    def _cells(self, key: IntArray, single: tuple[str, ...]) -> Cells:
        """Cells by their keys, with the limits, and with what is settled before any table."""
        assert self.system.people is not None
        first, cell_of = grouped(key)
        people = np.bincount(cell_of, self.system.people, minlength=len(first)).astype(np.int64)
        sensitive = np.zeros(len(first), dtype=bool)
        if single:
            column = self.system.axes.index(single[0])
            names = [self.system.categories[column][code] for code in self.system.codes[first, column].tolist()]
            sensitive = np.array([(single[0], name) in self.target.sensitive for name in names])
        shape = len(first), len(self.secrets)
        huge = np.iinfo(np.int64).max // 4
        cells = Cells(
            cell_of,
            people,
            np.zeros(shape, dtype=bool),
            sensitive,
            self._most(people),
            np.full(shape, huge),
            np.full(shape, -huge),
            (people >= self.target.kappa) & ~sensitive,
            np.minimum(self.target.tau, people // 4),
            np.zeros(shape, dtype=bool),
        )
        for table, groups in self.published:
            self._mark_printed(cells, first, table, groups)
        cells.settled = self._settled_in(cells)
        return cells

    def _settled_in(self, cells: Cells) -> BoolArray:
        """What needs no table: printed within the limits, without a limit, or known by the total and the roll alone.

        The last is no fault of the release: if the smallest and the largest count that the total leaves to the cell
        already miss the limits or lie within tau, no witness could show otherwise.
        """
        people, large, never = cells.people[:, None], cells.large[:, None], cells.sensitive[:, None]
        first = np.maximum(self.totals - (self.everybody - people), 0)
        last = np.minimum(self.totals, people)
        narrow = (last - first <= cells.near[:, None]) & ((first >= 1) | never)
        before = ~(large & (last <= cells.limit)) & ((first > cells.limit) | narrow)
        settled: BoolArray = before | (large & cells.printed) | self.settled
        return settled

    def _mark_printed(self, cells: Cells, first: IntArray, table: PublishedTable, groups: IntArray) -> None:
        """Mark the cells that are just the people of one cell that a table prints within the limits.

        Same people, not same labels: a cell of two axes that holds everybody of a published group is printed with it.
        """
        assert self.system.people is not None
        apart = np.bincount(cells.cell_of, groups != groups[first][cells.cell_of], minlength=len(first)) > 0
        own, group_of = grouped(groups)
        sizes = np.bincount(group_of, self.system.people, minlength=len(own)).astype(np.int64)
        same = ~apart & (sizes[group_of[first]] == cells.people)
        if not same.any():
            return
        counts: dict[tuple[tuple[int, ...], int], int] = {}
        for row, status in enumerate(table.status):
            if status in ("exact", "merged"):
                counts[tuple(table.codes[row].tolist()), int(table.option[row])] = int(table.lower[row])
        of = [{name: n for n, group in enumerate(groups) for name in group} for groups in table.groups]
        columns = [self.system.axes.index(axis) for axis in table.axes]
        most = cells.limit
        for cell in np.flatnonzero(same).tolist():
            names = [self.system.categories[c][self.system.codes[first[cell], c]] for c in columns]
            codes = tuple(each.get(name, -1) for each, name in zip(of, names, strict=True))
            for number, (options, _, _) in enumerate(self.secrets):
                found = [counts.get((codes, option)) for option in options]
                if None not in found and sum(n for n in found if n is not None) <= most[cell, number]:
                    cells.printed[cell, number] = True

    def _most(self, people: IntArray) -> IntArray:
        """The largest count below the ceiling of every secret, in integers: floor(people * ceiling)."""
        most: IntArray = ((people.astype(object)[:, None] * self.over) // self.under).astype(np.int64)
        return most

    def columns(self, counts: IntArray, profiles: IntArray | slice = EVERY) -> IntArray:
        """How many people of every profile, or of some, chose within each secret."""
        listed = self.system.listed(counts, profiles)
        return np.stack([listed[:, list(options)].sum(axis=1) for options, _, _ in self.secrets], axis=1)

    def take(self, counts: IntArray) -> None:
        """Count one more table."""
        columns = self.columns(counts)
        for cells in self.cells:
            cells.take(columns)

    def take_if_useful(self, counts: IntArray) -> bool:
        """Count one more table if fewer counts are missing with it; else nothing changes, as it will not be carried."""
        before, open_cells = self.count_missing(), [cells for cells in self.cells if cells.left]
        ends = [(cells.least.copy(), cells.most.copy(), cells.left) for cells in open_cells]
        self.take(counts)
        if self.count_missing() < before:
            return True
        for cells, (least, most, left) in zip(open_cells, ends, strict=True):
            cells.least, cells.most, cells.left = least, most, left
        return False

    def take_beside(self, base: Sequence[IntArray], start: IntArray, counts: IntArray) -> None:
        """Count a table that differs in few profiles from `start`; `base` has the sums of that one.

        The same as `take`, at the cost of the profiles that differ.
        """
        profiles = np.flatnonzero((counts != start).reshape(-1, self.system.n_free_options).any(axis=1))
        step = self.columns(counts, profiles) - self.columns(start, profiles)
        for cells, sums in zip(self.cells, base, strict=True):
            if not cells.left:
                continue
            rows, place = np.unique(cells.cell_of[profiles], return_inverse=True)
            values = sums[rows].copy()
            np.add.at(values, place, step)
            cells.least[rows] = np.minimum(cells.least[rows], values)
            cells.most[rows] = np.maximum(cells.most[rows], values)

    def missing_one(self, cells: Cells, cell: int, number: int) -> bool:
        """Whether one count is not shown yet."""
        return bool(cells.missing(cell)[number])

    def count_missing(self) -> int:
        """How many counts are not shown."""
        for cells in self.cells:
            if cells.left:
                cells.left = int(cells.missing().sum())
        return sum(cells.left for cells in self.cells)

    def functional(self, members: BoolArray, number: int) -> FloatArray:
        """The count of one secret in one cell, as a function of the variables and up to a constant.

        Where the last option is what the others leave, a secret that holds it counts the others downwards.
        """
        options, free = self.secrets[number][0], self.system.n_free_options
        weights = np.array([float(option in options) for option in range(len(self.system.options))])
        if self.system.reference:  # the last option is what the others leave
            weights = weights[:-1] - weights[-1]
        return np.where(np.repeat(members, free), np.tile(weights[:free], len(members)), 0.0)

    def wanted(self, generator: Generator) -> FloatArray:
        """Per profile and option which way the next table should go, to show some of what is missing.

        +1 and -1 on the options inside and outside a secret that is missing in a cell of the profile, 0 where nothing
        is. A count that lies above its ceiling in all tables goes down; others go either way, drawn. Cells that come
        first in a random order decide for profiles that several missing cells share.
        """
        want = np.zeros((len(self.system.codes), len(self.system.options)))
        inside = np.array([[o in options for o in range(want.shape[1])] for options, _, _ in self.secrets])
        for place in generator.permutation(len(self.cells)).tolist():
            cells = self.cells[place]
            missing = cells.missing()
            rows = np.flatnonzero(missing.any(axis=1))
            if not len(rows):
                continue
            # One of the secrets that are missing in a cell, drawn; those that are above their ceiling go down.
            chosen = np.argmax(missing[rows] * generator.random((len(rows), len(self.secrets))), axis=1)
            down = (cells.least > cells.limit)[rows, chosen]
            way = np.where(down | (generator.random(len(rows)) < 0.5), -1.0, 1.0)
            sign = np.zeros((len(cells.people), want.shape[1]))
            sign[rows] = np.where(inside[chosen], way[:, None], -way[:, None])
            own = sign[cells.cell_of]
            want = np.where(want == 0, own, want)
        return want
