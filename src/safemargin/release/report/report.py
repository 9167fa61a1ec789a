"""The report of a release: the first screen with three answers, then everything that they rest on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from safemargin.core import PublishedTable
from safemargin.io import rows_of
from safemargin.release.plan import Certificate
from safemargin.release.report.alternatives import (
    FIFTH,
    Choice,
    exact_categories,
    exact_share,
    is_wanting,
    lost_tables,
    lost_words,
    worst_axis,
)
from safemargin.release.report.charts import strictness_chart
from safemargin.release.report.context import Orders, ReportContext
from safemargin.release.report.sections import (
    alternatives_rows,
    certificate_section,
    cost_section,
    decisions_section,
    exposed_section,
    glossary_section,
    margins_section,
    onlookers_section,
    rates_section,
    rejected_section,
    result_section,
)
from safemargin.release.report.words import headline, irregular_words
from safemargin.ui import (
    Answers,
    Chart,
    Columns,
    Figures,
    Fold,
    Grid,
    Headline,
    OnPage,
    Paragraph,
    Part,
    Particulars,
    Points,
    Report,
    Section,
    Signatures,
    band_label,
    exact_percent,
    percent,
    plural,
    render_report,
)

CHOOSING = (
    "Every row was decided, certified and attacked like the release itself, but for running the rule backwards. "
    "Choosing by results reveals something about them: settle on a rule before the count, or use last year's data."
)
TASKS = ("decided by", "checked by")
"""What the two who sign a decision record did."""
MOST_AXES = 3
"""Axes that the table of alternatives lists beside each other in 80 columns."""
BANNER = ("Confidential.", "The reasons on this page look at votes. Do not publish it.")


@dataclass(frozen=True)
class Origin:
    """Where a release is, or will be, and where it comes from; what is not known is empty."""

    folder: str = ""
    is_published: bool = False
    command: str = ""
    facts: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Date, version and hash, by name."""


def release_report(context: ReportContext, origin: Origin, certificates: Mapping[str, str] | None = None) -> Report:
    """Everything for the office that made the release. It holds reasons that look at votes.

    `certificates` are files by table of several axes: the terminal then says whom each omitted one would expose.
    """
    plan = context.plan
    return Report(
        context.title,
        *first_screen(context, origin),
        *(Paragraph(note, "warning") for note in plan.notes),
        exposed_section(context),
        cost_section(context),
        margins_section(context, certificates),
        OnPage(decisions_section(context), rates_section(context)),
        onlookers_section(context),
        rejected_section(context) if plan.refusals else OnPage(rejected_section(context)),
        OnPage(result_section(context)),
        certificate_section(context),
        OnPage(glossary_section(context)),
        banner=BANNER,
    )


def first_screen(context: ReportContext, origin: Origin) -> list[Part]:
    """May I publish, what did it cost, who would be exposed; the folders; what else could be done."""
    state, sentence, detail = verdict(context)
    return [
        Headline(state, sentence, detail),
        Answers(three_answers(context)),
        _files(origin),
        _alternatives(context, origin),
    ]


def verdict(context: ReportContext) -> tuple[str, str, str]:
    """The state, the sentence that counts, and one sentence more."""
    if not context.is_sound:
        return "unsound", f"{headline(context)}.", "Nothing was published."
    lost, (axis, share) = lost_tables(context), worst_axis(context)
    tables = sum(1 for axis in context.axes if axis) + len(context.plan.margins)
    if lost:
        left = "is lost" if len(lost) == 1 else "are lost"
        kept = f"You may publish {tables - len(lost)} of your {plural(tables, 'table')}. {_listed(lost)} {left}."
        return "partly", kept, f"What is left is safe, but it says nothing about {lost_words(context)}."
    if share > FIFTH:
        missing = f"{percent(share)} of the people are not in exact groups of {axis}."
        every = {1: "your table", 2: "both tables"}.get(tables, f"all {tables:,} tables")
        return "partly", f"You may publish {every}, but much of {axis} is not exact.", missing
    kept = (
        f"{percent(exact_share(context))} of the people are in exact groups" if context.axes else "The total is exact"
    )
    more = "" if any(findings.attempts for findings in context.findings) else " It has not been attacked yet."
    return "sound", "You may publish this release.", f"It is safe, and nearly complete: {kept}.{more}"


def three_answers(context: ReportContext) -> tuple[tuple[str, str, str], ...]:
    """May I publish, what did it cost, who would be exposed: question, answer, and a sentence or two."""
    return _may_publish(context), _cost(context), _exposed(context)


def _may_publish(context: ReportContext) -> tuple[str, str, str]:
    tried = sum(len(findings.attempts) for findings in context.findings)
    names = ", ".join(dict.fromkeys([*context.onlookers, *(findings.onlooker.name for findings in context.findings)]))
    against = f"against {names}" if names else "against nobody in particular"
    tested = f"Tested with {plural(tried, 'attack')} {against}." if tried else "No attack was tried."
    low, high = exact_percent(context.plan.target.beta), exact_percent(1 - context.plan.target.beta)
    limits = f"Nobody may be able to infer a share below {low} or above {high}, or a group under "
    limits += f"{plural(context.plan.target.kappa, 'person')}."
    if not context.is_sound:
        return "May I publish?", "No", f"{tested} {limits}"
    lost = set(lost_tables(context))
    kept = [axis for axis in context.axes if axis and axis not in lost]
    only = f"Yes, {', '.join(kept) or 'the total'} only" if lost else "Yes"
    return "May I publish?", only, f"{tested} {limits}"


def _cost(context: ReportContext) -> tuple[str, str, str]:
    question = "What did it cost?"
    axes = {axis: groups for axis, groups in context.axes.items() if axis}
    if not axes:
        return question, "Nothing", "Only the total was asked for."
    axis, _ = worst_axis(context)
    categories = sum(group.members for group in axes[axis])
    changed = categories - exact_categories(axes[axis])
    shares = {
        name: exact_categories(groups) and sum(g.people for g in groups if str(g.action) == "exact")
        for name, groups in axes.items()
    }
    kept = "; ".join(
        f"{percent(shares[name] / max(sum(group.people for group in groups), 1))} of people keep their {name}"
        for name, groups in axes.items()
    )
    if not changed:
        return question, "Nothing", f"Every category is exact: {kept}."
    return question, f"{changed:,} of {plural(categories, 'category')} of {axis}", f"{kept}."


def _exposed(context: ReportContext) -> tuple[str, str, str]:
    question, people, why = _exposed_by_size(context)
    named = [" ".join(pair) for pair in context.plan.target.sensitive]
    more = f" and {len(named) - 3:,} more" if len(named) > 3 else ""
    return question, people, f"{why} Protected as sensitive: {', '.join(named[:3])}{more}." if named else why


def _exposed_by_size(context: ReportContext) -> tuple[str, str, str]:
    question = "Who would be exposed if you published everything?"
    seen = context.exposed
    if not seen.cells:
        if not context.plan.irregular and not context.is_sound:
            together = "Together with what an onlooker already holds (earlier releases, facts), it discloses too much."
            return question, "Somebody", f"{together} By itself, every group asked for is within the limits."
        if not context.plan.irregular:
            return question, "Nobody", "Every group asked for is large enough and within the limits."
        return question, plural(context.plan.exposed_people, "person"), irregular_words(context.plan)
    alike = [cell for cell in seen.cells if not cell.small]
    small = [cell for cell in seen.cells if cell.small]
    parts = [
        f"{plural(len(cells), 'group')} {what}: "
        + ", ".join(f"{', '.join(cell.cell.values())} ({cell.why})" for cell in cells[:3])
        + (f" and {len(cells) - 3:,} more" if len(cells) > 3 else "")
        for cells, what in ((alike, "of nearly one mind"), (small, "too small"))
        if cells
    ]
    people = f"{plural(seen.people, 'person')} in {plural(len(seen.cells), 'group')}"
    return question, people, f"{'; '.join(parts)}."


def _files(origin: Origin) -> Part:
    facts: dict[str, object] = {}
    if origin.folder:
        if origin.is_published:
            facts["publish"] = f"{origin.folder}/published"
        facts["confidential: do not publish"] = f"{origin.folder}/confidential"
    facts |= origin.facts
    if origin.command:
        facts["command"] = origin.command
    if not facts:
        return None
    nothing = "" if origin.is_published or not origin.folder else "Nothing was published."
    return Section("This release", nothing, Particulars(facts))


def _alternatives(context: ReportContext, origin: Origin) -> Part:
    choices = context.alternatives
    if len(choices) < 2 or not is_wanting(context):
        return None
    columns, rows = alternatives_rows(context)
    best = max(choices, key=lambda choice: (choice.state == "certified", choice.share))
    keeps = best.share > choices[0].share or (best.state == "certified" and choices[0].state != "certified")
    example = _command(origin, best, choices[0].beta) if keeps else ""
    forced = [
        f"{', '.join(cell.cell.values())} ({plural(cell.people, 'person')}): {cell.why}"
        for cell in context.exposed.cells
    ]
    table = Section(
        "What else you could do",
        Grid(columns, rows, roomy=columns[1:-2] if len(columns) > MOST_AXES + 3 else (), emphasis=0),
        Paragraph(CHOOSING, "quiet"),
        "To keep most of it:" if example else "No other choice that was tried keeps more.",
        Paragraph(example, "code"),
        Fold("Groups that force it", Points(forced), is_open=False) if forced else None,
    )
    curve = [choice for choice in choices if choice.state == "certified" and choice.protect == choices[0].protect]
    if len(curve) < 2:
        return table
    caption = "Categories that stay exact, by the limit: no group may be shown closer to one mind than this"
    chart = Chart(lambda: strictness_chart(choices), caption, fits=True)
    return Columns(table, OnPage(Section("Strictness and what is left", chart)))


def _command(origin: Origin, choice: Choice, beta: float) -> str:
    command = origin.command or "safemargin release project.toml --out other"
    if origin.folder:
        command = command.replace(f"--out {origin.folder}", f"--out {origin.folder}-{choice.protect}")
    return f"{command} {choice.options(beta)}"


def _listed(names: Sequence[str]) -> str:
    return f"The {names[0]} table" if len(names) == 1 else f"The tables {', '.join(names)}"


def decision_record(context: ReportContext, origin: Origin, names: Sequence[str] = ()) -> Report:
    """The record to be printed and signed: limits, attempts, what was decided, and by whom."""
    _, sentence, detail = verdict(context)
    target = context.plan.target
    limits = {
        "no share may be inferred below": exact_percent(target.beta),
        "or above": exact_percent(1 - target.beta),
        "least people of a published group": target.kappa,
        "a count is disclosed if known to within": f"± {target.tau}",
    }
    columns, rows = alternatives_rows(context)
    return Report(
        f"Decision record: {context.title}",
        Paragraph(sentence, "strong"),
        detail,
        _files(origin),
        Section("Limits", Figures(limits), f"Onlookers considered: {', '.join(context.onlookers) or 'none'}."),
        Section("Attempts", Grid(columns, rows), Points([str(refusal) for refusal in context.plan.refusals[:10]])),
        cost_section(context),
        Section("Certificate", context.plan.certificate.statement),
        Signatures([f"{task} {name}".rstrip() for task, name in zip_longest(TASKS, names, fillvalue="")]),
        banner=BANNER,
    )


def _printed(value: object, is_group: bool) -> object:
    return "" if value is None else band_label(str(value)) if is_group else value


def public_page(
    title: str,
    tables: Sequence[PublishedTable],
    certificate: Certificate,
    hashes: Mapping[str, str],
    *,
    orders: Orders,
    onlookers: Sequence[str],
    rule: str,
) -> str:
    """The page beside the published tables. It is made from what is published only."""
    sections = []
    for table in tables:
        rows = list(rows_of(table, orders))
        columns = list(rows[0]) if rows else []
        values = [[_printed(row.get(name), name in table.axes) for name in columns] for row in rows]
        merged = sum(len(group) > 1 for groups in table.groups for group in groups)
        note = f"{plural(merged, 'group')} of several categories, joined by | or as one band." if merged else ""
        heading = f"{table.name}: {plural(len(rows), 'row')}"
        sections.append(Fold(heading, note, Grid(columns, values, sortable=True), is_open=len(rows) <= 12))
    return render_report(
        Report(
            title or "Published tables",
            Headline("sound", "These tables are safe to read and to use.", certificate.statement),
            Section(
                "Against whom",
                f"Onlookers considered: {', '.join(onlookers) or 'anybody who reads these tables'}.",
                "Status says how a count is published: exact; merged: several categories together; noised: with random "
                "noise; suppressed: not published.",
                Fold("The rule by which groups are protected", rule),
            ),
            Section("Tables", *sections),
            Section(
                "How to check",
                "The hashes below are those of the files beside this page.",
                Paragraph("safemargin verify certificate.json .", "code"),
                Grid(("file", "SHA-256"), list(hashes.items())),
            ),
        )
    )
