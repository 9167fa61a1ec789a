"""The side that knows ballots: the box takes them in until the close, the collector opens and checks them once.

Nothing here imports the side that knows people. The box sees where messages come from and cannot open them; the
collector opens them and sees neither when nor from where they came.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from safemargin.core import InputError
from safemargin.election.ballots import NONCE, BallotFormat, Envelope, Opened, ballot_key, ballot_name, first_halves
from safemargin.election.board import check_proof, make_entry
from safemargin.election.checking import faults_of, wins
from safemargin.election.escrow import blob_hash
from safemargin.election.keys import canonical, parse, unhex
from safemargin.election.manifests import KnownElection
from safemargin.election.merkle import root_of
from safemargin.election.role import Answer, Role, Step, single
from safemargin.election.secret import Secret

RECEIPT = 512
"""Bytes of every answer to an anonymous message, also of a refusal."""
CHANGES, SPARE = 100, 100_000
"""The box takes so many messages per person and dimension, and so many more; a flood beyond them is refused."""
PAGE = 500
"""Messages that the box hands over at once."""
SUPERSEDED = "a later ballot under the same token counts"
COPIED = "a ciphertext of another ballot"
SEALED = "sealed identities"


def receipt_statement(message: bytes) -> dict[str, Any]:
    """What the box signs: the hash of the message and the number of its ballot."""
    return {"message": hashlib.sha256(message).hexdigest(), "number": int.from_bytes(message[:4], "big")}


def read_objection(election: KnownElection, envelope: Envelope, stated: Mapping[str, Any]) -> tuple[bytes, Opened]:
    """The hash of a message and the ballot in it, from its sender: the box signed a receipt for exactly this ballot."""
    match stated:
        case {
            "message": str(text),
            "signature": str(signature),
            "nonce": str(nonce),
            "ballot": str(ballot),
            "blob": str(blob),
        }:
            message = unhex(text, envelope.size)
        case _:
            raise InputError("an objection has the fields message, signature, nonce, ballot and blob")
    receipt = canonical(receipt_statement(message))
    if not election.is_signed(signature, election.only("box").name, "sender", "taken", receipt):
        raise InputError("the receipt is not signed by the box")
    opened = envelope.reopen(message, unhex(nonce, NONCE), unhex(ballot), unhex(blob))
    if opened is None:
        raise InputError("the receipt is of a message that held another ballot")
    return hashlib.sha256(message).digest(), opened


class BallotBox(Role):
    """Takes messages in, signs receipts, publishes a count, and hands everything over once, after the close."""

    def __init__(self, election: KnownElection, secret: Secret, place: Path | str) -> None:
        super().__init__(election, secret, place)
        if isinstance(place, str):
            raise InputError("the box keeps files in a folder: a database would keep the order of arrival")
        self.size = Envelope(election).size
        self._closed: bool | None = None
        most = SPARE + CHANGES * election.manifest.electorate * len(election.dimensions)
        self.room = most - self.store("messages").count()
        """Messages that are still taken in: nobody fills the disk with garbage of the right size."""

    @property
    def steps(self) -> list[Step]:
        """See `Role`."""
        return [
            Step("post", self.post, "anonymous", "Take a sealed ballot in and sign a receipt", self.size),
            Step("close", single(self.end), "operator", "Close the box with the proof that the board closed"),
            Step("received", single(self.received), "operator", "Hashes of all messages, for the board"),
            Step("forward", single(self.forward), "party", "Hand messages over after the close", roles=("collector",)),
            Step("delete", single(self.delete), "operator", "Delete all messages, once the release is on the board"),
            Step("status", single(self.status), "operator", "Numbers of this party"),
        ]

    @property
    def is_closed(self) -> bool:
        """Whether nothing is taken in any more."""
        if not self._closed:
            self._closed = self.has("closed")
        return self._closed

    def post(self, bodies: Sequence[bytes]) -> list[Answer]:
        """Store messages, then sign; the same message again gets the same receipt, also after the close."""
        messages = self.store("messages")
        fresh = {hashlib.sha256(body).digest(): body for body in bodies if len(body) == self.size}
        if self.is_closed:
            fresh = {name: body for name, body in fresh.items() if messages.get(name) is not None}
        if len(fresh) > self.room:
            fresh = {name: body for name, body in fresh.items() if messages.get(name) is not None}
        if fresh:
            self.room -= sum(messages.get(name) is None for name in fresh)
            messages.add(fresh)
        return [
            self._receipt(body) if hashlib.sha256(body).digest() in fresh else InputError("refused") for body in bodies
        ]

    def _receipt(self, message: bytes) -> bytes:
        stated = receipt_statement(message)
        signature = self.election.sign(self.secret.signing, self.name, "sender", "taken", canonical(stated))
        return canonical({**stated, "signature": signature}).ljust(RECEIPT)

    def _hashes(self) -> list[bytes]:
        return [name for name, _ in self.store("messages").items()]

    def end(self, body: bytes) -> bytes:
        """Close, and state how many messages there are; the files are written anew, so that no order is left."""
        check_proof(self.election, parse(body), "closed")
        if not self.is_closed:
            self.remember("closed")
            self._closed = True
            self.store("messages").compact()
        names = self._hashes()
        statement = {"count": len(names), "root": root_of(names).hex()}
        return make_entry(self.election, self.secret, "received", statement).content

    def received(self, _: bytes) -> bytes:
        """The hashes of all messages, sorted."""
        if not self.is_closed:
            raise InputError("the box is open still; nothing but a count leaves it")
        return b"".join(self._hashes())

    def forward(self, body: bytes) -> bytes:
        """The next messages behind a hash, sorted by their hashes; only after the close."""
        if not self.is_closed:
            raise InputError("the box is open still; it hands everything over once, after the close")
        after = unhex(parse(body).get("after"))
        return b"".join(value for _, value in self.store("messages").page(after, PAGE))

    def delete(self, body: bytes) -> bytes:
        """Delete what people sent. Until the release it is the evidence for complaints; after it, only a risk."""
        check_proof(self.election, parse(body), "release")
        self.store("messages").clear()
        return b"{}"

    def status(self, _: bytes) -> bytes:
        """How many messages there are."""
        return canonical({"messages": len(self._hashes()), "closed": self.is_closed})


class Collector(Role):
    """Opens what the box hands over, checks every ballot, and publishes all of them, the rejected ones with reasons."""

    def __init__(self, election: KnownElection, secret: Secret, place: Path | str) -> None:
        super().__init__(election, secret, place)
        self.envelope = Envelope(election)

    @property
    def steps(self) -> list[Step]:
        """See `Role`."""
        steps = [
            Step("announce", single(self.announce), "operator", "The entry that closes the election"),
            Step("take", single(self.take), "operator", "Keep messages that the box handed over"),
            Step("object", single(self.object), "anybody", "Take a message that has a receipt and was not counted"),
            Step("ballots", single(self.ballots), "operator", "Check all ballots and state them"),
            Step("file", single(self.file), "operator", "A file of ballots, for the board"),
            Step("result", single(self.result), "operator", "The entry with the binding total in numbers"),
            Step("status", single(self.status), "operator", "Numbers of this party"),
        ]
        if self.election.manifest.escrow is None:
            return steps
        return [
            *steps,
            Step("request", single(self.request), "operator", "Ask the escrow trustees to open one record"),
            Step("sealed", single(self.sealed), "operator", "The sealed identity of a record, after a public request"),
        ]

    def announce(self, _: bytes) -> bytes:
        """The entry after which the box takes nothing in."""
        return make_entry(self.election, self.secret, "closed", {"closed": True}).content

    def result(self, body: bytes) -> bytes:
        """The binding total in numbers, which anybody checks against the parts of the trustees."""
        counts = parse(body).get("counts")
        if not isinstance(counts, dict):
            raise InputError("the message holds no counts")
        return make_entry(self.election, self.secret, "result", {"counts": counts}).content

    def take(self, body: bytes) -> bytes:
        """Keep messages of the box; one that is no ballot costs nobody else anything."""
        if self.has("part 0"):
            raise InputError("the ballots are published already; a receipt adds to them in the objection period")
        size = self.envelope.size
        messages = [body[place : place + size] for place in range(0, len(body), size)]
        self.store("taken").add({hashlib.sha256(message).digest(): message for message in messages})
        return canonical({"taken": len(messages)})

    def object(self, body: bytes) -> bytes:
        """Keep a message for which the box signed a receipt; it is counted in part 1 if it was not in part 0."""
        name, (_, ballot, blob) = read_objection(self.election, self.envelope, parse(body))
        self.store("objections").add({name: canonical({"ballot": ballot.hex(), "blob": blob.hex()})})
        if self.has("part 1"):
            return canonical({"added": False, "reason": "the objection period is over; the objection is recorded only"})
        return canonical({"added": True})

    def ballots(self, body: bytes) -> bytes:
        """The entry about all ballots (part 0), or about those that receipts added (part 1); computed once."""
        part = parse(body).get("part")
        if part not in (0, 1):
            raise InputError("part: must be 0 or 1")
        held = self.store("state").get(f"part {part}".encode())
        if held is None:
            held = self.remember(f"part {part}", canonical(self._sorted_out(part)))
        return make_entry(self.election, self.secret, "ballots", json.loads(held)).content

    def _sorted_out(self, part: int) -> dict[str, Any]:
        found: dict[str, dict[bytes, bytes]] = {name: {} for name in self.election.dimensions}
        unreadable = 0
        blobs: dict[bytes, bytes] = {}
        for opened in self._objected() if part else self._handed_over():
            if opened is None or ballot_name(opened[1]) in blobs:
                unreadable += 1  # no ballot, or the same one in another envelope
                continue
            format_, ballot, blob = opened
            found[format_.dimension.name][ballot_name(ballot)] = ballot
            blobs[ballot_name(ballot)] = blob
        dimensions, seen = {}, self._earlier_halves() if part else set()
        for dimension, ballots in found.items():
            dimensions[dimension] = self._publish(self.envelope.formats[dimension], part, ballots, blobs, seen)
        # The box counted what part 0 has. Nobody counted objections: a number of unreadable ones could not be checked.
        return {"part": part, "dimensions": dimensions, "unreadable": 0 if part else unreadable}

    def _handed_over(self) -> Iterator[Opened | None]:
        for _, message in self.store("taken").items():
            yield self.envelope.open(message, self.secret.sealing)

    def _objected(self) -> Iterator[Opened]:
        """Ballots of objections that part 0 does not have, accepted or rejected."""
        known: set[bytes] = set()
        for name, format_ in self.envelope.formats.items():
            content = self.store("files").get(f"ballots/{name}.0".encode()) or b""
            known |= {ballot_name(content[at : at + format_.size]) for at in range(0, len(content), format_.size)}
            rejected = json.loads(self.store("files").get(f"rejected/{name}.0".encode()) or b"[]")
            known |= {ballot_name(bytes.fromhex(text)) for _, text in rejected}
        for _, held in self.store("objections").items():
            ballot, blob = (bytes.fromhex(json.loads(held)[part]) for part in ("ballot", "blob"))
            if ballot_name(ballot) not in known:
                yield self.envelope.by_context[ballot[1:33]], ballot, blob

    def _earlier_halves(self) -> set[bytes]:
        seen: set[bytes] = set()
        for name, format_ in self.envelope.formats.items():
            content = self.store("files").get(f"ballots/{name}.0".encode()) or b""
            for place in range(0, len(content), format_.size):
                seen.update(first_halves(format_, content[place : place + format_.size]))
        return seen

    def _publish(
        self, format_: BallotFormat, part: int, ballots: dict[bytes, bytes], blobs: dict[bytes, bytes], seen: set[bytes]
    ) -> dict[str, Any]:
        """Sort the ballots of one dimension out, keep the two files, and state them."""
        accepted: dict[bytes, bytes] = {}
        rejected: list[tuple[str, bytes]] = []
        contents = sorted(ballots.values())
        for content, fault in zip(contents, faults_of(format_, contents), strict=True):
            halves = list(first_halves(format_, content))
            blob = blobs[ballot_name(content)]
            if fault is None and (len(set(halves)) < len(halves) or not seen.isdisjoint(halves)):
                fault = COPIED
            if fault is None and blob and blob_hash(blob) != content[71:103]:
                fault = "a sealed identity that is not the one of its token"
            if fault is not None:
                rejected.append((fault, content))
                continue
            seen.update(halves)
            key = ballot_key(content)
            if key in accepted and not wins(content, accepted[key]):
                rejected.append((SUPERSEDED, content))
                continue
            if key in accepted:
                rejected.append((SUPERSEDED, accepted[key]))
            accepted[key] = content
        files = {
            "ballots": b"".join(sorted(accepted.values())),
            "rejected": canonical([[reason, content.hex()] for reason, content in sorted(rejected)]),
        }
        name = format_.dimension.name
        self.store("files").add({f"{kind}/{name}.{part}".encode(): content for kind, content in files.items()})
        if format_.blob:
            sealed = {nullifier_of(format_, content): blobs[ballot_name(content)] for content in accepted.values()}
            self.store(SEALED).add(sealed)
        hashes = {kind: hashlib.sha256(content).hexdigest() for kind, content in files.items()}
        return {"accepted": len(accepted), "turned_away": len(rejected), **hashes}

    def file(self, body: bytes) -> bytes:
        """One of the files that an entry names."""
        name = parse(body).get("name")
        found = self.store("files").get(str(name).encode())
        if found is None:
            raise InputError("there is no file of this name")
        return found

    def status(self, _: bytes) -> bytes:
        """How far the collector is."""
        return canonical({"objections": len(list(self.store("objections").items())), "counted": self.has("part 0")})

    def request(self, body: bytes) -> bytes:
        """The entry that asks for one record: nothing of it is handed out before it is on the board."""
        match parse(body):
            case {
                "nullifier": str(name),
                "basis": str(basis),
                "requester": str(requester),
                "expiry": str(expiry),
                "recipient": str(recipient),
            }:
                party = self.election.parties.get(recipient)
            case _:
                raise InputError("a request has the fields nullifier, basis, requester, expiry and recipient")
        if party is None or party.role != "escrow":
            raise InputError("recipient: must be an escrow trustee")
        check_expiry(expiry)
        if self.store(SEALED).get(unhex(name, 32)) is None:
            raise InputError("nullifier: no record of this name was accepted")
        stated = {"nullifier": name, "basis": unhex(basis, 32).hex(), "requester": requester, "expiry": expiry}
        return make_entry(self.election, self.secret, "escrow request", {**stated, "recipient": recipient}).content

    def sealed(self, body: bytes) -> bytes:
        """The sealed identity, for a request whose place on the board is proved and that has not expired."""
        entry = check_proof(self.election, parse(body), "escrow request")
        check_expiry(entry.body["expiry"])
        found = self.store(SEALED).get(unhex(entry.body.get("nullifier"), 32))
        if found is None:
            raise InputError("nullifier: no record of this name was accepted")
        return found


def nullifier_of(format_: BallotFormat, content: bytes) -> bytes:
    """The name of a spent token, by which a request for one record names it."""
    return hashlib.sha256(b"GV2 null" + format_.context + ballot_key(content)).digest()


def check_expiry(expiry: str) -> None:
    """Refuse a request for a record after its last day, or without one."""
    try:
        last = datetime.strptime(expiry, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        raise InputError(f"expiry = {expiry[:20]!r}: must be a day such as 2030-12-31") from None
    if datetime.now(UTC).date() > last:
        raise InputError(f"expiry = {expiry}: the request has expired")
