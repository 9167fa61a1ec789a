"""Frequency tables to be protected: tidy counts, with or without their margins, and what is out already."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from safemargin.core import InputError, Lattice, Tree, lattice
from safemargin.io import (
    TOTAL,
    WORDS,
    BadText,
    Hierarchies,
    Sheet,
    check_columns,
    count_column,
    cut,
    read_any_sheet,
    read_combined,
    read_sheet,
    total_among,
    tree,
    whole_number,
)
from safemargin.suppress.linked import Earlier, Linked, inner_places, link


def read_linked(
    paths: Sequence[Path],
    hierarchies: Hierarchies,
    *,
    earlier: Sequence[Path] = (),
    count: str | None = None,
    axes: tuple[str, ...] | None = None,
) -> Linked:
    """Tables about the same people, to be published together, and what was published about them before."""
    names: dict[str, Path] = {}
    for path in (*paths, *earlier):
        if path.name in names:
            raise InputError(f"{names[path.name]} and {path}: files of the same name; rename one")
        names[path.name] = path
    several = len(paths) > 1
    tables = {path.name: _table(path, hierarchies, count, axes, several) for path in paths}
    used = {tree.name for table in tables.values() for tree in table.trees}
    for name in (*hierarchies, *(axes or ())):
        if name not in used:
            option = "--hierarchy" if name in hierarchies else "--by"
            raise InputError(f"{option} {name}: there is no such axis; the axes are {', '.join(sorted(used))}")
    return link(tables, {path.name: read_earlier(path, hierarchies, count=count) for path in earlier})


def read_frequencies(
    path: Path, hierarchies: Hierarchies, *, count: str | None = None, axes: tuple[str, ...] | None = None
) -> Lattice:
    """The table in a tidy file with all its sums. A combination that is not listed is empty.

    Sums that the file lists itself (a total, or a wider area of a hierarchy) are checked against the counts.
    """
    return read_linked([path], hierarchies, count=count, axes=axes).tables[0]


def read_earlier(path: Path, hierarchies: Hierarchies, *, count: str | None = None) -> Earlier:
    """A table that was published: tidy counts, or a table with gaps as tools of disclosure control write it.

    Inner cells that it does not list are empty, unless it lists none; sums that it does not list are not told.
    """
    sheet = read_any_sheet(path)
    if not set(WORDS) & set(sheet.columns):
        table = _table(path, hierarchies, count, None, False)
        told = np.ones(table.counts.size, dtype=bool)
        return Earlier(table.trees, table.counts.ravel(), told, ~told)
    found = read_combined(sheet, hierarchies, count)
    listed = [
        [each.labels[node] for node in set(nodes.tolist())]
        for each, nodes in zip(found.trees, found.nodes.T, strict=True)
    ]
    trees = tuple(cut(each, labels) for each, labels in zip(found.trees, listed, strict=True))
    shape = tuple(len(each.labels) for each in trees)
    columns = []
    for each, old, nodes in zip(trees, found.trees, found.nodes.T, strict=True):
        where = {label: node for node, label in enumerate(each.labels)}
        columns.append(np.array([where.get(label, -1) for label in old.labels])[nodes])
    at = np.ravel_multi_index(columns, shape)
    counts = np.zeros(int(np.prod(shape)), dtype=np.int64)
    known, gaps = np.zeros(len(counts), dtype=bool), np.zeros(len(counts), dtype=bool)
    known[at], gaps[at] = ~found.suppressed, found.suppressed
    counts[at] = np.where(found.suppressed, 0, found.counts)
    inner = inner_places(trees)
    if (known | gaps)[inner].any():
        known[inner] |= ~gaps[inner]
    return Earlier(trees, counts, known, gaps)


def _table(
    path: Path, hierarchies: Hierarchies, count: str | None, axes: tuple[str, ...] | None, several: bool
) -> Lattice:
    sheet = read_sheet(path)
    counted = count or count_column(tuple(sheet.columns))
    if counted is None:
        raise InputError(
            f"{path}: which column holds the counts? Say it with --count; there are {', '.join(sheet.columns)}"
        )
    names = axes if axes is not None else tuple(name for name in sheet.columns if name != counted)
    if several:
        names = tuple(name for name in names if name in sheet.columns)
    check_columns(path, sheet.columns, (*names, counted))
    if not names:
        raise InputError(f"{path}: there is no axis beside the counts in {counted!r}")
    texts = [[text.strip() for text in sheet.columns[name]] for name in names]
    trees = [_tree(name, column, hierarchies.get(name, ())) for name, column in zip(names, texts, strict=True)]
    place = [{label: node for node, label in enumerate(each.labels)} for each in trees]
    leaf = [{node: at for at, node in enumerate(each.leaves)} for each in trees]
    base = np.zeros([len(each.leaves) for each in trees], dtype=np.int64)
    listed: dict[tuple[int, ...], int] = {}
    for row in range(len(sheet.rows)):
        nodes = tuple(place[a][texts[a][row]] for a in range(len(names)))
        if nodes in listed:
            raise InputError(f"{path}: {sheet.place(row)}: the cell is listed twice; give each cell once")
        listed[nodes] = _count(sheet, counted, row)
        if all(node in leaf[a] for a, node in enumerate(nodes)):
            base[tuple(leaf[a][node] for a, node in enumerate(nodes))] = listed[nodes]
    table = lattice(trees, base)
    for row, (nodes, value) in enumerate(listed.items()):
        if table.counts[nodes] != value:
            raise sheet.fault(row, counted, f"but the counts of its parts add up to {table.counts[nodes]}")
    return table


def _tree(name: str, column: Sequence[str], files: Sequence[Path]) -> Tree:
    seen = tuple(dict.fromkeys(column))
    total = total_among(seen) or TOTAL
    return cut(tree(name, tuple(label for label in seen if label != total), files, total), seen)


def _count(sheet: Sheet, column: str, row: int) -> int:
    try:
        return whole_number(sheet.columns[column][row])
    except BadText as error:
        raise sheet.fault(row, column, str(error)) from None
