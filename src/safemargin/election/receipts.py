"""What became of a ballot or a letter: for the person who has it, and for the office that decides a complaint."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from safemargin.core import InputError
from safemargin.election.ballots import BallotFormat, Envelope, ballot_name, read_ballots
from safemargin.election.board import Board
from safemargin.election.board_check import content_of, hashes_of
from safemargin.election.collecting import SUPERSEDED, read_objection
from safemargin.election.keys import read_code, register_leaf
from safemargin.election.wording import Texts, shipped_texts

DROPPED = ("box_dropped", "collector_dropped")
"""What a person can object to."""


@dataclass(frozen=True)
class Receipt:
    """Whether a person's ballot is on the board; if not, the sentence says who dropped it."""

    dimension: str
    included: bool
    sentence: str
    values: Mapping[str, object] = field(default_factory=dict, hash=False)

    def worded(self, texts: Texts, name: str = "") -> str:
        """The sentence in a language."""
        return texts[self.sentence].format(name=name or self.dimension, **self.values)

    @property
    def statement(self) -> str:
        """The sentence in English."""
        return self.worded(shipped_texts("en"))

    def document(self) -> dict[str, object]:
        """What commands state."""
        return {"dimension": self.dimension, "included": self.included, "statement": self.statement}


def state_of(board: Board, dimension: str, ballot: bytes, message: bytes) -> tuple[str, dict[str, object]]:
    """Where a ballot is, by its hash, or who dropped the message that held it; the board was verified before."""
    format_ = BallotFormat(board.election, board.election.dimension(dimension))
    for part in (0, 1):
        ballots = read_ballots(board.folder / "ballots" / f"{dimension}.{part}", format_.size)
        for index, content in enumerate(ballots):
            if ballot_name(content) == ballot:
                return "on_board", {"place": f"{index + 1:,}", "count": f"{len(ballots):,}"}
        rejected = json.loads(content_of(board, f"rejected/{dimension}.{part}") or b"[]")
        for reason, text in rejected:
            if ballot_name(bytes.fromhex(text)) == ballot:
                return ("replaced", {}) if reason == SUPERSEDED else ("rejected", {"reason": reason})
    if hashlib.sha256(message).digest() not in hashes_of(board, "received/hashes"):
        return "box_dropped", {}
    return "collector_dropped", {}


ENROLLED = "somebody enrolled with this letter"
NOBODY = "nobody enrolled with this letter"
ANOTHER = "the registrar wrote another letter for this row, or none: keep yours, and complain"


def registered(board: Board, row: str, code: str) -> str:
    """Whether somebody enrolled with a letter: also who never did can check that nobody else did.

    The answer is about the hashes of all letters that the registrar published: a letter that is not among them proves
    nothing about who enrolled, and is no all-clear.
    """
    leaf = register_leaf(board.election.mid, row.strip(), read_code(code))
    if leaf in hashes_of(board, "register/hashes"):
        return ENROLLED
    return NOBODY if leaf in hashes_of(board, "register/letters") else ANOTHER


VERDICTS = {
    "on_board": "the ballot is on the board; the complaint is unfounded",
    "replaced": "a later ballot under the same token counts; the complaint is unfounded",
    "rejected": "the ballot is on the board among those that were turned away",
    "box_dropped": "the box signed a receipt and did not pass the ballot on: it must be added",
    "collector_dropped": "the box passed the ballot on and the collector did not publish it: it must be added",
    "invalid": "the receipt is right, and the ballot in it is none that could count",
    "not_published": "the ballots are not published yet",
}
"""What the office states about a complaint."""


def judge_objection(board: Board, dimension: str, stated: Mapping[str, object]) -> tuple[str, str]:
    """The state of an objected ballot and the sentence; a wrong receipt is refused. The board was verified before."""
    envelope = Envelope(board.election)
    try:
        _, (format_, ballot, _) = read_objection(board.election, envelope, stated)
    except InputError as error:
        raise InputError(f"{dimension[:60]}: {error}") from None
    if format_.dimension.name != dimension:
        raise InputError(f"{dimension[:60]}: the receipt is of a ballot of {format_.dimension.name}")
    if not board.of("ballots"):
        return "not_published", VERDICTS["not_published"]
    state, values = state_of(board, dimension, ballot_name(ballot), bytes.fromhex(str(stated["message"])))
    if state in DROPPED and (fault := format_.fault(ballot)):
        return "invalid", f"{VERDICTS['invalid']} ({fault})"
    reason = f" ({values['reason']})" if "reason" in values else ""
    return state, f"{VERDICTS[state]}{reason}"
