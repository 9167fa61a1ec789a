"""What all attacks of one onlooker found: as JSON, in words and as a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from safemargin import ui
from safemargin.audit.coloured import coloured_tables
from safemargin.audit.situation import Attempt, Finding
from safemargin.bounds import (
    Exposure,
    cells_csv,
    classical_words,
    closest_calls,
    exposure_document,
    gap_words,
    tally_words,
)
from safemargin.core import VERDICTS, BoolArray, Onlooker, PublishedTable, Target
from safemargin.io import ReadTable, doubt_lines, reading_document, reading_lines

__all__ = ["Attempt", "Finding", "Findings", "attack_words", "finding_words", "found_sections"]

MOST_TABLES = 6
"""Coloured tables that are open."""


@dataclass(frozen=True)
class Findings(ui.Result):
    """All attacks of one onlooker on one release."""

    onlooker: Onlooker
    target: Target
    exposure: Exposure
    attempts: tuple[Attempt, ...]
    printed: BoolArray | None = field(default=None, compare=False)
    """Which cells a table prints, or states to be empty: nobody has to infer them."""
    skipped: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Attacks that were not tried, each with the reason."""
    reads: tuple[ReadTable, ...] = field(default=(), compare=False)
    """How every table was read."""
    shown: tuple[PublishedTable, ...] = field(default=(), compare=False)
    """The tables that were audited, where they are drawn."""
    slack: int = field(default=0, compare=False)
    is_proved: bool = field(default=False, compare=False)
    """Whether a certificate of the intervals was written, which the page can check."""

    @property
    def doubts(self) -> list[str]:
        """What is doubtful about how the tables were read: then nothing found is no all-clear."""
        return doubt_lines(self.reads, questions=True)

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
        return tally_words(tally) + (f"; {ui.plural(printed, 'cell')} printed" if printed else "")

    def to_json(self) -> ui.Document:
        """The exposure that a release leaves, and what every attack found."""
        return {
            **exposure_document(self.exposure, self.target),
            "attacks": [_attempt_document(attempt) for attempt in self.attempts],
            "printed": 0 if self.printed is None else int(self.printed.sum()),
            "safe": self.is_safe,
            "doubtful": bool(self.doubts),
            "reading": reading_document(self.reads),
        }

    def to_html(self) -> str:
        """The page; gaps have the two tables at the ends of their interval, which takes a second or two."""
        return ui.render_report(self._report(noted=True), ui.CHECK if self.is_proved else None)

    def to_report(self) -> ui.Report:
        """The verdict, the tables in colours, what every attack looked at and found, and the closest calls."""
        return self._report(noted=False)

    def tables(self, noted: bool = False) -> list[ui.CountTable]:
        """The audited tables with what could be inferred; `noted` as in `coloured_tables`."""
        given = self.shown, self.exposure, self.printed, self.attempts, self.target
        return list(coloured_tables(*given, slack=self.slack, noted=noted))

    def _report(self, noted: bool) -> ui.Report:
        tables = self.tables(noted)
        state = "unsound" if not self.is_safe else "partly" if self.doubts else "sound"
        first, more = tables[:MOST_TABLES], tables[MOST_TABLES:]
        parts = [ui.Section(table.caption, table) for table in first]
        is_whole = any(set(table.axes) == set(self.exposure.cells.axes) for table in self.shown)
        rows = [
            (
                ui.Tag("disclosed", a.attack) if a.findings else a.attack,
                a.looked_at,
                len(a.findings),
                a.people_exposed,
                a.summary,
            )
            for a in self.attempts
        ]
        columns = ("attack", "looked at", "found", "people exposed", "summary")
        details = [ui.Section("Attacks", ui.Grid(columns, rows)), *found_sections(self.attempts)]
        return ui.Report(
            "Audit",
            *reading_lines(self.reads),
            *(ui.Paragraph(f"Doubtful: {line}.", "warning") for line in self.doubts),
            ui.OnPage(ui.Headline(state, verdict_words(self), attack_words(self))),
            ui.InTerminal(ui.Headline(state, attack_words(self))),
            f"The onlooker {self.onlooker.name!r} {ui.describe_onlooker(self.onlooker, self.exposure.cells.axes)}.",
            f"Intervals: {self.intervals()}. {classical_words(self.exposure)}".rstrip(),
            ui.Paragraph(gap_words(self.exposure), "warning"),
            *(part if table.is_marked else ui.OnPage(part) for table, part in zip(first, parts, strict=True)),
            ui.OnPage(ui.Fold(ui.plural(len(more), "more table"), *more)) if more else None,
            ui.InTerminal(*details),
            ui.OnPage(ui.Fold("Every attack, and what it found", *details, is_open=not is_whole)),
            ui.OnPage(None if is_whole else closest_calls(self.exposure, self.target, self.printed)),
        )

    def write_cells(self, path: Path | str) -> None:
        """Write all cells with their intervals to a CSV file."""
        ui.write_text(Path(path), cells_csv(self.exposure, self.target))


def _attempt_document(attempt: Attempt) -> ui.Document:
    return {
        "attack": attempt.attack,
        "summary": attempt.summary,
        "looked_at": attempt.looked_at,
        "people_exposed": attempt.people_exposed,
        **attempt.tally,
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


def verdict_words(findings: Findings) -> str:
    """Whether these tables may be published, in one sentence for people."""
    if not findings.attempts:
        return "No attack was tried."
    if findings.is_safe:
        what = "Nothing could be inferred"
        return f"{what}, but the reading is doubtful." if findings.doubts else f"{what} that is not published."
    gaps = next((attempt for attempt in findings.attempts if attempt.attack == "suppressed" and attempt.findings), None)
    if gaps is not None:
        of = f"{len(gaps.findings):,} of {ui.plural(gaps.looked_at, 'suppressed count')}"
        return f"Do not publish: {of} could be inferred."
    found = disclosed_counts(findings)
    return f"Do not publish: {ui.plural(found, 'count')} {'is' if found == 1 else 'are'} disclosed."


def disclosed_counts(findings: Findings) -> int:
    """How many different counts attacks disclosed; one that several attacks find is one."""
    found = {(frozenset(each.cell.items()), each.option) for attempt in findings.attempts for each in attempt.findings}
    return len(found)


def attack_words(findings: Findings) -> str:
    """What all attacks found, in one sentence."""
    if not findings.attempts:
        return "No attack was tried."
    if findings.is_safe:
        tried = f"{ui.plural(len(findings.attempts), 'attack')} tried, nothing found"
        return f"{tried}, but the reading is doubtful: {findings.doubts[0]}." if findings.doubts else f"{tried}."
    broken = [attempt.attack for attempt in findings.attempts if attempt.findings]
    exposed = max(attempt.people_exposed for attempt in findings.attempts)
    # Without a roll nobody knows how many people a count is about: then counts are stated, not people.
    counts = disclosed_counts(findings)
    what = f"{ui.plural(exposed, 'person')} exposed" if exposed else f"{ui.plural(counts, 'count')} disclosed"
    return f"{ui.plural(len(broken), 'attack')} succeeded ({', '.join(broken)}): {what}."


def tried_document(findings: Findings) -> ui.Document:
    """Which attacks an onlooker tried, and which not and why: for the certificate and the manifest of a release."""
    tried = [attempt.attack for attempt in findings.attempts]
    return {"onlooker": findings.onlooker.name, "tried": tried, "skipped": dict(findings.skipped)}


def skipped_words(findings: Findings) -> str:
    """Which attacks were not tried, in one sentence; nothing if all were."""
    listed = "; ".join(f"{attack}: {reason}" for attack, reason in findings.skipped.items())
    return f"Attacks that were not tried: {listed}." if listed else ""


def finding_words(finding: Finding) -> str:
    """One cell that an attack discloses."""
    return f"{ui.named_cell_label(finding.cell)}{f', {finding.option}' if finding.option else ''}: {finding.words}"


def found_sections(attempts: Sequence[Attempt]) -> list[ui.Section]:
    """The cells that attacks disclosed, by attack."""
    return [
        ui.Section(
            f"Disclosed by {attempt.attack}", ui.Points([finding_words(finding) for finding in attempt.findings])
        )
        for attempt in attempts
        if attempt.findings
    ]
