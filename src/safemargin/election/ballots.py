"""Ballots as bytes: a token, ciphertexts with their proof, and the signature of the one-time key.

A ballot of one dimension has one cell per option and one for *no answer*; where people report their category, one per
category and option. It is padded to one size for all dimensions and sealed to the collector, so that the box, which
takes it in, cannot even see which dimension it is for.
"""

import hashlib
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from safemargin.core import InputError
from safemargin.election.blind import PREFIX
from safemargin.election.escrow import NO_ESCROW, blob_size, token_message
from safemargin.election.group import Scalar, name_of
from safemargin.election.keys import SEALING, SealingKey, canonical, seal, sealing_public, verify_raw
from safemargin.election.manifests import NO_ANSWER, TOTAL, Dimension, KnownElection
from safemargin.election.proofs import Ciphertext, is_ballot, proof_size, prove_ballot
from safemargin.io import read_bytes

VERSION = 2
SELF_REPORTED = 0xFFFF
"""Category of a ballot whose category is inside its ciphertexts."""
MOST = 2**31
"""Ballot numbers are below this."""
_HEAD = struct.Struct(">B32sHI32s32s")
_NUMBER = struct.Struct(">I")
_LENGTH = struct.Struct(">I")
_OUTSIDE = _NUMBER.size + 32
NONCE = 32
"""Bytes of the nonce that hides a ballot behind its commitment."""
_CELL = 64
_SIGNATURE = 64


@dataclass(frozen=True)
class Ballot:
    """A ballot split into its parts; nothing of it is checked yet."""

    content: bytes
    category: int
    number: int
    key: bytes
    escrow: bytes
    tokens: bytes
    cells: tuple[Ciphertext, ...]
    proof: bytes
    signature: bytes

    @property
    def name(self) -> bytes:
        """The hash of the whole ballot."""
        return ballot_name(self.content)


def ballot_name(content: bytes) -> bytes:
    """The hash that names a ballot."""
    return hashlib.sha256(content).digest()


def ballot_key(content: bytes) -> bytes:
    """The one-time key of a ballot: the token that it spends."""
    return content[39:71]


def ballot_number(content: bytes) -> int:
    """The number of a ballot; of two under one token the higher one counts."""
    return int(_NUMBER.unpack_from(content, 35)[0])


def ballot_category(content: bytes) -> int:
    """The attested category of a ballot, by its place."""
    return int.from_bytes(content[33:35], "big")


class BallotFormat:
    """How ballots of one dimension are made and checked."""

    def __init__(self, election: KnownElection, dimension: Dimension) -> None:
        self.election, self.dimension = election, dimension
        self.context = election.context(dimension.name)
        self.issuers = tuple(party.name for party in election.manifest.of("issuer"))
        self.keys = [election.token_keys(dimension, label) for label in dimension.labels]
        self.widths = [key.size for key in self.keys[0]]
        self.cells = cells_of(election, dimension)
        self.escrow = None if dimension.name == TOTAL else election.manifest.escrow
        self.blob = blob_size(self.escrow)
        self.token_size = sum(PREFIX + width for width in self.widths)
        self.body_size = _HEAD.size + self.token_size + len(self.cells) * _CELL + proof_size(len(self.cells))
        self.size = self.body_size + _SIGNATURE

    def _proof_context(self, category: int, number: int, key: bytes, escrow: bytes, tokens: bytes) -> list[bytes]:
        label = "" if category == SELF_REPORTED else self.dimension.categories[category]
        return [
            self.election.mid,
            self.dimension.name.encode(),
            label.encode(),
            canonical(list(self.issuers)),
            name_of("token", [tokens, escrow]),
            key,
            _NUMBER.pack(number),
        ]

    def category_number(self, category: str) -> int:
        """The place of an attested category."""
        if self.dimension.self_reported:
            return SELF_REPORTED
        return self.dimension.categories.index(category)

    def choice(self, option: str, category: str) -> int:
        """The cell of an answer; an unknown one is refused."""
        own = category if self.dimension.self_reported and option != NO_ANSWER else ""
        try:
            return self.cells.index((own, option))
        except ValueError:
            named = ", ".join(dict.fromkeys(text for _, text in self.cells))
            raise InputError(
                f"{self.dimension.name}: no such answer; there are {named} in {', '.join(self.dimension.sizes)}"
            ) from None

    def make(
        self,
        choice: int,
        category: int,
        number: int,
        key: bytes,
        escrow: bytes,
        tokens: Sequence[tuple[bytes, bytes]],
        randomness: Sequence[Scalar] | None = None,
    ) -> bytes:
        """A ballot before its one-time key signed it: this is what can be audited."""
        joined = b"".join(prefix + signature for prefix, signature in tokens)
        context = self._proof_context(category, number, key, escrow, joined)
        cells, proof = prove_ballot(self.election.tally_key.public, choice, len(self.cells), context, randomness)
        head = _HEAD.pack(VERSION, self.context, category, number, key, escrow)
        return head + joined + b"".join(cell.content for cell in cells) + proof

    def sign(self, body: bytes, key: Ed25519PrivateKey) -> bytes:
        """The whole ballot: neither box nor collector can change anything under a token."""
        return body + key.sign(signed_part(body))

    def read(self, content: bytes) -> Ballot | None:
        """The parts of a ballot of this dimension, or None."""
        if len(content) != self.size:
            return None
        version, context, category, number, key, escrow = _HEAD.unpack_from(content)
        if version != VERSION or context != self.context:
            return None
        start = _HEAD.size + self.token_size
        end = start + len(self.cells) * _CELL
        cells = tuple(
            Ciphertext(content[place : place + 32], content[place + 32 : place + 64])
            for place in range(start, end, _CELL)
        )
        tokens, proof = content[_HEAD.size : start], content[end : self.body_size]
        return Ballot(content, category, number, key, escrow, tokens, cells, proof, content[self.body_size :])

    def fault(self, content: bytes) -> str | None:
        """Why this is no valid ballot; None if it is one."""
        ballot = self.read(content)
        if ballot is None:
            return "not a ballot of this dimension"
        known = SELF_REPORTED if self.dimension.self_reported else range(len(self.dimension.categories))
        if not (ballot.category == known if isinstance(known, int) else ballot.category in known):
            return "a category that the dimension does not have"
        if not 0 < ballot.number < MOST:
            return "a ballot number out of range"
        if (ballot.escrow == NO_ESCROW) != (self.escrow is None):
            return "a sealed identity where none may be, or none where one must be"
        if not verify_raw(ballot.key, ballot.signature, signed_part(content[: self.body_size])):
            return "the signature of the one-time key is wrong"
        if not self._has_token(ballot):
            return "a token that the issuers did not sign"
        context = self._proof_context(ballot.category, ballot.number, ballot.key, ballot.escrow, ballot.tokens)
        if not is_ballot(self.election.tally_key.public, ballot.cells, ballot.proof, context):
            return "the proof that it is one vote is wrong"
        return None

    def _has_token(self, ballot: Ballot) -> bool:
        message = token_message(self.context, ballot.key, ballot.escrow)
        place = 0
        for key, width in zip(
            self.keys[0 if self.dimension.self_reported else ballot.category], self.widths, strict=True
        ):
            prefix = ballot.tokens[place : place + PREFIX]
            signature = ballot.tokens[place + PREFIX : place + PREFIX + width]
            if not key.is_signed(prefix + message, signature):
                return False
            place += PREFIX + width
        return True


def signed_part(body: bytes) -> bytes:
    """What the one-time key signs."""
    return name_of("cast", [body])


def cells_of(election: KnownElection, dimension: Dimension) -> list[tuple[str, str]]:
    """Category and option of every cell of a ballot; the category is empty where the registrar attests it."""
    own = dimension.categories if dimension.self_reported else [""]
    cells = [(category, option) for category in own for option in election.manifest.options]
    return [*cells, ("", NO_ANSWER)]


Opened = tuple[BallotFormat, bytes, bytes]
"""Format, ballot and sealed identity of a message."""


class Envelope:
    """Ballots of all dimensions in messages of one size, sealed to the collector.

    Outside stand the number of the ballot and a commitment to it. With a receipt for the message, its sender can show
    everybody which ballot was in it: a collector that calls the message unreadable can be refuted.
    """

    def __init__(self, election: KnownElection) -> None:
        self.formats = {d.name: BallotFormat(election, d) for d in election.manifest.dimensions}
        self.by_context = {format_.context: format_ for format_ in self.formats.values()}
        self.inner = NONCE + max(_LENGTH.size + format_.size + format_.blob for format_ in self.formats.values())
        self.size = _OUTSIDE + self.inner + SEALING
        self.key = sealing_public(election.only("collector").seal)
        self._info = b"GV2 box" + election.mid

    def close(self, ballot: bytes, nonce: bytes, blob: bytes = b"") -> bytes:
        """The message for the box: the ballot's number and commitment, for the receipt, and the sealed rest."""
        outside = _NUMBER.pack(ballot_number(ballot)) + _commitment(nonce, ballot, blob)
        plain = (nonce + _LENGTH.pack(len(ballot)) + ballot + blob).ljust(self.inner, b"\0")
        return outside + seal(plain, self.key, self._info + outside)

    def open(self, message: bytes, key: SealingKey) -> Opened | None:
        """Format, ballot and sealed identity of a message; None if it holds no ballot of any dimension."""
        if len(message) != self.size:
            return None
        try:
            plain = key.open(message[_OUTSIDE:], self._info + message[:_OUTSIDE])
        except InputError:
            return None
        (length,) = _LENGTH.unpack_from(plain, NONCE)
        start = NONCE + _LENGTH.size
        ballot, rest = plain[start : start + length], plain[start + length :]
        format_ = self.by_context.get(ballot[1:33])
        if format_ is None or any(rest[format_.blob :]):
            return None
        return self.reopen(message, plain[:NONCE], ballot, rest[: format_.blob])

    def reopen(self, message: bytes, nonce: bytes, ballot: bytes, blob: bytes) -> Opened | None:
        """The same from what its sender kept, so that nobody has to be believed about what a message holds."""
        format_ = self.by_context.get(ballot[1:33])
        if format_ is None or len(ballot) != format_.size or len(blob) != format_.blob or len(message) != self.size:
            return None
        if message[:_OUTSIDE] != _NUMBER.pack(ballot_number(ballot)) + _commitment(nonce, ballot, blob):
            return None
        return format_, ballot, blob


def _commitment(nonce: bytes, ballot: bytes, blob: bytes) -> bytes:
    """The hash of a ballot that a message shows; the nonce hides it until its sender shows both."""
    return name_of("message", [nonce, ballot, blob])


def read_ballots(path: Path, size: int, start: int = 0, stop: int | None = None) -> list[bytes]:
    """Ballots of a file from one place to another; the file may be absent or longer than the memory."""
    if not path.exists():
        return []
    if stop is None and start == 0:
        content = read_bytes(path)
    else:
        with path.open("rb") as file:
            file.seek(start * size)
            content = file.read() if stop is None else file.read((stop - start) * size)
    if len(content) % size:
        raise InputError(f"{path}: its length is not a multiple of {size:,} bytes")
    return [content[place : place + size] for place in range(0, len(content), size)]


def first_halves(format_: BallotFormat, content: bytes) -> Iterator[bytes]:
    """The first half of every ciphertext: none occurs twice in an election."""
    start = _HEAD.size + format_.token_size
    for place in range(start, start + len(format_.cells) * _CELL, _CELL):
        yield content[place : place + 32]
