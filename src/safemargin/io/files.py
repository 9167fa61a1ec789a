"""Opening files and saying in one line why one cannot be read."""

import csv
import gzip
import zlib
from collections.abc import Iterator
from io import BufferedReader
from itertools import chain
from pathlib import Path

from safemargin.core import InputError

DELIMITERS = (",", ";", "\t")


def suffix(path: Path) -> str:
    """The ending that says what a file holds: `.csv` also for `voters.csv.gz`."""
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def require_file(path: Path) -> None:
    """Refuse what is not there or is not a file."""
    if not path.exists():
        raise InputError(f"{path}: there is no such file")
    if not path.is_file():
        raise InputError(f"{path}: is a folder or device, not a file")


def open_bytes(path: Path) -> gzip.GzipFile | BufferedReader:
    """The bytes of a file, unpacked if it is a `.gz`."""
    require_file(path)
    try:
        return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def numbered_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file; an error names the line."""
    number = 1
    try:
        with open_bytes(path) as lines:
            for number, line in enumerate(lines, 1):
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: line {number}: is not UTF-8; save the file as UTF-8") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: line {number}: cannot be read: {error}") from None


def check_encoding(path: Path) -> None:
    """Refuse a file that is not UTF-8 throughout."""
    for _ in numbered_lines(path):
        pass


def csv_records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Records of a CSV file with the line each ends on, the header first; every record has as many fields as it."""
    lines = numbered_lines(path)
    first = next(lines, "")
    if not first.strip():
        raise InputError(f"{path}: line 1: is empty; the first line must name the columns")
    reader = csv.reader(chain([first], lines), delimiter=delimiter_of(path, first), strict=True)
    width = 0
    try:
        for record in reader:
            width = width or len(record)
            if len(record) not in (0, width):
                raise InputError(f"{path}: line {reader.line_num}: has {len(record)} fields, the header has {width}")
            if record:
                yield reader.line_num, record
    except csv.Error as error:
        raise InputError(f"{path}: line {reader.line_num}: is not valid CSV: {error}") from None


def csv_header(path: Path) -> tuple[tuple[str, ...], str]:
    """The column names of a CSV file and its delimiter."""
    delimiter = delimiter_of(path, next(numbered_lines(path), ""))
    _, names = next(csv_records(path))
    check_names(path, names)
    return tuple(names), delimiter


def check_names(path: Path, names: list[str]) -> None:
    """Refuse columns without a name and names that occur twice."""
    for place, name in enumerate(names, 1):
        if not name.strip():
            raise InputError(f"{path}: column {place} has no name; the first line must name every column")
        if names.count(name) > 1:
            raise InputError(f"{path}: column {name!r} occurs twice")


def delimiter_of(path: Path, header: str) -> str:
    """What separates columns: a tab in `.tsv`, else whichever of comma, semicolon and tab the header has most."""
    if suffix(path) == ".tsv":
        return "\t"
    outside = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=outside.count)
