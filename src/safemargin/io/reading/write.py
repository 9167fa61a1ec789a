"""A table with gaps in the form in which it was read: the same layout, gaps marked, a footnote added.

Only the table itself is written. Of a workbook that is one sheet of values, without formulas, remarks and other sheets,
which may hold what is suppressed. Numbers of the body that are no counts of the table (shares, means) are removed: a
share discloses its count.
"""

import csv
import io
from collections.abc import Collection
from importlib import import_module
from pathlib import Path

from safemargin.core import InputError
from safemargin.io.reading.column_names import SHARES
from safemargin.io.reading.excel import excel_grids
from safemargin.io.reading.grid import Cell, TextGrid
from safemargin.io.reading.table import ReadTable
from safemargin.io.reading.texts import text_grid

MARK = "*"
FOOTNOTE = "* suppressed, so that no small count can be inferred"
TEXTS, BOOKS = ("csv", "tsv", "txt"), ("xlsx",)


def can_write_back(read: ReadTable) -> bool:
    """Whether a table can be written in the form in which it was read."""
    return read.form.path is not None and read.form.kind in (*TEXTS, *BOOKS) and not read.form.is_tidy


def write_back(read: ReadTable, hidden: Collection[int]) -> tuple[str, bytes]:
    """The name and the content of a file like the one that was read, with gaps at the rows `hidden` of its cells."""
    form, places = read.form, read.places
    if form.path is None or places is None:
        raise InputError(f"{read.name}: has no file to be written like")
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
    for row, line in enumerate(grid.lines):
        while line in grid.short and rows[row] and rows[row][-1] is None:
            rows[row].pop()  # a header of R has one field less than its rows
    rows += [[], [FOOTNOTE]]
    name = f"{form.path.name.split('.')[0]}-suppressed.{form.kind}"
    return name, (_workbook(rows, grid) if form.kind in BOOKS else _text(rows, form.delimiter, form.encoding))


def _remove_others(rows: list[list[Cell]], counted: set[tuple[int, int]]) -> None:
    """Take away numbers beside the counts and below them: they may be shares of what is suppressed."""
    first, filled = min(column for _, column in counted), {row for row, _ in counted}
    shares = {
        column
        for column in range(first)
        if any(SHARES.search(str(rows[row][column] or "")) for row in range(min(filled)))
    }
    for row in range(min(filled), len(rows)):
        for column in shares:  # left of the counts
            if _is_numeric(rows[row][column]):
                rows[row][column] = None
        if row not in filled and any(map(_is_numeric, rows[row][first:])):
            rows[row] = [None] * len(rows[row])  # a row of shares, or of another table
        for column in range(first, len(rows[row])):
            if (row, column) not in counted and _is_numeric(rows[row][column]):
                rows[row][column] = None


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


def _workbook(rows: list[list[Cell]], grid: TextGrid) -> bytes:
    try:
        openpyxl = import_module("openpyxl")
    except ImportError:
        raise InputError(f"{grid.path}: to write Excel: pip install 'safemargin[excel]'") from None
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = (grid.sheet or Path(grid.path).stem)[:31] or "Table"
    for number, row in enumerate(rows, 1):
        for column, cell in enumerate(row, 1):
            if cell is not None:
                written = sheet.cell(number, column, cell if isinstance(cell, str | int) else float(cell))
                if isinstance(cell, str):
                    written.data_type = "s"  # a label is never a formula
    for top, left, bottom, right in grid.merged:
        sheet.merge_cells(start_row=top + 1, start_column=left + 1, end_row=bottom + 1, end_column=right + 1)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()
