"""A release in a terminal."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from safemargin.audit.findings import Findings
from safemargin.audit.report import learnt, show_found
from safemargin.release.draft import Draft
from safemargin.release.plan import Action, Plan
from safemargin.release.report.groups import by_axis, decided_groups, is_left_out, people_by_action
from safemargin.release.report.margins import COLUMNS, margin_rows, maximum_words
from safemargin.release.report.words import certificate_words, headline, irregular_words, is_sound
from safemargin.ui import percent, say, say_list, text_table, verdict_style


def show_release(
    console: Console,
    plan: Plan,
    release: Draft,
    findings: Sequence[Findings],
    folder: str | Path,
    certificates: Mapping[str, str] | None = None,
) -> None:
    """What is published, what was refused on the way, and what is proved about the whole.

    With `certificates` (files by margin) it is told whom each table of several axes that is left out would give away.
    """
    sound, certificate = is_sound(plan, findings), plan.certificate
    say(console, f"{headline(plan, findings)}.", verdict_style(sound))
    say(console, certificate.statement)
    say(console, certificate_words(certificate), "dim")
    say_list(console, [f"worst: {words}" for words in certificate.worst])
    console.print()
    _show_groups(console, plan, release)
    if plan.irregular:
        say(console, irregular_words(plan))
    for words in plan.notes:
        say(console, words, "yellow")
    for guarantee in plan.guarantees:
        cost = "" if guarantee.epsilon is None else f" (epsilon {guarantee.epsilon:g})"
        say(console, f"{guarantee.mechanism}{cost}: {guarantee.statement}")
    _show_margins(console, plan, certificates)
    if plan.refusals:
        say(console, "\nRefused on the way", "bold")
        say_list(console, [str(refusal) for refusal in plan.refusals])
    say(console, "\nWhat onlookers learn", "bold")
    say_list(console, [learnt(each) for each in findings] or ["The release has not been attacked yet."])
    for each in findings:
        show_found(console, each.attempts)
    report = f"{folder}/inside/report.html"
    where = f"Publish {folder}/published. Its report, {report}, stays in the office." if sound else ""
    say(console, f"\n{where or f'Nothing was published. The report is {report}.'}")


def _show_margins(console: Console, plan: Plan, certificates: Mapping[str, str] | None) -> None:
    if plan.maximum is None:
        return
    table = text_table(COLUMNS, space=1)
    for row in margin_rows(plan):
        table.add_row(*map(Text, row))
    say(console, "\nTables of several axes", "bold")
    console.print(table)
    say(console, maximum_words(plan))
    if certificates is not None and plan.rejected:
        say(console, "\nTables that are left out", "bold")
        lines = [
            f"{rejected.refusal}{f' ({certificates[name]})' if name in certificates else ''}"
            for name, rejected in plan.rejected.items()
        ]
        say_list(console, lines, len(lines))


def _show_groups(console: Console, plan: Plan, release: Draft) -> None:
    axes = by_axis(decided_groups(plan, release))
    if not axes:
        say(console, "Only the total is published.")
        return
    table = text_table(["axis", *map(str, Action), "people in exact groups"], space=1)
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
    say(console, "Groups of every axis by how they are published", "bold")
    console.print(table)
    console.print()
