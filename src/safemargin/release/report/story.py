"""What the page is about: one release, its groups, and what onlookers make of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from safemargin.audit.findings import Findings
from safemargin.release.draft import Draft
from safemargin.release.plan import Plan
from safemargin.release.report.groups import (
    DecidedGroup,
    Orders,
    by_axis,
    category_orders,
    decided_groups,
    total_counts,
)
from safemargin.ui import Spec, to_svg
from safemargin.voting.result import ResultPrivacy


@dataclass(frozen=True)
class Story:
    """What the page is about, with the groups and shares that several parts need."""

    plan: Plan
    release: Draft
    findings: tuple[Findings, ...]
    axes: Mapping[str, list[DecidedGroup]]
    totals: Mapping[str, int]
    people: int
    draw: Callable[[Spec], str] = to_svg
    privacy: ResultPrivacy | None = None


def told(
    plan: Plan,
    release: Draft,
    findings: Sequence[Findings],
    orders: Orders | None = None,
    draw: Callable[[Spec], str] = to_svg,
    privacy: ResultPrivacy | None = None,
) -> Story:
    """The story of a release; `orders` of the categories as in the project, else as the onlookers see them."""
    axes = by_axis(decided_groups(plan, release, orders or category_orders(findings)))
    totals = total_counts(release)
    on_rolls = [each.exposure.population or 0 for each in findings]
    in_groups = [sum(group.people for group in groups) for groups in axes.values()]
    people = max([*on_rolls, *in_groups], default=0) or sum(totals.values())
    return Story(plan, release, tuple(findings), axes, totals, people, draw, privacy)
