"""Files that are read whole: Excel, SPSS and Stata through a library each, PX, and CSV that is not UTF-8."""

import codecs
import json
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from safemargin.core import InputError, TooLargeError, python_command, safe_environment
from safemargin.io.duck import DuckSource, open_columns
from safemargin.io.files import UTF8, csv_records
from safemargin.io.plain import TOO_LARGE
from safemargin.io.px import read_px
from safemargin.io.rows import PROTECTION, VALUE
from safemargin.io.workbook import cell_text, check_workbook, excel_library, unreadable

MOST_HELD = 50_000_000
"""Values of a file that is held in memory as texts, some 4 GiB; Parquet and UTF-8 CSV are counted without that."""
STATISTICS_READER = "safemargin.io.statistics_file"
"""The program that reads SPSS and Stata files."""


def open_encoded(path: Path, encoding: str) -> DuckSource:
    """A CSV file in another encoding than UTF-8, such as `cp1252`."""
    try:
        plain = bytes(range(128)).decode(encoding) == bytes(range(128)).decode("ascii")
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError, UnicodeError):
        plain, name = False, encoding
    if not plain:
        raise InputError(
            f"data.encoding = {encoding[:60]!r}: is no encoding of text files that contains ASCII; "
            "name one such as 'cp1252', or save the file as UTF-8"
        )
    known: dict[str, str] = {}  # one text for all equal ones
    records = csv_records(path, UTF8 if name == UTF8 else name)
    _, names = next(records)
    rows = [[known.setdefault(text, text) for text in record] for _, record in islice(records, _most(names))]
    if next(records, None) is not None:
        raise _too_large(path, len(names))
    return open_columns(path, names, list(zip(*rows, strict=True)))


def _most(names: Sequence[str]) -> int:
    return MOST_HELD // max(len(names), 1)


def _too_large(path: Path, columns: int) -> TooLargeError:
    return TooLargeError(
        f"{path}: has more than {MOST_HELD // columns:,} rows of {columns} columns; save it as UTF-8 CSV or Parquet"
    )


def _not_installed(path: Path, name: str, extra: str) -> InputError:
    return InputError(f"{path}: needs {name}; install it with: pip install 'safemargin[{extra}]'")


def open_excel(path: Path, table: str | None = None) -> DuckSource:
    """A sheet of an `.xlsx` file; `table` may be omitted if there is only one. Its first row names the columns."""
    calamine, names = excel_library(path), sheet_names(path)
    if table is None and len(names) != 1:
        raise InputError(f"{path}: data.table is missing; the sheets are {', '.join(names) or '(none)'}")
    if table is not None and table not in names:
        raise InputError(f"{path}: there is no sheet {table!r}; the sheets are {', '.join(names)}")
    try:
        with calamine.CalamineWorkbook.from_path(path) as book:
            sheet = book.get_sheet_by_name(table or names[0])
            if sheet.total_height * sheet.total_width > MOST_HELD:
                raise _too_large(path, sheet.total_width)
            rows = sheet.to_python()
    except calamine.CalamineError as error:
        raise unreadable(path, error) from None
    rows = [texts for texts in ([cell_text(value) for value in row] for row in rows) if any(texts)]
    if len(rows) < 2:
        raise InputError(f"{path}: the table is empty")
    return open_columns(path, [text or "" for text in rows[0]], list(zip(*rows[1:], strict=True)))


def sheet_names(path: Path) -> tuple[str, ...]:
    """The sheets of an `.xlsx` file."""
    calamine = excel_library(path)
    check_workbook(path)
    try:
        with calamine.CalamineWorkbook.from_path(path) as book:
            return tuple(book.sheet_names)
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise unreadable(path, error) from None


def open_px(path: Path, table: str | None = None) -> DuckSource:
    """The counts of a PX file, in the column `count`; `table` is not used."""
    columns = read_px(path)
    columns["count"] = columns.pop(VALUE)
    if "noised" in columns.pop(PROTECTION):
        raise InputError(f"{path}: holds noised counts, which count nobody; give the counts before noise")
    return open_columns(path, list(columns), list(columns.values()))


def open_spss(path: Path, table: str | None = None) -> DuckSource:
    """An SPSS file with its value labels; `table` is not used."""
    return _statistics(path, "read_sav", "an SPSS")


def open_stata(path: Path, table: str | None = None) -> DuckSource:
    """A Stata file with its value labels; `table` is not used."""
    return _statistics(path, "read_dta", "a Stata")


def _statistics(path: Path, reader: str, kind: str) -> DuckSource:
    """Labels stand for the values that have one; what the file declares as missing is absent.

    The library crashes on some damaged files, so a process of its own reads them.
    """
    if find_spec("pyreadstat") is None:
        raise _not_installed(path, "pyreadstat", "stats")
    command = python_command("-m", STATISTICS_READER, reader, str(path.resolve()), str(MOST_HELD))
    ran = subprocess.run(command, env=safe_environment(), capture_output=True, check=False)
    if ran.returncode == TOO_LARGE:
        raise TooLargeError(f"{path}: has more than {MOST_HELD:,} values; save it as UTF-8 CSV or Parquet")
    if ran.returncode != 0:
        said = ran.stderr.decode(errors="replace").strip().splitlines()
        reason = said[-1].split(": ", 1)[-1] if said and ran.returncode > 0 else "it is damaged"
        raise InputError(f"{path}: cannot be read as {kind} file: {reason}")
    columns = json.loads(ran.stdout)
    return open_columns(path, list(columns), [[texts[code] for code in codes] for texts, codes in columns.values()])
