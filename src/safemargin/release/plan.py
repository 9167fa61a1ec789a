"""What is to be done with each cell, and why. A plan looks at votes and stays inside."""

from dataclasses import dataclass, field
from enum import StrEnum

from safemargin.core import Group, Guarantee, IntArray, Target
from safemargin.release.maximum import MarginDecision, Maximum


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
    """A release that was considered and refused, with a cell that it would have given away.

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
        whom = f"the {self.people} {noun} with {where}" if where else f"all {self.people} people"
        if not self.proved:
            return (
                f"{self.what} was not shown to be safe: {self.option!r} among {whom} "
                f"stayed undecided within [{self.lower}, {self.upper}]"
            )
        return f"{self.what} would confine {self.option!r} to [{self.lower}, {self.upper}] of {whom}"


@dataclass(frozen=True)
class Rejected:
    """A margin that is not published: the groups of its axes in the version that was refused, and why."""

    axes: tuple[str, ...]
    groups: tuple[tuple[Group, ...], ...]
    refusal: Refusal


@dataclass(frozen=True)
class Certificate:
    """What was proved about the release as a whole, against which onlooker, and how.

    `proved` is `integer` if tables of whole people show it for every cell. Else it is `linear`: `linear` cells are
    shown by a table with fractions of people only.
    """

    certified: bool
    statement: str
    proved: str
    method: str
    checked: dict[str, int] = field(hash=False)
    worst: tuple[str, ...] = ()
    linear: int = 0


@dataclass(frozen=True)
class Plan:
    """Every decision of a release, what was refused on the way, and the certificate.

    `margins` are the tables of several axes that were asked for; `rejected` tells by name whom some of the
    others would give away.

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
    notes: tuple[str, ...] = ()
    """What is to be said beside the decisions."""
    margins: tuple[MarginDecision, ...] = ()
    maximum: Maximum | None = None
    rejected: dict[str, Rejected] = field(default_factory=dict, hash=False)

    def axis(self, name: str) -> tuple[Decision, ...]:
        """Decisions about one axis, in order."""
        return tuple(decision for decision in self.decisions if decision.axis == name)
