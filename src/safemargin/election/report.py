"""Results of the commands as JSON, text and pages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safemargin import ui
from safemargin.election.board_check import BoardCheck

SEES = {
    "registrar": ("who is on the roll, and which key each person enrolled", "tokens, ballots, answers"),
    "issuer": ("who asked for a token of which dimension and category", "the token itself: it signs a blinded number"),
    "box": (
        "sealed messages of one size, and, while they arrive, from which address and when",
        "what is inside them: not even the dimension",
    ),
    "collector": (
        "ballots sorted by their bytes: one-time key, attested category, encrypted answer",
        "who sent a ballot, when, or which ballots of two dimensions belong to one person; answers",
    ),
    "board": ("what is public", "everything else"),
    "trustee": (
        "with enough others: sums over groups that are not too small; as many as decrypt could read every ballot",
        "who sent a ballot; with fewer: nothing",
    ),
    "escrow": (
        "with enough others, after a public request: whose one ballot it is",
        "any other ballot; alone: nothing",
    ),
}
"""What a role sees, and what it does not, whatever it tries with what it stores. The docs say the same."""
RESIDUALS = (
    "As many trustees as decrypt can together read every ballot, though not whose it is; fewer can read nothing.",
    "Box and collector together could link the ballots of one device across dimensions.",
    "The board shows how many people of each category voted.",
    "A trustee who takes part in the tally can leak the sums before they are protected, or stop after reading them.",
    "All issuers together could make tokens for people who never enrolled, up to the number on the roll.",
    "A person can show others how they voted, and a malicious device can lie: only audit-or-cast works against that.",
    "It is not secure against quantum computers: with one, answers of one-time keys could be read, though not whose.",
    "The composition of the protocol has not been reviewed from outside: have it reviewed before a binding vote.",
)


WRITTEN = {"board": "board", "release": "release", "views": "views.html"}
DIMENSION = ("dimension", "issued", "accepted", "opened")


def _dimensions(check: BoardCheck) -> dict[str, dict[str, Any]]:
    """What is stated about every dimension."""
    return {name: {key: noted.get(key) for key in DIMENSION[1:]} for name, noted in check.dimensions.items()}


def _total_text(check: BoardCheck) -> str:
    """The binding total in one line."""
    if not check.total:
        return "The binding total is not out."
    counts = ", ".join(f"{option} {count:,}" for option, count in check.total.items())
    return f"Total{' (verified)' if check.total_verified else ''}: {counts}."


def _dimension_grid(check: BoardCheck) -> ui.Grid:
    rows = [
        [name, f"{noted.get('issued', 0):,}", f"{noted.get('accepted', 0):,}", "yes" if noted.get("opened") else "no"]
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
            "ballots": check.ballots,
            "enrolled": check.enrolled,
            "total": check.total,
            "total_verified": check.total_verified,
            "published_counts_verified": check.published,
            "disregarded": check.disregarded,
            "dimensions": _dimensions(check),
            "turnout": check.turnout,
            "findings": check.findings,
            "not_shown": check.unchecked,
        }

    @property
    def headline(self) -> str:
        """One sentence."""
        if not self.is_verified:
            return f"The board does not verify: {ui.plural(len(self.check.findings), 'finding')}."
        state = "The election is complete." if self.check.complete else "The election is not finished."
        counts = f"{self.check.ballots:,} ballots, {ui.plural(self.check.published, 'published count')}"
        return f"The board verifies: {self.check.entries:,} entries, {counts}. {state}"

    def to_report(self) -> ui.Report:
        """The verdict, the findings and the counts."""
        return ui.Report(
            "Board of an election",
            ui.Headline("sound" if self.is_verified else "unsound", self.headline),
            ui.Points([*self.check.findings, *(f"Without effect: {each}" for each in self.check.disregarded)]),
            _total_text(self.check),
            _dimension_grid(self.check),
            "What this does not show:",
            ui.Points(self.check.unchecked),
        )


@dataclass(frozen=True)
class ElectionRehearsal(ui.Result):
    """What happened in a rehearsal; the page states what each role could see."""

    folder: Path
    fingerprint: str
    check: BoardCheck = field(hash=False)
    lost: int
    """Ballots that the box acknowledged and that are not on the board."""
    kills: int
    seconds: float
    storage: Mapping[str, Mapping[str, int]] = field(hash=False)
    """Items in every table of every role."""

    @property
    def holds(self) -> bool:
        """Whether the board verifies, the total is out, the release is certified and no ballot was lost."""
        found = self.check
        return not found.findings and found.total_verified and found.certified and self.lost == 0

    @property
    def _written(self) -> dict[str, str]:
        """The places of what the rehearsal leaves."""
        return {name: str(self.folder / file) for name, file in WRITTEN.items()}

    def to_json(self) -> ui.Document:
        """The document of `election rehearse --json`."""
        check = self.check
        return {
            "schema": ui.SCHEMA,
            "id": self.fingerprint,
            "enrolled": check.enrolled,
            "total": check.total,
            "total_verified": check.total_verified,
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
        closed = [
            (name, noted.get("accepted", 0)) for name, noted in self.check.dimensions.items() if not noted.get("opened")
        ]
        few = [f"{name}: {count:,} ballots are fewer than the minimum: nothing was decrypted" for name, count in closed]
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
            f"{self.check.enrolled:,} people enrolled; {self.lost} ballots lost; {self.kills} kills.",
            f"Id of the election: {self.fingerprint}",
            _total_text(self.check),
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


def number_text(number: object) -> str:
    """A number, a flag or a list of a party's status, for people."""
    if isinstance(number, bool):
        return "yes" if number else "no"
    if isinstance(number, list):
        return ", ".join(map(number_text, number)) or "nothing"
    if isinstance(number, dict):
        return ", ".join(f"{name} {number_text(each)}" for name, each in number.items()) or "nothing"
    return f"{number:,}" if isinstance(number, int) else str(number)


@dataclass(frozen=True)
class ElectionStatus(ui.Result):
    """Every party, the public numbers, and what is missing next."""

    fingerprint: str
    parties: list[dict[str, Any]] = field(hash=False)
    counts: Mapping[str, Any] = field(hash=False)
    missing: list[str] = field(hash=False)

    def to_json(self) -> ui.Document:
        """The document of `election status --manifest`."""
        shown = {"parties": self.parties, "counts": dict(self.counts), "missing": self.missing}
        return {"schema": ui.SCHEMA, "id": self.fingerprint, "status": shown}

    def to_report(self) -> ui.Report:
        """What comes next, a row per party, and the numbers."""
        waiting = ", ".join(self.missing) or "nothing; the election is complete"
        rows = [
            [each["party"], each["organisation"], number_text(each["answers"]), ", ".join(each["entries"]) or "none"]
            for each in self.parties
        ]
        return ui.Report(
            f"Election {self.fingerprint}",
            f"Waiting for: {waiting}.",
            ui.Grid(["party", "organisation", "answers", "entries on the board"], rows),
            ui.Points([f"{name}: {number_text(number)}" for name, number in self.counts.items()]),
        )
