"""Releases as the ledger keeps them, in memory and as rows of its tables, and what they have used up together."""

import hashlib
import json
import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from safemargin.core import (
    UNBOUNDED,
    InputError,
    Profile,
    PublishedTable,
    Schema,
    Table,
    Tally,
    Target,
    frozen,
)
from safemargin.release.ledger.chain import to_text

Person = str
"""Somebody under a name that says nothing by itself."""


@dataclass(frozen=True)
class Entry:
    """A release: of whom, in which cycle, under which target, and every published table.

    `rolls` holds the group sizes by sets of axes. `members` gives everybody's profile where people are followed by an
    identifier. `slack` is how far sealed totals were apart, `epsilon` what noise cost anybody at most and
    `epsilon_total` what all cycles may cost together. `weaker` is the reason for a target that is weaker than before.
    """

    population: str
    cycle: str
    title: str
    target: Target
    axes: Mapping[str, tuple[str, ...]] = field(hash=False)
    options: tuple[str, ...]
    people: int
    answered: int
    manifest: str
    tables: tuple[PublishedTable, ...] = field(hash=False)
    rolls: Mapping[tuple[str, ...], Mapping[Profile, int]] = field(default_factory=dict, hash=False)
    members: Mapping[Person, Profile] = field(default_factory=dict, hash=False)
    slack: int = 0
    epsilon: float = 0.0
    epsilon_total: float | None = None
    weaker: str = ""

    @property
    def queries(self) -> int:
        """How many independent counts per option were published beside the total: `sum (k - 1)` over the axes."""
        return sum(len(table.groups[0]) - 1 for table in self.tables if len(table.axes) == 1)


def person(population: str, name: str) -> Person:
    """A name as the ledger keeps it."""
    return hashlib.sha256(f"{population}\0{name}".encode()).hexdigest()


def roll_of(table: Table, composition: str) -> dict[tuple[str, ...], dict[Profile, int]]:
    """The roll of `table` as an onlooker with this composition knows it: joint, or by single axes.

    Somebody who knows no roll learns the sizes of groups from the tables themselves.
    """
    names = table.schema.names
    wanted = [names] if composition == "joint" and table.knows_composition else [(name,) for name in names]
    return {axes: _labelled(table.people(axes), table.schema) for axes in wanted}


def _labelled(tally: Tally, schema: Schema) -> dict[Profile, int]:
    categories = [schema.axis(axis).categories for axis in tally.axes]
    return {
        tuple(categories[a][code] for a, code in enumerate(codes)): people
        for codes, (people,) in zip(tally.codes.tolist(), tally.counts.tolist(), strict=True)
    }


@dataclass(frozen=True)
class Budget:
    """`queries` counts per option were published in all cycles about `people` people.

    Over a stable electorate, about as many counts as people would fix everybody's answer. `epsilon` is what noise cost
    somebody at most who was there in every cycle and always answered alike.
    """

    queries: int
    people: int
    epsilon: float = 0.0

    def document(self) -> dict[str, float]:
        """The same for a document."""
        return {"queries": self.queries, "people": self.people, "share": self.share, "epsilon": self.epsilon}

    @property
    def share(self) -> float:
        """How much of that is used."""
        return self.queries / max(self.people, 1)


def budget(entries: Sequence[Entry]) -> Budget:
    """What the releases about one population have used, measured against the fewest people it ever had."""
    return Budget(
        sum(entry.queries for entry in entries),
        min((entry.people for entry in entries), default=0),
        sum(entry.epsilon for entry in entries),
    )


def recommended_kappa(entries: Sequence[Entry], answered: int) -> int:
    """The floor that is the same share of those who answered as every earlier floor was, rounded down; never lower.

    >>> recommended_kappa([], 500)
    1
    """
    return max(
        (max(entry.target.kappa, entry.target.kappa * answered // max(entry.answered, 1)) for entry in entries),
        default=1,
    )


def check_same(path: Path, entries: Sequence[Entry], population: str, cycle: str, schema: Schema) -> None:
    """Raise if a release cannot be compared with the earlier ones about its population, or is one of them."""
    axes = {axis.name: axis.categories for axis in schema.axes}
    for entry in entries:
        where = f"{path}: population {population!r}"
        if entry.cycle == cycle:
            raise InputError(f"{where}: cycle {cycle!r} was released already; give ledger.cycle another name")
        for name in entry.axes:
            if name not in axes:
                raise InputError(
                    f"{where}: axis {name!r} was published in {entry.cycle!r} and is missing now; add [axes.{name}], "
                    "so that both releases can be held together"
                )
            if changed := set(entry.axes[name]) ^ set(axes[name]):
                odd = min(changed)
                said = f"is gone since {entry.cycle!r}; list it in axes.{name}.categories"
                if odd in axes[name]:
                    said = f"is new since {entry.cycle!r}; count it with an old one"
                raise InputError(f"{where}: axis {name!r}: category {odd!r} {said}")
        if set(entry.options) != set(schema.options):
            raise InputError(
                f"{where}: the options were {', '.join(entry.options)} in {entry.cycle!r} and are "
                f"{', '.join(schema.options)} now; keep them (data.options)"
            )


def weaknesses(entries: Sequence[Entry], target: Target, epsilon_total: float | None) -> list[str]:
    """In which way a target is weaker than that of an earlier release about the same people, in words."""
    weaker = []
    for entry in entries:
        before = entry.target
        for name, now, then in (
            ("beta", target.beta, before.beta),
            ("kappa", target.kappa, before.kappa),
            ("tau", target.tau, before.tau),
            ("epsilon_max", -target.epsilon_max, -before.epsilon_max),
            ("epsilon_total", -(epsilon_total or math.inf), -(entry.epsilon_total or math.inf)),
        ):
            if now < then:
                weaker.append(f"{name} was {abs(then):g} in {entry.cycle!r} and is {abs(now):g} now")
        if dropped := sorted(set(before.sensitive) - set(target.sensitive)):
            weaker.append(f"{' '.join(dropped[0])} was sensitive in {entry.cycle!r} and is not now")
    return weaker


def epsilon_left(path: Path, entries: Sequence[Entry], epsilon_total: float | None) -> float:
    """What noise may cost anybody in this cycle, after what the earlier ones about the same people cost."""
    stated = [total for total in (epsilon_total, *(entry.epsilon_total for entry in entries)) if total is not None]
    if not stated:
        return math.inf
    used = sum(entry.epsilon for entry in entries)
    total = stated[0] if epsilon_total is not None else min(stated)
    if used >= total:
        raise InputError(
            f"{path}: noise of earlier cycles cost epsilon {used:g}, and epsilon_total = {total:g}: nothing is left; "
            "set target.protect to merge or suppress"
        )
    return total - used


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
