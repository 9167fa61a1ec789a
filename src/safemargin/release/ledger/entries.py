"""Releases as the ledger keeps them, what they have used up together, and what an onlooker remembers of them."""

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from safemargin.core import (
    Earlier,
    Histories,
    InputError,
    Past,
    Profile,
    PublishedTable,
    Schema,
    Table,
    Tally,
    Target,
    net_histories,
    roll_margin,
)

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


def remember(
    entries: Sequence[Entry],
    axes: tuple[str, ...],
    now: str,
    rolls: Mapping[tuple[str, ...], Mapping[Profile, int]],
    members: Mapping[Person, Profile],
    by_group: bool,
) -> Past | None:
    """Earlier releases as an onlooker who knows `rolls` remembers them; none if there are none.

    People are followed by their identifiers if all cycles have them and the joint roll is known. Otherwise the net
    change of every profile is taken to be all joiners or all leavers. Axes may have been added since: people who
    stayed have the categories of today on them, and for those who left it does not matter.
    """
    known = [entry for entry in entries if entry.rolls]
    if not known:
        return None
    slack = max(entry.slack for entry in known)
    earlier = tuple(Earlier(entry.cycle, entry.tables) for entry in known)
    is_joint = any(set(axes) == set(key) for key in rolls) and all(
        any(set(entry.axes) == set(key) for key in entry.rolls) for entry in known
    )
    if is_joint and members and all(entry.members for entry in known):
        followed = _followed([*(_ordered(entry, axes, members) for entry in known), members])
        return Past(axes, now, earlier, {axes: followed}, by_group, slack)
    wanted = [axes] if is_joint else [(axis,) for axis in axes]
    histories = {
        key: net_histories([*(_earlier_roll(entry, key, rolls) for entry in known), roll_margin(rolls, key)])
        for key in wanted
    }
    return Past(axes, now, earlier, histories, by_group, slack, net=True)


def _earlier_roll(
    entry: Entry, axes: tuple[str, ...], rolls: Mapping[tuple[str, ...], Mapping[Profile, int]]
) -> dict[Profile, int]:
    """The roll of an earlier cycle by axes of today; those that were added since have the categories of today."""
    shared = tuple(axis for axis in axes if axis in entry.axes)
    if shared == axes:
        return roll_margin(entry.rolls, axes)
    before, now = roll_margin(entry.rolls, shared), roll_margin(rolls, axes)
    places = [axes.index(axis) for axis in shared]
    sums: dict[Profile, int] = {}
    for profile, people in now.items():
        key = tuple(profile[column] for column in places)
        sums[key] = sums.get(key, 0) + people
    if (
        any(people > before.get(key, 0) for key, people in sums.items())
        if shared
        else sum(sums.values()) > entry.people
    ):
        added = next(axis for axis in axes if axis not in entry.axes)
        raise InputError(
            f"axes.{added}: is new since {entry.cycle!r}, and people joined: nobody knows which category of it they "
            "are in; name a column that identifies people (ledger.id) in every cycle"
        )
    # Who left is in no table of an added axis: any category serves.
    stayed = dict(now)
    first = {tuple(profile[column] for column in places): profile for profile in reversed(list(now))}
    for key, people in before.items() if shared else [((), entry.people)]:
        if key in first:
            stayed[first[key]] += people - sums[key]
        else:
            stayed[tuple(key[shared.index(axis)] if axis in shared else UNKNOWN for axis in axes)] = people
    return stayed


UNKNOWN = "(unknown)"
"""The category, on an axis that was added since, of somebody who left before."""


def _ordered(entry: Entry, axes: tuple[str, ...], now: Mapping[Person, Profile]) -> dict[Person, Profile]:
    """The members of an entry, with their categories in the order of `axes`."""
    places = {axis: place for place, axis in enumerate(entry.axes)}
    return {
        name: tuple(
            profile[places[axis]] if axis in places else now[name][position] if name in now else UNKNOWN
            for position, axis in enumerate(axes)
        )
        for name, profile in entry.members.items()
    }


def _followed(cycles: Sequence[Mapping[Person, Profile]]) -> Histories:
    everybody = {name for members in cycles for name in members}
    return Counter(tuple(members.get(name) for members in cycles) for name in sorted(everybody))
