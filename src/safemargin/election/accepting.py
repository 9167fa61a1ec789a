"""The side that knows answers: mixers hide where records come from, the collector counts every token once.

Nothing here imports the side that knows people.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from safemargin.core import InputError
from safemargin.election.board import BoardEntry, check_proof, make_entry, read_entry
from safemargin.election.escrow import blob_hash
from safemargin.election.keys import canonical, parse, unhex
from safemargin.election.manifest import TOTAL, Dimension, KnownElection
from safemargin.election.merkle import root_of
from safemargin.election.records import ESCROW_AT, RecordFormat, batch_leaves, leaves_of, split_batch
from safemargin.election.role import Answer, Role, Step, single
from safemargin.election.secret import Secret
from safemargin.election.store import Store

RECEIPT = 512
"""Bytes of every answer to an anonymous message, also of a refusal."""
DOUBLE = "a token that was used twice"
SEALED = "sealed identities"
BLOCK = 5_000
"""Records that are stored in one transaction."""


def pack_batch(header: Mapping[str, Any], items: Sequence[bytes]) -> bytes:
    """A batch as one message: a line about it, then items of one size."""
    return canonical({**header, "size": len(items[0]) if items else 0}) + b"\n" + b"".join(items)


def unpack_batch(body: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """The parts of a batch."""
    head, _, rest = body.partition(b"\n")
    header = parse(head)
    size = header.get("size")
    if not isinstance(size, int):
        raise InputError("the batch does not state the size of its items")
    return header, split_batch(rest, size) if rest else []


class Accepting(Role):
    """Mixers and the collector: they act when the board says so, not by a clock."""

    def windows(self) -> Step:
        """The step that opens and closes the window of casting."""
        return Step("window", single(self.window), "anybody", "Take the proof that the board opened or closed casting")

    def window(self, body: bytes) -> bytes:
        """Remember what the board says about casting."""
        stated = parse(body)
        type_ = stated.get("entry", {}).get("type") if isinstance(stated.get("entry"), dict) else None
        if type_ not in ("casting", "closed"):
            raise InputError("the proof is not about the window of casting")
        entry = check_proof(self.election, stated, type_)
        if type_ == "casting" and self.remember(type_, entry.content) != entry.content:
            raise InputError("the board opened casting with other issuers before: it was forked")
        self.remember(type_, entry.content)
        return b"{}"

    @property
    def signers(self) -> tuple[str, ...]:
        """The active set of issuers."""
        stored = self.store("state").get(b"casting")
        if stored is None:
            raise InputError("casting has not begun")
        return tuple(read_entry(stored).body["signers"])

    def held(self, dimension: str) -> Store:
        """Messages or records of a dimension, under a name that no other table has: a dimension may be `state`."""
        return self.store(f"dimension {dimension}")

    def format(self, dimension: Dimension) -> RecordFormat:
        """How records of a dimension look."""
        return RecordFormat(self.election, dimension, self.signers)


class Mixer(Accepting):
    """Takes in onions until the window closes, strips one layer of all of them, sorts, and passes them on."""

    def __init__(self, election: KnownElection, secret: Secret, place: Path | str) -> None:
        super().__init__(election, secret, place)
        self.position = [party.name for party in election.manifest.of("mixer")].index(self.name)
        self.layers = len(election.manifest.of("mixer")) - self.position

    @property
    def steps(self) -> list[Step]:
        """See `Role`."""
        posts = []
        for dimension in self.election.manifest.dimensions if self.position == 0 else []:
            # The size does not depend on which issuers are active: all issuing keys have one size.
            signers = tuple(party.name for party in self.election.manifest.of("issuer"))[
                : self.election.manifest.signers
            ]
            size = RecordFormat(self.election, dimension, signers).onion_size(self.layers)
            handle = _Posts(self, dimension, size)
            posts.append(
                Step(f"post/{dimension.name}", handle, "anonymous", f"Post an onion for {dimension.name}", size)
            )
        return [
            *posts,
            self.windows(),
            Step("mix", single(self.mix), "operator", "Mix a dimension after casting was closed"),
            Step("delete", single(self.delete), "operator", "Delete all messages, once the release is on the board"),
        ]

    def delete(self, body: bytes) -> bytes:
        """Delete what people sent. Until the release it is the evidence for complaints; after it, only a risk."""
        check_proof(self.election, parse(body), "release")
        self.remember("deleted")
        for dimension in self.election.dimensions:
            self.held(dimension).clear()
        return b"{}"

    def receipt(self, dimension: str, onion: bytes) -> bytes:
        """A signed statement that an onion was taken in; it is the sender's evidence if it is dropped."""
        taken = {"dimension": dimension, "onion": hashlib.sha256(onion).hexdigest()}
        signature = self.election.sign(self.secret.signing, self.name, "sender", "taken", canonical(taken))
        return canonical({**taken, "signature": signature}).ljust(RECEIPT)

    def mix(self, body: bytes) -> bytes:
        """One batch, at close only: strip a layer, drop duplicates and what cannot be opened, sort."""
        header, items = unpack_batch(body)
        dimension = self.election.dimension(header.get("dimension"))
        if not self.has("closed"):
            raise InputError("the board has not closed casting; nothing is mixed before")
        if self.has("deleted"):
            raise InputError("the messages were deleted after the release")
        if self.position:
            self._check_source(header, dimension, items)
        else:
            items = [value for _, value in self.held(dimension.name).items()]
        format_, key = self.format(dimension), self.secret.sealing
        info, size = format_.layer_info(self.position), format_.onion_size(self.layers - 1)
        opened: set[bytes] = set()
        for item in items:
            try:
                inner = key.open(item, info)
            except InputError:
                continue
            if len(inner) == size:
                opened.add(inner)
        ordered = sorted(opened)
        statement = {
            "dimension": dimension.name,
            "in_root": root_of(sorted(leaves_of(items))).hex(),
            "in_count": len(items),
            "out_root": root_of(batch_leaves(self.election, ordered, self.layers - 1)).hex(),
            "out_count": len(ordered),
        }
        entry = make_entry(self.election, self.secret, "mix", statement)
        kept = self.remember(f"mixed {dimension.name}", entry.content)
        if kept != entry.content:  # a second batch under one name would let a mixer try until it likes the result
            raise InputError(f"{dimension.name}: another batch was mixed already")
        return pack_batch({"dimension": dimension.name, "entry": json.loads(entry.content)}, ordered)

    def _check_source(self, header: Mapping[str, Any], dimension: Dimension, items: list[bytes]) -> None:
        before = self.election.manifest.of("mixer")[self.position - 1].name
        check_batch(self.election, header, before, dimension.name, items)


class _Posts:
    """The anonymous step of the first mixer, for one dimension."""

    def __init__(self, mixer: Mixer, dimension: Dimension, size: int) -> None:
        self.mixer, self.dimension, self.size = mixer, dimension, size

    def __call__(self, bodies: Sequence[bytes]) -> list[Answer]:
        mixer = self.mixer
        is_open = mixer.has("casting") and not mixer.has("closed")
        fresh: dict[bytes, bytes] = {}
        answers: list[Answer] = []
        for body in bodies:
            name = hashlib.sha256(body).digest()
            if len(body) != self.size:
                answers.append(InputError("refused"))
            elif is_open or mixer.held(self.dimension.name).get(name) is not None:
                fresh[name] = body
                answers.append(mixer.receipt(self.dimension.name, body))
            else:
                answers.append(InputError("refused"))
        if fresh:
            mixer.held(self.dimension.name).add(fresh)
        return answers


def check_batch(
    election: KnownElection, header: Mapping[str, Any], mixer: str, dimension: str, items: list[bytes]
) -> BoardEntry:
    """The statement of the mixer that a batch comes from; refused if it is about another batch."""
    entry = read_entry(canonical(header.get("entry")))
    if entry.fault(election) or (entry.author, entry.type, entry.body.get("dimension")) != (mixer, "mix", dimension):
        raise InputError(f"{dimension}: the batch does not carry the statement of {mixer}")
    behind = [party.name for party in election.manifest.of("mixer")][::-1].index(mixer)
    root = root_of(batch_leaves(election, items, behind)).hex()
    if entry.body["out_root"] != root or entry.body["out_count"] != len(items):
        raise InputError(f"{dimension}: the batch is not the one that {mixer} signed")
    return entry


class Collector(Accepting):
    """Checks every record, counts every token once, and publishes the records sorted."""

    @property
    def steps(self) -> list[Step]:
        """See `Role`."""
        return [
            self.windows(),
            Step("announce", single(self.announce), "operator", "Open or close casting by an entry of the board"),
            Step("accept", single(self.accept), "operator", "Check the batch of the last mixer and publish it"),
            Step("records", single(self.records), "operator", "The accepted records of a dimension, sorted"),
            Step("total", single(self.total), "operator", "Count the total, which anybody can count again"),
            *self._escrow_steps(),
        ]

    def _escrow_steps(self) -> list[Step]:
        if self.election.manifest.escrow is None:
            return []
        return [
            Step("request", single(self.request), "operator", "Ask the escrow trustees to open one record"),
            Step("sealed", single(self.sealed), "operator", "The sealed identity of a record, after a public request"),
        ]

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
        if self.store(SEALED).get(unhex(name, 32)) is None:
            raise InputError("nullifier: no record of this name was accepted")
        stated = {"nullifier": name, "basis": unhex(basis, 32).hex(), "requester": requester, "expiry": expiry}
        return make_entry(self.election, self.secret, "escrow request", {**stated, "recipient": recipient}).content

    def sealed(self, body: bytes) -> bytes:
        """The sealed identity, for a request whose place on the board is proved."""
        entry = check_proof(self.election, parse(body), "escrow request")
        found = self.store(SEALED).get(unhex(entry.body.get("nullifier"), 32))
        if found is None:
            raise InputError("nullifier: no record of this name was accepted")
        return found

    def announce(self, body: bytes) -> bytes:
        """An entry that opens casting with the active set of issuers, or closes it."""
        match parse(body):
            case {"type": "casting", "signers": list(signers)}:
                issuers = [party.name for party in self.election.manifest.of("issuer")]
                if len(signers) != self.election.manifest.signers or [i for i in issuers if i in signers] != signers:
                    raise InputError(
                        f"signers: must be {self.election.manifest.signers} issuers, in the manifest's order"
                    )
                return make_entry(self.election, self.secret, "casting", {"signers": signers}).content
            case {"type": "closed"}:
                return make_entry(self.election, self.secret, "closed", {}).content
        raise InputError("the message announces neither casting nor its end")

    def accept(self, body: bytes) -> bytes:
        """Keep valid records, one per token; of two under one token the first by its bytes counts, both are named."""
        header, items = unpack_batch(body)
        dimension = self.election.dimension(header.get("dimension"))
        last = self.election.manifest.of("mixer")[-1].name
        check_batch(self.election, header, last, dimension.name, items)
        format_, table = self.format(dimension), self.held(dimension.name)
        rejected: Counter[str] = Counter()
        doubles: set[str] = set()
        accepted: dict[bytes, bytes] = {}
        identities: dict[bytes, bytes] = {}
        for whole in sorted(items):
            item, blob = format_.split(whole)
            fault = format_.fault(item)
            if fault is None and blob and not item.startswith(blob_hash(blob), ESCROW_AT):
                fault = "a sealed identity that is not the one of its token"
            name = format_.nullifier(item)
            if fault is None and name in accepted:
                fault = DOUBLE
                doubles.add(name.hex())
            if fault is None:
                accepted[name] = item
                identities[name] = blob
            else:
                rejected[fault] += 1
        if self.remember(f"batch {dimension.name}", canonical(header)) != canonical(header):
            raise InputError(f"{dimension.name}: another batch was accepted already")
        names = sorted(accepted)
        below = len(accepted) < self.election.manifest.least
        for start in range(0, 0 if below else len(names), BLOCK):
            table.add({name: accepted[name] for name in names[start : start + BLOCK]})
            if format_.blob:
                self.store(SEALED).add({name: identities[name] for name in names[start : start + BLOCK]})
        statement = self._statement(dimension, [] if below else sorted(accepted.values()), len(accepted))
        statement |= {"rejected": dict(rejected), "doubles": sorted(doubles), "opened": not below}
        return make_entry(self.election, self.secret, "batch", statement).content

    def _statement(self, dimension: Dimension, records: list[bytes], accepted: int) -> dict[str, Any]:
        return {
            "dimension": dimension.name,
            "accepted": accepted,
            "root": root_of(leaves_of(records)).hex(),
            "sha256": hashlib.sha256(b"".join(records)).hexdigest(),
        }

    def _items(self, name: object) -> Iterator[bytes]:
        return (value for _, value in self.held(self.election.dimension(name).name).items())

    def records(self, body: bytes) -> bytes:
        """The published file of a dimension: records sorted by their bytes."""
        return b"".join(sorted(self._items(parse(body).get("dimension"))))

    def total(self, _: bytes) -> bytes:
        """The binding total: how often each option was chosen."""
        format_ = self.format(self.election.dimension(TOTAL))
        counts = Counter(dict.fromkeys(self.election.manifest.options, 0))
        for content in self._items(TOTAL):
            if (option := format_.option(content)) is not None:
                counts[option] += 1
        return make_entry(self.election, self.secret, "total", {"counts": dict(counts)}).content
