"""Results of the commands as JSON, text and pages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safemargin import ui
from safemargin.election.verify import BoardCheck

SEES = {
    "registrar": ("who is on the roll, and which key each person enrolled", "tokens, answers, records"),
    "issuer": ("who asked for a token of which dimension and category", "the token itself: it signs a blinded number"),
    "mixer": (
        "onions and, at the first mixer, when they arrived and from which address",
        "what is inside them, and, after another mixer, which record came from which onion",
    ),
    "collector": (
        "records sorted by their bytes: one-time key, attested category, sealed answer; the options of the total",
        "who sent a record, when, or which records of two dimensions belong to one person; sealed answers",
    ),
    "board": ("what is public", "everything else"),
    "trustee": (
        "with enough others in the ceremony: the tallies of all dimensions, and the answer of every record",
        "who sent a record; alone: nothing",
    ),
    "escrow": (
        "with enough others, after a public request: whose one record it is",
        "any other record; alone: nothing",
    ),
}
"""What a role sees, and what it does not, whatever it tries with what it stores. The docs say the same."""
RESIDUALS = (
    "All mixers together with the collector could link records by the time and address of arrival.",
    "All issuers of the active set together could make tokens for people who never asked for one.",
    "A person can show others how they answered: nothing here prevents coercion or the sale of an answer.",
    "The first mixer sees who takes part. A lost wallet is a lost answer.",
    "The composition of the protocol has not been reviewed from outside: have it reviewed before a binding vote.",
)


WRITTEN = {"board": "board", "release": "release", "views": "views.html"}
DIMENSION = ("dimension", "issued", "accepted", "opened")


def _dimensions(check: BoardCheck) -> dict[str, dict[str, Any]]:
    """What is stated about every dimension."""
    return {name: {key: noted.get(key) for key in DIMENSION[1:]} for name, noted in check.dimensions.items()}


def _dimension_grid(check: BoardCheck) -> ui.Grid:
    rows = [
        [name, f"{noted['issued']:,}", f"{noted.get('accepted', 0):,}", "yes" if noted.get("opened") else "no"]
        for name, noted in check.dimensions.items()
    ]
    return ui.Grid(DIMENSION, rows)


@dataclass(frozen=True)
class BoardFindings(ui.Result):
    """Whether a board verifies, and if not, what is wrong where."""

    folder: Path
    check: BoardCheck = field(hash=False)

    @property
    def is_verified(self) -> bool:
        """Whether nothing is wrong."""
        return not self.check.findings

    def to_json(self) -> ui.Document:
        """The document of `election verify --json`."""
        check = self.check
        return {
            "schema": ui.SCHEMA,
            "verified": self.is_verified,
            "complete": check.complete,
            "certified": check.certified,
            "entries": check.entries,
            "records": check.records,
            "enrolled": check.enrolled,
            "dimensions": _dimensions(check),
            "turnout": check.turnout,
            "findings": check.findings,
        }

    @property
    def headline(self) -> str:
        """One sentence."""
        if not self.is_verified:
            return f"The board does not verify: {ui.plural(len(self.check.findings), 'finding')}."
        state = "The election is complete." if self.check.complete else "The election is not finished."
        return f"The board verifies: {self.check.entries:,} entries, {self.check.records:,} records. {state}"

    def to_report(self) -> ui.Report:
        """The verdict, the findings and the counts."""
        return ui.Report(
            "Board of an election",
            ui.Headline("sound" if self.is_verified else "unsound", self.headline),
            ui.Points(self.check.findings),
            _dimension_grid(self.check),
        )


@dataclass(frozen=True)
class ElectionRehearsal(ui.Result):
    """What happened in a rehearsal; the page states what each role could see."""

    folder: Path
    check: BoardCheck = field(hash=False)
    lost: int
    """Answers that the first mixer acknowledged and that are not on the board."""
    kills: int
    seconds: float
    storage: Mapping[str, Mapping[str, int]] = field(hash=False)
    """Items in every table of every role."""

    @property
    def holds(self) -> bool:
        """Whether the board verifies, the release is certified and no answer was lost."""
        return not self.check.findings and self.check.certified and self.lost == 0

    @property
    def _written(self) -> dict[str, str]:
        """The places of what the rehearsal leaves."""
        return {name: str(self.folder / file) for name, file in WRITTEN.items()}

    def to_json(self) -> ui.Document:
        """The document of `election rehearse --json`."""
        check = self.check
        return {
            "schema": ui.SCHEMA,
            "enrolled": check.enrolled,
            "dimensions": _dimensions(check),
            "turnout": check.turnout,
            "verified": not check.findings,
            "findings": check.findings,
            "certified": check.certified,
            "lost": self.lost,
            "kills": self.kills,
            **self._written,
            "seconds": round(self.seconds, 1),
        }

    @property
    def _reasons(self) -> list[str]:
        """Why there is no certified release although nothing is wrong with the board."""
        if self.check.certified:
            return []
        closed = [(name, noted["accepted"]) for name, noted in self.check.dimensions.items() if not noted["opened"]]
        few = [f"{name}: {count:,} answers are fewer than the minimum, so it was not opened" for name, count in closed]
        return few or ["no release of these answers meets the target"]

    @property
    def rows(self) -> list[list[str]]:
        """A row per party: what it sees, what not, and what it keeps."""
        rows = []
        for party, files in self.storage.items():
            role = party.rstrip("0123456789").rstrip("-")
            sees, never = SEES.get(role, ("", ""))
            kept = ", ".join(f"{name} ({size:,} bytes)" for name, size in files.items() if name.endswith(".sqlite"))
            rows.append([party, sees, never, kept or "files"])
        return rows

    def to_report(self) -> ui.Report:
        """The verdict and the counts; on the page what each role could see."""
        verdict = "The rehearsal ended in a certified release." if self.holds else "The rehearsal failed."
        return ui.Report(
            "What each role could see",
            ui.Headline("sound" if self.holds else "unsound", verdict),
            f"{self.check.enrolled:,} people enrolled; {self.lost} answers lost; {self.kills} kills.",
            ui.Points([*self.check.findings, *self._reasons]),
            _dimension_grid(self.check),
            ui.InTerminal(*(ui.Paragraph(f"{name}: {place}", "quiet") for name, place in self._written.items())),
            ui.OnPage(
                ui.Section("Roles", ui.Grid(["party", "sees", "does not see", "keeps"], self.rows)),
                ui.Section("What remains", *RESIDUALS),
            ),
        )


@dataclass(frozen=True)
class Done(ui.Result):
    """A step that was done: what was written, and what it says."""

    statement: str
    files: tuple[Path, ...] = ()
    details: dict[str, Any] = field(default_factory=dict, hash=False)

    def to_json(self) -> ui.Document:
        """The document of the command."""
        return {"schema": ui.SCHEMA, "statement": self.statement, "files": [str(f) for f in self.files], **self.details}

    def to_report(self) -> ui.Report:
        """One sentence and the files."""
        return ui.Report("Election", self.statement, ui.Points([str(path) for path in self.files]))
