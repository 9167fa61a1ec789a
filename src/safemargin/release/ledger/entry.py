"""One release as the ledger keeps it: what the public has anyway, and never an answer that was not published."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from safemargin.core import Profile, PublishedTable, Schema, Table, Tally, Target

Person = str
"""Somebody under a name that says nothing by itself."""


@dataclass(frozen=True)
class Entry:
    """A release: of whom, in which cycle, under which target, and every published table.

    `rolls` holds the public group sizes by sets of axes, and nothing where no onlooker knows any. `members` gives
    everybody's profile where people are followed by an identifier. `slack` is how far sealed totals were apart,
    `epsilon` what noise cost anybody at most.
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

    @property
    def queries(self) -> int:
        """How many independent counts per option were published beside the total: `sum (k - 1)` over the axes."""
        return sum(len(table.groups[0]) - 1 for table in self.tables if len(table.axes) == 1)


def person(population: str, name: str) -> Person:
    """A name as the ledger keeps it."""
    return hashlib.sha256(f"{population}\0{name}".encode()).hexdigest()


def roll_of(table: Table, composition: str) -> dict[tuple[str, ...], dict[Profile, int]]:
    """The roll of `table` as an onlooker with this composition knows it: joint, by single axes, or nothing."""
    if composition == "none" or not table.roll:
        return {}
    names = table.schema.names
    wanted = [names] if composition == "joint" and table.knows_composition else [(name,) for name in names]
    return {axes: _labelled(table.people(axes), table.schema) for axes in wanted}


def _labelled(tally: Tally, schema: Schema) -> dict[Profile, int]:
    categories = [schema.axis(axis).categories for axis in tally.axes]
    return {
        tuple(categories[a][code] for a, code in enumerate(codes)): people
        for codes, (people,) in zip(tally.codes.tolist(), tally.counts.tolist(), strict=True)
    }
