"""Opening files, the values that every reader gives, and one line that says why a file cannot be read."""

import csv
import gzip
import json
import math
import re
import tomllib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeVar

from safemargin.core import UNBOUNDED, InputError, IntArray, cannot_read

T = TypeVar("T")

MOST_LABELS = 100_000
"""More distinct values than this in a column that is counted by: an identifier, not an axis."""

EXAMPLES = 1000
"""Rows of which a survey keeps the values."""
DELIMITERS = (",", ";", "\t")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


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
        # By the name, as everybody names packed files; the content is checked when it is read.
        return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")
    except OSError as error:
        raise cannot_read(path, error) from None


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


def read_text(path: Path | str) -> str:
    """A UTF-8 file as a whole."""
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise cannot_read(path, error) from None


def read_json(path: Path | str) -> Any:
    """What a JSON file holds."""
    return _parsed(path, "JSON", json.loads)


def read_toml(path: Path | str) -> dict[str, Any]:
    """What a TOML file holds."""
    return _parsed(path, "TOML", tomllib.loads)


def _parsed(path: Path | str, notation: str, parse: Callable[[str], T]) -> T:
    text = read_text(path)
    try:
        return parse(text)
    except (ValueError, RecursionError) as error:  # deep nesting ends the parser's recursion
        raise InputError(f"{path}: is not {notation}: {error}") from None


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
    for column, name in enumerate(names, 1):
        if not name.strip():
            raise InputError(f"{path}: column {column} has no name; the first line must name every column")
        if names.count(name) > 1:
            raise InputError(f"{path}: column {name!r} occurs twice")


def delimiter_of(path: Path, header: str) -> str:
    """What separates columns: a tab in `.tsv`, else whichever of comma, semicolon and tab the header has most."""
    if suffix(path) == ".tsv":
        return "\t"
    # Delimiters inside quotes do not separate columns.
    outside = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=outside.count)


class BadText(ValueError):
    """A text that does not say what it should; its message says why."""


def whole_number(text: str) -> int:
    """The count that `text` says.

    >>> whole_number("3.0"), whole_number("1e3")
    (3, 1000)
    """
    plain = text.strip()
    if plain.isascii() and plain.isdigit() and len(plain) <= 15:
        return int(plain)
    if not _NUMBER.fullmatch(plain):
        raise BadText("is not finite" if is_number(plain) else "is not a number")
    value = Decimal(plain)
    if value != value.to_integral_value():
        raise BadText("is not a whole number")
    if value < 0:
        raise BadText("is negative")
    if value > UNBOUNDED:
        raise BadText(f"is larger than {UNBOUNDED}")
    return int(value)


def is_number(text: str) -> bool:
    """Whether `text` says any number at all, also one that is no count."""
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text


def is_finite(text: str) -> bool:
    """Whether `text` says a finite number."""
    return is_number(text) and math.isfinite(float(text))


@dataclass(frozen=True)
class Profiles:
    """Distinct rows of some columns: `codes` points into the `labels` of each column, `counts` says how many rows.

    An absent value is the empty label. Rows may repeat where different values read the same as text.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    codes: IntArray
    counts: IntArray

    def column(self, name: str) -> tuple[tuple[str, ...], IntArray]:
        """The labels and the codes of one column."""
        position = self.columns.index(name)
        return self.labels[position], self.codes[:, position]


@dataclass(frozen=True)
class Survey:
    """How many rows there are, how many distinct values per column, and what the first rows hold."""

    rows: int
    distinct: Mapping[str, int]
    examples: Mapping[str, tuple[str, ...]]


class Source(Protocol):
    """A table that an engine can count."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        ...

    def profiles(self, columns: tuple[str, ...]) -> Profiles:
        """Distinct rows of `columns`."""
        ...

    def survey(self) -> Survey:
        """A first look at every column."""
        ...


def check_columns(path: Path, present: Iterable[str], wanted: Iterable[str]) -> None:
    """Refuse a table that lacks a column."""
    names = list(present)
    for name in wanted:
        if name not in names:
            raise InputError(f"{path}: there is no column {name!r}; the columns are {', '.join(names)}")


def check_labels(path: Path, column: str, distinct: int) -> None:
    """Refuse to count by a column that identifies single people."""
    if distinct > MOST_LABELS:
        raise InputError(
            f"{path}: column {column!r} has {distinct} different values, more than {MOST_LABELS}: "
            "it looks like an identifier; omit it or band it"
        )


def natural_order(label: str) -> tuple[list[str | int], str]:
    """A sorting key that reads numbers as numbers.

    >>> sorted(["D10", "D2", "10-19", "5-9"], key=natural_order)
    ['5-9', '10-19', 'D2', 'D10']
    """
    parts: list[str | int] = list(re.split("([0-9]+)", label))
    parts[1::2] = [int(digits) for digits in parts[1::2]]
    return parts, label


@dataclass(frozen=True)
class Sheet:
    """The columns of a tidy file as texts, and what each row is called in messages."""

    path: Path
    columns: Mapping[str, Sequence[str]]
    rows: Sequence[int]
    row_word: str = "line"

    def without(self, column: str, value: str) -> "Sheet":
        """The sheet less the rows that hold `value` in `column`."""
        check_columns(self.path, self.columns, (column,))
        keep = [row for row, text in enumerate(self.columns[column]) if text != value]
        if not keep:
            raise InputError(f"{self.path}: no row is left without {column} = {value!r}")
        columns = {name: [texts[row] for row in keep] for name, texts in self.columns.items()}
        return Sheet(self.path, columns, [self.rows[row] for row in keep], self.row_word)

    def place(self, row: int) -> str:
        """Where a row stands."""
        return f"{self.row_word} {self.rows[row]}"

    def fault(self, row: int, column: str, reason: str) -> InputError:
        """An error that names file, row, column and value."""
        return InputError(f"{self.path}: {self.place(row)}: {column} = {self.columns[column][row]!r}: {reason}")
