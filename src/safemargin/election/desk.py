"""What a person does, step by step: the same for the page and for the command line."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safemargin.core import InputError, system_below
from safemargin.election.auditing import PreparedBallot
from safemargin.election.board import Board
from safemargin.election.board_verification import check_board
from safemargin.election.client import Ask, enrol, fetch_board, fetch_tokens, send
from safemargin.election.keys import canonical, parse, read_code
from safemargin.election.manifests import NO_ANSWER, TOTAL, KnownElection
from safemargin.election.receipts import DROPPED, Receipt
from safemargin.election.voter import Wallet
from safemargin.election.wording import PersonError
from safemargin.parties.files import write_private


def hash_of(prepared: Sequence[PreparedBallot]) -> str:
    """One hash for the ballots of all dimensions: what a second device notes."""
    return hashlib.sha256("".join(each.hash for each in prepared).encode()).hexdigest()


class Desk:
    """A person's wallet at work."""

    def __init__(self, election: KnownElection, path: Path, ask: Ask) -> None:
        self.election, self.path, self.ask = election, path, ask
        self.wallet = Wallet.read(election, path) if path.exists() else None
        self.receipts: list[Receipt] = []
        self.prepared: list[PreparedBallot] = []

    @property
    def own(self) -> Wallet:
        """The wallet."""
        if self.wallet is None:
            raise InputError("enrol first: the wallet does not exist yet")
        return self.wallet

    @property
    def has_tokens(self) -> bool:
        """Whether all issuers signed a token of every dimension."""
        return self.wallet is not None and all(self.wallet.has_token(name) for name in self.election.dimensions)

    @property
    def has_cast(self) -> bool:
        """Whether a ballot was signed."""
        return self.wallet is not None and any("ballot" in token for token in self.wallet.state["tokens"].values())

    def board(self) -> Board:
        """A fresh copy of the board, beside the wallet; refused unless it verifies."""
        board = fetch_board(self.election, self.path.with_suffix(".board"), self.ask)
        if board.election.mid != self.election.mid:
            raise InputError("the board is of another election")
        if findings := check_board(board).findings:
            raise InputError(f"the board does not verify: {findings[0]}")
        return board

    def enrol(self, row: str, code: str) -> None:
        """Make the wallet, enrol its key, and have the tokens signed at once.

        A wallet for the same letter is kept: the registrar may know its key already, and takes no other one.
        """
        row = row.strip()
        own = None if self.wallet is None else (self.wallet.state["row"], self.wallet.state["code"])
        is_enrolled = self.wallet is not None and "enrolment" in self.wallet.state
        if not is_enrolled and own != (row, read_code(code)):
            self.wallet = Wallet.new(self.election, row, code, self.path)
        self._finish()

    def recover(self, row: str, code: str, sheet: str) -> None:
        """The same with the seed of a recovery sheet."""
        if self.wallet is None:
            self.wallet = Wallet.recover(self.election, row.strip(), code, sheet, self.path)
        self._finish()

    def _finish(self) -> None:
        enrol(self.own, self.ask)
        fetch_tokens(self.own, self.ask)

    def prepare(self, option: str, categories: Mapping[str, str], skipped: Sequence[str]) -> str:
        """Encrypt the answers of all dimensions; the hash to note before the choice to cast or to audit."""
        if option not in self.election.manifest.options:
            raise InputError(f"option: must be one of {', '.join(self.election.manifest.options)}")
        if unknown := [name for name in skipped if name not in self.election.dimensions]:
            raise InputError(f"skip = {unknown[0]!r}: there is no such dimension")
        self.prepared = [
            self.own.prepare(name, NO_ANSWER if name in skipped else option, categories.get(name))
            for name in self.election.dimensions
        ]
        return hash_of(self.prepared)

    def openings(self) -> dict[str, Any]:
        """Open the prepared ballots for a second device; they are void."""
        opened = {"openings": [each.opening() for each in self.prepared]}
        self.prepared = []
        return opened

    def cast(self) -> None:
        """Sign, seal and send the prepared ballots."""
        for each in self.prepared:
            self.own.cast(each)
        self.prepared = []
        self.send()

    def send(self) -> None:
        """Send what has no receipt yet, each over a connection of its own, in an order that names no dimension."""
        tokens = self.own.state["tokens"].items()
        waiting = [name for name, token in tokens if "message" in token and "receipt" not in token]
        drawn = system_below(2**32, (len(waiting),)).tolist()
        for _, name in sorted(zip(drawn, waiting, strict=True)):
            send(self.own, name, self.ask)

    def vote(self, option: str, categories: Mapping[str, str], skipped: Sequence[str]) -> None:
        """Prepare and cast at once."""
        self.prepare(option, categories, [name for name in skipped if name != TOTAL])
        self.cast()

    def check(self) -> list[Receipt]:
        """Look every ballot up on the verified board, and this person in the register."""
        board = self.board()
        if self.own.enrolment_fault(board):
            raise PersonError("register_fault")
        self.receipts = [self.own.check(n, board) for n, token in self.own.state["tokens"].items() if "ballot" in token]
        return self.receipts

    @property
    def complaints(self) -> Path:
        """Where objections are kept, for the office that decides complaints."""
        return self.path.with_suffix(".complaints.json")

    def object(self) -> list[Receipt]:
        """Send every ballot that is missing on the board to the collector, with its receipt; also into a file."""
        missing = [receipt.dimension for receipt in self.check() if receipt.sentence in DROPPED]
        objections = {name: parse(self.own.objection(name)) for name in missing}
        if objections:
            write_private(self.complaints, canonical(objections))
        collector, said = self.election.only("collector").name, []
        for name, objection in objections.items():
            added = parse(self.ask(collector, "object", canonical(objection)))["added"]
            said.append(Receipt(name, False, "objected" if added else "too_late"))
        return said
