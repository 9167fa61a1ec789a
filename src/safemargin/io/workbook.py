"""Excel files: what they unpack to, counted while they are unpacked, and the cells of their sheets.

An `.xlsx` file is a ZIP archive. What its directory says about sizes may be false, so every part is inflated from
its own data and counted. A sheet may name a cell at XFD1048576, the last one there is: a reader that holds the
rectangle of all cells would need 17 billion of them, so the rectangle is measured first.
"""

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from safemargin.core import InputError, TooLargeError
from safemargin.io.files import FIRST_UNPACKED, MOST_UNPACKED
from safemargin.io.plain import plain_text

MOST_BOOK = 512 * 2**20
"""Bytes that all parts of a workbook may unpack to."""
MOST_RECTANGLE, LEAST_FILLED = 5_000_000, 200
"""A rectangle of more cells than this, of which fewer than one in 200 is filled, is no table."""
_TAG = re.compile(rb"""<(?:[\w.-]+:)?(row|c)(?=[\s/>])((?:[^>"']|"[^"]*"|'[^']*')*)>""")
_REFERENCE = re.compile(rb"""(?:^|\s)r\s*=\s*["']\s*([A-Z]{0,3})([0-9]{1,7})\s*["']""")
LONGEST_TAG = 1 << 16
_LOCAL = struct.Struct("<4s5H3I2H")
PIECE = 1 << 20


def excel_library(path: Path) -> Any:
    """The library that reads workbooks; an error says how to install it."""
    try:
        return import_module("python_calamine")
    except ImportError:
        raise InputError(f"{path}: needs python_calamine; install it with: pip install 'safemargin[excel]'") from None


OLD = b"\xd0\xcf\x11\xe0"
"""How files of Excel before 2007, and encrypted workbooks, begin."""


def check_workbook(path: Path) -> None:
    """Refuse a workbook that unpacks to more than any table would, or whose cells lie far apart."""
    try:
        with path.open("rb") as file:
            start = file.read(512).lstrip()
        if start.startswith(OLD) or start[:1] == b"<":
            kind = "an old workbook" if start.startswith(OLD) else "a page of the web"
            raise InputError(f"{path}: is {kind}; open it in a spreadsheet and save it as .xlsx or CSV")
        with zipfile.ZipFile(path) as packed, path.open("rb") as file:
            size = path.stat().st_size
            parts = packed.infolist()
            stated = sum(part.file_size for part in parts)
            most = min(max(FIRST_UNPACKED, MOST_UNPACKED * size), MOST_BOOK)
            if stated > most:
                raise _unpacks(path, most, size)
            unpacked = 0
            for part in parts:
                box = _Box() if part.filename.startswith("xl/worksheets/") else None
                for piece in _inflated(file, part, path):
                    unpacked += len(piece)
                    if unpacked > most:
                        raise _unpacks(path, most, size)
                    if box is not None:
                        box.look(piece)
                if box is not None:
                    box.check(path)
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, struct.error, zlib.error) as error:
        raise unreadable(path, error) from None


def check_packed(path: Path) -> None:
    """Refuse a workbook of another kind that unpacks to more than any table would; `.xls` is not packed."""
    with path.open("rb") as file:
        start = file.read(512).lstrip()
    if start.startswith(OLD):
        return
    if start[:1] == b"<":
        raise InputError(f"{path}: is a page of the web; open it in a spreadsheet and save it as .xlsx or CSV")
    check_workbook(path)


def _unpacks(path: Path, most: int, size: int) -> TooLargeError:
    if most < MOST_BOOK or most == MOST_UNPACKED * size:
        return TooLargeError(f"{path}: unpacks to more than {MOST_UNPACKED} times its size; unpack and look at it")
    return TooLargeError(f"{path}: unpacks to more than {most:,} bytes; save the sheet as CSV or Parquet")


def _inflated(file: Any, part: zipfile.ZipInfo, path: Path) -> Iterator[bytes]:
    """The data of one part in pieces: where it ends is in the data, not in the directory."""
    file.seek(part.header_offset)
    mark, _, _, method, *_, name, extra = _LOCAL.unpack(file.read(_LOCAL.size))
    if mark != b"PK\x03\x04":
        raise zipfile.BadZipFile("a part is not where the directory says")
    file.seek(name + extra, 1)
    if method == zipfile.ZIP_STORED:
        left = part.file_size
        while left > 0 and (piece := file.read(min(PIECE, left))):
            left -= len(piece)
            yield piece
        return
    if method != zipfile.ZIP_DEFLATED:
        raise NotImplementedError(f"compression method {method}")
    stream, waiting = zlib.decompressobj(-zlib.MAX_WBITS), b""
    while not stream.eof:
        data = waiting or file.read(1 << 16)
        if not data:
            raise zlib.error("a part ends early")
        yield stream.decompress(data, PIECE)
        waiting = stream.unconsumed_tail


class _Box:
    """The rectangle around the cells of a sheet; a cell that does not say where it is follows the one before it."""

    def __init__(self) -> None:
        self.rows, self.columns, self.cells, self.rest = 0, 0, 0, b""
        self.row, self.column = 0, 0

    def look(self, piece: bytes) -> None:
        text = self.rest + piece
        cut = max(text.rfind(b"<"), len(text) - LONGEST_TAG)
        text, self.rest = text[:cut], text[cut:]
        for kind, attributes in _TAG.findall(text):
            place = _REFERENCE.search(attributes)
            if kind == b"row":
                self.row, self.column = int(place[2]) if place else self.row + 1, 0
                continue
            self.column += 1
            if place and place[1]:
                self.row, self.column = int(place[2]), 0
                for letter in place[1]:
                    self.column = self.column * 26 + letter - 64
            self.rows, self.columns = max(self.rows, self.row), max(self.columns, self.column)
            self.cells += 1

    def check(self, path: Path) -> None:
        self.look(b"<")  # what is left of the last piece
        area = self.rows * self.columns  # readers start at the first cell, A1
        if area > MOST_RECTANGLE and area > LEAST_FILLED * self.cells:
            raise TooLargeError(
                f"{path}: {self.cells:,} cells lie in a rectangle of {area:,}; delete the cells far outside the table"
            )


def unreadable(path: Path, error: Exception) -> InputError:
    """The one wording for a damaged workbook."""
    return InputError(
        f"{path}: cannot be read as an Excel file: {' '.join(str(error).split()) or type(error).__name__}"
    )


def cell_text(value: object) -> str:
    """A cell as its sheet shows it; a day without an hour is a day."""
    if isinstance(value, datetime) and (value.hour, value.minute, value.second) == (0, 0, 0):
        value = value.date()  # Excel has no days without an hour
    return plain_text(value) or ""
