"""Tables in the form that they had, with gaps; and where a table is written as CSV alone, why.

Objects
    gap         a cell whose count is suppressed; its file has nothing there, or the mark that the form has for it
    form        CSV, Excel, Parquet, PX, SPSS and so on, laid out as the office had it
    order       of rows or columns; among sorted counts, the place of a gap bounds it between its neighbours

Rule
    A table is written back in its own form if that form can be written, read again, and then has the same counts and
    the same gaps (`_as_read` reads what it wrote). Where labels may stand in the order of counts they are sorted by
    name first; a form whose order cannot be changed is not written, and a line says why.

Invariants
    * Bytes are made from the counts that are printed alone: no hidden figure is left in a cache, an index or a comment.
    * A table for which anything here fails is still published as CSV (`report.gaps_csv`): no table is lost, none leaks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from safemargin.core import InputError, IntArray
from safemargin.io import (
    ReadingOptions,
    ReadTable,
    can_write_back,
    count_column,
    is_typed,
    read_again,
    read_sheet,
    tidy_back,
    write_back,
    written_kind,
)
from safemargin.suppress.order import moved_axes, sorting_keys
from safemargin.suppress.pattern import Pattern

SORTED = "stood in the order of their counts, as far as these are printed. They are sorted by name in what is published"
WHY = "the place of a gap among sorted counts bounds it"


@dataclass(frozen=True)
class WrittenBack:
    """The files by their names, and a line on every table that is written as CSV alone."""

    files: dict[str, bytes]
    lines: tuple[str, ...]


def written_back(
    pattern: Pattern,
    found: Sequence[ReadTable | None],
    paths: Sequence[Path | None],
    rows: Sequence[IntArray | None],
    count: str | None,
    reading: ReadingOptions,
) -> WrittenBack:
    """All tables with gaps in the form that they had.

    `found`, `paths` and `rows` are by table: how it was read if it was not tidy, its file, and the cell of every row of
    the file. A table without a file of its own (rows in memory) gets none.
    """
    files: dict[str, bytes] = {}
    lines: list[str] = []
    if moved := moved_axes(pattern.tables, pattern.by_labels, rows):
        lines.append(f"The categories of {' and '.join(sorted(moved))} {SORTED}: {WHY}.")
    for index, (read, places) in enumerate(zip(found, rows, strict=True)):
        path = paths[index] if paths else None
        try:
            if read is not None and places is not None and can_write_back(read):
                name, content = _as_read(pattern, index, read, places, reading)
            elif read is None and path is not None and is_typed(path):
                name, content = _tidy(pattern, index, path, places, count)
            else:
                continue
        except InputError as error:
            name = path.name if path is not None else f"table {index + 1}"
            lines.append(f"{name}: written as CSV alone: {str(error).removeprefix(f'{path}: ')}.")
            continue
        files[name] = content
        if path is not None and (words := written_kind(path)):
            lines.append(f"{path.name}: {words}.")
    return WrittenBack(files, tuple(lines))


def _hidden(pattern: Pattern, index: int, rows: IntArray) -> list[int]:
    """The rows of a file whose cell is suppressed."""
    ids = pattern.tables.cell_ids[index].ravel()
    return np.flatnonzero(np.isin(ids[rows], pattern.suppressed)).tolist()


def _as_read(
    pattern: Pattern, index: int, read: ReadTable, rows: IntArray, reading: ReadingOptions
) -> tuple[str, bytes]:
    """A table in the form in which it was read, sorted by labels where its order might bound a gap.

    Raises `InputError` where the order cannot be changed, or where reading the new file gives other counts or gaps.
    """
    table = pattern.tables.tables[index]
    hidden, sorted_axes = _hidden(pattern, index, rows), pattern.by_labels & {tree.name for tree in table.trees}
    across = {axis.name for axis in read.axes if axis.role == "columns"}
    if not sorted_axes:
        return write_back(read, hidden)
    keys = np.array(sorting_keys(table, sorted_axes, rows))
    if read.form.kind == "px" or (sorted_axes & across and not _is_sorted(keys, read, sorted_axes & across)):
        raise InputError("the order of its columns bounds suppressed counts, and a sorted table has another form")
    down = [a for a, axis in enumerate(read.axes) if axis.name not in across]
    name, content = write_back(read, hidden, [tuple(key) for key in keys[:, down].tolist()])
    again = read_again(name, content, read, reading)
    before, after = (_cells(one, gaps) for one, gaps in ((read, hidden), (again, again.gaps.tolist())))
    if before != after:
        raise InputError("its rows cannot be sorted by their labels, and their order bounds suppressed counts")
    return name, content


def _is_sorted(keys: IntArray, read: ReadTable, axes: frozenset[str] | set[str]) -> bool:
    """Whether the columns of a cross table stand in the order of their labels already."""
    places = read.places
    if places is None:
        return False
    across = [a for a, axis in enumerate(read.axes) if axis.name in axes]
    order = np.lexsort([places[:, 1]])
    listed = [tuple(key) for key in keys[order][:, across].tolist()]
    return listed == sorted(listed)


def _cells(read: ReadTable, gaps: Sequence[int]) -> dict[frozenset[tuple[str, str]], int | None]:
    """The count of every cell by its labels, None for those in `gaps`."""
    hidden = set(gaps)
    return {
        frozenset(read.cells.cell(row).items()): None if row in hidden else int(count)
        for row, count in enumerate(read.cells.lower.tolist())
    }


def _tidy(pattern: Pattern, index: int, path: Path, rows: IntArray | None, count: str | None) -> tuple[str, bytes]:
    """A tidy table with its gaps: same columns, same names, sorted where its order might bound a gap."""
    table = pattern.tables.tables[index]
    names = [tree.name for tree in table.trees]
    counted = count or count_column(tuple(read_sheet(path).columns))
    if counted is None or rows is None:
        raise InputError(f"{path}: records of people are not written")
    sorted_axes = pattern.by_labels & {*names}
    keys = sorting_keys(table, sorted_axes, rows) if sorted_axes else None
    return tidy_back(path, names, counted, _hidden(pattern, index, rows), keys)
