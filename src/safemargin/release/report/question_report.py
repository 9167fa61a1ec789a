"""Several questions as one report for the office, one record, and one page for the public.

The picture of both is a heat map: questions by groups, the share favourable of a scale (of other questions the share of
the option that most chose), coloured by the distance from everybody. It is made from published counts only; what is not
published is a hatched gap.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from safemargin.release.derived import Row, Scales, counted, figures
from safemargin.release.plan import Action
from safemargin.release.questions import SurveyQuestion
from safemargin.release.report.answers import Origin, exposed_together, files_section, with_rule
from safemargin.release.report.context import ReportContext, headline
from safemargin.release.report.public import HOW_TO_CHECK, safe_to_read, with_data
from safemargin.ui import (
    Answers,
    Figures,
    Fold,
    Grid,
    Headline,
    Heat,
    HeatCell,
    HeatRow,
    OnPage,
    Paragraph,
    Part,
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

NEAR, FAR = 0.05, 0.12
"""Differences from everybody, in shares, from which on a cell of the heat map is coloured, and strongly."""
STEPS = (
    f"{100 * FAR:.0f} points or more below all ▼",
    f"{100 * NEAR:.0f} to {100 * FAR - 1:.0f} below",
    "about the same",
    f"{100 * NEAR:.0f} to {100 * FAR - 1:.0f} above",
    f"{100 * FAR:.0f} or more above ▲",
)
MOST_ROWS = 60
"""Rows of a table that is open on the page."""
BANNER = ("Confidential.", "The reasons on this page look at answers. Do not publish it.")
TASKS = ("decided by", "checked by")
Pairs = Sequence[tuple[SurveyQuestion, ReportContext]]


def heat_maps(
    questions: Sequence[SurveyQuestion], tables: Mapping[str, Sequence[Row]], scales: Scales
) -> Iterator[Heat]:
    """One heat map per published table of one axis, from published rows alone."""
    overall = counted(tables.get("total", ()))
    for name, rows in tables.items():
        cells = counted(rows)
        groups = list(dict.fromkeys(group for _, group in cells))
        if name == "total" or len(groups[0]) != 1:
            continue
        theme, lines = None, []
        for question in questions:
            figure, scale = _figure(question, scales, overall)
            everybody = figures(overall[question.name, ()], scale)
            whole = everybody[figure] or 0.0
            line = [
                _cell(question, group[0], cells.get((question.name, group)), scale, figure, whole) for group in groups
            ]
            strip = [(option, everybody[f"share of {option}"] or 0.0) for option in question.options]
            heading = question.section.theme or ""
            label = question.label if scale else f"{question.label} ({figure.removeprefix('share of ')})"
            shown = heading if heading != theme else ""
            lines.append(HeatRow(label, percent(whole), line, strip if len(strip) <= 12 else (), shown))
            theme = heading
        sizes = [max(sum(c for c in cells[key].values() if c) for key in cells if key[1] == group) for group in groups]
        columns = [(band_label(group[0]), f"{size:,}") for group, size in zip(groups, sizes, strict=True)]
        what = (
            "Share favourable" if len(scales) == len(questions) else "Share favourable, or of the most frequent answer"
        )
        yield Heat(f"{what}, by {name}", "question", columns, lines, STEPS)


def _figure(
    question: SurveyQuestion, scales: Scales, overall: Mapping[tuple[str, tuple[str, ...]], Mapping[str, int | None]]
) -> tuple[str, tuple[str, ...]]:
    """Which figure of a question is shown, and its scale."""
    if question.name in scales:
        return "favourable", scales[question.name]
    counts = overall[question.name, ()]
    return f"share of {max(counts, key=lambda option: counts[option] or 0)}", ()


def _cell(
    question: SurveyQuestion,
    group: str,
    counts: Mapping[str, int | None] | None,
    scale: Sequence[str],
    figure: str,
    whole: float,
) -> HeatCell:
    value = None if counts is None else figures(counts, scale)[figure]
    if value is None or counts is None:
        return HeatCell("", None, f"{question.label}, {group}: not published")
    apart = value - whole
    step = (apart >= NEAR) + (apart >= FAR) - (apart <= -NEAR) - (apart <= -FAR)
    people = sum(count or 0 for count in counts.values())
    return HeatCell(percent(value), int(step), f"{group}: {percent(value)} of {people:,}, {100 * apart:+.0f} points")


def _verdict(context: ReportContext, pairs: Pairs, shares: tuple[int, int]) -> tuple[str, str, str]:
    if not context.is_sound:
        return "unsound", f"{headline(context)}.", "Nothing was published."
    exact, every = shares
    shown = [question.name for question, own in pairs if own.total_exposes]
    if shown:
        return (
            "partly",
            f"The total alone shows how everybody answered {', '.join(shown)}; publishing it is your decision.",
            "The tables add nothing to that.",
        )
    lost = [
        f"{question.name} by {axis}"
        for question, own in pairs
        for axis, groups in own.axes.items()
        if axis and all(group.action is Action.SUPPRESSED for group in groups)
    ]
    kept = f"{exact:,} of {every:,} results (a question in a category of an axis) are exact."
    if lost or 5 * exact < 4 * every:
        named = ", ".join(lost[:6]) + (f" and {len(lost) - 6:,} more" if len(lost) > 6 else "")
        return (
            "partly",
            "You may publish this release, but a part of it is lost.",
            kept + (f" Nothing is published of {named}. {_reason(pairs)}" if lost else ""),
        )
    return "sound", f"You may publish {plural(len(pairs), 'question')} in one release.", kept


def _reason(pairs: Pairs) -> str:
    """Why the first table is lost that is."""
    for question, own in pairs:
        for axis, groups in own.axes.items():
            if axis and groups and all(group.action is Action.SUPPRESSED for group in groups) and groups[0].reason:
                return f"{question.name} by {axis}: {groups[0].reason}."
    return ""


def _answers(context: ReportContext, pairs: Pairs, shares: tuple[int, int]) -> Answers:
    tried = sum(len(findings.attempts) for findings in context.findings)
    beta, kappa = context.plan.target.beta, context.plan.target.kappa
    exact, every = shares
    names = ", ".join(map(repr, context.onlookers))
    return Answers(
        [
            (
                "May I publish?",
                "Yes" if context.is_sound else "No",
                f"Tested with {plural(tried, 'attack')} against {names}. No group under {plural(kappa, 'person')} is "
                f"published, and nobody may be able to infer that more than {exact_percent(1 - beta)} of a group "
                "answered alike.",
            ),
            (
                "What did it cost?",
                "Nothing" if exact == every else f"{every - exact:,} of {every:,} results",
                f"{percent(exact / every) if every else 'All'} of the results are exact; the others are merged or not "
                "published.",
            ),
            ("Who would be exposed if you published everything?", *_exposed(pairs)),
        ]
    )


def _exposed(pairs: Pairs) -> tuple[str, str]:
    """Who would be exposed in the question with most of them, if every table were published as it is."""
    question, own = max(
        pairs, key=lambda pair: (pair[1].plan.exposed_people, any(r.proved for r in pair[1].plan.refusals))
    )
    if own.plan.exposed_people:
        return plural(own.plan.exposed_people, "person"), f"In {question.label}, the question with most of them."
    people, why = exposed_together(own.plan)
    return people, f"{question.label}: {why[0].lower()}{why[1:]}" if own.plan.refusals else why


def _groups(pairs: Pairs) -> Iterator[Part]:
    """Per axis, its groups with the number of questions for which each is exact, and why others are not."""
    axes: dict[str, dict[str, list[tuple[SurveyQuestion, Action, str]]]] = {}
    for question, own in pairs:
        for group in own.groups:
            axes.setdefault(group.axis, {}).setdefault(group.label, []).append((question, group.action, group.reason))
    for axis, groups in axes.items():
        rows = []
        for label, decided in groups.items():
            counts = {action: sum(1 for _, done, _ in decided if done is action) for action in Action}
            reasons = dict.fromkeys(reason for _, done, reason in decided if done is not Action.EXACT)
            rows.append(
                (
                    label,
                    counts[Action.EXACT],
                    counts[Action.MERGED],
                    counts[Action.SUPPRESSED],
                    "; ".join(reasons)[:300],
                )
            )
        columns = ("group", "questions exact", "merged", "not published", "why")
        yield Section(f"Groups of {axis}", Grid(columns, rows, most=12))


def questions_report(context: ReportContext, pairs: Pairs, shares: tuple[int, int], origin: Origin) -> Report:
    """Everything for the office that made the release. It holds reasons that look at answers."""
    state, sentence, detail = with_rule(context, *_verdict(context, pairs, shares))
    refused = [f"{question.name}: {refusal}" for question, own in pairs for refusal in own.plan.refusals]
    rows = [
        (
            question.label,
            question.people,
            len(question.options),
            sum(len(d.group) for d in own.plan.decisions if d.action is Action.EXACT),
            sum(len(d.group) for d in own.plan.decisions),
            own.plan.certificate.rule,
        )
        for question, own in pairs
    ]
    columns = ("question", "people", "options", "exact", "of", "against somebody who knows the rule")
    return Report(
        context.title,
        Headline(state, sentence, detail),
        _answers(context, pairs, shares),
        files_section(origin),
        *(Paragraph(note, "warning") for note in context.plan.notes),
        Section("Questions", Grid(columns, rows, most=20)),
        *_groups(pairs),
        Section("Alternatives that were rejected", Points(refused)) if refused else None,
        Section("Certificate", context.plan.certificate.statement),
        banner=BANNER,
    )


def questions_record(
    context: ReportContext, pairs: Pairs, shares: tuple[int, int], origin: Origin, names: Sequence[str]
) -> Report:
    """The record to be printed and signed: limits, questions, what was decided, and by whom."""
    _, sentence, detail = with_rule(context, *_verdict(context, pairs, shares))
    target = context.plan.target
    limits = {
        "no share may be inferred above": exact_percent(1 - target.beta),
        "least people of a published group": target.kappa,
        "a count is disclosed if its interval is no wider than": target.tau,
    }
    signed = [*names, "", ""][:2]
    return Report(
        f"Decision record: {context.title}",
        Paragraph(sentence, "strong"),
        detail,
        files_section(origin),
        Section("Limits", Figures(limits), f"Onlookers considered: {', '.join(context.onlookers) or 'none'}."),
        Section("Questions", Points([f"{question.name}: {question.label}" for question, _ in pairs])),
        *_groups(pairs),
        Section("Certificate", context.plan.certificate.statement),
        Signatures(
            [f"{task} {name}".rstrip() for task, name in zip(("decided by", "checked by"), signed, strict=True)]
        ),
        banner=BANNER,
    )


def questions_page(
    certificate: Mapping[str, Any],
    questions: Sequence[SurveyQuestion],
    tables: Mapping[str, Sequence[Row]],
    scales: Scales,
    hashes: Mapping[str, str],
    onlookers: Sequence[str],
    rule: str,
) -> str:
    """The page beside the tables. It is made from what is published only, and holds the rows as data."""
    maps = list(heat_maps(questions, tables, scales))
    gaps = sum(cell.step is None for heat in maps for row in heat.rows for cell in row.cells)
    every = sum(len(row.cells) for heat in maps for row in heat.rows)
    lost = f"{every - gaps:,} of {every:,} results are published." + (
        f" {gaps:,} are not: no share or mean follows for them." if gaps else ""
    )
    folds = []
    for name, rows in tables.items():
        columns = list(rows[0])
        values = [["" if row[column] is None else row[column] for column in columns] for row in rows]
        heading = f"{name}: {plural(len(rows), 'row')}"
        folds.append(Fold(heading, Grid(columns, values, sortable=True), is_open=len(rows) <= MOST_ROWS))
    favourable = "Favourable are the two highest answers of a scale (of three answers: the highest)." if scales else ""
    page = render_report(
        Report(
            certificate["title"] or "Published tables",
            safe_to_read(
                certificate,
                f"One certificate for {plural(len(questions), 'question')}: these tables are safe to read and to use.",
                lost,
            ),
            *(Section(heat.caption, favourable, OnPage(heat)) for heat in maps),
            Section("What is certified", certificate["statement"]),
            Section(
                "Against whom",
                f"Onlookers considered: {', '.join(onlookers) or 'anybody who reads these tables'}.",
                Fold("The rule by which groups are protected", rule),
            ),
            Section(
                "Tables",
                "Status says how a count is published: exact; merged: several categories together; suppressed: not "
                "published.",
                *folds,
            ),
            Section(
                "How to check",
                "The hashes below are those of the files beside this page.",
                *HOW_TO_CHECK,
                Grid(("file", "SHA-256"), list(hashes.items())),
            ),
        ),
        checks_itself=True,
    )
    return with_data(page, {name: [list(row.values()) for row in rows] for name, rows in tables.items()})
