"""Read frequency tables, with or without their margins, and tables published before."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from safemargin.core import Hierarchy, InputError, IntArray, Lattice, lattice
from safemargin.history.contents import GAP
from safemargin.io import (
    TOTAL,
    WORDS,
    BadText,
    Hierarchies,
    ReadTable,
    Sheet,
    check_columns,
    count_column,
    cut,
    open_data,
    read_any_sheet,
    read_combined,
    read_sheet,
    total_among,
    tree,
    whole_number,
)
from safemargin.suppress.found import lattice_of
from safemargin.suppress.linked import UNKNOWN, LinkedTables, inner_cells, link


def read_linked(
    sources: Sequence[object],
    hierarchies: Hierarchies,
    *,
    earlier: Sequence[Path] = (),
    remembered: Mapping[str, Lattice] | None = None,
    count: str | None = None,
    axes: tuple[str, ...] | None = None,
    cost: str | None = None,
    found: Sequence[ReadTable | None] = (),
) -> LinkedTables:
    """Tables about the same people, to be published together, and tables about them published before.

    Of the latter, `earlier` ones are in files, and `remembered` ones in a ledger. `found` has the tables that are not
    tidy, as they were read, in the places of their sources. Names distinguish tables in messages and certificates, so
    two files of one name are refused.
    """
    named: dict[str, object] = {}
    for number, source in enumerate((*sources, *earlier), 1):
        if (name := table_name(source, number)) in named:
            raise InputError(f"{named[name]} and {source}: files of the same name; rename one")
        named[name] = source
    tables = {}
    for number, (name, source) in enumerate(list(named.items())[: len(sources)]):
        read = found[number] if found else None
        if read is not None:
            tables[name] = lattice_of(read)
        else:
            sheet = _sheet(source, name, count, axes)
            tables[name] = _table(sheet, hierarchies, count, axes, len(sources) > 1, cost)
    used = {tree.name for table in tables.values() for tree in table.trees}
    for name in (*hierarchies, *(axes or ())):
        if name not in used:
            key = "hierarchy" if name in hierarchies else "by"
            raise InputError(f"{key}: there is no axis {name!r}; the axes are {', '.join(sorted(used))}")
    before = {path.name: read_earlier(path, hierarchies, count) for path in earlier}
    # A new table may have the name of a remembered one: names distinguish tables here and in messages.
    new = {name if name not in (remembered or {}) else f"new {name}": table for name, table in tables.items()}
    return link(new, {**before, **(remembered or {})})


def read_costs(
    tables: LinkedTables,
    sources: Sequence[object],
    hierarchies: Hierarchies,
    count: str | None,
    axes: tuple[str, ...] | None,
    cost: str,
) -> IntArray:
    """What the cells of `tables` cost, by a column of the files: a sum what its parts do, and none less than 1.

    A cell that several tables list costs the most that any of them states. A cost of 0 would make a cell free to
    suppress.
    """
    costs = np.ones(len(tables.counts), dtype=np.int64)
    for number, (source, ids) in enumerate(zip(sources, tables.cell_ids, strict=False), 1):
        sheet = read_sheet(source, table_name(source, number))
        check_columns(sheet.path, sheet.columns, (cost,))
        counted = count or count_column([name for name in sheet.columns if name != cost])
        costs[ids] = np.maximum(
            costs[ids], _table(sheet, hierarchies, cost, axes, len(sources) > 1, counted).counts.ravel()
        )
    return costs


def _sheet(source: object, name: str, count: str | None, axes: tuple[str, ...] | None) -> Sheet:
    """A table of counts; or, where axes are named and no column holds counts, records that are counted by them."""
    if axes:
        data = open_data(source) if not isinstance(source, str | Path) or Path(source).suffix != ".tab" else None
        if data is not None and count is None and count_column(data.columns) is None:
            check_columns(Path(name), data.columns, axes)
            found = data.profiles(axes)
            columns = {axis: [found.labels[a][code] for code in found.codes[:, a]] for a, axis in enumerate(axes)}
            if empty := next((axis for axis in axes if "" in columns[axis]), None):
                raise InputError(f"{name}: column {empty!r} has empty values; fill them or remove the rows")
            columns["count"] = [str(number) for number in found.counts.tolist()]
            return Sheet(Path(name), columns, range(1, len(found.counts) + 1), "combination")
    return read_sheet(source, name)


def table_name(source: object, number: int) -> str:
    """The name of a file, or of the table with this number that a program holds."""
    return Path(source).name if isinstance(source, str | Path) else f"table{number}"


def read_earlier(
    path: Path, hierarchies: Hierarchies, count: str | None = None, trees: Sequence[Hierarchy] | None = None
) -> Lattice:
    """A published table: tidy counts, or a table with gaps as tools of disclosure control write it.

    Without `trees`, its axes are those of the file. Without a column of `WORDS`, inner cells that it does not list are
    empty and all sums are added up; sums that it lists are checked without `trees`, and ignored with them. With such a
    column, inner cells that it does not list are empty unless it lists none, and sums that it does not list are
    `UNKNOWN`; `GAP` stands for a suppressed count.
    """
    sheet = read_any_sheet(path)
    if not set(WORDS) & set(sheet.columns):
        return _table(sheet, hierarchies, count, None, False) if trees is None else _plain(sheet, trees)
    combined = read_combined(sheet, hierarchies, count)
    if combined.noised.any():
        raise sheet.fault(int(combined.noised.argmax()), "status", "only exact counts can be suppressed")
    labels = [
        [axis.labels[node] for node in nodes] for axis, nodes in zip(combined.trees, combined.nodes.T, strict=True)
    ]
    if trees is not None and [axis.name for axis in trees] != [axis.name for axis in combined.trees]:
        raise InputError(f"{path}: its axes are not {', '.join(axis.name for axis in trees)}")
    axes = trees or [cut(axis, set(column)) for axis, column in zip(combined.trees, labels, strict=True)]
    positions, size = cell_positions(axes, labels)
    counts = np.full(size, UNKNOWN, dtype=np.int64)
    counts[positions] = np.where(combined.suppressed, GAP, combined.counts)
    inner = inner_cells(axes)
    if (counts[inner] != UNKNOWN).any():
        counts[inner] = np.where(counts[inner] == UNKNOWN, 0, counts[inner])
    return Lattice(tuple(axes), counts.reshape([len(axis.labels) for axis in axes]))


def _plain(sheet: Sheet, trees: Sequence[Hierarchy]) -> Lattice:
    """A table without gaps on given axes; sums are added up again."""
    names = [name for name in sheet.columns if name not in {tree.name for tree in trees}]
    values = np.array([whole_number(text) for text in sheet.columns[count_column(names) or names[0]]], dtype=np.int64)
    positions, size = cell_positions(trees, [[text.strip() for text in sheet.columns[tree.name]] for tree in trees])
    counts = np.zeros(size, dtype=np.int64)
    counts[positions] = values
    return lattice(trees, counts[inner_cells(trees)].reshape([len(tree.leaves) for tree in trees]))


def cell_positions(trees: Sequence[Hierarchy], labels: Sequence[Sequence[str]]) -> tuple[IntArray, int]:
    """The position of each row in a table with these axes, and the size of the table."""
    columns = []
    for axis, column in zip(trees, labels, strict=True):
        node_of = {label: node for node, label in enumerate(axis.labels)}
        columns.append([node_of[label] for label in column])
    shape = tuple(len(axis.labels) for axis in trees)
    return np.ravel_multi_index(columns, shape), int(np.prod(shape))


def _table(
    sheet: Sheet,
    hierarchies: Hierarchies,
    count: str | None,
    axes: tuple[str, ...] | None,
    several: bool,
    other: str | None = None,
) -> Lattice:
    """The table in a tidy file with all its sums. A combination that is not listed is empty.

    Sums that the file lists itself (a total, or a wider area of a hierarchy) are checked against the counts.
    """
    path, counted = sheet.path, count or count_column(tuple(sheet.columns))
    if counted is None:
        raise InputError(f"{path}: no column of counts; name it as count; there are {', '.join(sheet.columns)}")
    names = axes if axes is not None else tuple(name for name in sheet.columns if name not in (counted, other))
    if several:
        names = tuple(name for name in names if name in sheet.columns)
    check_columns(path, sheet.columns, (*names, counted))
    if not names:
        raise InputError(f"{path}: there is no axis beside the counts in {counted!r}")
    texts = [[text.strip() for text in sheet.columns[name]] for name in names]
    trees = [_tree(name, column, hierarchies.get(name, ())) for name, column in zip(names, texts, strict=True)]
    positions, size = cell_positions(trees, texts)
    counts = np.zeros(size, dtype=np.int64)
    listed: set[int] = set()
    for row, position in enumerate(positions.tolist()):
        if position in listed:
            raise InputError(f"{path}: {sheet.place(row)}: the cell is listed twice; list each cell once")
        listed.add(position)
        counts[position] = _count(sheet, counted, row)
    table = lattice(trees, counts[inner_cells(trees)].reshape([len(tree.leaves) for tree in trees]))
    wrong = np.flatnonzero(table.counts.ravel()[positions] != counts[positions])
    if len(wrong):
        total = table.counts.ravel()[positions[wrong[0]]]
        raise sheet.fault(int(wrong[0]), counted, f"but the counts of its parts add up to {total}")
    return table


def _tree(name: str, column: Sequence[str], files: Sequence[Path]) -> Hierarchy:
    seen = tuple(dict.fromkeys(column))
    total = total_among(seen) or TOTAL
    return cut(tree(name, tuple(label for label in seen if label != total), files, total), seen)


def _count(sheet: Sheet, column: str, row: int) -> int:
    try:
        return whole_number(sheet.columns[column][row])
    except BadText as error:
        raise sheet.fault(row, column, str(error)) from None
