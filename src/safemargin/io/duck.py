"""Counting with DuckDB, in memory: one GROUP BY, then codes instead of strings.

No extension is installed or loaded, and nothing spills to disk.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from safemargin.core import InputError, IntArray, TooLargeError
from safemargin.io.files import check_encoding, require_file
from safemargin.io.profiles import EXAMPLES, Profiles, Survey, check_columns, check_labels

SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "preserve_insertion_order": False,
    "temp_directory": "",
}


FIRST_ROWS = 100_000
FEW_LABELS = 250


@dataclass(frozen=True)
class DuckSource:
    """A file that DuckDB can scan: `scan` is a table function call, `fields` gives the SQL of each column.

    `numbered` says that the file stores texts once and then their numbers: what depends on one text is then cheap.
    """

    path: Path
    scan: str
    fields: Mapping[str, str]
    numbered: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self.fields)

    def profiles(self, columns: tuple[str, ...]) -> Profiles:
        """Distinct rows of `columns`."""
        check_columns(self.path, self.fields, columns)
        keys = [f"k{place}" for place in range(len(columns))]
        wanted = ", ".join(f"{self.fields[name]} as {key}" for name, key in zip(columns, keys, strict=True))
        with connected(self.path) as database:
            if self.numbered:
                texts = [self.fields[name] for name in columns]
                if (counted := _counted_by_place(database, self.scan, texts)) is not None:
                    return Profiles(columns, *counted)
            database.execute(
                f"create temp table profile as select {wanted}, count(*) as n from {self.scan} group by all"
            )
            labels = tuple(_make_enum(database, self.path, name, key) for name, key in zip(columns, keys, strict=True))
            codes = ", ".join(f"enum_code({_as_text(key)}::{key}_labels) as {key}" for key in keys)
            found = database.execute(f"select {codes}, n from profile").fetchnumpy()
        counts: IntArray = np.asarray(found["n"], dtype=np.int64)
        table = np.empty((len(counts), len(keys)), dtype=np.int64)
        for place, key in enumerate(keys):
            table[:, place] = found[key]
        return Profiles(columns, labels, table, counts)

    def survey(self) -> Survey:
        """A first look at every column."""
        shown = ", ".join(_as_text(field) for field in self.fields.values())
        with connected(self.path) as database:
            ((rows,),) = database.execute(f"select count(*) from {self.scan}").fetchall()
            numbers = dict(database.execute(self._distinct_query()).fetchall())
            first = database.execute(f"select {shown} from {self.scan} limit {EXAMPLES}").fetchall()
        return Survey(
            rows,
            {name: numbers.get(place, 0) for place, name in enumerate(self.fields)},
            {name: tuple(row[place] for row in first) for place, name in enumerate(self.fields)},
        )

    def _distinct_query(self) -> str:
        """Distinct values by the place of the column, in one scan and without a set of strings for each column."""
        keys = [f"k{place}" for place in range(len(self.fields))]
        fields = ", ".join(f"{field} as {key}" for key, field in zip(keys, self.fields.values(), strict=True))
        which = " ".join(f"when grouping({key}) = 0 then {place}" for place, key in enumerate(keys))
        value = ", ".join(f"{key}::varchar" for key in keys)
        sets = ", ".join(f"({key})" for key in keys)
        return (
            f"select place, count(value) from (select case {which} end as place, coalesce({value}) as value "
            f"from (select {fields} from {self.scan}) group by grouping sets ({sets})) group by place"
        )


@contextmanager
def connected(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A fresh database; whatever it objects to becomes one line about `path`."""
    require_file(path)
    try:
        with duckdb.connect(":memory:", config=SETTINGS) as database:
            database.execute("set enable_progress_bar = false")  # it would write between the lines of a document
            yield database
    except duckdb.OutOfMemoryException:
        raise TooLargeError(f"{path}: the combinations of its values do not fit in memory; use fewer axes") from None
    except duckdb.Error as error:
        raise InputError(f"{path}: {_explained(path, str(error))}") from None


def described(path: Path, scan: str) -> tuple[str, ...]:
    """Names of the columns that a scan gives."""
    with connected(path) as database:
        return tuple(name for name, *_ in database.execute(f"describe select * from {scan}").fetchall())


def quoted(name: str) -> str:
    """A column name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL."""
    return "'" + text.replace("'", "''") + "'"


def _as_text(field: str) -> str:
    return f"coalesce({field}::varchar, '')"


def _counted_by_place(
    database: duckdb.DuckDBPyConnection, scan: str, texts: list[str]
) -> tuple[tuple[tuple[str, ...], ...], IntArray, IntArray] | None:
    """Labels, codes and counts where every column holds few texts: DuckDB groups small numbers faster than texts.

    The labels are those of the first rows. None if there are others, absent values or columns of another type.
    """
    types = database.execute(f"describe select {', '.join(texts)} from {scan}").fetchall()
    if any(kind != "VARCHAR" for _, kind, *_ in types):
        return None
    labels = []
    for text in texts:
        start = f"(select {text} as label from {scan} limit {FIRST_ROWS})"
        rows = database.execute(f"select distinct label from {start} order by label limit {FEW_LABELS + 1}").fetchall()
        labels.append(tuple(row[0] for row in rows))
        if not rows or len(rows) > FEW_LABELS or rows[-1][0] is None:
            return None
    places = [
        f"list_position([{', '.join(map(literal, known))}], {text})::utinyint as k{place}"
        for place, (text, known) in enumerate(zip(texts, labels, strict=True))
    ]
    found = database.execute(f"select {', '.join(places)}, count(*) as n from {scan} group by all").fetchnumpy()
    codes = np.empty((len(found["n"]), len(texts)), dtype=np.int64)
    for place in range(len(texts)):
        column = found[f"k{place}"]
        if np.ma.is_masked(column):
            return None
        codes[:, place] = column
    return tuple(labels), codes - 1, np.asarray(found["n"], dtype=np.int64)


def _make_enum(database: duckdb.DuckDBPyConnection, path: Path, name: str, key: str) -> tuple[str, ...]:
    """Number the distinct values of a column of `profile` in the database, and return them in that order."""
    (distinct,) = database.execute(f"select count(distinct {key}) from profile").fetchall()[0]
    check_labels(path, name, distinct)
    text = _as_text(key)
    if not database.execute("select 1 from profile limit 1").fetchall():
        raise InputError(f"{path}: the table is empty")
    database.execute(f"create type {key}_labels as enum (select distinct {text} as label from profile order by label)")
    return tuple(database.execute(f"select enum_range(null::{key}_labels)").fetchall()[0][0])


def _explained(path: Path, message: str) -> str:
    """One line from a message of DuckDB, without the record that it quotes."""
    if "utf-8" in message.lower() or "unicode" in message.lower():
        check_encoding(path)
    line = re.search(r"CSV Error on Line: (\d+)", message)
    fields = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if line and fields:
        return f"line {line[1]}: has {fields[2]} fields, the header has {fields[1]}"
    if line and "unterminated quote" in message:
        return f"line {line[1]}: a quoted value does not end"
    if line:
        return f"line {line[1]}: is not valid CSV"
    if "state machine reached an invalid state" in message:
        return "is not valid CSV: line ends are mixed, or quotes stand inside a value"
    return message.splitlines()[0].removeprefix("Invalid Input Error: ").strip()
