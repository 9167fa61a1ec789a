"""The report of a release: the first screen with three answers, then everything that they rest on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from safemargin.core import label
from safemargin.release.plan import Action, Plan
from safemargin.release.report.charts import strictness_chart
from safemargin.release.report.context import (
    FIFTH,
    ReportContext,
    crossed_cells,
    exact_share,
    headline,
    kept_of_asked,
    lost_reasons,
    lost_tables,
    lost_words,
    worst_axis,
)
from safemargin.release.report.exposed import ExposedCell
from safemargin.release.report.groups import NOT_COMPUTED, Choice
from safemargin.release.report.words import irregular_words
from safemargin.ui import (
    Chart,
    Columns,
    Fold,
    Grid,
    OnPage,
    Paragraph,
    Part,
    Particulars,
    Points,
    Section,
    describe_onlooker,
    exact_percent,
    percent,
    plural,
)

CHOOSING = (
    "Every row with figures was decided, certified and attacked like the release itself, but for running the rule "
    "backwards. A lower limit protects less. Choosing by results reveals something about them: settle on a rule before "
    "the count, or use last year's data."
)
SLOW = (
    "Choices without figures were not computed: on these data each takes long. To see one, add its "
    "options and --draft to the command: that publishes nothing. --alternatives computes all of them."
)
MOST_AXES = 3
"""Axes that the table of alternatives lists beside each other in 80 columns."""


@dataclass(frozen=True)
class Origin:
    """Where a release is, or will be, and where it comes from; what is not known is empty."""

    folder: str = ""
    is_published: bool = False
    command: str = ""
    facts: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Date, version and hash, by name."""


TOTAL_EXPOSES = "The total alone shows how everybody voted; publishing it is your decision."


RULE_NOT_CHECKED = "Not checked: what somebody infers who knows the rule and runs it on other answers."


def verdict(context: ReportContext) -> tuple[str, str, str]:
    """The state, the sentence that counts, and one sentence more; amber where the rule was not shown."""
    return with_rule(context, *_verdict(context))


def with_rule(context: ReportContext, state: str, sentence: str, detail: str) -> tuple[str, str, str]:
    """A verdict of which nobody reads more than was shown: its state, its sentence and what is added to it."""
    if state == "unsound" or context.plan.certificate.rule == "rerun":
        return state, sentence, detail
    return "partly", sentence, f"{detail} {RULE_NOT_CHECKED}"


def _verdict(context: ReportContext) -> tuple[str, str, str]:
    if not context.is_sound:
        return "unsound", f"{headline(context)}.", "Nothing was published."
    if context.total_exposes:
        return "partly", TOTAL_EXPOSES, "The tables add nothing to that."
    lost, (axis, share) = lost_tables(context), worst_axis(context)
    tables = sum(1 for axis in context.axes if axis) + len(context.plan.margins)
    if lost:
        left = "is lost" if len(lost) == 1 else "are lost"
        kept = f"You may publish {tables - len(lost)} of your {plural(tables, 'table')}. {_listed(lost)} {left}."
        left = f"What is left is safe, but it says nothing about {lost_words(context)}."
        return "partly", kept, f"{left} {lost_reasons(context)}".rstrip()
    crossed = {name: shown / asked for name, (shown, asked) in crossed_cells(context).items() if asked}
    thin = min(crossed, key=lambda name: crossed[name], default="")
    if thin and 1 - crossed[thin] > max(FIFTH, share):
        shown, asked = crossed_cells(context)[thin]
        only = f"Only {shown:,} of {plural(asked, 'cell')} of {thin} are exact."
        return "partly", f"You may publish {_every(tables)}, but much of {thin} is not exact.", only
    if share > FIFTH:
        missing = f"{percent(share)} of the people are not in exact groups of {axis}."
        return "partly", f"You may publish {_every(tables)}, but much of {axis} is not exact.", missing
    kept = (
        f"{percent(exact_share(context))} of the people are in exact groups" if context.axes else "The total is exact"
    )
    more = "" if any(findings.attempts for findings in context.findings) else " It has not been attacked yet."
    return "sound", "You may publish this release.", f"It is safe, and nearly complete: {kept}.{more}"


def _every(tables: int) -> str:
    return {1: "your table", 2: "both tables"}.get(tables, f"all {tables:,} tables")


def three_answers(context: ReportContext) -> tuple[tuple[str, str, str], ...]:
    """May I publish, what did it cost, who would be exposed: question, answer, and a sentence or two."""
    return _may_publish(context), _cost(context), _exposed(context)


def _may_publish(context: ReportContext) -> tuple[str, str, str]:
    tried = sum(len(findings.attempts) for findings in context.findings)
    names = list(dict.fromkeys([*context.onlookers, *(findings.onlooker.name for findings in context.findings)]))
    against = f"against the {'onlooker' if len(names) == 1 else 'onlookers'} {', '.join(map(repr, names))}"
    if len(names) == len(context.findings) == 1:
        seen = context.findings[0]
        against += f", who {describe_onlooker(seen.onlooker, seen.exposure.cells.axes).partition(';')[0]}"
    tested = f"Tested with {plural(tried, 'attack')} {against}." if tried else "No attack was tried."
    limits = f"No group under {plural(context.plan.target.kappa, 'person')} is published, and nobody may be able to "
    limits += f"infer {_share_words(context)}."
    if not context.is_sound:
        return "May I publish?", "No", f"{tested} {limits}"
    lost = set(lost_tables(context))
    kept = [axis for axis in context.axes if axis and axis not in lost]
    only = f"Yes, {', '.join(kept) or 'the total'} only" if lost else "Yes"
    if lost and len(kept) > MOST_AXES:
        only = f"Yes, all but {', '.join(lost_tables(context))}"
    return "May I publish?", only, f"{tested} {limits}"


def _share_words(context: ReportContext) -> str:
    """What the limits are about: shares of two options, or that nearly all chose one of several."""
    target, options = context.plan.target, tuple(context.totals)
    low, high = exact_percent(target.beta), exact_percent(1 - target.beta)
    columns = target.secrets.columns(options)
    if all(column.has_floor for column in columns[: len(options)]):
        return f"a share below {low} or above {high}"
    return f"that more than {high} of a group chose one option"


def _cost(context: ReportContext) -> tuple[str, str, str]:
    question = "What did it cost?"
    axes = {axis: groups for axis, groups in context.axes.items() if axis}
    if not axes:
        return question, "Nothing", "Only the total was asked for."
    asked = kept_of_asked(context)
    worst_table = min(asked, key=lambda name: asked[name][0] / max(asked[name][1], 1))
    kept_cells, cells = asked[worst_table]
    shares = {
        name: sum(group.people for group in groups if group.action is Action.EXACT)
        / max(sum(group.people for group in groups), 1)
        for name, groups in axes.items()
    }
    worst = sorted(axes, key=lambda name: shares[name])
    worst = worst[: MOST_AXES + 1] if len(worst) > MOST_AXES + 2 else worst
    kept = f"In exact groups: {', '.join(f'{percent(shares[name])} of people by {name}' for name in worst)}"
    if len(axes) > len(worst):
        least = min(share for name, share in shares.items() if name not in worst)
        or_more = "" if least in (0, 1) else " or more"
        kept += f", and {percent(least)}{or_more} by each of the other {len(axes) - len(worst):,} axes" if least else ""
    crossed = crossed_cells(context)
    if crossed:
        kept += f". Exact cells: {', '.join(f'{n:,} of {of:,} of {name}' for name, (n, of) in crossed.items())}"
    if kept_cells == cells:
        what = "category and every cell" if crossed else "category"
        return question, "Nothing", f"Every {what} that was asked for is exact."
    lost = lost_tables(context)
    if len(lost) > 1:
        what = _every(len(lost)).capitalize() if len(lost) == len(asked) else f"{len(lost):,} of {len(asked):,} tables"
        return question, what, f"{kept}."
    noun = "cell" if worst_table in crossed else "category"
    return question, f"{cells - kept_cells:,} of {plural(cells, noun)} of {worst_table}", f"{kept}."


def _exposed(context: ReportContext) -> tuple[str, str, str]:
    question, people, why = _exposed_by_size(context)
    named = [" ".join(pair) for pair in context.plan.target.sensitive]
    more = f" and {len(named) - 3:,} more" if len(named) > 3 else ""
    return question, people, f"{why} Protected as sensitive: {', '.join(named[:3])}{more}." if named else why


def _exposed_by_size(context: ReportContext) -> tuple[str, str, str]:
    question = "Who would be exposed if every table asked for were exact?"
    seen = context.exposed
    if context.total_exposes:
        return question, f"Everybody ({plural(context.people, 'person')})", TOTAL_EXPOSES
    if not seen.cells:
        if not context.plan.irregular and not context.is_sound:
            together = "Together with what an onlooker already holds (earlier releases, facts), it discloses too much."
            return question, "Somebody", f"{together} By itself, every group asked for is within the limits."
        if not context.plan.irregular:
            return question, *exposed_together(context.plan)
        return question, plural(context.plan.exposed_people, "person"), irregular_words(context.plan)
    alike = [cell for cell in seen.cells if not cell.small and not cell.rare]
    rare = [cell for cell in seen.cells if cell.rare]
    small = [cell for cell in seen.cells if cell.small]
    kappa = plural(context.plan.target.kappa, "person")
    parts = [
        _first_three(f"{plural(len(alike), 'group')} of nearly one mind", [(c, c.why) for c in alike]),
        _first_three(f"{plural(len(rare), 'group')} with too few", [(c, c.why) for c in rare]),
        _first_three(f"{plural(len(small), 'group')} under {kappa}", [(cell, f"{cell.people:,}") for cell in small]),
        seen.hint,
    ]
    people = f"{plural(seen.people, 'person')} in {plural(len(seen.cells), 'group')}"
    return question, people, " ".join(part for part in parts if part)


def exposed_together(plan: Plan) -> tuple[str, str]:
    """Who would be exposed by the tables together, where every group is within the limits by itself."""
    alone = "Every group asked for is large enough and within the limits"
    worst = next((refusal for refusal in plan.refusals if refusal.proved), None)
    if worst is not None:
        cell = ", ".join(f"{axis} {value}" for axis, value in worst.cell.items())
        among = f"Somebody among {plural(worst.people, 'person')}"
        return among, f"{alone}, but together the tables would disclose answers of the people with {cell}."
    if plan.refusals:
        return "Nobody, as far as is known", f"{alone}, but all tables together could not be proved safe."
    return "Nobody", f"{alone}."


def _first_three(what: str, cells: Sequence[tuple[ExposedCell, str]]) -> str:
    shown = [cell.cell for cell, _ in cells[:3]]
    values = [tuple(cell.values()) for cell in shown]
    labels = [
        " x ".join(cell.values() if values.count(tuple(cell.values())) == 1 else _with_axis(cell)) for cell in shown
    ]
    named = ", ".join(f"{label} ({said})" for label, (_, said) in zip(labels, cells, strict=False))
    more = f" and {len(cells) - 3:,} more" if len(cells) > 3 else ""
    return f"{what}: {named}{more}." if cells else ""


def _with_axis(cell: Mapping[str, str]) -> list[str]:
    """The categories of a cell, each with its axis: some names stand in several, such as 'unknown'."""
    return [f"{axis} {category}" for axis, category in cell.items()]


def files_section(origin: Origin) -> Part:
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


def remedies_section(context: ReportContext) -> Part:
    """Why much is lost, and what would help: only what was decided is named."""
    if not context.causes and not context.tried:
        return None
    why = f"Why: {'; '.join(context.causes)}." if context.causes else ""
    lines = [f"{remedy.sentence[0].upper()}{remedy.sentence[1:]}" for remedy in context.tried]
    said = "Each was decided, certified and attacked. None loosens a limit." if lines else ""
    return Section("What would help", why, Points(lines), Paragraph(said, "quiet"))


MOST_NOISED = 6
"""Noised groups that the first screen names; the document has all of them."""


def noised_section(context: ReportContext) -> Part:
    """What noised counts say about each noised group, the most probable first."""
    groups = sorted(context.publication.noised, key=lambda each: each.chance, reverse=True)
    if not groups:
        return None
    lines = []
    for each in groups[:MOST_NOISED]:
        where = f"{each.axis} {label(each.group, context.orders.get(each.axis, ()))}"
        of = f" of {each.secret}" if each.secret else ""
        lines.append(f"{where}: {each.chance} that its share{of} is beyond a limit.")
    if len(groups) > len(lines):
        lines.append(f"{plural(len(groups) - len(lines), 'other group')}: {groups[MOST_NOISED].chance} or less each.")
    draw = "" if all(each.counted for each in groups) else " Which groups were drawn is not counted."
    said = (
        "Probabilities for somebody who knows the roll and takes all counts as equally probable beforehand."
        f"{draw} Noise hides what one person answered; it does not hide that a group is nearly unanimous. "
        "posterior_max omits an axis of which a group is above a limit that you set."
    )
    return Section("What noised counts say", Points(lines), Paragraph(said, "quiet"))


def alternatives_section(context: ReportContext, origin: Origin) -> Part:
    choices = context.alternatives
    if len(choices) < 2:
        return None
    columns, rows = alternatives_rows(context)
    # A looser limit always keeps as much or more: it is listed, and never recommended.
    same = [choice for choice in choices if choice.beta == choices[0].beta]
    best = max(same, key=lambda choice: (choice.state == "certified", choice.share))
    keeps = best.share > choices[0].share or (best.state == "certified" and choices[0].state != "certified")
    example = _command(origin, best, choices[0].beta) if keeps else ""
    forced = [
        f"{', '.join(cell.cell.values())} ({plural(cell.people, 'person')}): {cell.why}"
        for cell in context.exposed.cells
    ]
    is_tried = any(choice.state != NOT_COMPUTED for choice in choices[1:])
    nothing = "No other choice at this limit that was computed keeps more." if is_tried else ""
    table = Section(
        "What else you could do",
        Grid(columns, rows, roomy=columns[1:-2] if len(columns) > MOST_AXES + 3 else (), emphasis=0),
        Paragraph(CHOOSING, "quiet"),
        SLOW if any(choice.state == NOT_COMPUTED for choice in choices) else None,
        "At this limit, this choice keeps most:" if example else nothing,
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


def alternatives_rows(context: ReportContext) -> tuple[Sequence[str], list[list[str]]]:
    """What other choices would publish: one row per choice, this release first."""
    axes = [axis for axis in context.axes if axis]
    columns = ["choice", *(f"{axis} exact" for axis in axes), "people exact", "add to the command"]
    choices = context.alternatives
    return columns, [
        [
            choice.words,
            *(choice.kept.get(axis, "-") for axis in axes),
            choice.people,
            choice.options(choices[0].beta).removeprefix(f"--protect {choices[0].protect} ") if place else "",
        ]
        for place, choice in enumerate(choices)
    ]
