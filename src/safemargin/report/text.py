"""Values as words and small tables in a terminal."""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from safemargin.model.exposure import Exposure
from safemargin.model.fiber import QUANTILES
from safemargin.model.findings import Attempt, Findings
from safemargin.model.plan import Action, Plan
from safemargin.model.possible import Possible
from safemargin.model.release import Release
from safemargin.model.target import Target
from safemargin.report.document import CellEntry, Document, entries, possible_entries
from safemargin.report.groups import by_axis, decided_groups, is_left_out, people_by_action
from safemargin.report.margins import COLUMNS, margin_rows, maximum_words
from safemargin.report.ranking import ranked
from safemargin.report.words import (
    UNSETTLED,
    attack_words,
    cell_words,
    certificate_words,
    count_span,
    fiber_words,
    finding_words,
    gap_words,
    headline,
    irregular_words,
    is_sound,
    onlooker_words,
    percent,
    percent_span,
    plural,
    tally_words,
    values_words,
)

VERDICT_STYLES = {"contained": "green", "open": "yellow", "disclosed": "bold red"}
ROOMY = 110
"""Narrower terminals leave out the columns that repeat others: the width and the method."""

FEW = 10
"""How many refusals, or findings of one attack, are listed."""


def show_exposure(console: Console, exposure: Exposure, target: Target, limit: int = 30, sort: str = "verdict") -> None:
    """The cells that give most away, with the intervals that an onlooker can confine them to."""
    _say(console, f"{exposure.onlooker.name}: {onlooker_words(exposure.onlooker, exposure.cells.axes)}.")
    _say(console, f"{plural(exposure.lower.size, 'interval')}: {tally_words(exposure.tallied(target))}.")
    if not exposure.complete:
        _say(console, UNSETTLED, "yellow")
    _say_gaps(console, exposure)
    rows = entries(exposure, target, ranked(exposure, target, limit, sort))
    console.print()
    console.print(_cell_table(rows, exposure, console.width >= ROOMY))
    if (left := exposure.lower.size - len(rows)) > 0:
        _say(console, f"{left:,} more are not shown.", "dim")


def _say_gaps(console: Console, exposure: Exposure) -> None:
    """One line where the possible tables tell more than the intervals."""
    if words := gap_words(exposure):
        _say(console, words, "yellow")


def show_possible(console: Console, possible: Possible, limit: int = 30) -> None:
    """How many tables are possible, and what they hold."""
    fiber, drawn = possible.fiber, possible.drawn
    _say(console, f"{possible.onlooker.name}: {onlooker_words(possible.onlooker, possible.cells.axes)}.")
    _say(console, f"Dimension {fiber.dimension:,}; {fiber_words(fiber)} ({fiber.method}).")
    if drawn is not None:
        _say(console, f"{plural(drawn.tables, 'table')} drawn, {drawn.law} law, seed {drawn.seed}.")
    rows = list(islice(possible_entries(possible), limit))
    if fiber.attained is None and drawn is None:
        return
    console.print()
    console.print(_possible_table(rows, possible))
    if (left := len(possible.cells) * max(len(possible.options), 1) - len(rows)) > 0:
        _say(console, f"{left:,} more are not shown.", "dim")


def _possible_table(rows: Sequence[Document], possible: Possible) -> Table:
    shown, drawn = possible.fiber.attained is not None, possible.drawn is not None
    head = f"cell ({', '.join(possible.cells.axes)})" if possible.cells.axes else "cell"
    table = _table(head, *(["option"] if possible.options else []))
    shares = [f"{share:.0%}".replace("%", " %") for share in QUANTILES]
    for name in ["people", *(["mean", "+-", *shares] if drawn else [])]:
        table.add_column(name, justify="right", no_wrap=True)
    if shown:
        table.add_column("possible counts", overflow="fold")
    for row in rows:
        values = [cell_words(row["cell"]), *([row["option"]] if "option" in row else [])]
        values += ["-" if row["people"] is None else f"{row['people']:,}"]
        if drawn:
            values += [f"{row['mean']:.2f}", f"{row['error']:.2f}", *(f"{n:,}" for n in row["quantiles"].values())]
        table.add_row(*map(Text, values), *([Text(values_words(row["attained"]))] if shown else []))
    return table


def show_findings(console: Console, findings: Findings) -> None:
    """What every attack of one onlooker looked at and found."""
    exposure = findings.exposure
    _say(console, f"{findings.onlooker.name}: {onlooker_words(findings.onlooker, exposure.cells.axes)}.")
    _say(console, f"Intervals: {tally_words(exposure.tallied(findings.target))}.")
    _say_gaps(console, exposure)
    console.print()
    console.print(_attack_table(findings.attempts))
    _show_found(console, findings.attempts)
    console.print()
    _say(console, attack_words(findings), "green" if findings.is_safe else "bold red")


def show_release(
    console: Console,
    plan: Plan,
    release: Release,
    findings: Sequence[Findings],
    folder: str | Path,
    certificates: Mapping[str, str] | None = None,
) -> None:
    """What is published, what was refused on the way, and what is proved about the whole.

    With `certificates` (files by margin) it is told whom each table of several axes that is left out would give away.
    """
    sound, certificate = is_sound(plan, findings), plan.certificate
    _say(console, f"{headline(plan, findings)}.", _tone(sound))
    _say(console, certificate.statement)
    _say(console, certificate_words(certificate), "dim")
    _list(console, [f"worst: {words}" for words in certificate.worst])
    console.print()
    _show_groups(console, plan, release)
    if plan.irregular:
        _say(console, irregular_words(plan))
    for words in plan.notes:
        _say(console, words, "yellow")
    for guarantee in plan.guarantees:
        cost = "" if guarantee.epsilon is None else f" (epsilon {guarantee.epsilon:g})"
        _say(console, f"{guarantee.mechanism}{cost}: {guarantee.statement}")
    _show_margins(console, plan, certificates)
    if plan.refusals:
        _say(console, "\nRefused on the way", "bold")
        _list(console, [str(refusal) for refusal in plan.refusals])
    _say(console, "\nWhat onlookers learn", "bold")
    _list(console, [_learnt(each) for each in findings] or ["The release has not been attacked yet."])
    for each in findings:
        _show_found(console, each.attempts)
    report = f"{folder}/inside/report.html"
    where = f"Publish {folder}/published. Its report, {report}, stays in the office." if sound else ""
    _say(console, f"\n{where or f'Nothing was published. The report is {report}.'}")


def _show_margins(console: Console, plan: Plan, certificates: Mapping[str, str] | None) -> None:
    if plan.maximum is None:
        return
    table = _table(*COLUMNS)
    for row in margin_rows(plan):
        table.add_row(*map(Text, row))
    _say(console, "\nTables of several axes", "bold")
    console.print(table)
    _say(console, maximum_words(plan))
    if certificates is not None and plan.rejected:
        _say(console, "\nTables that are left out", "bold")
        lines = [
            f"{rejected.refusal}{f' ({certificates[name]})' if name in certificates else ''}"
            for name, rejected in plan.rejected.items()
        ]
        _list(console, lines, len(lines))


def _show_found(console: Console, attempts: Sequence[Attempt]) -> None:
    """The cells that attacks gave away, by attack."""
    for attempt in attempts:
        if attempt.findings:
            _say(console, f"\n{attempt.attack} gives away:", "bold")
            _list(console, [finding_words(finding) for finding in attempt.findings])


def _show_groups(console: Console, plan: Plan, release: Release) -> None:
    axes = by_axis(decided_groups(plan, release))
    if not axes:
        _say(console, "Only the total is published.")
        return
    table = _table("axis", *(str(action) for action in Action), "people in exact groups")
    for axis, groups in axes.items():
        found = people_by_action(groups)
        everybody = sum(group.people for group in groups) or 1
        exact = found[Action.EXACT][1]
        counts = [Text(f"{found[action][0]:,}" if found[action][0] else "-") for action in Action]
        if is_left_out(groups):
            counts[-1] = Text("all")
        table.add_row(Text(axis or "everyone"), *counts, Text(f"{exact:,} ({percent(exact / everybody)})"))
    for column in table.columns[1:]:
        column.justify = "right"
    _say(console, "Groups of every axis by how they are published", "bold")
    console.print(table)
    console.print()


def _cell_table(rows: Sequence[CellEntry], exposure: Exposure, roomy: bool) -> Table:
    head = f"cell ({', '.join(exposure.cells.axes)})" if exposure.cells.axes else "cell"
    table = _table(head, *(["option"] if exposure.options else []))
    numbers = ["people", "interval", "rates", *(["width"] if roomy else []), "t"]
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    for name in ["verdict", *(["method"] if roomy else [])]:
        table.add_column(name, no_wrap=True)
    for row in rows:
        values = [cell_words(row["cell"]), *([row["option"]] if "option" in row else [])]
        values += ["-" if row["people"] is None else f"{row['people']:,}"]
        values += [count_span(row["lower"], row["upper"]), percent_span(row["interval"])]
        values += [f"{row['width']:,}"] if roomy else []
        values += ["-" if row["t"] is None else f"{row['t']:.2f}"]
        verdict = Text(row["verdict"], style=VERDICT_STYLES[row["verdict"]])
        table.add_row(*map(Text, values), verdict, *([Text(row["method"])] if roomy else []))
    return table


def _attack_table(attempts: Sequence[Attempt]) -> Table:
    table = _table("attack")
    for name in ("looked at", "found", "people exposed"):
        table.add_column(name, justify="right")
    table.add_column("summary", ratio=1)
    for attempt in attempts:
        numbers = (attempt.looked_at, len(attempt.findings), attempt.people_exposed)
        style = "bold red" if attempt.findings else ""
        table.add_row(Text(attempt.attack, style), *(Text(f"{n:,}", style) for n in numbers), Text(attempt.summary))
    return table


def _learnt(findings: Findings) -> str:
    tally = tally_words(findings.exposure.tallied(findings.target))
    return f"{findings.onlooker.name}: {attack_words(findings)} Intervals: {tally}."


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    return table


def _list(console: Console, lines: Sequence[str], most: int = FEW) -> None:
    more = [f"and {len(lines) - most:,} more"] if len(lines) > most else []
    for line in [*lines[:most], *more]:
        points = Table.grid()
        points.add_row("  - ", Text(line))
        console.print(points)


def _say(console: Console, words: str, style: str = "") -> None:
    """Print as it stands: names of groups are no markup."""
    console.print(Text(words, style=style))


def _tone(sound: bool) -> str:
    return "bold green" if sound else "bold red"
