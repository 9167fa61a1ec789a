"""What a role keeps on disk: items by key, in SQLite files or in a PostgreSQL database.

There is no clock, no address and no surrogate number. Items are stored by key, and every batch is inserted sorted in
one transaction. Pages of a database keep traces of the order all the same: `compact` writes them anew, and the box,
where order matters, keeps no database of PostgreSQL.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from safemargin.core import InputError
from safemargin.io import transaction
from safemargin.parties.files import compact, open_private

Items = Mapping[bytes, bytes]
SCHEMA = "CREATE TABLE IF NOT EXISTS item (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"


class Store(Protocol):
    """A table of items; keys are unique."""

    def add(self, items: Items) -> dict[bytes, bytes]:
        """Insert items whose key is new, in one transaction; for every key what is stored now. The first one wins."""

    def get(self, key: bytes) -> bytes | None:
        """One item."""

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """All items, sorted by key."""

    def count(self) -> int:
        """How many items there are."""

    def page(self, after: bytes, count: int) -> list[tuple[bytes, bytes]]:
        """The next items behind a key, sorted by key."""

    def clear(self) -> None:
        """Delete all items, and what deleted items leave behind."""

    def compact(self) -> None:
        """Write all items anew in the order of their keys: nothing of the order in which they came is left."""

    def close(self) -> None:
        """End the connection."""


class SqliteStore:
    """A file of its own; without row numbers, which would keep the order of arrival."""

    def __init__(self, path: Path) -> None:
        self._database = open_private(path, SCHEMA)

    def add(self, items: Items) -> dict[bytes, bytes]:
        """See `Store`."""
        ordered = sorted(items.items())
        with transaction(self._database):
            done = self._database.executemany("INSERT OR IGNORE INTO item VALUES (?, ?)", ordered)
            if done.rowcount == len(ordered):
                return dict(ordered)
            find = "SELECT value FROM item WHERE key = ?"
            return {key: self._database.execute(find, (key,)).fetchone()[0] for key in items}

    def get(self, key: bytes) -> bytes | None:
        """See `Store`."""
        row = self._database.execute("SELECT value FROM item WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """See `Store`."""
        return iter(self._database.execute("SELECT key, value FROM item ORDER BY key"))

    def count(self) -> int:
        """See `Store`."""
        return int(self._database.execute("SELECT COUNT(*) FROM item").fetchone()[0])

    def clear(self) -> None:
        """See `Store`."""
        self._database.execute("DELETE FROM item")
        self.compact()

    def page(self, after: bytes, count: int) -> list[tuple[bytes, bytes]]:
        """See `Store`."""
        find = "SELECT key, value FROM item WHERE key > ? ORDER BY key LIMIT ?"
        return [(bytes(key), bytes(value)) for key, value in self._database.execute(find, (after, count))]

    def compact(self) -> None:
        """See `Store`."""
        compact(self._database)

    def close(self) -> None:
        """See `Store`."""
        self._database.close()


class PostgresStore:
    """A table of a database; the driver is loaded only where one is used."""

    def __init__(self, address: str, name: str, election: str) -> None:
        try:
            driver: Any = import_module("psycopg")
        except ModuleNotFoundError:
            raise InputError("psycopg is not installed; run: pip install 'safemargin[election-postgres]'") from None
        self._table = f'"{table_name(name, election)}"'
        try:
            self._connection: Any = driver.connect(address, autocommit=True)
            self._connection.execute(
                f"CREATE TABLE IF NOT EXISTS {self._table} (key BYTEA PRIMARY KEY, value BYTEA NOT NULL)"
            )
        except driver.Error as error:
            raise InputError(f"PostgreSQL: {str(error).splitlines()[0]}") from None

    def add(self, items: Items) -> dict[bytes, bytes]:
        """See `Store`."""
        if not items:
            return {}
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO {self._table} VALUES (%s, %s) ON CONFLICT DO NOTHING", sorted(items.items())
            )
            cursor.execute(f"SELECT key, value FROM {self._table} WHERE key = ANY(%s)", (list(items),))
            return {bytes(key): bytes(value) for key, value in cursor}

    def get(self, key: bytes) -> bytes | None:
        """See `Store`."""
        row = self._connection.execute(f"SELECT value FROM {self._table} WHERE key = %s", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """See `Store`."""
        rows = self._connection.execute(f"SELECT key, value FROM {self._table} ORDER BY key")
        return ((bytes(key), bytes(value)) for key, value in rows)

    def count(self) -> int:
        """See `Store`."""
        return int(self._connection.execute(f"SELECT COUNT(*) FROM {self._table}").fetchone()[0])

    def clear(self) -> None:
        """See `Store`."""
        self._connection.execute(f"TRUNCATE {self._table}")

    def page(self, after: bytes, count: int) -> list[tuple[bytes, bytes]]:
        """See `Store`."""
        rows = self._connection.execute(
            f"SELECT key, value FROM {self._table} WHERE key > %s ORDER BY key LIMIT %s", (after, count)
        )
        return [(bytes(key), bytes(value)) for key, value in rows]

    def compact(self) -> None:
        """See `Store`; a table cannot be ordered for good in PostgreSQL, so that no box may keep ballots there."""
        self._connection.execute(f"VACUUM FULL {self._table}")

    def close(self) -> None:
        """See `Store`."""
        self._connection.close()


def table_name(name: str, election: str) -> str:
    """A name in PostgreSQL, with a hash: names are cut at 63 bytes, and one database may serve many elections."""
    readable = re.sub("[^a-z0-9]+", "_", name.lower())[:30]
    return f"{readable}_{hashlib.sha256(f'{election} {name}'.encode()).hexdigest()[:24]}"


def open_store(place: Path | str, name: str, election: str = "") -> Store:
    """The table `name` of a role: a file in the role's folder, or a table of a database for this election."""
    if isinstance(place, str) and place.startswith(("postgresql:", "postgres:")):
        return PostgresStore(place, name, election)
    return SqliteStore(Path(place) / f"{name}.sqlite")
