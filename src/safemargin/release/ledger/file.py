"""The SQLite file of a ledger: opened for reading alone, or written in one transaction together with the release."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from safemargin.core import UNBOUNDED, InputError, OutputError, PublishedTable, Target, frozen
from safemargin.release.ledger.entries import Entry

APPLICATION = 0x736D6C67
"""What SQLite's header says in a ledger: `smlg`."""

VERSION = 1
PATIENCE = 5.0
"""Seconds to wait for another release that is being recorded."""

TABLES = """
create table release (
    id integer primary key,
    population text not null,
    cycle text not null,
    title text not null,
    target text not null,
    axes text not null,
    options text not null,
    people integer not null,
    answered integer not null,
    manifest text not null,
    slack integer not null,
    epsilon real not null,
    unique (population, cycle)
);
create table published (release integer not null references release, name text not null, content text not null);
create table roll (release integer not null references release, axes text not null, content text not null);
create table member (release integer not null references release, person text not null, profile text not null);
"""

COLUMNS = "population, cycle, title, target, axes, options, people, answered, manifest, slack, epsilon"


def read_ledger(path: Path, population: str | None = None) -> tuple[Entry, ...]:
    """All releases in the order they were made, or those about one population; none if there is no file yet."""
    if not path.exists():
        return ()
    if not path.is_file():
        raise InputError(f"{path}: is not a file")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=PATIENCE)) as database:
            if _is_blank(database):
                return ()
            _check(path, database)
            chosen = "" if population is None else " where population = ?"
            rows = database.execute(
                f"select id, {COLUMNS} from release{chosen} order by id",
                () if population is None else (population,),
            ).fetchall()
            return tuple(_entry(database, *row) for row in rows)
    except (sqlite3.Error, json.JSONDecodeError, KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"{path}: cannot be read as a ledger: {' '.join(str(error).split())}") from None


@contextmanager
def recording(path: Path, entry: Entry, seen: int) -> Iterator[None]:
    """Record a release if what is done inside succeeds, and nothing otherwise.

    `seen` is how many releases about the population were known when it was decided.
    """
    is_new = not path.exists()
    try:
        with closing(sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)) as database:
            # EXTRA also syncs the folder after the journal is gone: what was committed outlives a power loss.
            database.execute("pragma synchronous = extra")
            database.execute("begin immediate")
            try:
                _insert(path, database, entry, seen)
                yield
                database.execute("commit")
            except BaseException:
                if database.in_transaction:
                    database.execute("rollback")
                if is_new:
                    path.unlink(missing_ok=True)
                raise
    except sqlite3.Error as error:
        raise OutputError(f"{path}: nothing was recorded: {' '.join(str(error).split())}") from None


def _insert(path: Path, database: sqlite3.Connection, entry: Entry, seen: int) -> None:
    if _is_blank(database):
        for statement in TABLES.split(";\n"):
            database.execute(statement)
        database.execute(f"pragma application_id = {APPLICATION}")
        database.execute(f"pragma user_version = {VERSION}")
    _check(path, database)
    (count,) = database.execute("select count(*) from release where population = ?", (entry.population,)).fetchone()
    if count != seen:
        raise OutputError(f"{path}: another release about {entry.population!r} was recorded meanwhile; run again")
    cursor = database.execute(
        f"insert into release ({COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            entry.population,
            entry.cycle,
            entry.title,
            _text(asdict(entry.target)),
            _text(entry.axes),
            _text(entry.options),
            entry.people,
            entry.answered,
            entry.manifest,
            entry.slack,
            entry.epsilon,
        ),
    )
    key = cursor.lastrowid
    tables = [(key, table.name, _text(_content(table))) for table in entry.tables]
    database.executemany("insert into published values (?, ?, ?)", tables)
    rolls = [
        (key, _text(axes), _text([[*profile, people] for profile, people in roll.items()]))
        for axes, roll in entry.rolls.items()
    ]
    database.executemany("insert into roll values (?, ?, ?)", rolls)
    members = [(key, name, _text(profile)) for name, profile in sorted(entry.members.items())]
    database.executemany("insert into member values (?, ?, ?)", members)


def _is_blank(database: sqlite3.Connection) -> bool:
    """Whether nothing at all is in the file."""
    (count,) = database.execute("select count(*) from sqlite_master").fetchone()
    (application,) = database.execute("pragma application_id").fetchone()
    return bool(count == 0 and application == 0)


def _check(path: Path, database: sqlite3.Connection) -> None:
    (application,) = database.execute("pragma application_id").fetchone()
    (version,) = database.execute("pragma user_version").fetchone()
    if application != APPLICATION:
        raise InputError(f"{path}: is an SQLite file, but not a ledger of safemargin; name another file")
    if version != VERSION:
        raise InputError(f"{path}: is a ledger of version {version}; this program reads version {VERSION}")


def _entry(
    database: sqlite3.Connection,
    key: int,
    population: str,
    cycle: str,
    title: str,
    target: str,
    axes: str,
    options: str,
    people: int,
    answered: int,
    manifest: str,
    slack: int,
    epsilon: float,
) -> Entry:
    tables, rolls, members = (
        database.execute(f"select * from {name} where release = ? order by rowid", (key,)).fetchall()
        for name in ("published", "roll", "member")
    )
    return Entry(
        population=population,
        cycle=cycle,
        title=title,
        target=Target(**json.loads(target)),
        axes={name: tuple(categories) for name, categories in json.loads(axes).items()},
        options=tuple(json.loads(options)),
        people=people,
        answered=answered,
        manifest=manifest,
        tables=tuple(_table(name, json.loads(text)) for _, name, text in tables),
        rolls={
            tuple(json.loads(names)): {tuple(profile): people for *profile, people in json.loads(text)}
            for _, names, text in rolls
        },
        members={name: tuple(json.loads(profile)) for _, name, profile in members},
        slack=slack,
        epsilon=epsilon,
    )


def _content(table: PublishedTable) -> Mapping[str, Any]:
    """A published table as it is printed: a suppressed count is null, a noised one is what was printed."""
    counts = [
        int(table.noisy[row]) if table.noisy is not None and status == "noised" else int(table.lower[row])
        for row, status in enumerate(table.status)
    ]
    return {
        "axes": table.axes,
        "groups": [[sorted(group) for group in groups] for groups in table.groups],
        "options": table.options,
        "rows": [
            [*codes, int(table.option[row]), None if status == "suppressed" else counts[row], status]
            for row, (codes, status) in enumerate(zip(table.codes.tolist(), table.status, strict=True))
        ],
    }


def _table(name: str, content: Mapping[str, Any]) -> PublishedTable:
    axes = tuple(content["axes"])
    rows = content["rows"]
    hidden = [row[-1] in ("suppressed", "noised") for row in rows]
    lower = [0 if is_hidden else row[-2] for row, is_hidden in zip(rows, hidden, strict=True)]
    upper = [UNBOUNDED if is_hidden else row[-2] for row, is_hidden in zip(rows, hidden, strict=True)]
    return PublishedTable(
        name=name,
        axes=axes,
        groups=tuple(tuple(frozenset(group) for group in groups) for groups in content["groups"]),
        codes=frozen(np.array([row[:-3] for row in rows], dtype=np.int64).reshape(len(rows), len(axes)), len(axes)),
        options=tuple(content["options"]),
        option=frozen([row[-3] for row in rows]),
        lower=frozen(lower),
        upper=frozen(upper),
        status=tuple(row[-1] for row in rows),
    )


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
