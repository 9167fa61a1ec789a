"""A table with gaps in the form in which it was read: the same layout, gaps marked, a footnote where there is a place.

Only the table itself is written. Of a workbook that is one sheet of values, without formulas, remarks and other sheets,
which may hold what is suppressed. Numbers of the body that are no counts of the table (shares, means) are removed: a
share discloses its count. Rows that may be sorted by their counts are sorted by their labels.
"""

import csv
import io
from collections.abc import Collection, Sequence
from decimal import Decimal
from pathlib import Path

from safemargin.core import InputError
from safemargin.io.files import suffix
from safemargin.io.px import px_gapped
from safemargin.io.reading.column_names import SHARES, STATUS
from safemargin.io.reading.excel import excel_grids
from safemargin.io.reading.found import read_all
from safemargin.io.reading.grid import Cell, TextGrid, shown
from safemargin.io.reading.options import ReadingOptions
from safemargin.io.reading.table import ReadTable
from safemargin.io.reading.texts import text_grid
from safemargin.io.reading.write_books import AS_XLSX, BOOKS, book_bytes
from safemargin.io.reading.write_typed import FOOTNOTE, GAPPED, TYPED, opaque_columns, typed_bytes, typed_grid
from safemargin.io.scratch import scratch_folder

MARK = "*"
BY_LABELS = "rows sorted by their labels"
TEXTS, CUBES = ("csv", "tsv", "txt"), ("px",)
Keys = Sequence[tuple[int, ...]]
"""By which the rows of a table are sorted: a key for every cell."""


def can_write_back(read: ReadTable) -> bool:
    """Whether a table can be written in the form in which it was read."""
    kind = read.form.kind
    return read.form.path is not None and (kind in CUBES or kind in (*TEXTS, *BOOKS, *TYPED) and not read.form.is_tidy)


def is_typed(path: Path) -> bool:
    """Whether a file is of a format with types, in which tidy tables are written too."""
    return suffix(path).lstrip(".") in (*TYPED, *BOOKS)


def written_kind(path: Path) -> str:
    """What says that a table is written in another format than its own; nothing where it is not."""
    kind = suffix(path)
    return f"{kind} is written as .xlsx; of workbooks, .xlsx and .ods are written" if kind[1:] in AS_XLSX else ""


def tidy_back(
    path: Path, names: Collection[str], count: str, hidden: Collection[int], keys: Keys | None = None
) -> tuple[str, bytes]:
    """A tidy table in its own format: its axes `names`, its counts, and gaps at the rows `hidden`, from 0 on."""
    is_book = suffix(path).lstrip(".") in BOOKS
    grid = excel_grids(path)[0] if is_book else _typed_grid(path)
    column = [shown(name) for name in grid.rows[0]].index(count)
    counted = {(row, column) for row in range(1, len(grid.rows))}
    known = {*names, *(name for name in map(shown, grid.rows[0]) if name.lower() in STATUS), count}
    others = {place for place, name in enumerate(grid.rows[0]) if shown(name) not in known}  # such as costs
    order = None if keys is None else _sorted_rows([(row + 1, column) for row in range(len(keys))], keys, grid)
    if is_book:
        return _tidy_book(path, grid, column, {row + 1 for row in hidden}, others, order)
    return _typed_back(path, grid, counted, {(row + 1, column) for row in hidden}, names, others, order)


def _tidy_book(
    path: Path, grid: TextGrid, column: int, hidden: Collection[int], others: Collection[int], order: list[int] | None
) -> tuple[str, bytes]:
    """A tidy table as a sheet: marks for gaps, and nothing in columns of other numbers."""
    rows = [list(row) for row in grid.rows]
    for row in range(1, len(rows)):
        rows[row] = [None if c in others and _is_numeric(cell) else cell for c, cell in enumerate(rows[row])]
        if row in hidden:
            rows[row][column] = MARK
    rows = [rows[row] for row in order or range(len(rows))] + [[], [FOOTNOTE]] + ([[BY_LABELS]] if order else [])
    kind = suffix(path).lstrip(".")
    kind = AS_XLSX.get(kind, kind)
    return f"{path.name.split('.')[0]}-suppressed.{kind}", book_bytes(rows, grid, kind)


def _sorted_rows(spots: Sequence[tuple[int, int]], keys: Keys, grid: TextGrid) -> list[int]:
    """All rows of a grid in the order of the keys of their cells; rows without a count stay where they are."""
    key_of: dict[int, tuple[int, ...]] = {}
    for (row, _), key in zip(spots, keys, strict=True):
        if key_of.setdefault(row, key) != key:
            raise InputError("a row holds counts of several categories, and its place bounds a suppressed one")
    if len(set(key_of.values())) < len(key_of):
        raise InputError("several rows have the same labels, and their order bounds suppressed counts")
    order = list(range(len(grid.rows)))
    for slot, row in zip(sorted(key_of), sorted(key_of, key=key_of.__getitem__), strict=True):
        order[slot] = row
    return order


def _typed_grid(path: Path, sheet: str = "") -> TextGrid:
    if (grid := typed_grid(path, suffix(path).lstrip("."), sheet)) is None:
        raise InputError(f"{path}: cannot be written with gaps; save it as CSV")
    return grid


def _typed_back(
    path: Path,
    grid: TextGrid,
    counted: set[tuple[int, int]],
    hidden: set[tuple[int, int]],
    axes: Collection[str],
    others: Collection[int] = (),
    order: Sequence[int] | None = None,
) -> tuple[str, bytes]:
    """A file with types: null for every gap, for columns in `others`, and for what may state a suppressed count."""
    rows, first = [list(row) for row in grid.rows], min(row for row, _ in counted)
    names = [{shown(rows[row][column]) for row in range(first)} for column in range(grid.width)]
    kept = {column for column in range(grid.width) if names[column] & {*axes}}
    columns = {column for _, column in counted}
    for row, column in hidden:
        rows[row][column] = None
        for other in range(grid.width) if len(columns) == 1 else ():
            if other not in kept | columns and any(name.lower() in STATUS for name in names[other]):
                word = shown(rows[row][other])
                is_flag = word.lower() in ("true", "false")
                rows[row][other] = ("True" if word[0].isupper() else "true") if is_flag else GAPPED
    kind = suffix(path).lstrip(".")
    fractions = {
        column for row in rows[first:] for column, cell in enumerate(row) if isinstance(cell, Decimal) and cell % 1
    }
    for column in (opaque_columns(path, kind, grid) | fractions | {*others}) & {*range(grid.width)} - kept:
        for row in range(first, len(rows)):
            rows[row][column] = None
    _remove_others(rows, counted, kept)
    return f"{path.name.split('.')[0]}-suppressed.{kind}", typed_bytes(path, kind, grid, rows, order)


def write_back(read: ReadTable, hidden: Collection[int], keys: Keys | None = None) -> tuple[str, bytes]:
    """The name and the content of a file like the one that was read, with gaps at the rows `hidden` of its cells.

    With a key for every cell, rows are sorted by the keys of their cells.
    """
    form, places = read.form, read.places
    if form.path is None or places is None:
        raise InputError(f"{read.name}: has no file to be written like")
    if form.kind in CUBES:
        lost = {int(places[row, 0]) - 1: str(read.cells.lower[row]) for row in hidden}
        return f"{form.path.name.split('.')[0]}-suppressed.{form.kind}", px_gapped(form.path, lost)
    if form.kind in TYPED:
        grid = _typed_grid(form.path, form.sheet)
        at = {line: number for number, line in enumerate(grid.lines)}
        spots = [(at[line], column) for line, column in places.tolist()]
        axes = [axis.name for axis in read.axes]
        order = None if keys is None else _sorted_rows(spots, keys, grid)
        return _typed_back(form.path, grid, set(spots), {spots[row] for row in hidden}, axes, order=order)
    if form.kind in BOOKS:
        grid = excel_grids(form.path, form.sheet)[0]
    else:
        grid = text_grid(form.path, "" if form.encoding == "utf-8" else form.encoding)
    rows = [list(row) for row in grid.rows]
    at_line = {line: number for number, line in enumerate(grid.lines)}
    counted = {(at_line[int(line)], int(column)) for line, column in places.tolist() if int(line) in at_line}
    for line, column in (places[row].tolist() for row in hidden):
        rows[at_line[line]][column] = MARK
    _remove_others(rows, counted)
    _remove_above(rows, min(row for row, _ in counted), {text for axis in read.axes for text in axis.labels})
    for row, line in enumerate(grid.lines):
        while line in grid.short and rows[row] and rows[row][-1] is None:
            rows[row].pop()  # a header of R has one field less than its rows
    if keys is not None:
        spots = [(at_line[int(line)], int(column)) for line, column in places.tolist()]
        rows = [rows[row] for row in _sorted_rows(spots, keys, grid)]
        rows += [[], [FOOTNOTE], [BY_LABELS]]
    else:
        rows += [[], [FOOTNOTE]]
    kind = AS_XLSX.get(form.kind, form.kind)
    name = f"{form.path.name.split('.')[0]}-suppressed.{kind}"
    return name, (book_bytes(rows, grid, kind) if form.kind in BOOKS else _text(rows, form.delimiter, form.encoding))


def read_again(name: str, content: bytes, read: ReadTable, reading: ReadingOptions) -> ReadTable:
    """What was written, as `read` was read."""
    with scratch_folder() as folder:
        written = folder / name
        written.write_bytes(content)
        (again,) = read_all([written], count=read.form.counts or "count", reading=reading)
        return again


def _remove_others(rows: list[list[Cell]], counted: set[tuple[int, int]], kept: Collection[int] = ()) -> None:
    """Take away numbers beside the counts and below them: they may be shares of what is suppressed.

    Columns in `kept` hold labels, wherever they stand.
    """
    first, filled = min(column for _, column in counted), {row for row, _ in counted}
    shares = {
        column
        for column in range(first)
        if column not in kept and any(SHARES.search(str(rows[row][column] or "")) for row in range(min(filled)))
    }
    for row in range(min(filled), len(rows)):
        for column in shares:  # left of the counts
            if _is_numeric(rows[row][column]):
                rows[row][column] = None
        beside = [cell for column, cell in enumerate(rows[row]) if column >= first and column not in kept]
        if row not in filled and any(map(_is_numeric, beside)):
            rows[row] = [None] * len(rows[row])  # a row of shares, or of another table
        for column in range(first, len(rows[row])):
            if (row, column) not in counted and column not in kept and _is_numeric(rows[row][column]):
                rows[row][column] = None


def _remove_above(rows: list[list[Cell]], first: int, labels: Collection[str]) -> None:
    """Take away numbers above the body that name no column: a formula beside a title may state what is suppressed."""
    for row in range(first):
        rows[row] = [None if _is_numeric(cell) and shown(cell) not in labels else cell for cell in rows[row]]


def _is_numeric(cell: Cell) -> bool:
    """Whether a cell states a number in any way of writing: digits, and no letters.

    >>> [_is_numeric(cell) for cell in (7, "43,2", "12 %", "(5)", "Total", "2nd", None)]
    [True, True, True, True, False, False, False]
    """
    if isinstance(cell, str):
        return any(sign.isdigit() for sign in cell) and not any(sign.isalpha() for sign in cell)
    return cell is not None


def _text(rows: list[list[Cell]], delimiter: str, encoding: str) -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(
        ["" if cell is None else cell for cell in row] for row in rows
    )
    return text.getvalue().encode(encoding)
