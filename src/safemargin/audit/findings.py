"""What all attacks of one onlooker found: as JSON, in words and as a page."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from safemargin.audit.situation import Attempt, Finding
from safemargin.bounds import Exposure, cells_csv, exposure_document, gap_words, say_gaps, tally_words
from safemargin.core import VERDICTS, BoolArray, Onlooker, Target
from safemargin.ui import (
    Document,
    Html,
    Result,
    describe_onlooker,
    header,
    joined,
    named_cell_label,
    paragraphs,
    plural,
    points,
    render_page,
    say,
    say_list,
    section,
    table,
    text_table,
    write_text,
)

__all__ = ["Attempt", "Finding", "Findings", "attack_words", "finding_words", "onlooker_words", "show_found"]


@dataclass(frozen=True)
class Findings(Result):
    """All attacks of one onlooker on one release."""

    onlooker: Onlooker
    target: Target
    exposure: Exposure
    attempts: tuple[Attempt, ...]
    printed: BoolArray | None = field(default=None, compare=False)
    """Which cells a table prints, or states to be empty: nobody has to infer them."""

    @property
    def is_safe(self) -> bool:
        """Whether no attack found anything."""
        return not any(attempt.findings for attempt in self.attempts)

    def intervals(self) -> str:
        """How many cells that no table prints have each verdict; if one is disclosed, an attack found it."""
        verdicts = self.exposure.verdicts(self.target)
        inferred = verdicts if self.printed is None else verdicts[~self.printed]
        tally = {str(verdict): int((inferred == code).sum()) for code, verdict in enumerate(VERDICTS)}
        printed = 0 if self.printed is None else int(self.printed.sum())
        return tally_words(tally) + (f"; {plural(printed, 'cell')} printed" if printed else "")

    def to_json(self) -> Document:
        """The exposure that a release leaves, and what every attack found."""
        return {
            **exposure_document(self.exposure, self.target),
            "attacks": [_attempt_document(attempt) for attempt in self.attempts],
            "printed": 0 if self.printed is None else int(self.printed.sum()),
            "safe": self.is_safe,
        }

    def show(self, console: Console) -> None:
        """What every attack looked at and found."""
        say(console, f"{self.onlooker.name}: {describe_onlooker(self.onlooker, self.exposure.cells.axes)}.")
        say(console, f"Intervals: {self.intervals()}.")
        say_gaps(console, self.exposure)
        console.print()
        console.print(attack_table(self.attempts))
        show_found(console, self.attempts)
        console.print()
        say(console, attack_words(self), "green" if self.is_safe else "bold red")

    def to_html(self) -> str:
        """A page with the attacks, and the cells that they disclose."""
        who = f"{self.onlooker.name}: {describe_onlooker(self.onlooker, self.exposure.cells.axes)}."
        intervals = f"Intervals: {self.intervals()}."
        numbers = ("looked at", "found", "people exposed")
        rows = [(a.attack, a.looked_at, len(a.findings), a.people_exposed, a.summary) for a in self.attempts]
        body: list[Html] = [section("Attacks", table(("attack", *numbers, "summary"), rows, numbers))]
        for attempt in self.attempts:
            if attempt.findings:
                lines = [finding_words(finding) for finding in attempt.findings]
                body.append(section(f"Disclosed by {attempt.attack}", points(lines)))
        intro = paragraphs(who, intervals, gap_words(self.exposure))
        return render_page("Audit", header("Audit", intro, banner=(attack_words(self), "")), joined(body))

    def write_cells(self, path: Path | str) -> None:
        """Write all cells with their intervals to a CSV file."""
        write_text(Path(path), cells_csv(self.exposure, self.target))


def _attempt_document(attempt: Attempt) -> Document:
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
    """What all attacks found, in one sentence."""
    if not findings.attempts:
        return "No attack was tried."
    if findings.is_safe:
        return f"{plural(len(findings.attempts), 'attack')} tried, nothing found."
    broken = [attempt.attack for attempt in findings.attempts if attempt.findings]
    exposed = max(attempt.people_exposed for attempt in findings.attempts)
    return f"{plural(len(broken), 'attack')} succeeded ({', '.join(broken)}): {plural(exposed, 'person')} exposed."


def finding_words(finding: Finding) -> str:
    """One cell that an attack discloses."""
    return f"{named_cell_label(finding.cell)}{f', {finding.option}' if finding.option else ''}: {finding.words}"


def onlooker_words(findings: Findings) -> str:
    """What one onlooker can infer, in two sentences."""
    return f"{findings.onlooker.name}: {attack_words(findings)} Intervals: {findings.intervals()}."


def show_found(console: Console, attempts: Sequence[Attempt]) -> None:
    """The cells that attacks disclosed, by attack."""
    for attempt in attempts:
        if attempt.findings:
            say(console, f"\n{attempt.attack} discloses:", "bold")
            say_list(console, [finding_words(finding) for finding in attempt.findings])


def attack_table(attempts: Sequence[Attempt]) -> Table:
    """One row per attack."""
    rows = text_table(["attack"], space=1)
    for name in ("looked at", "found", "people exposed"):
        rows.add_column(name, justify="right")
    rows.add_column("summary", ratio=1)
    for attempt in attempts:
        numbers = (attempt.looked_at, len(attempt.findings), attempt.people_exposed)
        style = "bold red" if attempt.findings else ""
        rows.add_row(Text(attempt.attack, style), *(Text(f"{n:,}", style) for n in numbers), Text(attempt.summary))
    return rows
