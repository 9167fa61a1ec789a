"""A sheet of values as a new workbook: no part of the file that was read is copied.

A workbook keeps more than it shows: texts that no cell has any more, the values of formulas, number formats that hide
counts, charts, other sheets, names of authors, a picture of the first page. So the cells that are printed go into a new
`.xlsx` or `.ods` and nothing else; merged cells stay in `.xlsx` (the library that reads `.ods` does not say which are).
Other kinds of workbooks are written as `.xlsx`: macros may hold anything, and no kept library writes `.xls` or `.xlsb`.
"""

import io
import zipfile
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from safemargin.core import InputError
from safemargin.io.reading.grid import Cell, TextGrid

AS_XLSX = dict.fromkeys(("xls", "xlsb", "xlsm"), "xlsx")
"""Kinds of workbooks, and the kind in which they are written."""
BOOKS = ("xlsx", "ods", *AS_XLSX)
_DATE = (1980, 1, 1, 0, 0, 0)
_OPEN = "urn:oasis:names:tc:opendocument:xmlns"
_KIND = "application/vnd.oasis.opendocument.spreadsheet"
_MANIFEST = (
    f'<manifest:manifest xmlns:manifest="{_OPEN}:manifest:1.0" manifest:version="1.3">'
    f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{_KIND}"/>'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>'
)


def book_bytes(rows: Sequence[Sequence[Cell]], grid: TextGrid, kind: str) -> bytes:
    """A workbook of one sheet with these rows, and the name and the merged cells of a grid."""
    title = (grid.sheet or Path(grid.path).stem)[:31] or "Table"
    return _ods(rows, title) if kind == "ods" else _xlsx(rows, grid, title)


def _xlsx(rows: Sequence[Sequence[Cell]], grid: TextGrid, title: str) -> bytes:
    try:
        openpyxl = import_module("openpyxl")
    except ImportError:
        raise InputError(f"{grid.path}: to write Excel: pip install 'safemargin[excel]'") from None
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "".join("_" if sign in "[]:*?/\\" else sign for sign in title)
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


def _ods(rows: Sequence[Sequence[Cell]], title: str) -> bytes:
    """An OpenDocument workbook of the least parts it can have."""
    lines = [
        f"<table:table-row>{''.join(map(_ods_cell, row)) or '<table:table-cell/>'}</table:table-row>" for row in rows
    ]
    width = max(map(len, rows), default=1)
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content xmlns:office="{_OPEN}:office:1.0" '
        f'xmlns:table="{_OPEN}:table:1.0" xmlns:text="{_OPEN}:text:1.0" office:version="1.3"><office:body>'
        f"<office:spreadsheet><table:table table:name={quoteattr(title)}>"
        f'<table:table-column table:number-columns-repeated="{width}"/>{"".join(lines)}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in (("mimetype", _KIND), ("content.xml", content), ("META-INF/manifest.xml", _MANIFEST)):
            part = zipfile.ZipInfo(name, _DATE)  # the same bytes at any time
            part.compress_type = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            packed.writestr(part, text.encode())
    return target.getvalue()


def _ods_cell(cell: Cell) -> str:
    """One cell: a number, or a text with its blanks.

    >>> _ods_cell(7)
    '<table:table-cell office:value-type="float" office:value="7"><text:p>7</text:p></table:table-cell>'
    """
    if cell is None:
        return "<table:table-cell/>"
    if not isinstance(cell, str):
        text = str(cell) if isinstance(cell, int) else f"{cell:f}"
        kind = f' office:value-type="float" office:value="{text}"'
    else:
        kind, text = ' office:value-type="string"', _blanks("".join(sign for sign in cell if sign >= " "))
    return f"<table:table-cell{kind}><text:p>{text}</text:p></table:table-cell>"


def _blanks(text: str) -> str:
    """A text in which blanks in front, and several together, are elements: a reader joins them otherwise."""
    found = escape(text)
    front = len(found) - len(found.lstrip(" "))
    lead = f'<text:s text:c="{front}"/>' if front else ""
    return lead + "".join(b if a != " " or b != " " else "<text:s/>" for a, b in pairwise(f"\0{found[front:]}"))
