"""What the people who run a party do after the start: close, tally, publish, status.

Every operation looks at the board, does what is this party's turn, and can be repeated. No process holds the keys of
two parties: operations ask the party's own service, signed with its own key.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safemargin.core import InputError
from safemargin.election.ballots import Envelope
from safemargin.election.board import Board
from safemargin.election.board_verification import check_board
from safemargin.election.client import Ask, fetch_board, witness
from safemargin.election.keys import canonical, parse
from safemargin.election.manifests import KnownElection

NOTHING = "nothing to do for this party now"
KEPT = {"freeze": ("freeze", "frozen"), "private": ("private", "private"), "compared": ("compare", "release")}
"""What a trustee keeps of the entries that it wrote: the step that makes it, and its name."""


class Operations:
    """The desk of one party. `ask` is what anybody may ask, `signed` asks with the key of this party."""

    def __init__(self, election: KnownElection, name: str, ask: Ask, signed: Ask, folder: Path) -> None:
        self.election, self.name, self.ask, self.signed, self.folder = election, name, ask, signed, folder
        self.role = election.parties[name].role
        self.board_name = election.only("board").name

    def _own(self, step: str, body: bytes = b"") -> bytes:
        return self.signed(self.name, step, body)

    def _copy(self) -> Board:
        return fetch_board(self.election, self.folder / "copy", self.ask)

    def _post(self, entry: bytes) -> str:
        self.ask(self.board_name, "append", entry)
        witness(self.election, self.ask)
        return str(parse(entry)["type"])

    def _put(self, kind: str, name: str, content: bytes) -> None:
        self.signed(self.board_name, "put", canonical({"kind": kind, "name": name}) + b"\n" + content)

    def _proof(self, type_: str, author: str | None = None) -> bytes:
        return self.ask(self.board_name, "proof", canonical({"type": type_, "author": author}))

    def begin(self, signatures: dict[str, str]) -> str:
        """As the board: write the first entry, the manifest with everybody's signature."""
        self._own("begin", canonical(signatures))
        witness(self.election, self.ask)
        return "manifest"

    def close(self) -> str:
        """What this party does at the close; the collector does it three times (close, ballots, objections)."""
        actions: dict[str, Callable[[], str]] = {
            "registrar": self._close_register,
            "issuer": lambda: self._post(self._own("close")),
            "box": self._close_box,
            "collector": self._close_collector,
        }
        if self.role not in actions:
            raise InputError(f"close: {self.name} is {self.role}, which closes nothing")
        board = self._copy()
        if self.role != "collector" and not board.of("closed"):
            raise InputError("close: the collector has not closed the election on the board yet")
        return actions[self.role]()

    def _close_register(self) -> str:
        done = self._post(self._own("close"))
        for name in ("hashes", "letters"):
            self._put("register", name, self._own("register", canonical({"name": name})))
        return done

    def _close_box(self) -> str:
        done = self._post(self._own("close", self._proof("closed")))
        self._put("received", "hashes", self._own("received"))
        return done

    def _close_collector(self) -> str:
        board = self._copy()
        if not board.of("closed"):
            return self._post(self._own("announce"))
        issuers = len(self.election.manifest.of("issuer"))
        if not (board.of("register") and board.of("received") and len(board.of("issued")) == issuers):
            missing = [name for name in ("register", "issued", "received") if not board.of(name)]
            raise InputError(f"close: not every party has closed yet ({', '.join(missing) or 'issued'} missing)")
        part = len(board.of("ballots"))
        for earlier in range(part):  # where the board was full or away after the entry, its files are missing still
            named = self._ballot_files(earlier)
            absent = [(kind, name) for kind, name in named if not (board.folder / kind / name).exists()]
            if absent:
                self._put_ballots(absent)
                return f"ballots, part {earlier}"
        if part > 1:
            return NOTHING
        if part == 0:
            self._take_all()
        done = self._post(self._own("ballots", canonical({"part": part})))
        self._put_ballots(self._ballot_files(part))
        return f"{done}, part {part}"

    def _ballot_files(self, part: int) -> list[tuple[str, str]]:
        """Folder and name of the files that an entry about ballots names."""
        return [(kind, f"{name}.{part}") for name in self.election.dimensions for kind in ("ballots", "rejected")]

    def _put_ballots(self, files: list[tuple[str, str]]) -> None:
        for kind, name in files:
            self._put(kind, name, self._own("file", canonical({"name": f"{kind}/{name}"})))

    def _take_all(self) -> None:
        """Fetch everything from the box, page by page."""
        box, size, after = self.election.only("box").name, Envelope(self.election).size, b""
        while page := self.signed(box, "forward", canonical({"after": after.hex()})):
            self._own("take", page)
            after = max(hashlib.sha256(page[place : place + size]).digest() for place in range(0, len(page), size))

    def tally(self, out: Path | None = None) -> str:
        """As a trustee: freeze, decrypt the total, then compute the release together with the others."""
        if self.role != "trustee":
            raise InputError(f"tally: {self.name} is {self.role}; trustees tally")
        board = self._copy()
        where = {"board": str(board.folder.resolve())}
        done = {entry.type for entry in board.entries if entry.author == self.name}
        needed = self.election.manifest.openers

        def message(step: str) -> bytes:
            if step != "compare":
                return canonical(where)
            own = {**where, "parts": self._parts(board, needed - 1)}
            return canonical(own | ({"out": str(out.resolve())} if out else {}))

        # A trustee that was restored from a backup does again what it did before: its entries are the same.
        held = set(self.status()["done"])
        for type_, (step, kept) in KEPT.items():
            if type_ in done and kept not in held:
                self._own(step, message(step))
        if "freeze" not in done:
            return self._post(self._own("freeze", canonical(where)))
        if len(board.of("freeze")) < self.election.manifest.freezers:
            return "waiting for other trustees to freeze"
        if "total" not in done:
            return self._post(self._own("total", canonical(where)))
        if not board.of("result"):
            return "waiting for the binding total"
        if "private" not in done:
            return self._post(self._own("private", canonical(where)))
        if len(board.of("private")) < needed:
            return "waiting for other trustees to commit"
        if "compared" not in done:
            return self._post(self._own("compare", message("compare")))
        return NOTHING

    def _parts(self, board: Board, needed: int) -> list[Any]:
        """The parts of other trustees that answer; with fewer than needed, the reason of the last one that does not."""
        proof, found, refusal = self._proof("private", self.name), [], None
        for entry in board.of("private"):
            if entry.author != self.name:
                try:
                    found.append(parse(self.signed(entry.author, "parts", proof)))
                except InputError as error:
                    refusal = error
        if len(found) < needed and refusal is not None:
            raise InputError(str(refusal))
        return found

    def publish(self) -> str:
        """As the collector: the binding total in numbers. As a trustee: the release, with proofs. As the box:
        delete.
        """
        board = self._copy()
        where = canonical({"board": str(board.folder.resolve())})
        if self.role == "collector":
            return self._publish_total(board)
        if self.role == "trustee":
            signed = [entry for entry in board.of("release") if entry.author == self.name]
            names = [name for entry in signed for name in entry.body["files"]]
            if signed and all((board.folder / "release" / name).exists() for name in names):
                return NOTHING
            answer = parse(self._own("release", where))
            done = "release" if signed else self._post(canonical(answer["entry"]))
            for name, content in answer["files"].items():
                self._put("release", name, bytes.fromhex(content))
            return done
        if self.role == "box":
            self._own("delete", self._proof("release"))
            return "deleted all messages"
        raise InputError(f"publish: {self.name} is {self.role}, which publishes nothing")

    def _publish_total(self, board: Board) -> str:
        if board.of("result"):
            return NOTHING
        parts = board.of("total")
        if len(parts) < self.election.manifest.openers:
            raise InputError(f"publish: {len(parts)} trustees decrypted the total; more must")
        check = check_board(board)
        if check.findings or check.plan is None:
            raise InputError(f"publish: the board does not verify: {check.findings[0]}")
        counts = {
            cell.option: check.plan.decrypt(cell, check.right_totals[cell.option]) for cell in check.plan.total_cells
        }
        return self._post(self._own("result", canonical({"counts": counts})))

    def catch_up(self) -> dict[str, Any]:
        """As a restored issuer or trustee: what the others signed meanwhile, and how long the board's log is."""
        if self.role not in ("issuer", "trustee"):
            raise InputError(f"catch-up: {self.name} is {self.role}; issuers and trustees catch up")
        others = [party.name for party in self.election.manifest.of("issuer") if party.name != self.name]
        heads: dict[str, Any] = {}
        for name in others:
            try:
                heads[name] = parse(self.ask(name, "head", b""))
            except InputError:
                if self.role == "issuer":  # only all of them know every request
                    raise
        known = {**heads, self.name: parse(self.ask(self.name, "head", b""))}
        extensions = {
            name: parse(self.ask(self.board_name, "extension", canonical({"old": stated["head"]["size"]})))
            for name, stated in known.items()
            if stated["head"] is not None
        }
        message: dict[str, Any] = {"heads": heads, "extensions": extensions}
        if self.role == "issuer":
            message["lodged"] = {name: parse(self.signed(name, "lodged", b"")) for name in others}
        return parse(self._own("catch_up", canonical(message)))

    def status(self) -> dict[str, Any]:
        """The numbers of this party."""
        return parse(self._own("status"))
