"""Opening files: bytes, lines, CSV records, JSON and TOML, and one line that says why a file cannot be read."""

import csv
import gzip
import json
import os
import re
import shlex
import stat
import tomllib
import zlib
from collections.abc import Callable, Iterator
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import IO, Any

from safemargin.core import InputError, TooLargeError, cannot_read

PIECE = 1 << 20
"""Bytes that are read at once."""
MOST_BYTES = 512 * 2**20
"""The largest file that is read as a whole: project files, certificates, guarantees; records are read in parts."""
MOST_LINE = 16 * 2**20
"""The longest line of a text file, in bytes."""
MOST_UNPACKED, FIRST_UNPACKED = 500, 64 * 2**20
"""A packed table grows 5 to 100 times; one whose first 64 MiB come from less than a 500th of that is no table."""
MOST_COLUMNS = 5_000
UTF8 = "utf-8"
DELIMITERS = (",", ";", "\t")
_STATED = re.compile(r"""["']?sep=([,;|\t])["']?[ \r\n]*""", re.I)
"""A first line that states to a spreadsheet what separates columns."""


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


def require_private(path: Path, kind: str = "secret") -> None:
    """Refuse a secret that others can read: it may be none any more."""
    require_file(path)
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise InputError(f"{path}: other users can read or change this {kind}; run: chmod 600 {shlex.quote(str(path))}")


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


def read_most(file: IO[bytes] | gzip.GzipFile | BufferedReader, most: int) -> bytes:
    """What a file holds, at most so many bytes. `read(most)` would reserve all of them for a file of a few."""
    parts, left = [], most
    while left > 0 and (part := file.read(min(left, PIECE))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def read_bytes(path: Path | str) -> bytes:
    """A file as a whole; not a device, and not more than a program should hold at once."""
    require_file(Path(path))
    try:
        with Path(path).open("rb") as file:
            content = read_most(file, MOST_BYTES + 1)
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


def check_keys(content: bytes | str, name: object) -> None:
    """Refuse JSON that says a key twice: of a signed file, two programs may read two different values.

    Every reader of a signed file that parses it in another way than `parse_json` calls this first.
    """
    try:
        parse_json(content.decode() if isinstance(content, bytes) else content, name)
    except UnicodeDecodeError as error:
        raise cannot_read(name, error) from None


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
