"""What a report of a release states, part by part; the terminal and the page are made from the same parts."""

from collections.abc import Mapping

from safemargin.audit.findings import attack_words, found_sections, skipped_words
from safemargin.bounds import classical_words, closest_calls, tally_words
from safemargin.release.plan import Action
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

MOST_GROUPS = 40
"""Groups in which nobody chose an option, as far as they are listed."""
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


def decisions_section(context: ReportContext) -> Section | None:
    """Every group that is not exact with what was done and why; the exact ones open on a click."""
    if not context.axes:
        return None
    rows, exact = [], []
    for group in context.groups:
        name = f"{group.axis} {group.name}".strip() or "everyone"
        done = Tag(str(group.action), hint=ACTION_WORDS[group.action])
        if group.action is Action.EXACT:
            exact.append((name, group.people, group.reason, counts_text(group)))
        else:
            rows.append((name, group.people, done, group.reason, counts_text(group)))
    listed = Grid(("group", "people", "published", "why", "counts"), rows, sortable=True)
    others = Grid(("group", "people", "why", "counts"), exact, sortable=True)
    return Section(
        "Decisions that are not exact",
        listed if len(rows) <= EXCEPTIONAL else Fold(plural(len(rows), "group"), listed, is_open=False),
        "" if rows else "Every group is exact.",
        Fold(plural(len(exact), "exact group"), others) if exact else None,
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


def counts_text(group: DecidedGroup) -> str:
    """What is printed of a group, with the error of noised counts."""
    about, error = ("≈ ", f" ± {group.margin_of_error:,.0f}") if group.action is Action.NOISED else ("", "")
    counts = (f"{name} {about}{count:,}{error}".strip() for name, count in group.counts.items())
    return " · ".join(text.replace(" ", "\N{NO-BREAK SPACE}") for text in counts)
