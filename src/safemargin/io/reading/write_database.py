"""A table of an SQLite database with gaps, in a new database that never held anything else.

A database file keeps deleted rows in free pages and in the slack of others, and may have views, triggers and other
tables. So none of its pages is copied: the rows that are printed go into a new database, which has the names and the
types of the columns, and a table with one note.
"""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from safemargin.core import InputError
from safemargin.io.reading.grid import Cell, TextGrid
from safemargin.io.rows import quoted
from safemargin.io.sqlite import connected

PLAIN_TYPE = re.compile(r"[A-Za-z]+( [A-Za-z]+)*(\([0-9]{1,3}(, ?[0-9]{1,3})?\))?")
"""Types of columns that are kept; another text in their place may be anything."""
NOTES = ("notes", "notes on gaps")


def sqlite_bytes(
    path: Path, grid: TextGrid, changes: Mapping[tuple[int, int], Cell], order: Sequence[int], note: str
) -> bytes:
    """The database file; `grid.sheet` names the table, row 0 of the grid holds the names of its columns."""
    types, records = _table(path, grid.sheet)
    if len(records) != len(grid.rows) - 1:
        raise InputError(f"{path}: changed while it was read")
    rows = [list(record) for record in records]
    for (r, c), new in changes.items():
        rows[r - 1][c] = new if new is None or isinstance(new, int | str) else str(new)
    columns = ", ".join(f"{quoted(name)} {kind}".strip() for name, kind in types)
    other = next(name for name in NOTES if name != grid.sheet.lower())
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"create table {quoted(grid.sheet)} ({columns})")
        places = ", ".join("?" * len(types))
        wanted = [rows[row - 1] for row in order if row]
        database.executemany(f"insert into {quoted(grid.sheet)} values ({places})", wanted)
        database.execute(f"create table {quoted(other)} (note text)")
        database.execute(f"insert into {quoted(other)} values (?)", (f"null: {note}",))
        database.commit()
        return bytes(database.serialize())


def byte_columns(path: Path, table: str) -> set[int]:
    """Columns that hold bytes, which may be anything."""
    _, records = _table(path, table)
    return {c for record in records for c, value in enumerate(record) if isinstance(value, bytes)}


def _table(path: Path, table: str) -> tuple[list[tuple[str, str]], list[tuple[object, ...]]]:
    """The columns of a table with their types, and its rows in their order."""
    with connected(path) as database:
        columns = database.execute(f"pragma table_info({quoted(table)})").fetchall()
        records = database.execute(f"select * from {quoted(table)}").fetchall()
    types = [(str(row[1]), str(row[2]) if PLAIN_TYPE.fullmatch(str(row[2])) else "") for row in columns]
    return types, records
