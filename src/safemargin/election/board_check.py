"""What a check of a board found, and the figures beside it."""

from dataclasses import dataclass, field
from typing import Any

from safemargin.election.board import Board, BoardEntry
from safemargin.election.tallies import TallyPlan
from safemargin.io import read_bytes

NOT_SHOWN = (
    "That the roll has the right people, and that nobody was kept from enrolling.",
    "That each person's device encrypted what the person chose; audit-or-cast makes a lie likely to be noticed.",
    "That the issuers did not make tokens for people who never enrolled; the counts of the register bound them.",
    "That a merge or a suppression was necessary: the trustees attest it by their signatures.",
    "That the trustees did not decrypt more among themselves: as many as decrypt can read every ballot.",
    "That answers of people who are known to have skipped a dimension stay hidden: the total less its table is theirs.",
    "That box and collector did not put together where a ballot came from.",
)
"""What no reader of a board can see; the report names it."""


@dataclass
class BoardCheck:
    """What was found, and the figures beside it."""

    findings: list[str] = field(default_factory=list)
    dimensions: dict[str, dict[str, Any]] = field(default_factory=dict)
    entries: int = 0
    ballots: int = 0
    enrolled: int = 0
    complete: bool = False
    certified: bool = False
    total: dict[str, int] = field(default_factory=dict)
    total_verified: bool = False
    disregarded: list[str] = field(default_factory=list)
    """Wrong entries of trustees that are not needed: named, without effect, and no fault of the board."""
    published: int = 0
    """Published counts of the tables that were verified against the ballots."""
    turnout: dict[str, Any] = field(default_factory=dict)
    right_totals: dict[str, dict[str, bytes]] = field(default_factory=dict, repr=False)
    """Parts of the binding total that are right, by option and trustee."""
    plan: TallyPlan | None = None
    unchecked: list[str] = field(default_factory=lambda: list(NOT_SHOWN))


def entry_name(index: int, entry: BoardEntry) -> str:
    """An entry as findings name it."""
    return f"entry {index} ({entry.type} of {entry.author})"


def content_of(board: Board, name: str) -> bytes:
    """A file of a board; empty if it is not there."""
    path = board.folder / name
    return read_bytes(path) if path.exists() else b""


def hashes_of(board: Board, name: str) -> set[bytes]:
    """The hashes in a list of a board."""
    content = content_of(board, name)
    return {content[place : place + 32] for place in range(0, len(content), 32)}
