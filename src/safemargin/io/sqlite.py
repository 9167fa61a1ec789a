"""The engine for SQLite, through the standard library."""

import sqlite3
import time
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from safemargin.core import InputError, TooLargeError
from safemargin.io.files import require_file
from safemargin.io.rows import EXAMPLES, Profiles, Survey, check_columns, numbered_profiles, quoted

MOST_SECONDS, MOST_VIEWED = 3, 20_000_000
"""How long a view may take to list its rows, and how many; a table is read however large it is."""


@dataclass(frozen=True)
class SqliteSource:
    """One table or view of a database file, opened for reading only."""

    path: Path
    table: str

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        with connected(self.path) as database:
            return tuple(row[1] for row in database.execute(f"pragma table_info({quoted(self.table)})"))

    def profiles(self, columns: tuple[str, ...], values: Collection[str] = ()) -> Profiles:
        """Distinct rows of `columns`; those in `values` may hold any number of different texts."""
        # SQLite takes an unknown name in double quotes for a text, so the names are checked first.
        check_columns(self.path, self.columns, columns)
        fields = ", ".join(_as_text(name) for name in columns)
        places = ", ".join(str(column) for column in range(1, len(columns) + 1))
        with connected(self.path) as database:
            grouped = f"select {fields}, count(*) from {quoted(self.table)} group by {places}"
            return numbered_profiles(self.path, self.table, columns, values, database.execute(grouped))

    def survey(self) -> Survey:
        """A first look at every column."""
        distinct = ", ".join(f"count(distinct {quoted(name)})" for name in self.columns)
        shown = ", ".join(_as_text(name) for name in self.columns)
        with connected(self.path) as database:
            rows, *numbers = database.execute(f"select count(*), {distinct} from {quoted(self.table)}").fetchone()
            first = database.execute(f"select {shown} from {quoted(self.table)} limit {EXAMPLES}").fetchall()
        return Survey(
            rows,
            dict(zip(self.columns, numbers, strict=True)),
            {name: tuple(row[column] for row in first) for column, name in enumerate(self.columns)},
        )


def _check_end(path: Path, view: str) -> None:
    """Refuse a view that has no end, or none that comes soon: its definition may run for ever."""
    deadline = time.process_time() + MOST_SECONDS
    with connected(path) as database:
        kind = database.execute("select type from sqlite_master where name = ?", (view,)).fetchone()
        if kind != ("view",):
            return
        database.set_progress_handler(lambda: time.process_time() > deadline, 100_000)
        try:
            some = f"select count(*) from (select 1 from {quoted(view)} limit {MOST_VIEWED + 1})"
            (rows,) = database.execute(some).fetchone()
        except sqlite3.OperationalError as error:
            if "interrupt" not in str(error):
                raise
            rows = MOST_VIEWED + 1
    if rows > MOST_VIEWED:
        raise TooLargeError(
            f"{path}: view {view!r} does not end within {MOST_SECONDS} s or {MOST_VIEWED:,} rows; store it as a table"
        )


def open_sqlite(path: Path, table: str | None = None) -> SqliteSource:
    """A table of an SQLite file; `table` may be omitted if there is only one."""
    names = table_names(path)
    table = names[0] if table is None and len(names) == 1 else table
    if table not in names:
        said = "data.table is missing" if table is None else f"there is no table {table!r}"
        raise InputError(f"{path}: {said}; the tables are {', '.join(names) or '(none)'}")
    _check_end(path, table)
    return SqliteSource(path, table)


def table_names(path: Path) -> tuple[str, ...]:
    """The tables and views of a database file."""
    listed = "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%' order by name"
    with connected(path) as database:
        return tuple(name for (name,) in database.execute(listed))


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that cannot write; whatever it objects to becomes one line about `path`."""
    require_file(path)
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            # Temporary tables on disk would leave confidential rows behind.
            database.execute("pragma temp_store = memory")
            yield database
    except sqlite3.Error as error:
        reason = "is not UTF-8 throughout" if "decode" in str(error) else f"cannot be read: {error}"
        raise InputError(f"{path}: {' '.join(reason.split())}") from None


@contextmanager
def transaction(database: sqlite3.Connection, kind: str = "immediate") -> Iterator[None]:
    """All of it, or nothing."""
    database.execute(f"begin {kind}")
    try:
        yield
        database.execute("commit")
    except BaseException:
        if database.in_transaction:  # SQLite ends some by itself, as when the disk is full
            database.execute("rollback")
        raise


def _as_text(name: str) -> str:
    return f"coalesce(cast({quoted(name)} as text), '')"
