"""The board: an append-only Merkle log in a folder that anybody can copy and verify.

`entries` holds signed statements, `heads` the signed roots with the signatures of witnesses, `register` the hashes of
enrolled people, `received` the hashes of messages that the box took in, `ballots` and `rejected` the ballots of every
dimension, `release` the published tables. One process writes, and holds a lock.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from safemargin.core import InputError, remove_all_parts, write_whole
from safemargin.election.entries import AUTHORS, body_fault, order_fault, subject_of
from safemargin.election.keys import canonical, parse, unhex
from safemargin.election.manifests import KnownElection
from safemargin.election.merkle import consistency_path, inclusion_path, is_continued, is_included, leaf_hash, root_of
from safemargin.election.role import ConflictError
from safemargin.election.secret import Secret
from safemargin.election.store import Store
from safemargin.io import read_bytes
from safemargin.parties.files import take_lock

MANIFEST = "manifest.json"
LOCK = ".lock"
KINDS = ("entries", "heads", "register", "received", "ballots", "rejected", "release")
"""The folders of a board."""


@dataclass(frozen=True)
class BoardEntry:
    """A signed statement of a party."""

    author: str
    type: str
    body: dict[str, Any]
    signature: str

    @property
    def content(self) -> bytes:
        """The leaf of the log."""
        return canonical({"author": self.author, "type": self.type, "body": self.body, "signature": self.signature})

    @property
    def subject(self) -> tuple[str, str, object]:
        """What an author may write about once."""
        return self.type, self.author, subject_of(self.body)

    def fault(self, election: KnownElection) -> str | None:
        """Why this is no statement of the party that it names."""
        party = election.parties.get(self.author)
        if party is None or AUTHORS.get(self.type) != party.role:
            return f"an entry of type {self.type[:40]!r} cannot come from {self.author[:40]!r}"
        if fault := body_fault(election, self.type, self.body):
            return fault
        if not election.is_signed(self.signature, self.author, "board", self.type, canonical(self.body)):
            return f"the signature of {self.author} is wrong"
        return None


def make_entry(election: KnownElection, secret: Secret, type_: str, body: dict[str, Any]) -> BoardEntry:
    """A party's signed statement."""
    signature = election.sign(secret.signing, secret.name, "board", type_, canonical(body))
    return BoardEntry(secret.name, type_, body, signature)


def read_entry(content: bytes) -> BoardEntry:
    """An entry from somebody's message."""
    stated = parse(content)
    match stated:
        case {"author": str(author), "type": str(type_), "body": dict(body), "signature": str(signature)}:
            return BoardEntry(author, type_, body, signature)
    raise InputError("the message is not an entry of the board")


@dataclass(frozen=True)
class Head:
    """The root of the log at a size, signed by the board and its witnesses (the issuers)."""

    size: int
    root: bytes
    signatures: dict[str, str]

    @property
    def content(self) -> bytes:
        """What is signed."""
        return canonical({"size": self.size, "root": self.root.hex()})

    def document(self) -> dict[str, Any]:
        """The file."""
        return {"size": self.size, "root": self.root.hex(), "signatures": self.signatures}

    def signed_by(self, election: KnownElection) -> list[str]:
        """The parties whose signature is valid."""
        return [
            name
            for name, text in self.signatures.items()
            if election.is_signed(text, name, "all", "head", self.content)
        ]

    def is_witnessed(self, election: KnownElection) -> bool:
        """Whether the board and most issuers signed this root."""
        signed, issuers = set(self.signed_by(election)), election.manifest.of("issuer")
        witnesses = sum(party.name in signed for party in issuers)
        return election.only("board").name in signed and 2 * witnesses > len(issuers)


def read_head(stated: object) -> Head:
    """A head from somebody's message."""
    match stated:
        case {"size": int(size), "root": str(root), "signatures": dict(signatures)}:
            return Head(size, unhex(root, 32), {str(k): str(v) for k, v in signatures.items()})
    raise InputError("the message is not a head of the board")


def sign_head(election: KnownElection, key: Ed25519PrivateKey, name: str, head: Head) -> str:
    """The signature of the board or of a witness."""
    return election.sign(key, name, "all", "head", head.content)


class Board:
    """The folder of the log. With the board's keys it can be added to; without, it can be read."""

    def __init__(self, folder: Path, election: KnownElection | None = None, secret: Secret | None = None) -> None:
        self.folder = folder
        self.election = election or KnownElection.read(folder / MANIFEST)
        self.secret = secret
        self._lock = -1
        if secret is not None:
            self._take_lock()
        if election is not None and not (folder / MANIFEST).exists():
            write_whole(folder / MANIFEST, election.content)
        self.contents = [read_bytes(path) for path in sorted((folder / "entries").glob("[0-9]*.json"))]

    def _take_lock(self) -> None:
        """Be the one process that writes; a second one is refused before it can write an entry over another."""
        self._lock = take_lock(self.folder / LOCK, f"{self.folder}: another process writes this board")
        remove_all_parts(self.folder)  # everything else in the folder is public

    def close(self) -> None:
        """Give the lock back."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    @property
    def entries(self) -> list[BoardEntry]:
        """All entries."""
        return [read_entry(content) for content in self.contents]

    @property
    def leaves(self) -> list[bytes]:
        """Leaf hashes of all entries."""
        return [leaf_hash(content) for content in self.contents]

    def of(self, type_: str) -> list[BoardEntry]:
        """All entries of a type."""
        return [entry for entry in self.entries if entry.type == type_]

    def append(self, content: bytes) -> int:
        """Add an entry, or find it: the same entry twice is one."""
        entry = read_entry(content)
        if fault := entry.fault(self.election):
            raise InputError(fault)
        if entry.content in self.contents:
            return self.contents.index(entry.content)
        if entry.subject in {known.subject for known in self.entries}:
            raise InputError(f"{entry.author} has an entry of type {entry.type!r} already; entries never change")
        if fault := order_fault(self.election, [(known.type, known.author) for known in self.entries], entry.type):
            raise InputError(fault)
        write_whole(self.folder / "entries" / f"{len(self.contents):06d}.json", entry.content)
        self.contents.append(entry.content)
        return len(self.contents) - 1

    def head(self) -> Head:
        """The root of all entries, signed by the board and by those witnesses that signed it so far."""
        path = self._head_file(len(self.contents))
        root = root_of(self.leaves)
        if path.exists():
            head = read_head(parse(read_bytes(path)))
            if head.root == root:
                return head
        assert self.secret is not None, "only the board signs heads"
        head = Head(len(self.contents), root, {})
        head.signatures[self.secret.name] = sign_head(self.election, self.secret.signing, self.secret.name, head)
        write_whole(path, canonical(head.document()))
        return head

    def _head_file(self, size: int) -> Path:
        return self.folder / "heads" / f"{size:06d}.json"

    def heads(self) -> list[Head]:
        """All heads that were ever signed."""
        return [read_head(parse(read_bytes(path))) for path in sorted((self.folder / "heads").glob("*.json"))]

    def add_witness(self, name: str, signature: str) -> Head:
        """Keep a witness's signature of the current head."""
        head = self.head()
        if not self.election.is_signed(signature, name, "all", "head", head.content):
            raise InputError(f"{name[:40]}: the signature is not about the current head")
        merged = Head(head.size, head.root, {**head.signatures, name: signature})
        write_whole(self._head_file(head.size), canonical(merged.document()))
        return merged

    def extension(self, old: int) -> dict[str, Any]:
        """The current head with the proof that it continues the log of `old` entries."""
        path = consistency_path(self.leaves, old) if old <= len(self.contents) else []
        return {"head": self.head().document(), "path": [node.hex() for node in path]}

    def proof(self, index: int) -> dict[str, Any]:
        """An entry with its path to the current head."""
        path = inclusion_path(self.leaves, index)
        entry = json.loads(self.contents[index])
        return {
            "entry": entry,
            "index": index,
            "path": [node.hex() for node in path],
            "head": self.head().document(),
        }

    def put(self, kind: str, name: str, content: bytes) -> None:
        """Keep a file that an entry names by its root or hash."""
        if not self.is_named(kind, name, content):
            raise InputError(f"{kind}/{name[:60]}: no entry names this content")
        if kind == "release" and self._is_settled(name, content):
            raise InputError(f"release/{name[:60]}: enough trustees signed the file that is there")
        write_whole(self.folder / kind / name, content)

    def _is_settled(self, name: str, content: bytes) -> bool:
        """Whether enough trustees signed another file of this name, and it is there."""
        path = self.folder / "release" / name
        if not path.exists() or (held := read_bytes(path)) == content:
            return False
        digest = hashlib.sha256(held).hexdigest()
        signed = [entry for entry in self.of("release") if entry.body["files"].get(name) == digest]
        return len(signed) >= self.election.manifest.openers

    def is_named(self, kind: str, name: str, content: bytes) -> bool:
        """Whether an entry of the log is about exactly this file."""
        digest = hashlib.sha256(content).hexdigest()
        if kind in ("register", "received"):
            leaves = [content[place : place + 32] for place in range(0, len(content), 32)]
            whole = len(content) % 32 == 0 and leaves == sorted(set(leaves))
            root = {"hashes": "root", "letters": "letters"}.get(name, "")
            return whole and any(entry.body.get(root) == root_of(leaves).hex() for entry in self.of(kind))
        if kind in ("ballots", "rejected"):
            dimension, _, part = name.rpartition(".")
            return any(
                entry.body["dimensions"].get(dimension, {}).get(kind) == digest
                for entry in self.of("ballots")
                if str(entry.body["part"]) == part
            )
        if kind == "release":
            return any(entry.body["files"].get(name) == digest for entry in self.of("release"))
        return False


def check_proof(election: KnownElection, stated: Mapping[str, Any], type_: str) -> BoardEntry:
    """The entry of a proof: in the log of a head that enough witnesses signed, and written by the right party."""
    match stated:
        case {"entry": dict(document), "index": int(index), "path": list(path), "head": dict(head_document)}:
            entry, head = read_entry(canonical(document)), read_head(head_document)
        case _:
            raise InputError("the message holds no proof of an entry")
    if entry.type != type_ or entry.fault(election):
        raise InputError(f"the proof is not about an entry of type {type_!r}")
    if not head.is_witnessed(election):
        raise InputError("the head of the board is not signed by the board and enough witnesses")
    if not is_included(leaf_hash(entry.content), index, head.size, [unhex(node, 32) for node in path], head.root):
        raise InputError("the entry is not in the log that the head names")
    return entry


KNOWN = "known head"


class BoardWitness:
    """What a party remembers of the board. An issuer signs a head only if it continues the last one, and a trustee
    reads only a board that does. After a restore a party takes the place in the log over from those that went on.
    """

    def __init__(self, election: KnownElection, secret: Secret, store: Callable[[], Store]) -> None:
        self.election, self.secret, self._store = election, secret, store

    @property
    def last(self) -> Head | None:
        """The longest log that this party knows."""
        heads = [value for _, value in self._store().items()]
        return read_head(json.loads(heads[-1])) if heads else None

    def keep(self, head: Head) -> None:
        """Remember a head; shorter ones stay, and are not asked for again."""
        self._store().add({head.size.to_bytes(8, "big"): canonical(head.document())})

    def read(self, board: Board) -> None:
        """Refuse a copy of the board that is shorter than what this party knows, or another one; else remember it."""
        last, leaves = self.last, board.leaves
        if last is not None and last.size > len(leaves):
            raise ConflictError(f"the board has {len(leaves)} entries; this party read {last.size} before")
        if last is not None and root_of(leaves[: last.size]) != last.root:
            raise ConflictError("the board is not the one that this party read before: the board was forked")
        self.keep(Head(len(leaves), root_of(leaves), {}))

    def stated(self) -> bytes:
        """The longest log that this party knows, signed: for one that was restored."""
        body = {"head": self.last.document() if self.last else None}
        signature = self.election.sign(self.secret.signing, self.secret.name, "all", KNOWN, canonical(body))
        return canonical({**body, "signature": signature})

    def follow(self, heads: Mapping[str, Any], extensions: Mapping[str, Any]) -> None:
        """Take over the head of the board. It must continue the log that each of these parties knows, so that neither
        the board nor one of them alone can move a restored party to another log.
        """
        for name, stated in heads.items():
            body = {"head": stated.get("head")}
            if not self.election.is_signed(stated.get("signature"), name, "all", KNOWN, canonical(body)):
                raise InputError(f"the head that {name[:40]} knows is not signed by it")
        known = {name: read_head(stated["head"]) for name, stated in heads.items() if stated["head"] is not None}
        if self.last is not None:
            known[self.secret.name] = self.last
        found: Head | None = None
        for name, head in known.items():
            match extensions.get(name):
                case {"head": dict(document), "path": list(path)}:
                    new = read_head(document)
                case _:
                    raise InputError(f"the message does not show that the board continues the log of {name}")
            if self.election.only("board").name not in new.signed_by(self.election):
                raise InputError("the head is not signed by the board")
            if found is not None and (found.size, found.root) != (new.size, new.root):
                raise InputError("the board got an entry meanwhile: catch up again")
            if not is_continued(head.size, head.root, new.size, new.root, [unhex(node, 32) for node in path]):
                raise ConflictError(f"the board does not continue the log that {name} knows: one of the two is forked")
            found = new
        if found is not None:
            self.keep(found)

    def sign(self, stated: Mapping[str, Any]) -> str:
        """The witness's signature of the new head; a fork is a conflict, which nobody takes for absence."""
        head, last = read_head(stated.get("head")), self.last
        path = stated.get("path")
        board = self.election.only("board").name
        if board not in head.signed_by(self.election) or not isinstance(path, list):
            raise InputError("the head is not signed by the board")
        if last is not None and head.size < last.size:  # two parties asked at the same time, or somebody replays
            raise InputError("the head is older than the last one that this witness signed")
        steps: Sequence[bytes] = [unhex(node, 32) for node in path]
        if last is not None and not is_continued(last.size, last.root, head.size, head.root, steps):
            raise ConflictError("the head does not continue the log that this witness signed: the board was forked")
        self.keep(head)
        return sign_head(self.election, self.secret.signing, self.secret.name, head)
