"""Whether the order of a table says what its gaps hide, and an order that says nothing.

Problem
    A list that is sorted by its counts has each gap between two printed counts, which bound it: 90, 70, 55, *, *, 20
    says that both gaps hold 20 to 55 people, and the first no fewer than the second. No certificate covers that.

Statement
    Whether to sort is decided by what is printed alone: if the printed counts of a sequence with a gap never rise, or
    never fall, its labels are sorted. A decision that looked at suppressed counts would disclose by itself that they
    are, or are not, in order. Sorted labels are a function of the labels, so they say nothing about any count.

    In a sequence of the whole table, or of a margin, any order of three cells or more counts. Among the many slices
    inside a table some are in order by chance, so there `BY_CHANCE` printed counts are asked for.

Example
    >>> in_order(np.array([90, 70, 55, 3, 2]), np.array([False, False, False, True, True]))
    True
    >>> in_order(np.array([90, 20, 55, 3, 2]), np.array([False, False, False, True, True]))
    False
"""

from collections.abc import Collection, Sequence
from itertools import product

import numpy as np

from safemargin.core import BoolArray, Hierarchy, InputError, IntArray, Lattice
from safemargin.io import ReadTable, check_columns, count_column, natural_order, read_sheet
from safemargin.suppress.linked import LinkedTables
from safemargin.suppress.read import cell_positions

FEWEST = 3
"""Cells from which on an order may be one of counts."""
BY_CHANCE = 6
"""Printed counts of a slice that are in order by chance in one case of 360."""
MOST_SLICES = 200_000
"""Slices that are looked at one by one; a table with more has sorted labels."""


def in_order(counts: IntArray, hidden: BoolArray, printed: int = 0) -> bool:
    """Whether a sequence with a gap, and so many `printed` counts, may be sorted by its counts, as far as is seen."""
    if len(counts) < FEWEST or not hidden.any() or int((~hidden).sum()) < printed:
        return False
    steps = np.diff(counts[~hidden])
    return bool((steps >= 0).all() or (steps <= 0).all())


def axes_by_counts(tables: LinkedTables, suppressed: IntArray, rows: Sequence[IntArray | None]) -> frozenset[str]:
    """The axes whose labels stand in an order that may be one of counts, in a table or in the file that it is from.

    `rows` has the place in the table of every row of its file, where there is one.
    """
    found: set[str] = set()
    for table, ids, order in zip(tables.tables, tables.cell_ids, rows, strict=False):
        hidden = np.isin(ids.ravel(), suppressed).reshape(table.shape)
        if not hidden.any():
            continue
        for a, tree in enumerate(table.trees):
            if tree.name not in found and _axis_by_counts(table, hidden, a):
                found.add(tree.name)
        if order is not None and _file_by_counts(table, hidden.ravel(), order):
            found |= {tree.name for tree in table.trees}
    return frozenset(found)


def _axis_by_counts(table: Lattice, hidden: BoolArray, axis: int) -> bool:
    """Whether the parts of a sum of this axis may stand in the order of their counts, in a margin or in a slice."""
    others = [range(size) for a, size in enumerate(table.shape) if a != axis]
    if len(table.trees[axis].splits) * np.prod([len(other) for other in others]) > MOST_SLICES:
        return True
    counts, gaps = np.moveaxis(table.counts, axis, -1), np.moveaxis(hidden, axis, -1)
    for _, parts in table.trees[axis].splits:
        chosen = list(parts)
        for place in product(*others):
            if in_order(counts[place][chosen], gaps[place][chosen], BY_CHANCE if any(place) else 0):
                return True
    return False


def _file_by_counts(table: Lattice, hidden: BoolArray, rows: IntArray) -> bool:
    """Whether the rows of a file may be sorted by their counts: all that are no sums, or those of every category."""
    counts, nodes = table.counts.ravel(), np.stack(np.unravel_index(rows, table.shape), axis=1)
    is_leaf = np.ones(len(rows), dtype=bool)
    for a, tree in enumerate(table.trees):
        is_leaf &= np.isin(nodes[:, a], list(tree.leaves))
    inner, places = rows[is_leaf], nodes[is_leaf]
    if in_order(counts[inner], hidden[inner], FEWEST):
        return True
    for a in range(len(table.trees)):
        groups = [inner[places[:, a] == node] for node in np.unique(places[:, a])]
        if _groups_by_counts([(counts[group], hidden[group]) for group in groups]):
            return True
    return False


def _groups_by_counts(groups: Sequence[tuple[IntArray, BoolArray]]) -> bool:
    """Whether all groups of rows are in one order, with printed counts enough to show that it is no chance."""
    if len(groups) < 2 or not any(hidden.any() for _, hidden in groups):
        return False
    steps = np.concatenate([np.diff(counts[~hidden]) for counts, hidden in groups])
    return len(steps) + 1 >= BY_CHANCE and bool((steps >= 0).all() or (steps <= 0).all())


def sorted_labels(table: Lattice, axes: Collection[str]) -> Lattice:
    """The same table with the labels of some axes sorted, and so all sums; the total stays first.

    >>> from safemargin.core import lattice
    >>> table = lattice([Hierarchy.flat("age", ["old", "young", "10-19", "5-9"])], [7, 4, 2, 1])
    >>> found = sorted_labels(table, ["age"])
    >>> found.trees[0].labels, found.counts.tolist()
    (('Total', '5-9', '10-19', 'old', 'young'), [14, 1, 2, 7, 4])
    """
    trees, counts = [], table.counts
    for axis, tree in enumerate(table.trees):
        if tree.name not in axes:
            trees.append(tree)
            continue
        order = [0, *sorted(range(1, len(tree.labels)), key=lambda node: natural_order(tree.labels[node]))]
        place = {old: new for new, old in enumerate(order)}
        splits = tuple(
            sorted((place[whole], tuple(sorted(map(place.__getitem__, parts)))) for whole, parts in tree.splits)
        )
        trees.append(Hierarchy(tree.name, tuple(tree.labels[node] for node in order), splits))
        counts = np.take(counts, order, axis=axis)
    return Lattice(tuple(trees), counts)


def sorting_keys(table: Lattice, axes: Collection[str], rows: IntArray) -> list[tuple[int, ...]]:
    """By which the rows of a file are sorted: the places of their labels, totals last."""
    order = sorted_labels(table, axes)
    keys = []
    for column, old, new in zip(np.unravel_index(rows, table.shape), table.trees, order.trees, strict=True):
        place = {label: node or len(new.labels) for node, label in enumerate(new.labels)}
        keys.append([place[old.labels[node]] for node in column.tolist()])
    return list(zip(*keys, strict=True))


def moved_axes(tables: LinkedTables, axes: Collection[str], rows: Sequence[IntArray | None]) -> set[str]:
    """Of axes with sorted labels, those of which the order was another one."""
    moved: set[str] = set()
    for table, order in zip(tables.tables, rows, strict=False):
        wanted = sorted_labels(table, axes)
        moved |= {old.name for old, new in zip(table.trees, wanted.trees, strict=True) if old.labels != new.labels}
        own = {tree.name for tree in table.trees} & {*axes}
        if order is not None and own and (keys := sorting_keys(table, axes, order)) != sorted(keys):
            moved |= own
    return moved


def file_rows(
    tables: LinkedTables, sources: Sequence[object], found: Sequence[ReadTable | None], count: str | None
) -> tuple[IntArray | None, ...]:
    """For every row of each source its place in the table; None for records, which are counted, and not listed."""
    return tuple(
        _read_rows(table, read) if read is not None else _tidy_rows(table, source, count)
        for table, source, read in zip(tables.tables, sources, found, strict=True)
    )


def _read_rows(table: Lattice, read: ReadTable) -> IntArray:
    """The places of the cells of a table as it was read, in the order of its cells."""
    node_of = [{label: node for node, label in enumerate(tree.labels)} for tree in table.trees]
    columns = [
        np.array([0 if code == axis.total else nodes[label] for code, label in enumerate(axis.labels)])[codes]
        for axis, nodes, codes in zip(read.axes, node_of, read.cells.codes.T, strict=True)
    ]
    return np.asarray(np.ravel_multi_index(columns, table.shape), dtype=np.int64)


def _tidy_rows(table: Lattice, source: object, count: str | None) -> IntArray | None:
    """The cell of every row of a tidy file; None for records, or a form without rows."""
    try:
        sheet = read_sheet(source)
        counted = count or count_column(tuple(sheet.columns))
        if counted is None:
            return None
        check_columns(sheet.path, sheet.columns, tuple(tree.name for tree in table.trees))
        texts = [[text.strip() for text in sheet.columns[tree.name]] for tree in table.trees]
        return cell_positions(table.trees, texts)[0]
    except (InputError, KeyError):
        return None  # records, or a file of a form that has no rows
