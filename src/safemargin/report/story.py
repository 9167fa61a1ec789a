"""What the page is about: one release, its groups, and what onlookers make of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from safemargin.model.findings import Findings
from safemargin.model.plan import Plan
from safemargin.model.release import Release
from safemargin.report.groups import DecidedGroup, by_axis, category_orders, decided_groups, total_counts


@dataclass(frozen=True)
class Story:
    """What the page is about, with the groups and shares that several parts need."""

    plan: Plan
    release: Release
    findings: tuple[Findings, ...]
    axes: Mapping[str, list[DecidedGroup]]
    totals: Mapping[str, int]
    people: int


def told(plan: Plan, release: Release, findings: Sequence[Findings]) -> Story:
    """The story of a release."""
    axes = by_axis(decided_groups(plan, release, category_orders(findings)))
    totals = total_counts(release)
    on_rolls = [each.exposure.population or 0 for each in findings]
    in_groups = [sum(group.people for group in groups) for groups in axes.values()]
    people = max([*on_rolls, *in_groups], default=0) or sum(totals.values())
    return Story(plan, release, tuple(findings), axes, totals, people)
