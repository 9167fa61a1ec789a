"""The parts of the page, in the order in which they appear."""

from collections.abc import Mapping, Sequence

from safemargin.audit.report import attack_words, finding_words
from safemargin.bounds.ranking import ranked
from safemargin.bounds.report import UNSETTLED, entries, tally_words
from safemargin.core import VERDICTS
from safemargin.release.plan import Action
from safemargin.release.report.bars import interval_bars
from safemargin.release.report.charts import MOST_GROUPS, MOST_OPTIONS, loss_chart, onlookers_chart, rates_chart
from safemargin.release.report.glossary import ACTION_WORDS, glossary_words
from safemargin.release.report.groups import DecidedGroup, is_left_out, people_by_action
from safemargin.release.report.margins import COLUMNS, margin_rows, maximum_words, refusal_lines
from safemargin.release.report.story import Story
from safemargin.release.report.words import certificate_words, headline, irregular_words, is_sound
from safemargin.ui import (
    Html,
    chip,
    describe_onlooker,
    element,
    figure,
    joined,
    legend,
    paragraphs,
    percent,
    plural,
    points,
    section,
    table,
    tiles,
)

MOST_CELLS = 40
MOST_LINES = 50


def head(story: Story, title: str) -> Html:
    """The verdict, in one sentence and in the words of the certificate."""
    plan, sound = story.plan, is_sound(story.plan, story.findings)
    names = ", ".join(dict.fromkeys([*story.release.onlookers, *(each.onlooker.name for each in story.findings)]))
    return element(
        "header",
        element(
            "p",
            element("strong", "For the office. "),
            "The reasons on this page look at votes. Do not publish it.",
            class_="banner",
        ),
        element("h1", title),
        element(
            "div",
            element("p", f"{'✓' if sound else '✕'} {headline(plan, story.findings)}", class_="verdict"),
            element("p", plan.certificate.statement),
            element("p", f"Onlookers considered: {names}." if names else "No onlooker was considered.", class_="quiet"),
            class_=f"card {'sound' if sound else 'unsound'}",
        ),
    )


def key_figures(story: Story) -> Html:
    """The release in numbers, and the result over everybody."""
    found = people_by_action(group for groups in story.axes.values() for group in groups)
    groups = sum(count for count, _ in found.values())
    figures: dict[str, object] = {"people": story.people}
    if groups:
        figures["groups published exactly"] = f"{found[Action.EXACT][0]:,} of {groups:,}"
        figures |= {f"groups {action}": found[action][0] for action in Action if action is not Action.EXACT}
    figures["cells that led to a refusal"] = len(story.plan.refusals)
    options = [
        (option or "counted", count, percent(count / story.people) if story.people else "-")
        for option, count in story.totals.items()
    ]
    columns = ("everybody", "count", "share")
    return section(
        "Key figures",
        tiles(figures),
        paragraphs(irregular_words(story.plan)) if story.plan.irregular else "",
        paragraphs(*story.plan.notes) if story.plan.notes else "",
        table(columns, options, columns[1:], "compact") if options else "",
    )


def rates(story: Story) -> Html:
    """Published rates by axis."""
    title = "What is published" if is_sound(story.plan, story.findings) else "What would be published"
    if not story.axes:
        return section(title, paragraphs("Only the total is published."))
    counts = story.totals or {o: 0 for groups in story.axes.values() for group in groups for o in group.counts}
    most = sorted(counts, key=lambda option: -counts[option])[:MOST_OPTIONS]
    totals = {option: count / max(story.people, 1) for option, count in counts.items() if option in most}
    intro = "Share of the people of each group who chose the option. The thin line is the share of everybody."
    cut = f"Only the {MOST_OPTIONS} options with most votes are drawn." if len(totals) < len(counts) else ""
    return section(
        title,
        legend(Action),
        paragraphs(intro, cut),
        *(_rates_of(story, axis or "everyone", groups, totals) for axis, groups in story.axes.items()),
    )


def _rates_of(story: Story, axis: str, groups: list[DecidedGroup], totals: Mapping[str, float]) -> Html:
    if is_left_out(groups) or not totals:
        categories = plural(sum(group.members for group in groups), "category")
        words = f"Nothing is published about this axis ({categories})."
        return element(
            "figure",
            element("figcaption", axis),
            paragraphs(words),
            points(dict.fromkeys(group.reason for group in groups)),
        )
    shown = groups
    if len(groups) > MOST_GROUPS:
        shown = sorted(groups, key=lambda group: -group.people)[:MOST_GROUPS]
    left = [group for group in groups if group not in shown]
    tally = ", ".join(f"{count:,} {action}" for action, (count, _) in people_by_action(left).items() if count)
    note = f"The {MOST_GROUPS} largest of {len(groups):,} groups. The others ({tally}) are in the table of decisions."
    return figure(story.draw(rates_chart(shown, totals)), axis, paragraphs(note) if left else "")


def losses(story: Story) -> Html:
    """What protection cost the public."""
    if not story.axes:
        return Html("")
    columns = ("axis", *(str(action) for action in Action))
    rows = [
        (axis or "everyone", *(_people(*people_by_action(groups)[action]) for action in Action))
        for axis, groups in story.axes.items()
    ]
    words = [f"{action}: {ACTION_WORDS[action]}" for action in Action]
    return section(
        "What protection cost",
        paragraphs(f"How many people are in groups of each kind ({'; '.join(words)})."),
        figure(story.draw(loss_chart(story.axes)), "People by how their group is published", legend(Action), fits=True),
        table(columns, rows, columns[1:]),
    )


def _people(groups: int, people: int) -> str:
    return f"{people:,} in {plural(groups, 'group')}" if groups else ""


def intervals(story: Story) -> Html:
    """The cells about which an onlooker can infer most."""
    if not story.findings:
        return Html("")
    worst = max(story.findings, key=lambda each: each.exposure.tallied(each.target)["disclosed"])
    exposure, target = worst.exposure, worst.target
    rows = entries(exposure, target, ranked(exposure, target, MOST_CELLS))
    if not rows or not exposure.cells.axes:
        return Html("")
    count = f"{len(rows)} of {plural(exposure.lower.size, 'interval')}"
    words = f"The {count} that tell most. No share outside its bar agrees with what is public."
    fitted = "" if exposure.fitted is None else " The dot is the share that an analyst would guess."
    lines = "" if exposure.people is None else " The lines are the limits of the target."
    caption = f"What the onlooker {worst.onlooker.name} can infer ({', '.join(exposure.cells.axes) or 'total'})"
    cut = "" if exposure.complete else UNSETTLED
    return section(
        "Closest calls",
        legend(VERDICTS),
        paragraphs(words + lines + fitted, cut),
        figure(interval_bars(rows, exposure, target), caption),
    )


def onlookers(story: Story) -> Html:
    """What each onlooker learns."""
    if not story.findings:
        return section("What onlookers learn", paragraphs("The release has not been attacked yet."))
    lines = [
        element(
            "li",
            element("strong", each.onlooker.name),
            f" {describe_onlooker(each.onlooker, each.exposure.cells.axes)}. ",
            f"Intervals: {tally_words(each.exposure.tallied(each.target))}. {attack_words(each)}",
        )
        for each in story.findings
    ]
    return section(
        "What onlookers learn",
        figure(
            story.draw(onlookers_chart(story.findings)),
            "Intervals of every onlooker by verdict",
            legend(VERDICTS),
            fits=True,
        ),
        element("ul", *lines),
    )


def attacks(story: Story) -> Html:
    """Every attack that was tried, and what it found."""
    tried = [(each.onlooker.name, attempt) for each in story.findings for attempt in each.attempts]
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
    found = [finding for _, attempt in tried for finding in attempt.findings]
    words = [f"{finding.attack}: {finding_words(finding)}" for finding in found]
    return section("Attacks", table(columns, rows, columns[2:5]), _listed(words))


def refusals(story: Story) -> Html:
    """What was considered and not done."""
    if not story.plan.refusals:
        return section("Refused on the way", paragraphs("Nothing had to be refused."))
    intro = "These releases were considered. They would give somebody away, or nothing showed that they do not."
    return section("Refused on the way", paragraphs(intro), _listed([str(refusal) for refusal in story.plan.refusals]))


def decisions(story: Story) -> Html:
    """Every group with what was done and why."""
    if not story.axes:
        return Html("")
    columns = ("group", "people", "published", "reason", "counts")
    parts = []
    for axis, groups in story.axes.items():
        rows = [
            (group.label or "everyone", group.people, chip(str(group.action)), group.reason, _counts(group))
            for group in groups
        ]
        summary = element("summary", f"{axis or 'everyone'}: {plural(len(groups), 'group')}")
        parts.append(element("details", summary, table(columns, rows, ("people",)), open="open"))
    return section("Every decision", *parts)


def margins(story: Story) -> Html:
    """Tables of several axes, where some were asked for."""
    if story.plan.maximum is None:
        return Html("")
    left_out = refusal_lines(story.plan)
    return section(
        "Tables of several axes",
        table(COLUMNS, margin_rows(story.plan)),
        paragraphs(maximum_words(story.plan)),
        element("h3", "Left out") if left_out else "",
        _listed(left_out),
    )


def certificate(story: Story) -> Html:
    """What was proved, how, and what noise promises."""
    held = story.plan.certificate
    promises = [
        f"{promise.mechanism}: {promise.statement}"
        + (f" Unchanged by it: {', '.join(map(str, promise.invariants))}." if promise.invariants else "")
        for promise in story.plan.guarantees
    ]
    return section(
        "Certificate",
        paragraphs(held.statement, f"How: {certificate_words(held)}."),
        points(f"Worst: {words}" for words in held.worst),
        element("h3", "Promises about noise") if promises else "",
        points(promises),
        element("h3", "Rule") if story.release.rule else "",
        paragraphs(story.release.rule),
    )


def glossary(story: Story) -> Html:
    """The terms of the page."""
    words = glossary_words(story.plan.target).items()
    terms = [joined((element("dt", word), element("dd", meaning))) for word, meaning in words]
    return section("Glossary", element("dl", *terms, class_="glossary"))


def _listed(lines: Sequence[str]) -> Html:
    more = [f"and {len(lines) - MOST_LINES:,} more"] if len(lines) > MOST_LINES else []
    return points([*lines[:MOST_LINES], *more])


def _counts(group: DecidedGroup) -> str:
    found = (f"{name} {count:,}".strip() for name, count in group.counts.items())
    return " · ".join(words.replace(" ", "\N{NO-BREAK SPACE}") for words in found)
