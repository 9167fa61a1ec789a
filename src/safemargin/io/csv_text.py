"""CSV as text: records, the header, and what separates columns."""

import csv
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from safemargin.core import InputError
from safemargin.io.files import UTF8, check_names, numbered_lines, suffix

DELIMITERS = (",", ";", "\t")
_STATED = re.compile(r"""["']?sep=([,;|\t])["']?[ \r\n]*""", re.I)
"""A first line that states to a spreadsheet what separates columns."""


def csv_records(path: Path, encoding: str = UTF8) -> Iterator[tuple[int, list[str]]]:
    """Records of a CSV file with the line each ends on, the header first; every record has as many fields as it."""
    lines = numbered_lines(path, encoding)
    first = next(lines, "")
    stated = _STATED.fullmatch(first)
    first = next(lines, "") if stated else first
    if not first.strip():
        raise InputError(f"{path}: line {2 if stated else 1}: is empty; the first line must name the columns")
    delimiter = stated[1] if stated else delimiter_of(path, first)
    reader = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
    width = 0
    try:
        for record in reader:
            line = reader.line_num + bool(stated)
            width = width or len(record)
            if len(record) not in (0, width):
                raise InputError(f"{path}: line {line}: has {len(record)} fields, the header has {width}")
            if record:
                yield line, record
    except csv.Error as error:
        raise InputError(f"{path}: line {reader.line_num + bool(stated)}: is not valid CSV: {error}") from None


def csv_header(path: Path) -> tuple[tuple[str, ...], str, int]:
    """The column names of a CSV file, its delimiter, and how many lines come before the names."""
    first = next(numbered_lines(path), "")
    stated = _STATED.fullmatch(first)
    _, names = next(csv_records(path))
    check_names(path, names)
    return tuple(names), stated[1] if stated else delimiter_of(path, first), 1 if stated else 0


def delimiter_of(path: Path, header: str) -> str:
    """What separates columns: a tab in `.tsv`, else whichever of comma, semicolon and tab the header has most."""
    if suffix(path) == ".tsv":
        return "\t"
    # Delimiters inside quotes do not separate columns.
    outside = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=outside.count)
