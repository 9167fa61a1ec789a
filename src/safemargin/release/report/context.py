"""What a report is about: a plan, what it would publish, and what every onlooker makes of that."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from safemargin.audit.findings import Findings
from safemargin.core import Group, Publication, PublishedTable, label
from safemargin.release.plan import Action, Decision, Plan
from safemargin.release.report.exposed import ExposedGroup
from safemargin.ui import band_label
from safemargin.voting.result import ResultPrivacy

if TYPE_CHECKING:
    from safemargin.release.report.alternatives import Choice

Orders = Mapping[str, tuple[str, ...]]
"""The categories of every axis in order: a merged group is named in this order, else by the alphabet."""


@dataclass(frozen=True)
class DecidedGroup:
    """One group of one axis: what was done with it, why, and its published counts by option."""

    axis: str
    label: str
    members: int
    people: int
    action: Action
    reason: str
    counts: Mapping[str, int] = field(default_factory=dict, hash=False)
    epsilon: float | None = None

    @property
    def margin_of_error(self) -> float:
        """How far a noised count is from the true one 95 times in 100; 0 without noise."""
        if not self.epsilon or self.action is not Action.NOISED:
            return 0.0
        # Two-sided geometric noise: P(|X| > k) = 2 a^(k + 1) / (1 + a) with a = e^-epsilon.
        ratio = math.exp(-self.epsilon)
        return max(math.ceil(math.log(0.05 * (1 + ratio) / 2) / -self.epsilon) - 1, 0)

    @property
    def name(self) -> str:
        """The group as people read it: merged bands as one."""
        return band_label(self.label)

    @property
    def cell(self) -> dict[str, str]:
        """The labels by axis; none for the whole electorate."""
        return {self.axis: self.label} if self.axis else {}


@dataclass(frozen=True, eq=False)
class ReportContext:
    """Everything that a report of a release, or of a refused one, is made from.

    `orders` are the categories as the project lists them; without them they are taken from the rolls of the onlookers.
    """

    plan: Plan
    publication: Publication
    findings: tuple[Findings, ...] = ()
    title: str = "Release"
    onlookers: tuple[str, ...] = ()
    orders: Orders = field(default_factory=dict)
    privacy: ResultPrivacy | None = None
    exposed: ExposedGroup = ExposedGroup()
    alternatives: "tuple[Choice, ...]" = ()

    @property
    def is_sound(self) -> bool:
        """Whether the plan is certified and no attack succeeded."""
        return self.plan.certificate.certified and all(findings.is_safe for findings in self.findings)

    @cached_property
    def groups(self) -> tuple[DecidedGroup, ...]:
        """Every decision of the plan, in order, with its published counts."""
        counts, orders = _counts(self.publication.tables), self.orders or category_orders(self.findings)
        return tuple(
            DecidedGroup(
                decision.axis,
                decision_label(decision, orders),
                len(decision.group),
                decision.people,
                decision.action,
                decision.reason,
                counts.get((decision.axis, decision.group), {}),
                decision.epsilon,
            )
            for decision in self.plan.decisions
        )

    @cached_property
    def axes(self) -> Mapping[str, list[DecidedGroup]]:
        """The groups of each axis, axes in the order they appear."""
        axes: dict[str, list[DecidedGroup]] = {}
        for group in self.groups:
            axes.setdefault(group.axis, []).append(group)
        return axes

    @cached_property
    def totals(self) -> Mapping[str, int]:
        """The published count of every option over everybody."""
        totals = [table for table in self.publication.tables if not table.axes and not table.is_roll]
        return _counts(totals).get(("", frozenset()), {})

    @cached_property
    def people(self) -> int:
        """How many people the release is about, as far as rolls or groups say."""
        on_rolls = [findings.exposure.population or 0 for findings in self.findings]
        in_groups = [sum(group.people for group in groups) for groups in self.axes.values()]
        return max([*on_rolls, *in_groups], default=0) or sum(self.totals.values())


def people_by_action(groups: Iterable[DecidedGroup]) -> dict[Action, tuple[int, int]]:
    """How many groups were treated in each way, and how many people are in them."""
    totals = {action: (0, 0) for action in Action}
    for group in groups:
        count, people = totals[group.action]
        totals[group.action] = (count + 1, people + group.people)
    return totals


def is_omitted(groups: Sequence[DecidedGroup]) -> bool:
    """Whether nothing is published about an axis."""
    return all(group.action is Action.SUPPRESSED for group in groups)


def category_orders(findings: Iterable[Findings]) -> Orders:
    """The categories of every axis in the order of the rolls that the onlookers hold."""
    return {
        axis: tuple(category for group in groups for category in group)
        for seen in findings
        for table in seen.onlooker.roll
        for axis, groups in zip(table.axes, table.groups, strict=True)
        if all(len(group) == 1 for group in groups)
    }


def decision_label(decision: Decision, orders: Orders) -> str:
    """The group of a decision as the published file writes it."""
    return label(decision.group, orders.get(decision.axis, ()))


def _counts(tables: Iterable[PublishedTable]) -> dict[tuple[str, Group], dict[str, int]]:
    """Published values by axis and group, of tables over at most one axis; none for ranges and suppressed cells."""
    values: dict[tuple[str, Group], dict[str, int]] = {}
    for table in tables:
        if len(table.axes) > 1 or table.is_roll:
            continue
        axis = table.axes[0] if table.axes else ""
        codes = table.codes[:, 0].tolist() if table.axes else [0] * len(table.lower)
        groups: tuple[Group, ...] = table.groups[0] if table.axes else (frozenset(),)
        for code, option, value in zip(codes, table.option.tolist(), _values(table), strict=True):
            if value is not None:
                name = table.options[option] if option >= 0 else ""
                values.setdefault((axis, groups[code]), {})[name] = value
    return values


def _values(table: PublishedTable) -> list[int | None]:
    """What is printed in every row."""
    noisy = table.lower if table.noisy is None else table.noisy
    rows = zip(table.status, table.lower.tolist(), table.upper.tolist(), noisy.tolist(), strict=True)
    return [
        noised if status == "noised" else lower if lower == upper and status != "suppressed" else None
        for status, lower, upper, noised in rows
    ]
