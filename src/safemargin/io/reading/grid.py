"""A file as a rectangle of cells, before anybody knows what they mean.

A cell is a number where the format has numbers (Excel, Parquet), else a text, or None where it is empty. Texts are in
Unicode form NFC, without zero-width signs, with plain blanks for other blanks, and without blanks at the end. Blanks in
front stay: they are how spreadsheets indent.

>>> cleaned("  Lo\\u0301dz\\u00a0\\u200b ")
'  Lódz'
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from safemargin.core import TooLargeError
from safemargin.io.files import MOST_COLUMNS

Cell = int | Decimal | str | None
MOST_CELLS = 2_000_000
"""The largest grid that is looked at cell by cell; larger tables are read if they are tidy."""
_INVISIBLE = re.compile("[\u200b\u200c\u200d\u2060\ufeff\u00ad]")
_BLANKS = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\t]")


@dataclass(frozen=True)
class TextGrid:
    """The cells of one table, row by row, all rows of one length.

    `lines` says where each row is in the file and `columns` where each column is, `word` what messages call a row.
    `merged` are ranges (first row, first column, last row, last column) in which the first cell stands for all.
    `head` is the number of header rows where the format states it, `above` texts that were skipped before the table.
    """

    path: Path
    rows: tuple[tuple[Cell, ...], ...]
    lines: tuple[int, ...]
    columns: tuple[int, ...]
    word: str = "line"
    sheet: str = ""
    merged: tuple[tuple[int, int, int, int], ...] = ()
    head: int | None = None
    delimiter: str = ""
    encoding: str = ""
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    short: frozenset[int] = frozenset()
    """Lines of a text with fewer fields than others, which no blank at their end explains."""

    @property
    def name(self) -> str:
        """What messages call the table."""
        return f"{self.path}, sheet {self.sheet!r}" if self.sheet else str(self.path)

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.columns)

    def place(self, row: int) -> str:
        """Where a row stands in the file."""
        return f"{self.word} {self.lines[row]}"

    def noted(self, *notes: str) -> "TextGrid":
        """The grid with notes about how it was read."""
        return replace(self, notes=(*self.notes, *notes))


def cleaned(text: str) -> str:
    """A text as it is compared: NFC, plain blanks, nothing invisible, no blank at the end."""
    plain = text if text.isascii() else _INVISIBLE.sub("", unicodedata.normalize("NFC", text))
    return _BLANKS.sub(" ", plain).replace("\r", " ").replace("\n", " ").rstrip()


def make_grid(
    path: Path, rows: Iterable[Sequence[Cell]], lines: Sequence[int] | None = None, word: str = "line"
) -> TextGrid:
    """A grid of all rows, padded to one length; empty texts are None."""
    listed = [[_cell(cell) for cell in row] for row in rows]
    width = max((len(row) for row in listed), default=0)
    while width and all(len(row) < width or row[width - 1] is None for row in listed):
        width -= 1
    if width > MOST_COLUMNS:
        raise TooLargeError(f"{path}: has {width:,} columns, more than {MOST_COLUMNS:,}; keep those you need")
    padded = tuple((*row[:width], *[None] * (width - len(row))) for row in listed)
    places = tuple(lines) if lines is not None else tuple(range(1, len(padded) + 1))
    return TextGrid(path, padded, places, tuple(range(width)), word)


def _cell(cell: Cell) -> Cell:
    if isinstance(cell, str):
        text = cleaned(cell)
        return text if text.strip() else None
    return cell


def without_empty(grid: TextGrid) -> TextGrid:
    """The grid less rows and columns that hold nothing."""
    rows = [r for r, row in enumerate(grid.rows) if any(cell is not None for cell in row)]
    columns = [c for c in range(grid.width) if any(grid.rows[r][c] is not None for r in rows)]
    return taken(grid, rows, columns)


def taken(grid: TextGrid, rows: Sequence[int], columns: Sequence[int]) -> TextGrid:
    """Some rows and columns of a grid; merged ranges that lose a part are cut."""
    row_at, column_at = ({old: new for new, old in enumerate(kept)} for kept in (rows, columns))
    merged = []
    for top, left, bottom, right in grid.merged:
        inside_rows = [row_at[r] for r in range(top, bottom + 1) if r in row_at]
        inside_columns = [column_at[c] for c in range(left, right + 1) if c in column_at]
        if inside_rows and inside_columns:
            merged.append((inside_rows[0], inside_columns[0], inside_rows[-1], inside_columns[-1]))
    return replace(
        grid,
        rows=tuple(tuple(grid.rows[r][c] for c in columns) for r in rows),
        lines=tuple(grid.lines[r] for r in rows),
        columns=tuple(grid.columns[c] for c in columns),
        merged=tuple(merged),
    )


def shown(cell: Cell) -> str:
    """A cell as a label: numbers as they are shown, without blanks around."""
    if isinstance(cell, Decimal):
        return format(cell.normalize(), "f")
    return "" if cell is None else str(cell).strip()
