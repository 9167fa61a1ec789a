"""What a report is about: a plan, what it would publish, and what every onlooker makes of that."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from safemargin.audit.findings import Findings
from safemargin.core import Group, Publication, PublishedTable
from safemargin.release.plan import Action, Plan
from safemargin.release.report.exposed import ExposedGroup
from safemargin.release.report.groups import (
    Choice,
    DecidedGroup,
    Orders,
    decision_label,
    exact_categories,
    is_omitted,
)
from safemargin.ui import Document, Section, percent, plural

FIFTH = 0.2
"""Share of the people of an axis that may be inexact in a release that is called nearly complete."""
TENTH = 0.1
"""Share from which on alternatives are shown: with 12 % inexact, a county asks what a limit of 3 % would keep."""


@dataclass(frozen=True)
class TriedRemedy:
    """A remedy that was decided, certified and attacked: what to do, the key of a project, and what it keeps."""

    words: str
    key: str
    published: int
    asked: int
    share: float

    @property
    def sentence(self) -> str:
        """The remedy in a sentence."""
        tables = f"{self.published:,} of {plural(self.asked, 'table')}"
        return f"{self.words} ({self.key}): {tables} published, {percent(self.share)} of the people in exact groups."


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
    outcome: Document | None = None
    """What the total itself discloses about one vote, for a document; `result` is the same for a page."""
    result: Section | None = None
    exposed: ExposedGroup = ExposedGroup()
    alternatives: tuple[Choice, ...] = ()
    causes: tuple[str, ...] = ()
    """What in the project makes groups small or alike, where much is lost."""
    tried: tuple[TriedRemedy, ...] = ()
    """Remedies that were decided and keep more."""
    asked_cells: Mapping[str, int] = field(default_factory=dict)
    """By table of several axes: how many combinations of categories somebody has."""

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
    def total_exposes(self) -> bool:
        """Whether the total alone says how everybody chose; then no table can protect anybody, or expose more."""
        totals = self.totals
        return self.plan.target.total_exposes(list(totals.values()), self.people, tuple(totals))

    @cached_property
    def people(self) -> int:
        """How many people the release is about, as far as rolls or groups say."""
        on_rolls = [findings.exposure.population or 0 for findings in self.findings]
        in_groups = [sum(group.people for group in groups) for groups in self.axes.values()]
        return max([*on_rolls, *in_groups], default=0) or sum(self.totals.values())


def category_orders(findings: Iterable[Findings]) -> Orders:
    """The categories of every axis in the order of the rolls that the onlookers hold."""
    return {
        axis: tuple(category for group in groups for category in group)
        for seen in findings
        for table in seen.onlooker.roll
        for axis, groups in zip(table.axes, table.groups, strict=True)
        if all(len(group) == 1 for group in groups)
    }


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


def exact_share(context: ReportContext, axes: Collection[str] | None = None) -> float:
    """The share of people in exact groups, over all axes or over some."""
    groups = [group for axis, groups in context.axes.items() if axes is None or axis in axes for group in groups]
    everybody = sum(group.people for group in groups)
    return sum(group.people for group in groups if group.action is Action.EXACT) / everybody if everybody else 1.0


def lost_tables(context: ReportContext) -> list[str]:
    """The axes and tables of several axes about which nothing is published."""
    axes = [axis for axis, groups in context.axes.items() if axis and is_omitted(groups)]
    return axes + [margin.name for margin in context.plan.margins if not margin.is_published]


def crossed_cells(context: ReportContext) -> dict[str, tuple[int, int]]:
    """By table of several axes: how many of the cells that were asked for are published exactly, and of how many.

    Asked for are the combinations of categories that somebody has. A cell of merged groups, or one that is suppressed,
    stands for categories that are not shown by themselves.
    """
    tables = {table.name: table for table in context.publication.tables}
    found = {}
    for margin in context.plan.margins:
        shown = _shown_cells(tables[margin.name]) if margin.name in tables else 0
        found[margin.name] = (shown, max(context.asked_cells.get(margin.name, margin.all_cells), shown))
    return found


def kept_of_asked(context: ReportContext) -> dict[str, tuple[int, int]]:
    """By table: how many of its categories, or cells, are exact, and how many were asked for."""
    axes = {
        axis: (exact_categories(groups), sum(group.members for group in groups))
        for axis, groups in context.axes.items()
        if axis
    }
    return axes | crossed_cells(context)


def _shown_cells(table: PublishedTable) -> int:
    """Cells of plain categories whose counts are all exact."""
    plain = [[len(group) == 1 for group in groups] for groups in table.groups]
    rows: dict[tuple[int, ...], bool] = {}
    for codes, status in zip(table.codes.tolist(), table.status, strict=True):
        single = all(plain[axis][code] for axis, code in enumerate(codes))
        rows[tuple(codes)] = rows.get(tuple(codes), True) and single and status == "exact"
    return sum(rows.values())


def worst_axis(context: ReportContext) -> tuple[str, float]:
    """The axis that loses most, and the share of its people who are not in exact groups."""
    shares = {
        axis: 1 - sum(g.people for g in groups if g.action is Action.EXACT) / max(sum(g.people for g in groups), 1)
        for axis, groups in context.axes.items()
        if axis
    }
    return max(shares.items(), key=lambda item: item[1], default=("", 0.0))


def is_wanting(context: ReportContext) -> bool:
    """Whether alternatives are shown: something is refused or lost, or more than a tenth of an axis is not exact."""
    return not context.is_sound or bool(lost_tables(context)) or worst_axis(context)[1] > TENTH


def lost_words(context: ReportContext) -> str:
    """What is lost, in words: "precinct (61 categories)"."""
    lost = lost_tables(context)
    sizes = {axis: sum(group.members for group in groups) for axis, groups in context.axes.items()}
    return ", ".join(f"{name} ({plural(sizes[name], 'category')})" if name in sizes else name for name in lost)


def lost_reasons(context: ReportContext, most: int = 3) -> str:
    """Why tables are lost, in words: a sentence for each of the first ones."""
    by_axis = {axis: groups[0].reason for axis, groups in context.axes.items() if axis and is_omitted(groups)}
    by_axis |= {margin.name: margin.reason for margin in context.plan.margins if not margin.is_published}
    lines = [f"{name}: {why}." for name, why in by_axis.items() if why]
    left = len(lines) - most
    more = "" if left < 1 else " One more is listed below." if left == 1 else f" The other {left:,} are listed below."
    return " ".join(lines[:most]) + more


def headline(context: ReportContext) -> str:
    """The verdict on the whole release in a few words."""
    if not context.plan.certificate.certified:
        return "Not certified: do not publish"
    if not context.is_sound:
        return "An attack succeeded: do not publish"
    return "Certified" if any(findings.attempts for findings in context.findings) else "Certified, not attacked yet"
