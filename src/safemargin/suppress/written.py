"""Tables in the form that they had, with gaps; and where a table is written as CSV alone, why."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from safemargin.core import InputError, IntArray
from safemargin.io import (
    AS_CSV,
    ReadTable,
    can_write_back,
    count_column,
    is_typed,
    read_sheet,
    suffix,
    tidy_back,
    write_back,
)
from safemargin.suppress.pattern import Pattern

MOST_IN_ORDER = 5
"""Rows whose counts may be in order by chance."""
Cell = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class WrittenBack:
    """The files by their names, and a line on every table that is written as CSV alone."""

    files: dict[str, bytes]
    lines: tuple[str, ...]


def written_back(
    pattern: Pattern, found: Sequence[ReadTable | None], paths: Sequence[Path | None], count: str | None
) -> WrittenBack:
    """All tables with gaps in the form that they had."""
    files: dict[str, bytes] = {}
    lines: list[str] = []
    for index, read in enumerate(found):
        path = paths[index] if paths else None
        try:
            if read is not None and can_write_back(read):
                name, content = _as_read(pattern, index, read)
            elif read is None and path is not None and is_typed(path):
                name, content = _tidy(pattern, index, path, count)
            else:
                if path is not None and (why := AS_CSV.get(suffix(path))):
                    lines.append(f"{path.name}: written as CSV alone, because {why}.")
                continue
        except InputError as error:
            name = path.name if path is not None else f"table {index + 1}"
            lines.append(f"{name}: written as CSV alone: {str(error).removeprefix(f'{path}: ')}.")
            continue
        files[name] = content
    return WrittenBack(files, tuple(lines))


def _hidden(pattern: Pattern, index: int) -> tuple[set[Cell], set[Cell]]:
    """The cells of a table that are suppressed, and all cells."""
    lattice = pattern.tables.tables[index]
    is_hidden = np.isin(pattern.tables.cell_ids[index].ravel(), pattern.suppressed)
    cells = [frozenset(lattice.cell(place).items()) for place in range(len(is_hidden))]
    return {cells[place] for place in np.flatnonzero(is_hidden).tolist()}, set(cells)


def _as_read(pattern: Pattern, index: int, read: ReadTable) -> tuple[str, bytes]:
    hidden, _ = _hidden(pattern, index)
    totals = {axis.name: axis.labels[axis.total] for axis in read.axes if axis.total is not None}
    cells = [read.cells.cell(row) for row in range(len(read.cells.lower))]
    plain = [frozenset((a, text) for a, text in cell.items() if totals.get(a) != text) for cell in cells]
    if read.form.counts and hidden:
        _check_order(read.name, read.cells.lower)
    return write_back(read, [row for row, cell in enumerate(plain) if cell in hidden])


def _tidy(pattern: Pattern, index: int, path: Path, count: str | None) -> tuple[str, bytes]:
    sheet = read_sheet(path)
    counted = count or count_column(tuple(sheet.columns))
    trees = pattern.tables.tables[index].trees
    if counted is None or not {tree.name for tree in trees} <= sheet.columns.keys():
        raise InputError(f"{path}: records of people are not written")
    hidden, known = _hidden(pattern, index)
    texts = [[text.strip() for text in sheet.columns[tree.name]] for tree in trees]
    cells = [
        frozenset((tree.name, text) for tree, text in zip(trees, row, strict=True) if text != tree.labels[0])
        for row in zip(*texts, strict=True)
    ]
    if not known.issuperset(cells):
        raise InputError(f"{path}: a row is no cell of the table")
    if hidden.intersection(cells):
        _check_order(str(path), np.array([int(float(text)) for text in sheet.columns[counted]], dtype=np.int64))
    names = [tree.name for tree in trees]
    return tidy_back(path, names, counted, [row for row, cell in enumerate(cells) if cell in hidden])


def _check_order(name: str, counts: IntArray) -> None:
    """Refuse rows that are sorted by their counts: where a gap stands says between which two counts it is."""
    steps = np.diff(counts)
    if len(counts) > MOST_IN_ORDER and steps.any() and ((steps >= 0).all() or (steps <= 0).all()):
        raise InputError(f"{name}: its rows are sorted by their counts, and their order discloses suppressed ones")
