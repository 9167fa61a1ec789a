"""Entries as rows of the ledger's tables, and back."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from safemargin.core import UNBOUNDED, PublishedTable, Target, frozen
from safemargin.release.ledger.entries import Entry

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
PARTS = ("published", "roll", "member")
"""Tables with several rows per release."""

EXTRAS = ("epsilon_total", "weaker")
"""What is kept beside the target, where it is stated."""

Row = tuple[Any, ...]


def insert_entry(database: sqlite3.Connection, entry: Entry) -> int:
    """Add the rows of an entry; the number of its release."""
    cursor = database.execute(
        f"insert into release ({COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            entry.population,
            entry.cycle,
            entry.title,
            to_text(entry.target.stated() | {key: value for key in EXTRAS if (value := getattr(entry, key))}),
            to_text(entry.axes),
            to_text(entry.options),
            entry.people,
            entry.answered,
            entry.manifest,
            entry.slack,
            entry.epsilon,
        ),
    )
    key = int(cursor.lastrowid or 0)
    tables = [(key, table.name, to_text(_content(table))) for table in entry.tables]
    database.executemany("insert into published values (?, ?, ?)", tables)
    rolls = [
        (key, to_text(axes), to_text([[*profile, people] for profile, people in roll.items()]))
        for axes, roll in entry.rolls.items()
    ]
    database.executemany("insert into roll values (?, ?, ?)", rolls)
    members = [(key, name, to_text(profile)) for name, profile in sorted(entry.members.items())]
    database.executemany("insert into member values (?, ?, ?)", members)
    return key


def delete_entry(database: sqlite3.Connection, key: int) -> None:
    """Remove the rows of an entry."""
    for name in PARTS:
        database.execute(f"delete from {name} where release = ?", (key,))
    database.execute("delete from release where id = ?", (key,))


def select_parts(database: sqlite3.Connection) -> dict[int, dict[str, list[Row]]]:
    """The rows of every part by release, each without the number of its release."""
    parts: dict[int, dict[str, list[Row]]] = {}
    for name in PARTS:
        for key, *row in database.execute(f"select * from {name} order by rowid"):
            parts.setdefault(key, {name: [] for name in PARTS})[name].append(tuple(row))
    return parts


def entry_of(row: Sequence[Any], parts: Mapping[str, Sequence[Row]]) -> Entry:
    """The entry with these `COLUMNS` and parts."""
    population, cycle, title, target, axes, options, people, answered, manifest, slack, epsilon = row
    aims = json.loads(target)
    extras = {key: aims.pop(key) for key in EXTRAS if key in aims}
    return Entry(
        population=population,
        cycle=cycle,
        title=title,
        target=Target(**aims),
        axes={name: tuple(categories) for name, categories in json.loads(axes).items()},
        options=tuple(json.loads(options)),
        people=people,
        answered=answered,
        manifest=manifest,
        tables=tuple(_table(name, json.loads(text)) for name, text in parts["published"]),
        rolls={
            tuple(json.loads(names)): {tuple(profile): people for *profile, people in json.loads(text)}
            for names, text in parts["roll"]
        },
        members={name: tuple(json.loads(profile)) for name, profile in parts["member"]},
        slack=slack,
        epsilon=epsilon,
        **extras,
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


def to_text(value: object) -> str:
    """A value as the ledger keeps it."""
    return json.dumps(value, ensure_ascii=False)
