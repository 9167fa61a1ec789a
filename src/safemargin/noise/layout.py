"""Noisy tables as an onlooker lays them out: cells by axes, and every sum of finer cells beside them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from safemargin.core import BoolArray, Group, InputError, IntArray, PublishedTable, grouped, label, row_keys

OPTION = "option"
WIDE = "\0"
"""Before the names of categories that come from a wider axis; no file can hold it."""

ENOUGH = 10
"""Counts beside their parts that are needed to infer anything about the noise."""

LARGE = 10
"""Counts from here on have noise that does not depend on them, and are surely of several people."""


@dataclass(frozen=True)
class Recovered:
    """A true count that an attack arrives at, and how sure it is of it."""

    attack: str
    cell: tuple[tuple[str, str], ...]
    value: int
    confidence: float
    printed: int | None = None

    @property
    def labels(self) -> dict[str, str]:
        """The cell by axis."""
        return dict(self.cell)


@dataclass(frozen=True)
class LayoutBlock:
    """One table: axes in alphabetical order, a row of codes per cell, what is printed, and which rows are noisy."""

    name: str
    axes: tuple[str, ...]
    codes: IntArray
    values: IntArray
    noised: IntArray

    def listed(self, axis: str) -> tuple[int, ...]:
        """The categories of an axis that the table has; no two of them share people."""
        return tuple(np.unique(self.codes[:, self.axes.index(axis)]).tolist())


@dataclass(frozen=True)
class Sums:
    """Cells and their parts in a finer table: keys, codes, sums, how many noisy counts are in them, the least one."""

    keys: IntArray
    codes: IntArray
    values: IntArray
    noisy: IntArray
    least: IntArray


@dataclass(frozen=True)
class CellParts:
    """Rows of a table, the wider cell that each is a part of, and per axis the wider categories that it adds up to."""

    rows: IntArray
    cells: IntArray
    complete: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Layout:
    """All tables with one list of categories per axis, and what each of these merges."""

    categories: dict[str, tuple[str, ...]]
    members: dict[str, tuple[Group, ...]]
    blocks: tuple[LayoutBlock, ...]
    within: Mapping[str, str] = field(default_factory=dict)
    """Wider axes, such as regions, whose categories are groups of those of a finer one."""

    def everybody(self, axis: str) -> Group:
        """All categories of an axis that any table has, alone or merged."""
        return frozenset().union(*self.members[axis])

    def is_flat(self, axes: Iterable[str]) -> bool:
        """Whether no two categories of any of these axes share people."""
        return all(sum(map(len, self.members[axis])) == len(self.everybody(axis)) for axis in axes)

    def sizes(self, axes: Sequence[str]) -> list[int]:
        """How many categories each axis has."""
        return [len(self.categories[axis]) for axis in axes]

    def cell(self, axes: Sequence[str], codes: Sequence[int]) -> tuple[tuple[str, str], ...]:
        """A cell by its labels; a category of a wider axis by the name of that axis."""
        labels = [(axis, self.categories[axis][code]) for axis, code in zip(axes, codes, strict=True)]
        wide = {fine: name for name, fine in self.within.items()}
        return tuple(
            sorted(
                (wide[axis], text.removeprefix(WIDE)) if text.startswith(WIDE) else (axis, text)
                for axis, text in labels
            )
        )

    def parts(self, block: LayoutBlock, axes: Sequence[str], wanted: Sequence[Sequence[int]]) -> CellParts | None:
        """What the rows of a table add up to: cells over `axes` with the `wanted` categories of each.

        None if the table does not have everybody on an axis that is summed over. A wider category counts only if the
        table has all of it: a category that a table does not list is not known to be empty.
        """
        for axis in set(block.axes) - set(axes):
            if sum(len(self.members[axis][code]) for code in block.listed(axis)) < len(self.everybody(axis)):
                return None
        rows, complete = np.arange(len(block.codes)), []
        columns: list[IntArray] = []
        for axis, targets in zip(axes, wanted, strict=True):
            narrow, wide = self._contained(axis, block.listed(axis), targets)
            complete.append(tuple(np.unique(wide).tolist()))
            own = block.codes[rows, block.axes.index(axis)]
            # Categories that are wanted may be nested, so that a row is a part of several cells.
            first, often = np.searchsorted(narrow, own), np.searchsorted(narrow, own, side="right")
            often = often - first
            kept = np.repeat(np.arange(len(rows)), often)
            match = np.arange(len(kept)) - np.repeat(np.cumsum(often) - often, often) + np.repeat(first, often)
            rows, columns = rows[kept], [*(column[kept] for column in columns), wide[match]]
        cells = np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), dtype=np.int64)
        return CellParts(rows, cells, tuple(complete))

    def _contained(self, axis: str, listed: Sequence[int], targets: Sequence[int]) -> tuple[IntArray, IntArray]:
        """Listed categories and the targets that they are parts of, sorted by the former."""
        members = self.members[axis]
        owner = {name: code for code in listed for name in members[code]}
        pairs = []
        for target in targets:
            parts = {owner.get(name, -1) for name in members[target]}
            if -1 not in parts and sum(len(members[part]) for part in parts) == len(members[target]):
                pairs += [(part, target) for part in parts]
        sorted_pairs = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
        return sorted_pairs[:, 0], sorted_pairs[:, 1]

    def summed(self, block: LayoutBlock, axes: Sequence[str], wanted: Sequence[Sequence[int]]) -> Sums | None:
        """The wanted cells over `axes` as sums of the counts of a table."""
        parts = self.parts(block, axes, wanted)
        if parts is None or not len(parts.rows):
            return None
        keys = row_keys(parts.cells, self.sizes(axes))
        first, cell = grouped(keys)
        values, noisy = np.zeros(len(first), dtype=np.int64), np.zeros(len(first), dtype=np.int64)
        np.add.at(values, cell, block.values[parts.rows])
        np.add.at(noisy, cell, block.noised[parts.rows])
        least = np.full(len(first), np.iinfo(np.int64).max)
        np.minimum.at(least, cell, block.values[parts.rows])
        return Sums(keys[first], parts.cells[first], values, noisy, least)

    def above(self, axes: Sequence[str]) -> tuple[LayoutBlock, ...]:
        """Tables that are at least as fine; one printed twice with the same noise is one."""
        blocks: list[LayoutBlock] = []
        for block in self.blocks:
            if set(axes) <= set(block.axes) and not any(_same(block, other) for other in blocks):
                blocks.append(block)
        return tuple(blocks)


def _same(block: LayoutBlock, other: LayoutBlock) -> bool:
    return (
        block.axes == other.axes
        and np.array_equal(block.codes, other.codes)
        and np.array_equal(block.values, other.values)
    )


def lay_out(tables: Sequence[PublishedTable]) -> Layout:
    """The tables that have counts; options are an axis like others. Rows are sorted by cell.

    A table with nested categories on an axis is several tables, one per level, none of which counts anybody twice.
    Where tables say which region each district lies in, regions are groups of districts.
    """
    tables, within = _nested_axes(tables)
    names: dict[str, dict[str, int]] = {}
    members: dict[str, dict[int, Group]] = {}
    blocks: list[LayoutBlock] = []
    for table in tables:
        if not _has_counts(table):
            continue
        columns: dict[str, IntArray] = {}
        listed = [
            (axis, [(_name(group, axis, within), group) for group in groups], codes)
            for axis, groups, codes in _columns(table)
        ]
        if table.options:
            listed.append((OPTION, [(name, frozenset([name])) for name in table.options], table.option))
        for axis, labels, codes in listed:
            known = names.setdefault(axis, {})
            own = [known.setdefault(name, len(known)) for name, _ in labels]
            members.setdefault(axis, {}).update(zip(own, (group for _, group in labels), strict=True))
            columns[axis] = np.array(own, dtype=np.int64)[codes]
        axes = tuple(sorted(columns))
        codes = np.stack([columns[axis] for axis in axes], axis=1) if axes else np.zeros((len(table.lower), 0), int)
        noised = np.array([status == "noised" for status in table.status]).astype(np.int64)
        # A noised row has no certain interval; what it prints is kept beside it.
        values = table.lower if table.noisy is None else np.where(noised == 1, table.noisy, table.lower)
        levels = [_levels(members[axis], codes[:, a]) for a, axis in enumerate(axes)]
        depth = np.stack(levels, axis=1) if levels else np.zeros((len(codes), 0), dtype=np.int64)
        for level in np.unique(depth, axis=0) if depth.any() else depth[:1]:  # mostly nothing is nested
            rows = np.flatnonzero((depth == level).all(axis=1))
            # Rows in the order of their cells, so that two tables can be compared as arrays.
            rows = rows[np.lexsort(codes[rows].T[::-1])] if axes else rows
            blocks.append(LayoutBlock(table.name, axes, codes[rows], np.asarray(values)[rows], noised[rows]))
    if not any(block.noised.any() for block in blocks):
        raise InputError("no table has noisy counts: their rows have the status 'noised' and print integers")
    return Layout(
        {axis: tuple(known) for axis, known in names.items()},
        {axis: tuple(groups[code] for code in range(len(groups))) for axis, groups in members.items()},
        tuple(blocks),
        {wide: fine for wide, (fine, _) in within.items()},
    )


Within = Mapping[str, tuple[str, Mapping[Group, str]]]
"""Per wider axis: the finer one, and the name of every group of its categories."""


def _nested_axes(tables: Sequence[PublishedTable]) -> tuple[Sequence[PublishedTable], Within]:
    """Tables in which a wider axis is dropped beside a finer one that lies in it, and else replaced by its groups."""
    within: dict[str, tuple[str, dict[Group, str]]] = {}
    pairs = sorted({(wide, fine) for table in tables for wide in table.axes for fine in table.axes if wide != fine})
    for wide, fine in pairs:
        both = [table for table in tables if {wide, fine} <= set(table.axes)]
        if not all(_lies_in(table, wide, fine) for table in both):
            continue
        parent: dict[str, set[str]] = {}
        for table in both:
            a, b = table.axes.index(wide), table.axes.index(fine)
            for row in np.unique(table.codes[:, [a, b]], axis=0).tolist():
                parent.setdefault(label(table.groups[b][row[1]]), set()).add(label(table.groups[a][row[0]]))
        regions = {name for names in parent.values() for name in names}
        # The finer axis never stands alone, lies in one wider category each, and several lie in one.
        alone = any(fine in table.axes and wide not in table.axes for table in tables)
        if alone or fine in within or any(len(names) > 1 for names in parent.values()) or len(regions) == len(parent):
            continue
        groups: dict[str, set[str]] = {}
        for name, (region,) in ((name, tuple(names)) for name, names in parent.items()):
            groups.setdefault(region, set()).add(name)
        if wide in within or any(f == fine for f, _ in within.values()):
            continue  # one step of nesting per axis
        within[wide] = fine, {frozenset(names): region for region, names in groups.items()}
        members = {region: frozenset(names) for region, names in groups.items()}
        tables = [_moved(table, wide, fine, members) for table in tables]
    return tables, within


def _lies_in(table: PublishedTable, wide: str, fine: str) -> bool:
    """Whether every category of the finer axis stands beside one of the wider: cheap, as most tables are crossed."""
    above, below = (table.codes[:, table.axes.index(axis)] for axis in (wide, fine))
    parent = np.zeros(len(table.groups[table.axes.index(fine)]), dtype=np.int64)
    parent[below] = above
    return bool((parent[below] == above).all())


def _moved(table: PublishedTable, wide: str, fine: str, members: Mapping[str, Group]) -> PublishedTable:
    """The table without the wider axis beside the finer one, or with groups of the finer one in its place."""
    if wide not in table.axes:
        return table
    position = table.axes.index(wide)
    if fine in table.axes:
        kept = [a for a in range(len(table.axes)) if a != position]
        axes, groups = tuple(table.axes[a] for a in kept), tuple(table.groups[a] for a in kept)
        return replace(table, axes=axes, groups=groups, codes=table.codes[:, kept])
    if not all(label(group) in members for group in table.groups[position]):
        return table
    own = tuple(members[label(group)] for group in table.groups[position])
    groups = (*table.groups[:position], own, *table.groups[position + 1 :])
    return replace(table, axes=(*table.axes[:position], fine, *table.axes[position + 1 :]), groups=groups)


def _name(group: Group, axis: str, within: Within) -> str:
    """What a category is called: a group of districts by the name of its region."""
    region = next((names[group] for fine, names in within.values() if fine == axis and group in names), None)
    return label(group) if region is None else WIDE + region


def _levels(members: Mapping[int, Group], codes: IntArray) -> IntArray:
    """The level of every row's category: the widest first, and no two categories of a level share people."""
    taken: list[set[str]] = []
    level_of = np.zeros(len(members), dtype=np.int64)
    for code in sorted(np.unique(codes).tolist(), key=lambda number: (-len(members[number]), number)):
        level = next((level for level, names in enumerate(taken) if not names & members[code]), len(taken))
        if level == len(taken):
            taken.append(set())
        taken[level] |= members[code]
        level_of[code] = level
    return level_of[codes]


def _columns(table: PublishedTable) -> list[tuple[str, tuple[Group, ...], IntArray]]:
    return [(axis, table.groups[a], table.codes[:, a]) for a, axis in enumerate(table.axes)]


def _has_counts(table: PublishedTable) -> bool:
    """Whether every row prints a count, noisy or exact."""
    fits = all(
        status == "noised" or low == high
        for status, low, high in zip(table.status, table.lower.tolist(), table.upper.tolist(), strict=True)
    )
    return fits and ("noised" not in table.status or table.noisy is not None)


@dataclass(frozen=True)
class Tuples:
    """Counts of one table beside their parts in a table with one axis more.

    `gap` is the count less the sum of its parts; `whole` and `parts` say how many of them are noisy.
    """

    gap: IntArray
    whole: IntArray
    parts: IntArray
    least: IntArray

    @property
    def terms(self) -> IntArray:
        """How many noisy counts each has."""
        return self.whole + self.parts


def tuples_in(layout: Layout) -> Iterator[Tuples]:
    """Every table beside every other with exactly one axis more, or with narrower categories on one axis."""
    for block in layout.blocks:
        keys = row_keys(block.codes, layout.sizes(block.axes))
        own = [set(block.listed(axis)) for axis in block.axes]
        for other in layout.above(block.axes):
            shared = [listed & set(other.listed(axis)) for axis, listed in zip(block.axes, own, strict=True)]
            steps = [shared] if len(other.axes) == len(block.axes) + 1 else []
            if other.axes == block.axes:
                steps = [[*shared[:a], own[a] - shared[a], *shared[a + 1 :]] for a in range(len(own))]
            for step in steps:
                sums = layout.summed(other, block.axes, [sorted(codes) for codes in step])
                if sums is None:
                    continue
                nearest = np.minimum(np.searchsorted(sums.keys, keys), len(sums.keys) - 1)
                rows = np.flatnonzero(sums.keys[nearest] == keys)
                cells = nearest[rows]
                if len(rows):
                    yield Tuples(
                        block.values[rows] - sums.values[cells],
                        block.noised[rows],
                        sums.noisy[cells],
                        sums.least[cells],
                    )


def estimated_variance(layout: Layout) -> float:
    """Variance of the noise on one count, from the gaps between counts and the sums of their parts.

    A gap has mean zero and as many variances as it has noisy terms. Only large parts are used, if there are enough:
    empty cells have no noise, small counts have less, and a count of the same people as its only part has the same.
    """
    pairs = list(tuples_in(layout))
    terms = 0
    for least in (LARGE, 1):
        gaps = [(pair.gap[fit], pair.terms[fit]) for pair in pairs if (fit := _noisy(pair, least)).any()]
        terms = sum(len(gap) for gap, _ in gaps)
        squares = sum(float((gap.astype(float) ** 2 / often).sum()) for gap, often in gaps)
        if terms >= ENOUGH and squares > 0:
            return squares / terms
    raise InputError(f"{terms} noisy counts stand beside their parts, too few to infer the variance; give it")


def _noisy(tuples: Tuples, least: int) -> BoolArray:
    """Which have noise, and only parts of at least this size."""
    fits: BoolArray = (tuples.terms > 0) & (tuples.least >= least)
    return fits
