"""The page about a release: one function per section, in the order in which they appear."""

from collections.abc import Mapping, Sequence

from safemargin.audit.findings import attack_words, finding_words
from safemargin.bounds import UNSETTLED, CellEntry, Exposure, entries, ranked, tally_words
from safemargin.core import UNBOUNDED, VERDICTS, Target
from safemargin.release.plan import Action
from safemargin.release.report.charts import MOST_GROUPS, MOST_OPTIONS, loss_chart, onlookers_chart, rates_chart
from safemargin.release.report.context import DecidedGroup, ReportContext, is_omitted, people_by_action
from safemargin.release.report.words import (
    ACTION_WORDS,
    MARGIN_COLUMNS,
    certificate_words,
    glossary_words,
    headline,
    irregular_words,
    margin_rows,
    maximum_words,
)
from safemargin.ui import (
    Html,
    cell_label,
    chip,
    count_range,
    describe_onlooker,
    element,
    figure,
    header,
    joined,
    legend,
    paragraphs,
    percent,
    plural,
    points,
    render_page,
    section,
    table,
    tiles,
    to_svg,
)
from safemargin.voting.privacy import CAPTION, curve_chart
from safemargin.voting.result import result_lines, result_words

MOST_CELLS = 40
MOST_LINES = 50


def head(context: ReportContext, title: str) -> Html:
    """The verdict, in one sentence and in the words of the certificate."""
    plan, sound = context.plan, context.is_sound
    names = ", ".join(dict.fromkeys([*context.onlookers, *(findings.onlooker.name for findings in context.findings)]))
    verdict = element(
        "div",
        element("p", f"{'✓' if sound else '✕'} {headline(context)}", class_="verdict"),
        element("p", plan.certificate.statement),
        element("p", f"Onlookers considered: {names}." if names else "No onlooker was considered.", class_="quiet"),
        class_=f"card {'sound' if sound else 'unsound'}",
    )
    banner = ("Confidential.", "The reasons on this page look at votes. Do not publish it.")
    return header(title, verdict, banner=banner)


def key_figures(context: ReportContext) -> Html:
    """The release in numbers, and the result over everybody."""
    by_action = people_by_action(group for groups in context.axes.values() for group in groups)
    groups = sum(count for count, _ in by_action.values())
    figures: dict[str, object] = {"people": context.people}
    if groups:
        figures["groups published exactly"] = f"{by_action[Action.EXACT][0]:,} of {groups:,}"
        figures |= {f"groups {action}": by_action[action][0] for action in Action if action is not Action.EXACT}
    figures["cells that led to a refusal"] = len(context.plan.refusals)
    options = [
        (option or "counted", count, percent(count / context.people) if context.people else "-")
        for option, count in context.totals.items()
    ]
    columns = ("everybody", "count", "share")
    return section(
        "Key figures",
        tiles(figures),
        paragraphs(irregular_words(context.plan)) if context.plan.irregular else "",
        paragraphs(*context.plan.notes) if context.plan.notes else "",
        table(columns, options, columns[1:], "compact") if options else "",
    )


def rates(context: ReportContext) -> Html:
    """Published rates by axis."""
    title = "What is published" if context.is_sound else "What would be published"
    if not context.axes:
        return section(title, paragraphs("Only the total is published."))
    counts = context.totals or {o: 0 for groups in context.axes.values() for group in groups for o in group.counts}
    most = sorted(counts, key=lambda option: -counts[option])[:MOST_OPTIONS]
    totals = {option: count / max(context.people, 1) for option, count in counts.items() if option in most}
    intro = "Share of the people of each group who chose the option. The thin line is the share of everybody."
    cut = f"Only the {MOST_OPTIONS} options with most votes are drawn." if len(totals) < len(counts) else ""
    return section(
        title,
        legend(Action),
        paragraphs(intro, cut),
        *(_rates_of(context, axis or "everyone", groups, totals) for axis, groups in context.axes.items()),
    )


def _rates_of(context: ReportContext, axis: str, groups: list[DecidedGroup], totals: Mapping[str, float]) -> Html:
    if is_omitted(groups) or not totals:
        categories = plural(sum(group.members for group in groups), "category")
        notice = f"Nothing is published about this axis ({categories})."
        return element(
            "figure",
            element("figcaption", axis),
            paragraphs(notice),
            points(dict.fromkeys(group.reason for group in groups)),
        )
    shown = groups
    if len(groups) > MOST_GROUPS:
        shown = sorted(groups, key=lambda group: -group.people)[:MOST_GROUPS]
    left = [group for group in groups if group not in shown]
    tally = ", ".join(f"{count:,} {action}" for action, (count, _) in people_by_action(left).items() if count)
    note = f"The {MOST_GROUPS} largest of {len(groups):,} groups. The others ({tally}) are in the table of decisions."
    return figure(to_svg(rates_chart(shown, totals)), axis, paragraphs(note) if left else "")


def losses(context: ReportContext) -> Html:
    """What protection cost the public."""
    if not context.axes:
        return Html("")
    columns = ("axis", *(str(action) for action in Action))
    rows = [
        (axis or "everyone", *(_people(*people_by_action(groups)[action]) for action in Action))
        for axis, groups in context.axes.items()
    ]
    meanings = [f"{action}: {ACTION_WORDS[action]}" for action in Action]
    return section(
        "What protection cost",
        paragraphs(f"How many people are in groups of each kind ({'; '.join(meanings)})."),
        figure(to_svg(loss_chart(context.axes)), "People by how their group is published", legend(Action), fits=True),
        table(columns, rows, columns[1:]),
    )


def _people(groups: int, people: int) -> str:
    return f"{people:,} in {plural(groups, 'group')}" if groups else ""


def intervals(context: ReportContext) -> Html:
    """The cells about which an onlooker can infer most."""
    if not context.findings:
        return Html("")
    worst = max(context.findings, key=lambda findings: findings.exposure.tallied(findings.target)["disclosed"])
    exposure, target = worst.exposure, worst.target
    rows = entries(exposure, target, ranked(exposure, target, MOST_CELLS))
    if not rows or not exposure.cells.axes:
        return Html("")
    count = f"{len(rows)} of {plural(exposure.lower.size, 'interval')}"
    explanation = f"The {count} that are most revealing. A share outside its bar contradicts the published data."
    fitted = "" if exposure.fitted is None else " The dot is the share that an analyst would guess."
    lines = "" if exposure.people is None else " The lines are the limits of the target."
    caption = f"What the onlooker {worst.onlooker.name} can infer ({', '.join(exposure.cells.axes) or 'total'})"
    cut = "" if exposure.complete else UNSETTLED
    return section(
        "Closest calls",
        legend(VERDICTS),
        paragraphs(explanation + lines + fitted, cut),
        figure(interval_bars(rows, exposure, target), caption),
    )


def onlookers(context: ReportContext) -> Html:
    """What each onlooker can infer."""
    if not context.findings:
        return section("What onlookers can infer", paragraphs("The release has not been attacked yet."))
    lines = [
        element(
            "li",
            element("strong", findings.onlooker.name),
            f" {describe_onlooker(findings.onlooker, findings.exposure.cells.axes)}. ",
            f"Intervals: {tally_words(findings.exposure.tallied(findings.target))}. {attack_words(findings)}",
        )
        for findings in context.findings
    ]
    return section(
        "What onlookers can infer",
        figure(
            to_svg(onlookers_chart(context.findings)),
            "Intervals of every onlooker by verdict",
            legend(VERDICTS),
            fits=True,
        ),
        element("ul", *lines),
    )


def attacks(context: ReportContext) -> Html:
    """Every attack that was tried, and what it found."""
    tried = [(findings.onlooker.name, attempt) for findings in context.findings for attempt in findings.attempts]
    if not tried:
        return Html("")
    columns = ("attack", "onlooker", "looked at", "found", "people exposed", "summary")
    rows = [
        (
            element("strong", attempt.attack),
            name,
            attempt.looked_at,
            chip("disclosed", str(len(attempt.findings))) if attempt.findings else "nothing",
            attempt.people_exposed,
            attempt.summary,
        )
        for name, attempt in tried
    ]
    findings = [finding for _, attempt in tried for finding in attempt.findings]
    listed = [f"{finding.attack}: {finding_words(finding)}" for finding in findings]
    return section("Attacks", table(columns, rows, columns[2:5]), _listed(listed))


def refusals(context: ReportContext) -> Html:
    """What was considered and not done."""
    if not context.plan.refusals:
        return section("Alternatives that were rejected", paragraphs("Nothing had to be rejected."))
    intro = "These releases were considered. They would disclose somebody's answer, or could not be proved safe."
    lines = [str(refusal) for refusal in context.plan.refusals]
    return section("Alternatives that were rejected", paragraphs(intro), _listed(lines))


def decisions(context: ReportContext) -> Html:
    """Every group with what was done and why."""
    if not context.axes:
        return Html("")
    columns = ("group", "people", "published", "reason", "counts")
    parts = []
    for axis, groups in context.axes.items():
        rows = [
            (group.label or "everyone", group.people, chip(str(group.action)), group.reason, _counts(group))
            for group in groups
        ]
        summary = element("summary", f"{axis or 'everyone'}: {plural(len(groups), 'group')}")
        parts.append(element("details", summary, table(columns, rows, ("people",)), open="open"))
    return section("Every decision", *parts)


def margins(context: ReportContext) -> Html:
    """Tables of several axes, where some were asked for."""
    if context.plan.maximum is None:
        return Html("")
    omitted = [str(rejected.refusal) for rejected in context.plan.rejected.values()]
    return section(
        "Tables of several axes",
        table(MARGIN_COLUMNS, margin_rows(context.plan)),
        paragraphs(maximum_words(context.plan)),
        element("h3", "Omitted") if omitted else "",
        _listed(omitted),
    )


def certificate(context: ReportContext) -> Html:
    """What was proved, how, and what the noise guarantees."""
    held = context.plan.certificate
    guarantees = [
        f"{guarantee.mechanism}: {guarantee.statement}"
        + (f" Unchanged by it: {', '.join(map(str, guarantee.invariants))}." if guarantee.invariants else "")
        for guarantee in context.plan.guarantees
    ]
    return section(
        "Certificate",
        paragraphs(held.statement, f"How: {certificate_words(held)}."),
        points(f"Worst: {cell}" for cell in held.worst),
        element("h3", "Guarantees of the noise") if guarantees else "",
        points(guarantees),
        element("h3", "Rule") if context.publication.rule else "",
        paragraphs(context.publication.rule),
    )


def glossary(context: ReportContext) -> Html:
    """The terms of the page."""
    definitions = glossary_words(context.plan.target).items()
    terms = [joined((element("dt", word), element("dd", meaning))) for word, meaning in definitions]
    return section("Glossary", element("dl", *terms, class_="glossary"))


def _listed(lines: Sequence[str]) -> Html:
    more = [f"and {len(lines) - MOST_LINES:,} more"] if len(lines) > MOST_LINES else []
    return points([*lines[:MOST_LINES], *more])


def _counts(group: DecidedGroup) -> str:
    counts = (f"{name} {count:,}".strip() for name, count in group.counts.items())
    return " · ".join(text.replace(" ", "\N{NO-BREAK SPACE}") for text in counts)


def result_section(context: ReportContext) -> Html:
    """The part of the report about the result itself."""
    if context.privacy is None:
        return Html("")
    privacy = context.privacy
    return section(
        "What the total discloses",
        paragraphs(element("strong", result_words(privacy))),
        points(result_lines(privacy)),
        figure(to_svg(curve_chart(privacy.curve)), CAPTION, fits=True),
    )


LEAST = 0.012
"""Share of the picture that an interval takes at least: a single point would not be seen."""

TICKS = 4


def interval_bars(rows: Sequence[CellEntry], exposure: Exposure, target: Target) -> Html:
    """What an onlooker can confine each cell to, with the limits and the rate that an analyst would guess."""
    known = all(row["interval"] is not None for row in rows)
    end = 1.0 if known else float(max([1, *(row["upper"] for row in rows if row["upper"] < UNBOUNDED)]))
    limits = exposure.limits(target) if known else None
    lines = []
    for row in rows:
        option = exposure.options.index(row["option"]) if "option" in row else 0
        marks = [] if limits is None else [float(limits.floors[option]), float(limits.ceilings[option])]
        lines.append(
            element(
                "tr",
                element("th", cell_label(row["cell"]), scope="row"),
                element("td", _track(row, end, known, marks), class_="track"),
                element("td", _interval_words(row)),
            )
        )
    ends = [element("span", percent(t / TICKS) if known else f"{round(end * t / TICKS):,}") for t in range(TICKS + 1)]
    what = "share of the people in the cell" if known else "people"
    foot = element("tr", element("td", ""), element("td", element("div", *ends, class_="ticks")), element("td", what))
    return element("table", element("tbody", *lines), element("tfoot", foot), class_="bars")


def _track(row: CellEntry, end: float, known: bool, marks: Sequence[float]) -> Html:
    low, high = (row["interval"] or [0, 0]) if known else [row["lower"] / end, min(row["upper"] / end, 1.0)]
    low, high = max(low - LEAST / 2, 0.0), min(high + LEAST / 2, 1.0)
    lines = [element("i", class_="limit", style=f"left:{mark:.2%}") for mark in marks]
    fitted = row["fitted"] if known else None
    dot = "" if fitted is None else element("i", class_="dot", style=f"left:{min(max(fitted, 0.0), 1.0):.2%}")
    bar = element("i", class_=f"bar {row['verdict']}", style=f"left:{low:.2%};width:{high - low:.2%}")
    return element("div", bar, *lines, dot)


def _interval_words(row: CellEntry) -> str:
    option = f"{row['option']}: " if "option" in row else ""
    people = "" if row["people"] is None else f" of {row['people']:,}"
    return f"{option}{count_range(row['lower'], row['upper'])}{people}"


PARTS = (
    key_figures,
    rates,
    losses,
    margins,
    onlookers,
    intervals,
    refusals,
    attacks,
    result_section,
    certificate,
    decisions,
    glossary,
)


def release_page(context: ReportContext) -> str:
    """The whole report for the office that made the release. It holds reasons that look at votes."""
    return render_page(context.title, head(context, context.title), joined(part(context) for part in PARTS))
