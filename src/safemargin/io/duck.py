"""Counting with DuckDB: files, DataFrames and Arrow tables; one GROUP BY, then codes instead of strings.

No extension is installed or loaded. Rows spill to disk only where memory is limited (`--memory`).
"""

import glob
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from safemargin.core import InputError, IntArray, TooLargeError, memory_limit
from safemargin.io.files import check_encoding, check_names, csv_header, require_file
from safemargin.io.interrupts import interruptible
from safemargin.io.places import Stamps, check_unchanged, stamped
from safemargin.io.plain import EXACT_FLOATS, plain_text
from safemargin.io.rows import EXAMPLES, Profiles, Survey, check_columns, check_labels, quoted
from safemargin.io.scratch import spill_folder

SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "preserve_insertion_order": False,
    "temp_directory": "",
}


MOST_ROWS = 2_000_000_000  # a file of a kilobyte can say that it has more rows than there are people on Earth
FIRST_ROWS = 100_000
FEW_LABELS = 250
LIBRARIES = 256 * 2**20
"""Bytes that Python and its libraries take before the first row."""
HELD = "held"  # the name of data in memory inside the database


SURVEYED: dict[object, Survey] = {}
"""First looks at files as they were when they were opened; the latest few are kept."""
MOST_SURVEYED = 4


@dataclass(frozen=True)
class DuckSource:
    """Data that DuckDB can scan: `scan` is what follows `from`, `fields` gives the SQL of each column.

    `numbered` says that the file stores texts once and then their numbers: what depends on one text is then cheap.
    `held` are data in memory; `path` is then only what messages call them, as it is for a table in several `parts`.
    `stamps` are those of the files when they were opened; `rows` is the SQL of how many rows a row stands for.
    """

    path: Path
    scan: str
    fields: Mapping[str, str]
    numbered: bool = False
    held: object = field(default=None, compare=False, repr=False)
    parts: tuple[Path, ...] = ()
    stamps: Stamps = ()
    rows: str = "1"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self.fields)

    @property
    def number(self) -> str:
        """The SQL of how many rows there are in a group."""
        return "count(*)" if self.rows == "1" else f"sum({self.rows})::bigint"

    @contextmanager
    def connected(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A fresh database that can scan the data, which must be the same from the first read to the last."""
        try:
            with connected(self.path, self.held, self.parts) as database:
                yield database
        except InputError:
            check_unchanged(self.stamps)  # says more than what DuckDB makes of a file that changed
            raise
        check_unchanged(self.stamps)

    def profiles(self, columns: tuple[str, ...], values: Collection[str] = ()) -> Profiles:
        """Distinct rows of `columns`; those in `values` may hold any number of different texts."""
        check_columns(self.path, self.fields, columns)
        keys = [f"k{column}" for column in range(len(columns))]
        wanted = ", ".join(f"{self.fields[name]} as {key}" for name, key in zip(columns, keys, strict=True))
        with self.connected() as database:
            if self.numbered:
                texts = [self.fields[name] for name in columns]
                if (counted := _counted_by_place(database, self.scan, texts)) is not None:
                    return Profiles(columns, *counted).with_same_labels(values)
            database.execute(
                f"create temp table profile as select {wanted}, {self.number} as n from {self.scan} group by all"
            )
            for name, key in zip(columns, keys, strict=True):
                if name not in values:
                    _check_distinct(database, self.path, name, key)
            labels = tuple(_make_enum(database, self.path, key) for key in keys)
            codes = ", ".join(f"enum_code({_as_text(key)}::{key}_labels) as {key}" for key in keys)
            counted_rows = database.execute(f"select {codes}, n from profile").fetchnumpy()
        counts: IntArray = np.asarray(counted_rows["n"], dtype=np.int64)
        table = np.empty((len(counts), len(keys)), dtype=np.int64)
        for column, key in enumerate(keys):
            table[:, column] = counted_rows[key]
        return Profiles(columns, labels, table, counts).with_same_labels(values)

    def counted(self, columns: Sequence[str]) -> dict[str, dict[str, int]]:
        """How often each value of each column occurs, for columns of few values: one scan for all of them."""
        check_columns(self.path, self.fields, columns)
        if not columns:
            return {}
        found: dict[str, dict[str, int]] = {name: {} for name in columns}
        with self.connected() as database:
            for place, value, number in database.execute(self._values_query(columns)).fetchall():
                found[columns[place]][value] = found[columns[place]].get(value, 0) + number
        return found

    def survey(self) -> Survey:
        """A first look at every column; taken again only where the file changed."""
        key = (self.scan, tuple(self.fields.items()), self.stamps)
        if self.held is not None or not self.stamps:
            return self._surveyed()
        if key not in SURVEYED:
            found = self._surveyed()
            while len(SURVEYED) >= MOST_SURVEYED:
                SURVEYED.pop(next(iter(SURVEYED)), None)
            SURVEYED[key] = found
        return SURVEYED[key]

    def _surveyed(self) -> Survey:
        shown = ", ".join(_as_text(field) for field in self.fields.values())
        with self.connected() as database:
            # The whole file, not the first rows, so that `distinct` is exact.
            ((rows,),) = database.execute(f"select count(*) from {self.scan}").fetchall()
            numbers = dict(database.execute(self._distinct_query()).fetchall())
            first = database.execute(f"select {shown} from {self.scan} limit {EXAMPLES}").fetchall()
        return Survey(
            rows,
            {name: numbers.get(column, 0) for column, name in enumerate(self.fields)},
            {name: tuple(row[column] for row in first) for column, name in enumerate(self.fields)},
        )

    def _distinct_query(self) -> str:
        """Distinct values by the place of the column, in one scan and without a set of strings for each column."""
        return f"select place, count(value) from ({self._values_query(list(self.fields), nulls=True)}) group by place"

    def _values_query(self, columns: Sequence[str], nulls: bool = False) -> str:
        """Every value of these columns with its place and how often it occurs; what is empty is empty, or null."""
        keys = [f"k{column}" for column in range(len(columns))]
        given = [self.fields[name] if nulls else _as_text(self.fields[name]) for name in columns]
        fields = ", ".join(f"{field} as {key}" for key, field in zip(keys, given, strict=True))
        which = " ".join(f"when grouping({key}) = 0 then {column}" for column, key in enumerate(keys))
        value = ", ".join(f"{key}::varchar" for key in keys)
        sets = ", ".join(f"({key})" for key in keys)
        return (
            f"select case {which} end as place, coalesce({value}) as value, sum(n)::bigint as n "
            f"from (select {fields}, {self.rows} as n from {self.scan}) group by grouping sets ({sets})"
        )


def settings() -> dict[str, str | bool | int | float | list[str]]:
    """What every database is opened with. Where memory is limited, half of what the libraries leave, since arrays come
    on top; rows beyond that spill to a private folder, which is removed also where the process is killed."""
    if (limit := memory_limit()) is None:
        return SETTINGS
    most = max(limit - LIBRARIES, 0) // 2
    return {**SETTINGS, "memory_limit": f"{most}B", "threads": 2, "temp_directory": spill_folder()}


@contextmanager
def connected(path: Path, held: object = None, parts: Sequence[Path] = ()) -> Iterator[duckdb.DuckDBPyConnection]:
    """A fresh database with the data in memory, if any; whatever it objects to becomes one line about `path`."""
    for file in () if held is not None else parts or (path,):
        require_file(file)
    try:
        with duckdb.connect(":memory:", config=settings()) as database, interruptible(database):
            # A bar would write between the lines of a document. In a notebook without ipywidgets there is none, and
            # DuckDB refuses to turn it off.
            with suppress(duckdb.InvalidInputException):
                database.execute("set enable_progress_bar = false")
            if isinstance(held, Mapping):
                lists = ", ".join(f"unnest(${key}::varchar[]) as {key}" for key in held)
                database.execute(f"create temp table {HELD} as select {lists}", dict(held))
            elif held is not None:
                database.register(HELD, held)
            yield database
    except duckdb.OutOfMemoryException:
        raise TooLargeError(f"{path}: the combinations of its values do not fit in memory; use fewer axes") from None
    except duckdb.Error as error:
        raise InputError(f"{path}: {_explained(path, str(error), held is None)}") from None


def described(path: Path, scan: str, parts: Sequence[Path] = ()) -> tuple[str, ...]:
    """Names of the columns that a scan gives."""
    with connected(path, parts=parts) as database:
        return tuple(name for name, *_ in database.execute(f"describe select * from {scan}").fetchall())


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
    # The first rows usually hold every label; a later label shows up as an absent code below.
    for text in texts:
        start = f"(select {text} as label from {scan} limit {FIRST_ROWS})"
        rows = database.execute(f"select distinct label from {start} order by label limit {FEW_LABELS + 1}").fetchall()
        labels.append(tuple(row[0] for row in rows))
        if not rows or len(rows) > FEW_LABELS or rows[-1][0] is None:
            return None
    places = [
        f"list_position([{', '.join(map(literal, known))}], {text})::utinyint as k{number}"
        for number, (text, known) in enumerate(zip(texts, labels, strict=True))
    ]
    counted_rows = database.execute(f"select {', '.join(places)}, count(*) as n from {scan} group by all").fetchnumpy()
    codes = np.empty((len(counted_rows["n"]), len(texts)), dtype=np.int64)
    for number in range(len(texts)):
        column = counted_rows[f"k{number}"]
        if np.ma.is_masked(column):
            return None
        codes[:, number] = column
    return tuple(labels), codes - 1, np.asarray(counted_rows["n"], dtype=np.int64)


def _check_distinct(database: duckdb.DuckDBPyConnection, path: Path, name: str, key: str) -> None:
    (distinct,) = database.execute(f"select count(distinct {key}) from profile").fetchall()[0]
    check_labels(path, name, distinct)


def _make_enum(database: duckdb.DuckDBPyConnection, path: Path, key: str) -> tuple[str, ...]:
    """Number the distinct values of a column of `profile` in the database, and return them in that order."""
    text = _as_text(key)
    if not database.execute("select 1 from profile limit 1").fetchall():
        raise InputError(f"{path}: the table is empty")
    database.execute(f"create type {key}_labels as enum (select distinct {text} as label from profile order by label)")
    return tuple(database.execute(f"select enum_range(null::{key}_labels)").fetchall()[0][0])


def is_file_of(path: Path, name: str) -> bool:
    """Whether a message about a path is about this file."""
    return str(path) == name


def _explained(path: Path, message: str, is_file: bool) -> str:
    """One line from a message of DuckDB, without the record that it quotes."""
    if is_file and ("utf-8" in message.lower() or "unicode" in message.lower()):
        check_encoding(path)
    line = re.search(r"CSV Error on Line: (\d+)", message)
    named = re.search(r"^  file = (.*)$", message, re.MULTILINE)
    if line and named and not is_file_of(path, named[1]):  # one of several
        return f"{Path(named[1]).name}: {_explained(Path(named[1]), message, is_file)}"
    fields = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if line and fields:
        return f"line {line[1]}: has {fields[2]} fields, the header has {fields[1]}"
    if line and "unterminated quote" in message:
        return f"line {line[1]}: a quoted value does not end"
    if line:
        return f"line {line[1]}: is not valid CSV"
    if "state machine reached an invalid state" in message:
        return "is not valid CSV: line ends are mixed, or quotes stand inside a value"
    if "could not convert blob to UTF8" in message:
        return "a column holds bytes that are not UTF-8; store it as text"
    return message.splitlines()[0].removeprefix("Invalid Input Error: ").strip()


def open_csv(path: Path, table: str | None = None) -> DuckSource:
    """A CSV file, also packed as `.csv.gz`; `table` is not used."""
    return _csv(path, (path,))


def open_csv_parts(path: Path, parts: tuple[Path, ...]) -> DuckSource:
    """CSV files as one table: all must have the same columns in the same order, separated alike."""
    first = csv_header(parts[0])
    for other in parts[1:]:
        if csv_header(other) != first:
            raise InputError(f"{other}: has other columns than {parts[0].name}; one table has the same in every file")
    return replace(_csv(path, parts), parts=parts)


def _csv(path: Path, parts: Sequence[Path]) -> DuckSource:
    stamps = stamped(parts)
    names, delimiter, above = csv_header(parts[0])
    # Columns go by number: DuckDB does not distinguish `A` from `a`.
    types = ", ".join(f"c{column}: 'VARCHAR'" for column in range(len(names)))
    files = ", ".join(literal(glob.escape(str(part))) for part in parts)
    scan = (
        f"read_csv([{files}], columns={{{types}}}, auto_detect=false, header=true, "
        f"delim={literal(delimiter)}, quote='\"', escape='\"', strict_mode=true, null_padding=false, "
        f"hive_partitioning=false, skip={above})"
    )
    return DuckSource(path, scan, {name: f"c{column}" for column, name in enumerate(names)}, stamps=stamps)


def open_json(path: Path, table: str | None = None) -> DuckSource:
    """A JSON file with every value as text; `table` is not used."""
    stamps = stamped([path])
    shared = f"{literal(glob.escape(str(path)))}, records=true, hive_partitioning=false"
    names = described(path, f"read_json({shared}, sample_size=-1, maximum_depth=1, map_inference_threshold=-1)")
    types = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in names)
    scan = f"read_json({shared}, columns={{{types}}})"
    return DuckSource(path, scan, {name: quoted(name) for name in names}, stamps=stamps)


def open_parquet(path: Path, table: str | None = None) -> DuckSource:
    """A Parquet file; `table` is not used."""
    return _parquet(path, (path,), partitioned=False)


def open_parts(path: Path, parts: tuple[Path, ...]) -> DuckSource:
    """Parquet files as one table, whose columns must agree; `year=2024` in the name of a folder is a column, too."""
    if not parts:
        raise InputError(f"{path}: there is no Parquet or CSV file in it, or none with such a name")
    return _parquet(path, parts, partitioned=any("=" in part.name for file in parts for part in file.parents))


def _parquet(path: Path, parts: tuple[Path, ...], partitioned: bool) -> DuckSource:
    stamps = stamped(parts)
    files = f"[{', '.join(literal(glob.escape(str(part))) for part in parts)}]"
    # Categories are texts: a column from the name of a folder is not made a number or a date.
    options = "hive_partitioning=true, hive_types_autocast=false" if partitioned else "hive_partitioning=false"
    scan = f"read_parquet({files}, {options})"
    with connected(path, parts=parts) as database:
        columns = database.execute(f"describe select * from {scan}").fetchall()
        ((rows,),) = database.execute(f"select sum(num_rows)::bigint from parquet_file_metadata({files})").fetchall()
        stated = database.execute(f"select name, num_children from parquet_schema({files}) where file_name = "
                                  f"(select min(file_name) from parquet_schema({files}))").fetchall()  # fmt: skip
    if not any(children for _, children in stated[1:]):  # DuckDB renames the second column of a name
        check_names(path, [name for name, _ in stated[1:]])
    check_names(path, [name for name, *_ in columns])
    if rows > MOST_ROWS:
        raise TooLargeError(f"{path}: says that it has {rows:,} rows, more than {MOST_ROWS:,}")
    fields = {name: _stored_text(quoted(name), kind) for name, kind, *_ in columns}
    return DuckSource(path, scan, fields, numbered=True, parts=parts, stamps=stamps)


def open_counts(path: Path, columns: Sequence[str], counted: object) -> DuckSource:
    """Distinct rows that another engine counted: an Arrow table with columns k0, k1, ... and their number n."""
    held = _ArrowStream(counted)
    with connected(path, held) as database:
        kinds = {key: kind for key, kind, *_ in database.execute(f"describe {HELD}").fetchall()}
    fields = {name: _stored_text(f"k{place}", kinds[f"k{place}"]) for place, name in enumerate(columns)}
    return DuckSource(path, HELD, fields, held=held, rows="n")


def open_memory(data: object, name: str = "data") -> DuckSource:
    """Data that a program holds: a pandas or polars DataFrame, an Arrow table, or rows as mappings.

    Every value becomes the text that a CSV file would hold. A float without decimals is written as an integer, since
    pandas keeps integers as floats where some are absent.
    """
    path = Path(name)
    if hasattr(data, "read_all"):  # an Arrow reader gives its rows only once
        data = data.read_all()
    if not _is_frame(data):
        return open_columns(path, *_rows_as_columns(data, path))
    listed = getattr(data, "column_names", getattr(data, "columns", None))
    held_frame = data if _is_pandas(data) else _ArrowStream(data)
    with connected(path, held_frame) as database:
        described_columns = database.execute(f"describe {HELD}").fetchall()
    # By position: DuckDB does not distinguish `A` from `a` and renames the second.
    names = [str(label) for label in (listed if listed is not None else [column[0] for column in described_columns])]
    check_names(path, names)
    fields = [_frame_text(quoted(column), kind) for column, kind, *_ in described_columns]
    return DuckSource(path, HELD, dict(zip(names, fields, strict=True)), held=held_frame)


def open_columns(path: Path, names: Sequence[str], columns: Sequence[Sequence[str | None]]) -> DuckSource:
    """Columns of texts in memory; `path` is what messages call them."""
    check_names(path, list(names))
    if not columns or not len(columns[0]):
        raise InputError(f"{path}: the table is empty")
    held = {f"c{number}": list(column) for number, column in enumerate(columns)}
    return DuckSource(path, HELD, dict(zip(names, held, strict=True)), held=held)


class _ArrowStream:
    """Only the Arrow interface of some data: what DuckDB then reads needs no pyarrow."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.data.__arrow_c_stream__(requested_schema)


def _is_pandas(data: object) -> bool:
    return type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns")


def _is_frame(data: object) -> bool:
    return _is_pandas(data) or hasattr(data, "__arrow_c_stream__")


def _frame_text(column: str, kind: str) -> str:
    """A column of a frame as a CSV file would hold it."""
    if kind == "BOOLEAN":
        return f"case when {column} then 'True' when not {column} then 'False' end"
    if kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL"):
        is_whole = f"{column} = trunc({column}) and abs({column}) <= {EXACT_FLOATS}"
        absent = "" if kind.startswith("DECIMAL") else f"when isnan({column}) then null "
        # Of values that a file stores once, DuckDB casts all: also those that another case is for.
        return f"case {absent}when {is_whole} then try_cast({column} as bigint)::varchar else {column}::varchar end"
    return column


def _stored_text(column: str, kind: str) -> str:
    """A column of a Parquet file as a CSV file would hold it: 1.0 is 1, NaN is absent, bytes are texts."""
    if kind == "BLOB":
        return f"decode({column})"
    return column if kind == "BOOLEAN" else _frame_text(column, kind)


def _rows_as_columns(data: object, path: Path) -> tuple[list[str], list[list[str | None]]]:
    """Rows as texts by column; a key that a row lacks is an absent value."""
    rows = list(data) if isinstance(data, Iterable) and not isinstance(data, str | bytes | Mapping) else None
    if rows is None or not all(isinstance(row, Mapping) for row in rows):
        raise InputError(
            f"{path}: {type(data).__name__} cannot be read; "
            "give a file, a DataFrame, an Arrow table or rows as mappings"
        )
    if not rows:
        raise InputError(f"{path}: the table is empty")
    names = list(dict.fromkeys(str(name) for row in rows for name in row))
    plain = [{str(name): value for name, value in row.items()} for row in rows]
    return names, [[plain_text(row.get(name)) for row in plain] for name in names]
