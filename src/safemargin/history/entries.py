"""Releases as the ledger keeps them, in memory and as rows of its tables, and what they have used up together."""

import hashlib
import json
import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from safemargin.core import (
    Group,
    InputError,
    Lattice,
    Profile,
    PublishedTable,
    Schema,
    Secrets,
    Table,
    Tally,
    Target,
)
from safemargin.history.chain import to_text
from safemargin.history.contents import lattice_content, read_lattice, read_table, table_content

Person = str
"""Somebody under a name that says nothing by itself."""


@dataclass(frozen=True)
class Entry:
    """A release: of whom, in which cycle, under which target, and every published table.

    `rolls` holds the group sizes by sets of axes. `members` gives everybody's profile where people are followed by an
    identifier. `slack` is how far sealed totals were apart, `epsilon` what noise cost anybody at most and
    `epsilon_total` what all cycles may cost together. `weaker` is the reason for a target that is weaker than before.
    `answers` is `new` if people were asked again since the release before, or else `kept`.
    Tables with gaps, as `suppress` publishes them, are in `lattices` by file instead (`GAP` for a gap), with the
    `limits` they were protected by. `bands` are the edges of axes that were cut from numbers or dates. Of several
    questions, `questions` has an entry of each by its name, with its own options, target, roll and tables.
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
    answers: str = ""
    lattices: Mapping[str, Lattice] = field(default_factory=dict, hash=False)
    limits: Mapping[str, int] = field(default_factory=dict, hash=False)
    bands: Mapping[str, list[str]] = field(default_factory=dict, hash=False)
    questions: Mapping[str, "Entry"] = field(default_factory=dict, hash=False)

    @property
    def files(self) -> tuple[str, ...]:
        """What was published, by name."""
        asked = [f"{name}: {table.name}" for name, own in self.questions.items() for table in own.tables]
        return (*(table.name for table in self.tables), *asked, *self.lattices)

    @property
    def queries(self) -> int:
        """How many independent counts per option were published beside the total: `sum (k - 1)` over the axes."""
        own = sum(len(table.groups[0]) - 1 for table in self.tables if len(table.axes) == 1)
        return own + sum(each.queries for each in self.questions.values())


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

    Groups that were published again count once. It measures how much was asked (`Q` of the paper's Prop. 8), not what
    is disclosed: a few counts can fix an answer, and as many counts as people need not. `epsilon` is what noise cost
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
        """Different counts per person."""
        return self.queries / max(self.people, 1)


def same_wave(entries: Sequence[Entry], answers: str) -> tuple[Entry, ...]:
    """The earlier releases of the same answers: those since people were last asked again; none if they were now."""
    if answers == "new":
        return ()
    first = max((place for place, entry in enumerate(entries) if entry.answers == "new"), default=0)
    return tuple(entries[first:])


def budget(entries: Sequence[Entry]) -> Budget:
    """What was asked about one population, beside the fewest people it ever had.

    Of every axis, different groups count, less one: they add up to the total at least once.
    """
    groups: dict[tuple[str, str], set[Group]] = {}
    for entry in entries:
        for name, own in ({"": entry} | dict(entry.questions)).items():
            for table in own.tables:
                if len(table.axes) == 1:
                    groups.setdefault((name, table.axes[0]), set()).update(table.groups[0])
    return Budget(
        sum(len(found) - 1 for found in groups.values()),
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
            ("posterior_max", -(target.posterior_max or 1.0), -(before.posterior_max or 1.0)),
            ("epsilon_total", -(epsilon_total or math.inf), -(entry.epsilon_total or math.inf)),
        ):
            if now < then:
                weaker.append(f"{name} was {abs(then):g} in {entry.cycle!r} and is {abs(now):g} now")
        if dropped := sorted(set(before.sensitive) - set(target.sensitive)):
            weaker.append(f"{' '.join(dropped[0])} was sensitive in {entry.cycle!r} and is not now")
        if target.allow and not before.allow:
            weaker.append(f"every cell was proved in integers in {entry.cycle!r}, and now allow = {target.allow!r}")
        if lost := _secrets_lost(before.secrets, target.secrets, entry.options):
            weaker.append(f"{lost} was secret in {entry.cycle!r} and is not now")
    return weaker


def _secrets_lost(before: Secrets, now: Secrets, options: Sequence[str]) -> str:
    """What was secret under earlier secrets and is not now, in words; nothing if all still is."""
    lost = before.of(options) - now.of(options)
    if lost:
        names = [repr(options[number]) for number in sorted(min(lost, key=sorted))]
        return f"that people chose {' or '.join(names)}"
    fewer = [option for option, least in before.least if dict(now.least).get(option, 0) < least]
    return f"a small count of {fewer[0]!r}" if fewer else ""


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
EXTRAS = ("epsilon_total", "weaker", "answers", "limits", "bands")
"""What is kept beside the target, where it is stated."""
Row = tuple[Any, ...]


def insert_entry(database: sqlite3.Connection, entry: Entry) -> int:
    """Add the rows of an entry; the number of its release."""
    asked = {
        name: {"aims": _aims(own), "options": own.options, "people": own.people, "answered": own.answered}
        for name, own in entry.questions.items()
    }
    cursor = database.execute(
        f"insert into release ({COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            entry.population,
            entry.cycle,
            entry.title,
            to_text(_aims(entry) | ({"questions": asked} if asked else {})),
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
    tables = [(key, table.name, to_text(table_content(table))) for table in entry.tables]
    tables += [(key, name, to_text(lattice_content(lattice))) for name, lattice in entry.lattices.items()]
    for name, own in entry.questions.items():
        tables += [(key, t.name, to_text({**table_content(t), "question": name})) for t in own.tables]
    database.executemany("insert into published values (?, ?, ?)", tables)
    rolls = [
        (key, to_text(axes), to_text([[*profile, people] for profile, people in roll.items()]))
        for axes, roll in entry.rolls.items()
    ]
    rolls += [
        (key, to_text({"question": name, "axes": axes}), to_text([[*profile, n] for profile, n in roll.items()]))
        for name, own in entry.questions.items()
        for axes, roll in own.rolls.items()
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
            if key not in parts:
                parts[key] = {part: [] for part in PARTS}
            parts[key][name].append(tuple(row))
    return parts


def entry_of(row: Sequence[Any], parts: Mapping[str, Sequence[Row]]) -> Entry:
    """The entry with these `COLUMNS` and parts."""
    population, cycle, title, target, axes, options, people, answered, manifest, slack, epsilon = row
    aims = json.loads(target)
    asked = aims.pop("questions", {})
    extras = {key: aims.pop(key) for key in EXTRAS if key in aims}
    listed = [(name, json.loads(text)) for name, text in parts["published"]]
    published = {name: content for name, content in listed if "question" not in content}
    rolls: dict[str, dict[tuple[str, ...], dict[Profile, int]]] = {}
    for names, text in parts["roll"]:
        key = json.loads(names)
        question, columns = (key["question"], key["axes"]) if isinstance(key, dict) else ("", key)
        rolls.setdefault(question, {})[tuple(columns)] = {tuple(p): people for *p, people in json.loads(text)}
    whole = Entry(
        population=population,
        cycle=cycle,
        title=title,
        target=Target(**aims),
        axes={name: tuple(categories) for name, categories in json.loads(axes).items()},
        options=tuple(json.loads(options)),
        people=people,
        answered=answered,
        manifest=manifest,
        tables=tuple(read_table(name, content) for name, content in published.items() if "rows" in content),
        lattices={name: read_lattice(content) for name, content in published.items() if "trees" in content},
        rolls=rolls.get("", {}),
        members={name: tuple(json.loads(profile)) for name, profile in parts["member"]},
        slack=slack,
        epsilon=epsilon,
        **extras,
    )
    if not asked:
        return whole
    own = {name: [read_table(t, content) for t, content in listed if content.get("question") == name] for name in asked}
    return replace(
        whole,
        questions={
            name: replace(
                whole,
                target=Target(**{key: value for key, value in each["aims"].items() if key not in EXTRAS}),
                options=tuple(each["options"]),
                people=each["people"],
                answered=each["answered"],
                tables=tuple(own[name]),
                rolls=rolls.get(name, {}),
            )
            for name, each in asked.items()
        },
    )


def _aims(entry: Entry) -> dict[str, Any]:
    """The target of an entry, with what is kept beside it."""
    return entry.target.stated() | {key: value for key in EXTRAS if (value := getattr(entry, key))}
