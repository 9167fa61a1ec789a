"""Opening files, the values that every reader gives, and one line that says why a file cannot be read."""

import gzip
import json
import math
import os
import re
import shlex
import stat
import tomllib
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from io import BufferedReader
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from safemargin.core import UNBOUNDED, BoolArray, InputError, IntArray, TooLargeError, cannot_read

T = TypeVar("T")

MOST_LABELS = 100_000
"""More distinct values than this in a column that is counted by: an identifier, not an axis."""

EXAMPLES = 1000
"""Rows of which a survey keeps the values."""
MOST_BYTES = 512 * 2**20
"""The largest file that is read as a whole: project files, certificates, guarantees; records are read in parts."""
MOST_LINE = 16 * 2**20
"""The longest line of a text file, in bytes."""
MOST_UNPACKED, FIRST_UNPACKED = 500, 64 * 2**20
"""A packed table grows 5 to 100 times; one whose first 64 MiB come from less than a 500th of that is no table."""
MOST_COLUMNS = 5_000
LONGEST_VALUE = 60
"""How much of a wrong value a message repeats."""
MOST_LISTED = 20
"""How many columns a message lists."""
UTF8 = "utf-8"
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def suffix(path: Path) -> str:
    """The ending that says what a file holds: `.csv` also for `voters.csv.gz`."""
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def require_file(path: Path) -> None:
    """Refuse what is not there or is not a file: a device or a pipe may have no end."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:  # a name with a zero byte or half a sign is a ValueError
        raise cannot_read(path, error) from None
    if not stat.S_ISREG(mode):
        raise InputError(f"{path}: is a folder or device, not a file")


def require_private(path: Path) -> None:
    """Refuse a secret that others can read: it may be none any more."""
    require_file(path)
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise InputError(f"{path}: other users can read or change this secret; run: chmod 600 {shlex.quote(str(path))}")


def open_bytes(path: Path) -> gzip.GzipFile | BufferedReader:
    """The bytes of a file, unpacked if it is a `.gz`."""
    require_file(path)
    check_packed(path)
    try:
        # By the name, as everybody names packed files; the content is checked when it is read.
        return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")
    except OSError as error:
        raise cannot_read(path, error) from None


def check_packed(path: Path) -> None:
    """Refuse a packed file that unpacks to more than any table would: its end may be days away."""
    if path.suffix.lower() != ".gz":
        return
    try:
        with path.open("rb") as packed, gzip.GzipFile(fileobj=packed) as content:
            size = 0
            while size < FIRST_UNPACKED and (part := content.read(1 << 20)):
                size += len(part)
            if size >= FIRST_UNPACKED and size > MOST_UNPACKED * os.lseek(packed.fileno(), 0, os.SEEK_CUR):
                raise InputError(f"{path}: unpacks to more than {MOST_UNPACKED} times its size; unpack and look at it")
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: line 1: cannot be read: {error}") from None


def numbered_lines(path: Path, encoding: str = UTF8) -> Iterator[str]:
    """The lines of a text file; an error names the line."""
    number = 1
    try:
        with open_bytes(path) as lines:
            for number, line in enumerate(iter(lambda: lines.readline(MOST_LINE + 1), b""), 1):
                if len(line) > MOST_LINE:
                    raise InputError(f"{path}: line {number}: is longer than {MOST_LINE:,} bytes; is this a table?")
                yield line.decode("utf-8-sig" if number == 1 and encoding == UTF8 else encoding)
    except UnicodeDecodeError:
        advice = "save the file as UTF-8, or state data.encoding in a project"
        advice = advice if encoding == UTF8 else "state another data.encoding"
        raise InputError(f"{path}: line {number}: is not {encoding.upper()}; {advice}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: line {number}: cannot be read: {error}") from None


def read_bytes(path: Path | str) -> bytes:
    """A file as a whole; not a device, and not more than a program should hold at once."""
    require_file(Path(path))
    try:
        with Path(path).open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise cannot_read(path, error) from None
    if len(content) > MOST_BYTES:
        raise TooLargeError(f"{path}: has more than {MOST_BYTES:,} bytes; no file of this kind is so large")
    return content


def read_text(path: Path | str) -> str:
    """A UTF-8 file as a whole."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise cannot_read(path, error) from None


def read_json(path: Path | str) -> Any:
    """What a JSON file holds."""
    return parse_json(read_text(path), path)


def read_toml(path: Path | str) -> dict[str, Any]:
    """What a TOML file holds."""
    return parse_toml(read_text(path), path)


def parse_json(text: str, name: object) -> Any:
    """What JSON says in which every key occurs once, every number is one and every text can be written."""
    try:
        value = json.loads(text, object_pairs_hook=_keys_once, parse_constant=_no_constant)
        if "\\ud" in text.lower():  # an escape for half a sign
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError:
        raise InputError(f"{name}: is not JSON: a text has half of a surrogate pair") from None
    except (ValueError, RecursionError) as error:
        raise _not_parsed(name, "JSON", error) from None


def parse_toml(text: str, name: object, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """What TOML says; integers have at most 64 bits, as its standard has it."""
    try:
        document = tomllib.loads(text, parse_float=parse_float)
        _check_integers(document, ())
        return document
    except (ValueError, RecursionError) as error:
        raise _not_parsed(name, "valid TOML", error) from None


def _not_parsed(name: object, notation: str, error: Exception) -> InputError:
    # Python's words for these two name its own settings.
    reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
    reason = "an integer has too many digits" if "integer string conversion" in reason else reason
    return InputError(f"{name}: is not {notation}: {reason}")


def _check_integers(value: object, place: tuple[int | str, ...]) -> None:
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            _check_integers(part, (*place, key))
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        key = ".".join(map(str, place))
        raise ValueError(f"{key} has an integer beyond 64 bits, {str(value)[:30]}")


def _keys_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    checked = dict(pairs)
    if len(checked) < len(pairs):
        raise ValueError("a key occurs twice")
    return checked


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def check_encoding(path: Path) -> None:
    """Refuse a file that is not UTF-8 throughout."""
    for _ in numbered_lines(path):
        pass


def check_names(path: Path, names: list[str]) -> None:
    """Refuse columns without a name and names that occur twice."""
    if len(names) > MOST_COLUMNS:
        raise TooLargeError(f"{path}: has {len(names):,} columns, more than {MOST_COLUMNS:,}; keep those you need")
    seen: set[str] = set()
    for column, name in enumerate(names, 1):
        if not name.strip():
            raise InputError(f"{path}: column {column} has no name; the first line must name every column")
        if name in seen:
            raise InputError(f"{path}: column {name!r} occurs twice")
        seen.add(name)


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

    def where(self, keep: BoolArray) -> "Profiles":
        """The rows to keep, with the labels that they have."""
        if keep.all():
            return self
        rows, codes = self.codes[keep], np.empty((int(keep.sum()), len(self.columns)), dtype=np.int64)
        labels = []
        for column, texts in enumerate(self.labels):
            used, codes[:, column] = np.unique(rows[:, column], return_inverse=True)
            labels.append(tuple(texts[code] for code in used.tolist()))
        return Profiles(self.columns, tuple(labels), codes, self.counts[keep])

    def relabelled(self, name: str, texts: Sequence[str]) -> "Profiles":
        """The same rows with other labels in one column, in their order; equal labels become one."""
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        position, codes = self.columns.index(name), self.codes.copy()
        codes[:, position] = np.array([places[text] for text in texts], dtype=np.int64)[codes[:, position]]
        labels = (*self.labels[:position], tuple(places), *self.labels[position + 1 :])
        return Profiles(self.columns, labels, codes, self.counts)


@dataclass(frozen=True)
class Survey:
    """How many rows there are, how many distinct values per column, and what the first rows hold."""

    rows: int
    distinct: Mapping[str, int]
    examples: Mapping[str, tuple[str, ...]]


def numbered_profiles(
    path: Path, table: str, columns: tuple[str, ...], values: Collection[str], rows: Iterable[Sequence[Any]]
) -> Profiles:
    """The profiles in rows of texts, each followed by its count, as a database gives them."""
    numbers: list[dict[str, int]] = [{} for _ in columns]
    codes: list[list[int]] = []
    counts: list[int] = []
    for *labels, count in rows:
        codes.append([seen.setdefault(x, len(seen)) for seen, x in zip(numbers, labels, strict=True)])
        counts.append(count)
    if not counts:
        raise InputError(f"{path}: table {table!r} is empty")
    for name, seen in zip(columns, numbers, strict=True):
        if name not in values:
            check_labels(path, name, len(seen))
    coded = np.array(codes, dtype=np.int64).reshape(len(counts), len(columns))
    return Profiles(columns, tuple(tuple(seen) for seen in numbers), coded, np.array(counts, dtype=np.int64))


class CountedTable(Protocol):
    """A table that an engine can count, wherever it is."""

    def profiles(self, columns: tuple[str, ...], values: Collection[str] = ()) -> Profiles:
        """Distinct rows of `columns`; those in `values` may hold any number of different texts."""
        ...


class Source(CountedTable, Protocol):
    """A table in a file or in memory."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        ...

    def survey(self) -> Survey:
        """A first look at every column."""
        ...


def check_columns(path: Path, present: Iterable[str], wanted: Iterable[str]) -> None:
    """Refuse a table that lacks a column."""
    names = list(present)
    more = f" and {len(names) - MOST_LISTED:,} more" if len(names) > MOST_LISTED else ""
    for name in wanted:
        if name not in names:
            listed = ", ".join(names[:MOST_LISTED]) + more
            raise InputError(f"{path}: there is no column {name!r}; the columns are {listed}")


def check_labels(path: Path, column: str, distinct: int) -> None:
    """Refuse to count by a column that identifies single people."""
    if distinct > MOST_LABELS:
        raise InputError(
            f"{path}: column {column!r} has {distinct} different values, more than {MOST_LABELS}: "
            "it looks like an identifier; omit it or band it"
        )


def natural_order(label: str) -> tuple[list[str | tuple[int, str]], str]:
    """A sorting key that reads numbers as numbers.

    >>> sorted(["D10", "D2", "10-19", "5-9"], key=natural_order)
    ['5-9', '10-19', 'D2', 'D10']
    """
    parts: list[str | tuple[int, str]] = list(re.split("([0-9]+)", label))
    # Longer numbers are larger; as texts, since a label may have more digits than Python makes a number of.
    parts[1::2] = [(len(plain), plain) for plain in (str(digits).lstrip("0") for digits in parts[1::2])]
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
        value = repr(self.columns[column][row])
        value = value if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}..."
        return InputError(f"{self.path}: {self.place(row)}: {column} = {value}: {reason}")
