"""The engine for PostgreSQL: the server counts, in one read-only transaction for as long as the source lives.

Passwords come from the address, or better from `~/.pgpass`, a service file or PGPASSWORD; no message repeats them.
"""

import re
import weakref
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safemargin.core import InputError
from safemargin.io.files import check_names
from safemargin.io.places import Address
from safemargin.io.rows import Profiles, check_columns, numbered_profiles, quoted

SECONDS = 10
"""How long a server may take to answer."""
QUOTED = r"\"[^\"]*(\"|$)|'[^']*('|$)"
FETCHED = 50_000
"""Rows that are fetched at once."""
NAMES = """
select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'v', 'm', 'f', 'p') and n.nspname not in ('pg_catalog', 'information_schema')
and n.nspname not like 'pg_toast%' order by 1
"""


@dataclass(frozen=True)
class PostgresSource:
    """One table or view of a database. `database` is a connection whose transaction sees one state of the table."""

    path: Path
    table: str
    columns: tuple[str, ...]
    database: Any = field(repr=False, compare=False)

    def profiles(self, columns: tuple[str, ...], values: Collection[str] = ()) -> Profiles:
        """Distinct rows of `columns`; those in `values` may hold any number of different texts."""
        check_columns(self.path, self.columns, columns)
        # By place: quoting is that of SQL, but `%` would be a parameter of psycopg.
        texts = ", ".join(f"coalesce({quoted(name)}::text, '')" for name in columns)
        places = ", ".join(str(place) for place in range(1, len(columns) + 1))
        query = f"select {texts}, count(*) from {self.table} group by {places}"
        with _explained(self.path), self.database.cursor(name="profiles") as cursor:
            cursor.itersize = FETCHED
            return numbered_profiles(self.path, self.table, columns, values, cursor.execute(query.encode()))


def open_postgres(address: Address, table: str | None = None) -> PostgresSource:
    """A table of a database; `table` may be omitted if there is only one, and may name its schema: `office.votes`."""
    try:
        import psycopg
    except ImportError:
        raise InputError("psycopg is not installed; run: pip install 'safemargin[postgres]'") from None
    path = address.shown
    try:
        database = psycopg.connect(address.url, connect_timeout=SECONDS, application_name="safemargin")
    except psycopg.ProgrammingError:  # its message repeats parts of the address, perhaps the password
        raise InputError(f"{path}: is not a valid address; write postgresql://USER@HOST:PORT/DATABASE") from None
    except psycopg.Error as error:
        raise InputError(f"{path}: {_first_line(error)}") from None
    try:
        # One snapshot for all reads: a table that others write is read as it was at the first of them.
        database.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        database.read_only = True
        with _explained(path):
            names = tuple(name for (name,) in database.execute(NAMES).fetchall())
            chosen = names[0] if table is None and len(names) == 1 else _known(database, table)
            if chosen is None:
                said = "data.table is missing" if table is None else f"there is no table {table!r}"
                raise InputError(f"{path}: {said}; the tables are {', '.join(names[:20]) or '(none)'}")
            described = database.execute(f"select * from {chosen} limit 0".encode()).description or []
        columns = [column.name for column in described]
        check_names(path, columns)
        source = PostgresSource(path, chosen, tuple(columns), database)
    except BaseException:
        database.close()
        raise
    weakref.finalize(source, database.close)
    return source


def _known(database: Any, table: str | None) -> str | None:
    """The table with this name, quoted as SQL by the server itself; none where there is none."""
    if table is None:
        return None
    schema, _, name = table.rpartition(".")
    for place in ([quoted(schema), quoted(name)] if schema else [quoted(table)], [quoted(table)]):
        ((found,),) = database.execute("select to_regclass(%s)::text", [".".join(place)]).fetchall()
        if found is not None:
            return str(found)
    return None


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Whatever the server objects to becomes one line about `path`."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise InputError(f"{path}: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    """What the server or the network said, in one line, without what it quotes: values, or parts of a password."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return f"cannot be read: {re.sub(QUOTED, '...', lines[0])[:200]}"
