"""Findings as JSON documents and terminal text."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from safemargin.audit.findings import Attempt, Finding, Findings
from safemargin.bounds.report import exposure_document, say_gaps, tally_words
from safemargin.ui import Document, describe_onlooker, named_cell_label, plural, say, say_list, text_table


def findings_document(findings: Findings) -> Document:
    """The exposure that a release leaves, and what every attack got out of it."""
    return {
        **exposure_document(findings.exposure, findings.target),
        "attacks": [_attack(attempt) for attempt in findings.attempts],
        "safe": findings.is_safe,
    }


def _attack(attempt: Attempt) -> Document:
    return {
        "attack": attempt.attack,
        "summary": attempt.summary,
        "looked_at": attempt.looked_at,
        "people_exposed": attempt.people_exposed,
        "findings": [
            {
                "cell": dict(finding.cell),
                "option": finding.option,
                "people": finding.people,
                "lower": finding.lower,
                "upper": finding.upper,
                "words": finding.words,
            }
            for finding in attempt.findings
        ],
    }


def attack_words(findings: Findings) -> str:
    """The outcome of all attacks in one sentence."""
    if not findings.attempts:
        return "No attack was tried."
    if findings.is_safe:
        return f"{plural(len(findings.attempts), 'attack')} tried, nothing found."
    broken = [attempt.attack for attempt in findings.attempts if attempt.findings]
    exposed = max(attempt.people_exposed for attempt in findings.attempts)
    return f"{plural(len(broken), 'attack')} succeeded ({', '.join(broken)}): {plural(exposed, 'person')} exposed."


def finding_words(finding: Finding) -> str:
    """One cell that an attack gives away."""
    return f"{named_cell_label(finding.cell)}{f', {finding.option}' if finding.option else ''}: {finding.words}"


def show_findings(console: Console, findings: Findings) -> None:
    """What every attack of one onlooker looked at and found."""
    exposure = findings.exposure
    say(console, f"{findings.onlooker.name}: {describe_onlooker(findings.onlooker, exposure.cells.axes)}.")
    say(console, f"Intervals: {tally_words(exposure.tallied(findings.target))}.")
    say_gaps(console, exposure)
    console.print()
    console.print(attack_table(findings.attempts))
    show_found(console, findings.attempts)
    console.print()
    say(console, attack_words(findings), "green" if findings.is_safe else "bold red")


def show_found(console: Console, attempts: Sequence[Attempt]) -> None:
    """The cells that attacks gave away, by attack."""
    for attempt in attempts:
        if attempt.findings:
            say(console, f"\n{attempt.attack} gives away:", "bold")
            say_list(console, [finding_words(finding) for finding in attempt.findings])


def attack_table(attempts: Sequence[Attempt]) -> Table:
    table = text_table(["attack"], space=1)
    for name in ("looked at", "found", "people exposed"):
        table.add_column(name, justify="right")
    table.add_column("summary", ratio=1)
    for attempt in attempts:
        numbers = (attempt.looked_at, len(attempt.findings), attempt.people_exposed)
        style = "bold red" if attempt.findings else ""
        table.add_row(Text(attempt.attack, style), *(Text(f"{n:,}", style) for n in numbers), Text(attempt.summary))
    return table


def learnt(findings: Findings) -> str:
    tally = tally_words(findings.exposure.tallied(findings.target))
    return f"{findings.onlooker.name}: {attack_words(findings)} Intervals: {tally}."
