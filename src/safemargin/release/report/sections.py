"""What a report of a release states, part by part; the terminal and the page are made from the same parts."""

from collections.abc import Mapping
from functools import partial

from safemargin.audit.findings import attack_words, found_sections, skipped_words
from safemargin.bounds import classical_words, closest_calls, tally_words
from safemargin.release.plan import Action
from safemargin.release.report.charts import MOST_GROUPS, MOST_OPTIONS, rates_chart
from safemargin.release.report.context import ReportContext
from safemargin.release.report.groups import DecidedGroup, is_omitted, people_by_action
from safemargin.release.report.words import (
    ACTION_WORDS,
    MARGIN_COLUMNS,
    certificate_words,
    glossary_words,
    irregular_words,
    margin_rows,
    maximum_words,
)
from safemargin.ui import (
    Chart,
    Fold,
    Grid,
    InTerminal,
    OnPage,
    Paragraph,
    Part,
    Points,
    Section,
    Tag,
    describe_onlooker,
    named_cell_label,
    percent,
    plural,
)

EXCEPTIONAL = 20
"""Rows of a decision table that a page shows at once; the others open on a click."""


def exposed_section(context: ReportContext) -> Section | None:
    """Who would be exposed if everything were published exactly."""
    seen = context.exposed
    if not seen.cells and not context.plan.irregular:
        return None
    rows = [(named_cell_label(cell.cell), cell.people, cell.why) for cell in seen.cells]
    irregular = irregular_words(context.plan) if context.plan.irregular and not rows else ""
    grid = Grid(("group", "people", "why"), rows, most=8, sortable=True)
    return Section(
        "Who would be exposed",
        irregular,
        seen.map,
        InTerminal(grid) if rows else None,
        Fold(f"All {plural(len(rows), 'group')}", grid, is_open=len(rows) <= EXCEPTIONAL) if rows else None,
        anchor="exposed",
    )


def cost_section(context: ReportContext) -> Section | None:
    """What protection cost, in categories and people of every axis."""
    if not context.axes:
        return Section("What is published", "Only the total is published.")
    rows = []
    for axis, groups in context.axes.items():
        by_action = people_by_action(groups)
        everybody = sum(group.people for group in groups) or 1
        categories = {action: sum(g.members for g in groups if g.action is action) for action in Action}
        shown = [f"{categories[action]:,}" if categories[action] else "-" for action in Action]
        if is_omitted(groups):
            shown[-1] = "all"
        exact = by_action[Action.EXACT][1]
        rows.append([axis or "everyone", *shown, f"{exact:,} ({percent(exact / everybody)})"])
    meanings = "; ".join(f"{action}: {ACTION_WORDS[action]}" for action in Action)
    return Section(
        "What it cost",
        OnPage(f"Categories of every axis by how they are published ({meanings})."),
        Grid(("axis", *(str(action) for action in Action), "people in exact groups"), rows),
    )


def rates_section(context: ReportContext) -> Section | None:
    """Published rates by axis, with error bars where there is noise."""
    if not context.axes:
        return None
    counts = context.totals or {o: 0 for groups in context.axes.values() for group in groups for o in group.counts}
    most = sorted(counts, key=lambda option: -counts[option])[:MOST_OPTIONS]
    totals = {option: count / max(context.people, 1) for option, count in counts.items() if option in most}
    options = [
        (option or "counted", count, percent(count / context.people) if context.people else "-")
        for option, count in context.totals.items()
    ]
    cut = f"Only the {MOST_OPTIONS} options with most votes are drawn." if len(totals) < len(counts) else ""
    return Section(
        "What is published" if context.is_sound else "What would be published",
        Grid(("everybody", "count", "share"), options),
        "Share of the people of each group who chose the option. The thin line is the share of everybody; where noise "
        "was added, the bar in black holds the true share 95 times in 100.",
        cut,
        *(part for axis, groups in context.axes.items() for part in _rates(axis or "everyone", groups, totals)),
        _nobody_chose(context),
    )


def _nobody_chose(context: ReportContext) -> Part:
    """Published groups in which nobody chose an option: no alarm, unless the target says that it is a secret."""
    found = [
        f"{group.axis} {group.name}: {', '.join(option for option, count in group.counts.items() if not count)}"
        for group in context.groups
        if group.action in (Action.EXACT, Action.MERGED) and 0 in group.counts.values() and len(group.counts) > 2
    ]
    if not found:
        return None
    listed = Points([*found[:MOST_GROUPS], *([f"and {len(found) - MOST_GROUPS:,} more"] * (len(found) > MOST_GROUPS))])
    return Fold(f"{plural(len(found), 'group')} in which nobody chose some option", listed, is_open=False)


def _rates(axis: str, groups: list[DecidedGroup], totals: Mapping[str, float]) -> list[Part]:
    if is_omitted(groups) or not totals:
        categories = plural(sum(group.members for group in groups), "category")
        reasons = list(dict.fromkeys(group.reason for group in groups))
        return [Section(axis, f"Nothing is published about this axis ({categories}).", Points(reasons))]
    shown = sorted(groups, key=lambda group: -group.people)[:MOST_GROUPS] if len(groups) > MOST_GROUPS else groups
    left = [group for group in groups if group not in shown]
    tally = ", ".join(f"{count:,} {action}" for action, (count, _) in people_by_action(left).items() if count)
    note = f"The {MOST_GROUPS} largest of {len(groups):,} groups. The others ({tally}) are in the table of decisions."
    kinds = [str(action) for action in Action if any(group.action is action for group in groups)]
    return [Chart(partial(rates_chart, shown, totals), axis, kinds), note if left else ""]


def decisions_section(context: ReportContext) -> Section | None:
    """Before and after: every group with what was done and why, the exceptional ones first."""
    if not context.axes:
        return None
    columns = ("group", "people", "published", "reason", "counts")
    folds = []
    for axis, groups in context.axes.items():
        rows = [
            (
                group.name or "everyone",
                group.people,
                Tag(str(group.action), hint=ACTION_WORDS[group.action]),
                group.reason,
                _counts(group),
            )
            for group in sorted(groups, key=lambda group: group.action is Action.EXACT)
        ]
        changed = sum(group.action is not Action.EXACT for group in groups)
        summary = (
            f"{changed:,} of {plural(len(groups), 'group')} changed" if changed else f"{plural(len(groups), 'group')}"
        )
        folds.append(
            Fold(f"{axis or 'everyone'}: {summary}", Grid(columns, rows, sortable=True), is_open=bool(changed))
        )
    return Section("Every decision", "Groups that are not exact come first; click on a heading to sort.", *folds)


def margins_section(context: ReportContext, certificates: Mapping[str, str] | None) -> Section | None:
    """Tables of several axes, where some were asked for; `certificates` are the files that prove why one is omitted."""
    plan = context.plan
    if plan.maximum is None:
        return None
    lines = [
        f"{rejected.refusal}{f' ({certificates[name]})' if certificates and name in certificates else ''}"
        for name, rejected in plan.rejected.items()
    ]
    omitted = Section("Omitted tables", Points(lines, most=len(lines))) if lines else None
    return Section(
        "Tables of several axes",
        Grid(MARGIN_COLUMNS, margin_rows(plan)),
        maximum_words(plan),
        omitted if certificates is not None else OnPage(omitted),
    )


def onlookers_section(context: ReportContext) -> Section:
    """What each onlooker can infer, and the attacks that were tried."""
    if not context.findings:
        return Section("What onlookers can infer", "The release has not been attacked yet.")
    lines = [
        (
            findings.onlooker.name,
            f"{attack_words(findings)} Intervals: {tally_words(findings.exposure.tallied(findings.target))}. "
            f"{classical_words(findings.exposure)} "
            f"This onlooker {describe_onlooker(findings.onlooker, findings.exposure.cells.axes)}. "
            f"{skipped_words(findings)}".rstrip(),
        )
        for findings in context.findings
    ]
    tried = [(findings.onlooker.name, attempt) for findings in context.findings for attempt in findings.attempts]
    rows = [
        (
            attempt.attack,
            name,
            attempt.looked_at,
            Tag("disclosed", str(len(attempt.findings))) if attempt.findings else "nothing",
            attempt.people_exposed,
            attempt.summary,
        )
        for name, attempt in tried
    ]
    columns = ("attack", "onlooker", "looked at", "found", "people exposed", "summary")
    worst = max(context.findings, key=lambda findings: findings.exposure.tallied(findings.target)["disclosed"])
    return Section(
        "What onlookers can infer",
        Points(lines),
        *(section for findings in context.findings for section in found_sections(findings.attempts)),
        OnPage(Section("Attacks", Grid(columns, rows, sortable=True)) if rows else None),
        OnPage(closest_calls(worst.exposure, worst.target)),
    )


def rejected_section(context: ReportContext) -> Section:
    """What was considered and not done."""
    lines = [str(refusal) for refusal in context.plan.refusals]
    intro = "These releases were considered. They would disclose somebody's answer, or could not be proved safe."
    title = "Alternatives that were rejected"
    return Section(title, OnPage(intro), Points(lines)) if lines else Section(title, "Nothing had to be rejected.")


def certificate_section(context: ReportContext) -> Section:
    """What was proved, how, and what the noise guarantees."""
    held = context.plan.certificate
    guarantees = [
        (
            guarantee.mechanism + ("" if guarantee.epsilon is None else f" (epsilon {guarantee.epsilon:g})"),
            guarantee.statement
            + (f" Unchanged by it: {', '.join(map(str, guarantee.invariants))}." if guarantee.invariants else ""),
        )
        for guarantee in context.plan.guarantees
    ]
    return Section(
        "Certificate",
        held.statement,
        Paragraph(f"How: {certificate_words(held)}." if certificate_words(held) else "", "quiet"),
        Points(guarantees),
        OnPage(Fold("The rule by which groups are protected", context.publication.rule)),
    )


def glossary_section(context: ReportContext) -> Fold:
    """The terms of the page."""
    return Fold("Glossary", Points(list(glossary_words(context.plan.target).items())))


def _counts(group: DecidedGroup) -> str:
    counts = (f"{name} {count:,}".strip() for name, count in group.counts.items())
    return " · ".join(text.replace(" ", "\N{NO-BREAK SPACE}") for text in counts)
