"""The order of an election: what the operators of all roles do, one step after another, over any transport."""

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

from safemargin.core import InputError
from safemargin.election.accepting import unpack_batch
from safemargin.election.client import Ask, fetch_board
from safemargin.election.keys import canonical, parse
from safemargin.election.manifest import TOTAL, KnownElection
from safemargin.election.records import batch_leaves


class Conductor:
    """Calls the steps. It needs no key but the operators': every statement is signed by the role that makes it."""

    def __init__(self, election: KnownElection, ask: Ask) -> None:
        self.election, self.ask = election, ask
        self.board = election.only("board").name
        self.collector = election.only("collector").name
        self.issuers = [party.name for party in election.manifest.of("issuer")]
        self.mixers = [party.name for party in election.manifest.of("mixer")]
        self.trustees = [party.name for party in election.manifest.of("trustee")]

    def post(self, entry: bytes) -> None:
        """Append an entry to the board."""
        self.ask(self.board, "append", entry)

    def witness(self) -> list[str]:
        """Have the head signed; the issuers that refuse or are away are named."""
        absent = []
        for issuer in self.issuers:
            try:
                last = parse(self.ask(issuer, "witness", b""))["last"]
                extension = self.ask(self.board, "extension", canonical({"old": last}))
                self.ask(self.board, "cosign", self.ask(issuer, "witness", extension))
            except InputError:
                absent.append(issuer)
        if len(self.issuers) - len(absent) < self.election.manifest.signers:
            raise InputError(f"the head of the board is not witnessed: {', '.join(absent)} refused or are away")
        return absent

    def begin(self) -> None:
        """Entry 0: the manifest with everybody's signature."""
        signatures: dict[str, str] = {}
        for party in self.election.parties:
            signatures |= parse(self.ask(party, "approve", b""))
        self.ask(self.board, "begin", canonical(signatures))
        self.witness()

    def begin_with_roll(self, roll: bytes) -> dict[str, str]:
        """Begin, and hand the roll to the registrar; the enrolment codes by row."""
        self.begin()
        letters = self.ask(self.election.only("registrar").name, "roll", roll).decode()
        return {line["row"]: line["code"] for line in csv.DictReader(io.StringIO(letters))}

    def close_enrolment(self) -> list[str]:
        """State who is enrolled, and hand the list to the issuers; those that are away are named."""
        registrar = self.election.only("registrar").name
        self.post(self.ask(registrar, "close", b""))
        roster, absent = self.ask(registrar, "roster", b""), []
        for issuer in self.issuers:
            try:
                self.ask(issuer, "roster", roster)
            except InputError:
                absent.append(issuer)
        return absent

    def close_issuing(self) -> tuple[str, ...]:
        """The active set: the first issuers whose statements agree, after all of them signed what others lodged."""
        present = [issuer for issuer in self.issuers if self._is_there(issuer)]
        for source in present:
            lodged = self.ask(source, "lodged", b"")
            for issuer in present:
                if issuer != source:
                    self.ask(issuer, "lodge", lodged)
        statements: dict[str, dict[str, Any]] = {}
        for issuer in present:
            entry = self.ask(issuer, "close", b"")
            self.post(entry)
            statements[issuer] = parse(entry)["body"]
        for body in statements.values():
            left = body.get("left", [])
            agreeing = [issuer for issuer, other in statements.items() if other == body and issuer not in left]
            if len(agreeing) >= self.election.manifest.signers:
                return tuple(agreeing[: self.election.manifest.signers])
        raise InputError("the issuers disagree about what was issued: the election stops before anybody casts")

    def _is_there(self, issuer: str) -> bool:
        try:
            self.ask(issuer, "lodged", b"")
        except InputError:
            return False
        return True

    def open_casting(self, signers: tuple[str, ...]) -> None:
        """Open the window with the active set."""
        announcement = canonical({"type": "casting", "signers": list(signers)})
        self.post(self.ask(self.collector, "announce", announcement))
        self._window("casting")

    def close_casting(self) -> None:
        """Close the window."""
        self.post(self.ask(self.collector, "announce", canonical({"type": "closed"})))
        self._window("closed")

    def _window(self, type_: str) -> None:
        self.witness()
        proof = self.ask(self.board, "proof", canonical({"type": type_}))
        for party in (*self.mixers, self.collector):
            self.ask(party, "window", proof)

    def mix(self, dimension: str) -> bytes:
        """The batch of the last mixer; every mixer's statement and list go to the board."""
        batch = canonical({"dimension": dimension, "size": 0})
        for behind, mixer in zip(reversed(range(len(self.mixers))), self.mixers, strict=True):
            batch = self.ask(mixer, "mix", batch)
            header, items = unpack_batch(batch)
            self.post(canonical(header["entry"]))
            self._put("mixes", f"{mixer}-{dimension}", b"".join(batch_leaves(self.election, items, behind)))
        return batch

    def _put(self, kind: str, name: str, content: bytes) -> None:
        self.ask(self.board, "put", canonical({"kind": kind, "name": name}) + b"\n" + content)

    def count(self) -> dict[str, dict[str, Any]]:
        """Mix and accept every dimension; the statements of the collector."""
        statements = {}
        for dimension in self.election.dimensions:
            entry = self.ask(self.collector, "accept", self.mix(dimension))
            self.post(entry)
            statements[dimension] = parse(entry)["body"]
            if statements[dimension]["opened"]:
                self._put(
                    "records", dimension, self.ask(self.collector, "records", canonical({"dimension": dimension}))
                )
        if statements[TOTAL]["opened"]:
            self.post(self.ask(self.collector, "total", b""))
        self.witness()
        return statements

    def ceremony(self, copy: Path, out: Path) -> dict[str, Any]:
        """Trustees exchange shares, each opens and signs; the first one writes the release.

        Mixers then delete what they hold. `copy` is the folder with the trustees' copy of the board.
        """
        where, out = {"board": str(copy.resolve())}, out.resolve()
        fetch_board(self.election, copy, self.ask)
        present = self.trustees[: self.election.manifest.openers]
        self.post(self.ask(present[0], "convene", canonical(where)))
        self.witness()
        fetch_board(self.election, copy, self.ask)
        proof = json.loads(self.ask(self.board, "proof", canonical({"type": "ceremony"})))
        entries: list[dict[str, Any]] = []
        for number, trustee in enumerate(present):
            shares = [
                json.loads(self.ask(other, "share", canonical({**where, "proof": proof, "to": trustee})))
                for other in present
                if other != trustee
            ]
            request = {**where, "shares": shares} | ({"out": str(out)} if number == 0 else {})
            entries.append(parse(self.ask(trustee, "open", canonical(request)))["entry"])
        for entry in entries:  # only now: every trustee has verified the same board
            self.post(canonical(entry))
        body: dict[str, Any] = entries[0]["body"]
        for name, digest in body["files"].items():
            content = (out / "published" / name).read_bytes()
            assert hashlib.sha256(content).hexdigest() == digest
            self._put("release", name, content)
        self.witness()
        released = self.ask(self.board, "proof", canonical({"type": "release"}))
        for mixer in self.mixers:
            self.ask(mixer, "delete", released)
        return body
