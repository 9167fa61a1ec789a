"""What is to be done with each cell and each table of several axes, and why.

A plan looks at votes: it is confidential.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations
from types import MappingProxyType

from safemargin.core import SIGN, Group, Guarantee, InputError, IntArray, Tally, Target


@dataclass(frozen=True)
class Wanted:
    """A margin that somebody would like to see; without a `weight` it counts as its number of cells."""

    axes: tuple[str, ...]
    weight: float | None = None

    @property
    def name(self) -> str:
        """The margin in words."""
        return SIGN.join(self.axes)


@dataclass(frozen=True)
class MarginDecision:
    """What is done with a margin that was asked for.

    `groups` part each of its axes; without them it is not published. `cells` is how many cells it has so, of
    `all_cells` if its axes were crossed as they are published; `value` is what that counts for, of `weight`. `hidden`
    are cells that are suppressed, by their groups.
    """

    axes: tuple[str, ...]
    groups: tuple[tuple[Group, ...], ...]
    cells: int
    all_cells: int
    value: float
    weight: float
    reason: str
    hidden: tuple[tuple[Group, ...], ...] = ()

    @property
    def name(self) -> str:
        """The margin in words."""
        return SIGN.join(self.axes)

    @property
    def is_published(self) -> bool:
        """Whether a table of it leaves."""
        return bool(self.groups)


@dataclass(frozen=True)
class Maximum:
    """How good a choice of margins is: no safe choice is worth more than `bound`.

    `proofs` is how many releases were put to the test, `unproved` how many of them stayed undecided.
    """

    value: float
    bound: float
    proofs: int
    unproved: int = 0

    @property
    def gap(self) -> float:
        """What the best choice could be worth more."""
        return max(self.bound - self.value, 0.0)


def wanted_margins(
    axes: Sequence[str],
    margins: Sequence[Sequence[str]] = (),
    order: int = 1,
    weights: Mapping[str, float] = MappingProxyType({}),
    section: str = "tables",
) -> tuple[Wanted, ...]:
    """Every margin that a section asks for, axes in the order of `axes`; single axes only if they are named."""
    wanted: dict[tuple[str, ...], float | None] = {}
    for margin in margins:
        wanted[_ordered(margin, axes, f"{section}.margins")] = None
    for count in range(2, order + 1):
        wanted |= {chosen: None for chosen in combinations(axes, count) if chosen not in wanted}
    for name, weight in weights.items():
        chosen = _ordered(name.split(SIGN) if name not in axes else [name], axes, f"{section}.weights")
        where = f"{section}.weights.{name!r}"
        if len(chosen) > 1 and chosen not in wanted:
            raise InputError(f"{where}: this margin is not asked for; add it to {section}.margins")
        if not 0 < weight < math.inf:
            raise InputError(f"{where} = {weight}: must be positive and finite")
        wanted[chosen] = weight
    return tuple(Wanted(margin, weight) for margin, weight in wanted.items())


def _ordered(names: Sequence[str], axes: Sequence[str], key: str) -> tuple[str, ...]:
    for name in names:
        if name not in axes:
            raise InputError(f"{key}: there is no axis {name!r}; the axes are {', '.join(axes)}")
    if len(set(names)) < len(names):
        raise InputError(f"{key}: {SIGN.join(names)} names an axis twice")
    return tuple(sorted(names, key=list(axes).index))


TOO_SMALL = "too few people"
"""The reason why a category does not meet the target, where its size alone says so."""


class Action(StrEnum):
    """How a cell is published."""

    EXACT = "exact"
    MERGED = "merged"
    NOISED = "noised"
    SUPPRESSED = "suppressed"


@dataclass(frozen=True)
class Decision:
    """The verdict on one published cell `(axis, group)`: what is done and the reason in words."""

    axis: str
    group: Group
    people: int
    action: Action
    reason: str
    epsilon: float | None = None


@dataclass(frozen=True)
class Refusal:
    """A release that was considered and refused, with a cell that it would have disclosed.

    Where `proved` is false, nothing that was tried showed that the cell is safe, and so it counted as unsafe.
    """

    what: str
    cell: dict[str, str] = field(hash=False)
    option: str
    people: int
    lower: int
    upper: int
    proved: bool = True

    def __str__(self) -> str:
        where = ", ".join(f"{axis} {value}" for axis, value in self.cell.items())
        noun = "person" if self.people == 1 else "people"
        whom = f"the {self.people:,} {noun} with {where}" if where else f"all {self.people:,} people"
        count = f"{self.lower:,} to {self.upper:,}"
        if not self.proved and self.lower == self.upper:  # not a cell: a group that is merged or suppressed
            why = f"no answers within the limits were found that explain why {whom} are protected"
            return f"{self.what} could not be proved safe against somebody who knows the rule: {why}"
        if not self.proved:
            return f"{self.what} could not be proved safe: undecided is whether {count} of {whom} chose {self.option!r}"
        if self.lower == self.upper:
            count = f"exactly {self.lower:,}"
        return f"{self.what} would disclose that {count} of {whom} chose {self.option!r}"


@dataclass(frozen=True)
class Rejected:
    """A margin that is not published: the groups of its axes in the version that was refused, and why."""

    axes: tuple[str, ...]
    groups: tuple[tuple[Group, ...], ...]
    refusal: Refusal


@dataclass(frozen=True)
class Evidence:
    """Files by name, and for each margin that was refused the one that proves why."""

    files: Mapping[str, bytes] = field(default_factory=dict, hash=False)
    certificates: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Certificate:
    """What was proved about the release as a whole, against which onlooker, and how.

    `proved` is `integer` if integer tables prove it for every cell. Else it is `linear`: for `linear` cells only a
    fractional table does.
    """

    certified: bool
    statement: str
    proved: str
    method: str
    checked: dict[str, int] = field(hash=False)
    linear: int = 0
    rule: str = "not shown"
    """`rerun` if it holds against an onlooker who knows the rule: the program publishes the same for every witness."""
    witnesses: int = 0
    earlier: str = "not"
    """How earlier releases were held together with this one: `jointly`, `group by group`, or `not` at all."""


@dataclass(frozen=True)
class SumRange:
    """From `least` to `most` people of a group of an axis chose an option, given by number.

    It lies outside the strict limits of decisions, so whatever answers have such a count, the group is merged on.
    """

    axis: str
    group: Group
    option: int
    least: int
    most: int


@dataclass(frozen=True)
class Plan:
    """Every decision of a release, the alternatives that were rejected, and the certificate.

    `margins` are the tables of several axes that were asked for; `rejected` says by name whom some of the others would
    expose.

    `witness` holds integer tables made from public figures that satisfy all of them: the proof behind the certificate.
    """

    target: Target
    decisions: tuple[Decision, ...]
    refusals: tuple[Refusal, ...]
    guarantees: tuple[Guarantee, ...]
    certificate: Certificate
    irregular: tuple[Decision, ...] = ()
    exposed_people: int = 0
    witness: tuple[IntArray, ...] = field(default=(), hash=False, compare=False)
    tables: tuple[Tally, ...] = field(default=(), hash=False, compare=False)
    """The same, as counts by profile: the program publishes the same for each of them, if the certificate says so."""
    shared_sums: tuple[tuple[str, tuple[Group, ...]], ...] = ()
    """Per axis the groups whose sums are the same in all these tables: every table with these sums leads here."""
    beyond: tuple[SumRange, ...] = ()
    """Counts beyond a strict limit that all these tables have: every table with such counts leads here."""
    data_independent: bool = False
    """Whether nothing is merged or omitted for its answers."""
    notes: tuple[str, ...] = ()
    """What is to be said beside the decisions."""
    margins: tuple[MarginDecision, ...] = ()
    maximum: Maximum | None = None
    rejected: dict[str, Rejected] = field(default_factory=dict, hash=False)

    def axis(self, name: str) -> tuple[Decision, ...]:
        """Decisions about one axis, in order."""
        return tuple(decision for decision in self.decisions if decision.axis == name)
