"""A release in a terminal."""

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.text import Text

from safemargin.audit.findings import onlooker_words, show_found
from safemargin.release.plan import Action, Plan
from safemargin.release.report.context import ReportContext, is_omitted, people_by_action
from safemargin.release.report.words import (
    MARGIN_COLUMNS,
    certificate_words,
    headline,
    irregular_words,
    margin_rows,
    maximum_words,
)
from safemargin.ui import percent, say, say_list, text_table, verdict_style


def show_release(
    console: Console,
    context: ReportContext,
    folder: str | Path | None = None,
    certificates: Mapping[str, str] | None = None,
    published: bool = False,
) -> None:
    """What is published, which alternatives were rejected, and what is proved about the whole.

    With `certificates` (files by margin) it says whom each omitted table of several axes would expose.
    """
    plan, certificate = context.plan, context.plan.certificate
    say(console, f"{headline(context)}.", verdict_style(context.is_sound))
    say(console, certificate.statement)
    say(console, certificate_words(certificate), "dim")
    say_list(console, [f"worst: {cell}" for cell in certificate.worst])
    console.print()
    _show_groups(console, context)
    if plan.irregular:
        say(console, irregular_words(plan))
    for note in plan.notes:
        say(console, note, "yellow")
    for guarantee in plan.guarantees:
        cost = "" if guarantee.epsilon is None else f" (epsilon {guarantee.epsilon:g})"
        say(console, f"{guarantee.mechanism}{cost}: {guarantee.statement}")
    _show_margins(console, plan, certificates)
    if plan.refusals:
        say(console, "\nAlternatives that were rejected", "bold")
        say_list(console, [str(refusal) for refusal in plan.refusals])
    say(console, "\nWhat onlookers can infer", "bold")
    attacked = [onlooker_words(findings) for findings in context.findings]
    say_list(console, attacked or ["The release has not been attacked yet."])
    for findings in context.findings:
        show_found(console, findings.attempts)
    if folder is not None:
        _show_files(console, published, folder)


def _show_files(console: Console, published: bool, folder: str | Path) -> None:
    report = f"{folder}/confidential/report.html"
    if published:
        say(console, f"\nPublish {folder}/published. Its report, {report}, is confidential: do not publish it.")
    else:
        say(console, f"\nNothing was published. The report is {report}.")


def _show_margins(console: Console, plan: Plan, certificates: Mapping[str, str] | None) -> None:
    if plan.maximum is None:
        return
    say(console, "\nTables of several axes", "bold")
    console.print(text_table(MARGIN_COLUMNS, margin_rows(plan), space=1))
    say(console, maximum_words(plan))
    if certificates is not None and plan.rejected:
        say(console, "\nOmitted tables", "bold")
        lines = [
            f"{rejected.refusal}{f' ({certificates[name]})' if name in certificates else ''}"
            for name, rejected in plan.rejected.items()
        ]
        say_list(console, lines, len(lines))


def _show_groups(console: Console, context: ReportContext) -> None:
    if not context.axes:
        say(console, "Only the total is published.")
        return
    table = text_table(["axis", *map(str, Action), "people in exact groups"], space=1)
    for axis, groups in context.axes.items():
        by_action = people_by_action(groups)
        everybody = sum(group.people for group in groups) or 1
        exact = by_action[Action.EXACT][1]
        counts = [Text(f"{by_action[action][0]:,}" if by_action[action][0] else "-") for action in Action]
        if is_omitted(groups):
            counts[-1] = Text("all")
        table.add_row(Text(axis or "everyone"), *counts, Text(f"{exact:,} ({percent(exact / everybody)})"))
    for column in table.columns[1:]:
        column.justify = "right"
    say(console, "Groups of every axis by how they are published", "bold")
    console.print(table)
    console.print()
