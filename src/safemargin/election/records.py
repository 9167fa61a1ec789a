"""Tokens, records and onions: the messages that carry an answer, each of one fixed size per dimension."""

import hashlib
import itertools
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from safemargin.core import InputError
from safemargin.election.blind import PREFIX, BlindKey
from safemargin.election.escrow import NO_ESCROW, blob_size, token_message
from safemargin.election.keys import SEALING, SealingKey, seal
from safemargin.election.manifest import EVERYBODY, Dimension, KnownElection
from safemargin.election.merkle import leaf_hash

NOTHING = 0xFFFF
"""Category of a record whose category is inside the sealed answer."""
ANSWER = struct.Struct(">HH")
_HEAD = struct.Struct(">B32sH32s32s")
_SIGNATURE = 64
ESCROW_AT = 1 + 32 + 2 + 32
"""Place of the hash of the sealed identity in a record."""


def nullifier(context: bytes, key: bytes) -> bytes:
    """The name of a spent token; two records with one name are a double vote."""
    return hashlib.sha256(b"GV-null" + context + key).digest()


@dataclass(frozen=True)
class Record:
    """One accepted answer, split into its parts."""

    category: int
    key: bytes
    escrow: bytes
    signatures: tuple[tuple[bytes, bytes], ...]
    """A prefix and a signature per issuer of the active set."""
    payload: bytes


class RecordFormat:
    """How records of one dimension are written and checked, for one active set of issuers."""

    def __init__(self, election: KnownElection, dimension: Dimension, signers: tuple[str, ...]) -> None:
        self.election, self.dimension, self.signers = election, dimension, signers
        self.context = election.context(dimension.name)
        self.categories, self.options = tuple(dimension.sizes), tuple(election.manifest.options)
        self.keys = [election.token_keys(dimension, label, signers) for label in dimension.labels]
        self.widths = [key.size for key in self.keys[0]]
        self.payload = ANSWER.size if dimension.is_open else ANSWER.size + SEALING
        self.blob = blob_size(election.manifest.escrow)
        """Bytes of the sealed identity that travels behind a record and is not published."""

    @cached_property
    def size(self) -> int:
        """Bytes of every record."""
        tokens = sum(PREFIX + width for width in self.widths)
        return _HEAD.size + tokens + self.payload + _SIGNATURE

    def onion_size(self, layers: int) -> int:
        """Bytes of a record under so many layers."""
        return self.size + self.blob + layers * SEALING

    def label_index(self, category: int) -> int | None:
        """The number of the issuing key that a record's category asks for."""
        if self.dimension.self_reported:
            return 0 if category == NOTHING else None
        return category if category < len(self.categories) else None

    def token_keys(self, category: int) -> tuple[BlindKey, ...]:
        """The keys that must have signed a record of this category."""
        return self.keys[self.label_index(category) or 0]

    def write(self, record: Record, key: Ed25519PrivateKey) -> bytes:
        """The record signed with its one-time key: nobody can put another answer under the token."""
        body = _HEAD.pack(1, self.context, record.category, record.key, record.escrow)
        body += b"".join(prefix + signature for prefix, signature in record.signatures) + record.payload
        if len(body) + _SIGNATURE != self.size:
            raise InputError(f"{self.dimension.name}: the token is not signed by exactly the active set of issuers")
        return body + key.sign(body)

    def read(self, content: bytes) -> Record | None:
        """The parts of a record of this dimension; nothing is verified but size, version and context."""
        if len(content) != self.size:
            return None
        version, context, category, key, escrow = _HEAD.unpack_from(content)
        if version != 1 or context != self.context or self.label_index(category) is None:
            return None
        place, signatures = _HEAD.size, []
        for width in self.widths:
            signatures.append((content[place : place + PREFIX], content[place + PREFIX : place + PREFIX + width]))
            place += PREFIX + width
        return Record(category, key, escrow, tuple(signatures), content[place:-_SIGNATURE])

    def fault(self, content: bytes) -> str | None:
        """Why a record does not count; None if it does."""
        record = self.read(content)
        if record is None:
            return "another size, version, election or dimension"
        if (record.escrow == NO_ESCROW) != (self.blob == 0):
            return "a token with a sealed identity in an election without, or the other way round"
        message = token_message(self.context, record.key, record.escrow)
        for key, (prefix, signature) in zip(self.token_keys(record.category), record.signatures, strict=True):
            if not key.is_signed(prefix + message, signature):
                return "a token that the active issuers did not sign"
        try:
            Ed25519PublicKey.from_public_bytes(record.key).verify(content[-_SIGNATURE:], content[:-_SIGNATURE])
        except (InvalidSignature, ValueError):
            return "an answer that the token's owner did not sign"
        if self.dimension.is_open and self.answer(record.payload, record) is None:
            return "an option that does not exist"
        return None

    def option(self, content: bytes) -> str | None:
        """The option of a record of the total."""
        record = self.read(content)
        answer = None if record is None else self.answer(record.payload, record)
        return None if answer is None else self.options[answer[1]]

    def nullifier(self, content: bytes) -> bytes:
        """The name of the token in a record of the right size."""
        start = 1 + 32 + 2
        return nullifier(self.context, content[start : start + 32])

    def payload_for(self, category: str, option: str, key: bytes) -> bytes:
        """The answer, sealed to the trustees unless the dimension is open."""
        if category not in self.categories or option not in self.options:
            raise InputError(f"{self.dimension.name}: {category!r}, {option!r}: no such category and option")
        plain = ANSWER.pack(self.categories.index(category), self.options.index(option))
        return plain if self.dimension.is_open else seal(plain, self.election.tally_key, self.context + key)

    def answer(self, plain: bytes, record: Record) -> tuple[int, int] | None:
        """Category and option of an opened answer; None if it is none, or not of the attested category."""
        if len(plain) != ANSWER.size:
            return None
        category, option = ANSWER.unpack(plain)
        if category >= len(self.categories) or option >= len(self.options):
            return None
        return None if record.category not in (category, NOTHING) else (category, option)

    def open_answer(self, content: bytes, key: SealingKey) -> tuple[int, int] | None:
        """Category and option of a sealed record, with the tally key."""
        record = self.read(content)
        if record is None:
            return None
        try:
            return self.answer(key.open(record.payload, self.context + record.key), record)
        except InputError:
            return None

    def split(self, item: bytes) -> tuple[bytes, bytes]:
        """The record, and the sealed identity behind it."""
        return item[: self.size], item[self.size :]

    def wrap(self, content: bytes, blob: bytes = b"") -> list[bytes]:
        """The onion: what each mixer receives, the first one first, and at last the record itself."""
        layers = [content + blob]
        for position in reversed(range(len(self.election.mixer_keys))):
            layers.append(seal(layers[-1], self.election.mixer_keys[position], self.layer_info(position)))
        return layers[::-1]

    def layer_info(self, position: int) -> bytes:
        """Binds a layer to its dimension and its mixer."""
        return b"GV-mix" + self.context + bytes([position])


def read_items(path: Path, size: int, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """Items of one size from a file, from number `start` to `stop`; a missing file has none."""
    if not path.exists():
        return
    with path.open("rb") as file:
        file.seek(start * size)
        for _ in itertools.count(start) if stop is None else range(start, stop):
            item = file.read(size)
            if len(item) < size:
                return
            yield item


def leaves_of(items: Iterable[bytes]) -> list[bytes]:
    """Leaf hashes of a batch."""
    return [leaf_hash(item) for item in items]


def batch_leaves(election: KnownElection, items: Iterable[bytes], layers: int) -> list[bytes]:
    """Leaf hashes of what a mixer passes on, sorted. Behind a record without layers is a sealed identity: the record
    holds its hash, so that the leaf is that of the record, as everybody can compute it from the board.
    """
    hidden = 0 if layers else blob_size(election.manifest.escrow)
    return sorted(leaf_hash(item[: len(item) - hidden]) for item in items)


def split_batch(content: bytes, size: int) -> list[bytes]:
    """Items of one size from a file."""
    if size <= 0 or len(content) % size:
        raise InputError(f"a batch of {len(content):,} bytes is not made of items of {size:,} bytes")
    return [content[place : place + size] for place in range(0, len(content), size)]


def category_number(dimension: Dimension, category: str) -> int:
    """What a record says in the open about its category."""
    if dimension.self_reported:
        return NOTHING
    return tuple(dimension.sizes).index(EVERYBODY if dimension.is_open else category)
