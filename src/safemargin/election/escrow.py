"""The governed exception: a sealed identity beside every record, which a quorum of escrow trustees can open.

A person's program makes several candidates for a token and commits to them. Issuers draw one of them together, see the
secrets of all others, and sign that one blindly (cut and choose): with K candidates, a person who seals something else
than their identity is caught in all but one of K cases. All of a candidate follows from its seed and the person's
signature, so that issuers can compute it again. NaCl boxes, Shamir's shares and Ed25519; no proof of our own.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from nacl.exceptions import CryptoError
from nacl.public import Box, PrivateKey, PublicKey
from nacl.secret import SecretBox

from safemargin.core import InputError
from safemargin.election.blind import PREFIX, SALT
from safemargin.election.keys import canonical, derive, digest, join_secret, split_secret, unhex, verify_raw
from safemargin.election.manifests import Dimension, Escrow, KnownElection

NO_ESCROW = bytes(32)
ROW = 128
"""Bytes of a person's row inside the sealed identity, padded so that sizes say nothing."""
_SHARE, _TAG, _NONCE, _PROOF = 66, 16, 24, 64
_HIDDEN = 2 + ROW + _PROOF + _TAG


def token_message(context: bytes, key: bytes, escrow: bytes = NO_ESCROW) -> bytes:
    """What issuers sign blindly: a one-time key for one dimension of one election."""
    return b"GV2" + context + key + escrow


def blob_size(escrow: Escrow | None) -> int:
    """Bytes of a sealed identity; none without escrow."""
    return 0 if escrow is None else _HIDDEN + 32 + len(escrow.keys) * (_SHARE + _TAG + 32)


def blob_hash(blob: bytes) -> bytes:
    """What a record shows of the sealed identity."""
    return hashlib.sha256(blob).digest() if blob else NO_ESCROW


def one_time_key(seed: bytes) -> Ed25519PrivateKey:
    """The key that signs one record."""
    return Ed25519PrivateKey.from_private_bytes(derive(seed, "token", 32))


def identity_message(context: bytes, key: bytes) -> bytes:
    """What a person signs inside the sealed identity: nobody can plant the row of somebody else."""
    return b"GV-own" + context + key


@dataclass(frozen=True)
class EscrowCandidate:
    """A token before it is signed: everything follows from the seed, and with escrow from the person's signature."""

    election: KnownElection
    dimension: Dimension
    label: str
    row: str
    seed: bytes
    proof: bytes = b""

    @cached_property
    def public(self) -> bytes:
        """The one-time key."""
        return one_time_key(self.seed).public_key().public_bytes_raw()

    @cached_property
    def sealed(self) -> bytes:
        """The sealed identity; empty without escrow."""
        escrow = self.election.escrow_of(self.dimension)
        if escrow is None:
            return b""
        row = self.row.encode()
        if len(row) > ROW or len(self.proof) != _PROOF:
            raise InputError(f"row: longer than {ROW} bytes, or not signed")
        inside = len(row).to_bytes(2, "big") + row.ljust(ROW, b"\0") + self.proof
        key = derive(self.seed, "escrow key", 32)
        # Every key seals one message only, so that a fixed nonce is safe, and the box can be computed again.
        hidden = SecretBox(key).encrypt(inside, bytes(_NONCE)).ciphertext
        sender = PrivateKey(derive(self.seed, "escrow sender", 32))
        shares = split_secret(key, escrow.quorum, len(escrow.keys), derive(self.seed, "escrow shares", 32))
        boxes, hashes = b"", b""
        for (name, public), share in zip(escrow.keys.items(), shares, strict=True):
            boxes += Box(sender, PublicKey(bytes.fromhex(public))).encrypt(share, _box_nonce(name)).ciphertext
            hashes += share_hash(name, share)
        return hidden + bytes(sender.public_key) + boxes + hashes

    def message(self, issuer: str) -> bytes:
        """Prefix and token message for one issuer."""
        context = self.election.context(self.dimension.name)
        prefix = derive(self.seed, f"prefix {issuer}", PREFIX)
        return prefix + token_message(context, self.public, blob_hash(self.sealed))

    def blinded(self, issuer: str) -> tuple[bytes, int]:
        """The blinded message for one issuer, and the number that undoes it."""
        key = self.election.blind_keys[self.dimension.name, issuer, self.label]
        # 128 bits more than the modulus: the remainder is uniform up to 2^-128.
        factor = 2 + int.from_bytes(derive(self.seed, f"factor {issuer}", key.size + 16)) % (key.n - 3)
        return key.blind(self.message(issuer), derive(self.seed, f"salt {issuer}", SALT), factor)

    def request(self) -> dict[str, str]:
        """One blinded message for every issuer."""
        return {issuer: self.blinded(issuer)[0].hex() for issuer in self.dimension.keys}


def _box_nonce(trustee: str) -> bytes:
    return hashlib.sha256(b"GV-box" + trustee.encode()).digest()[:_NONCE]


def share_hash(trustee: str, share: bytes) -> bytes:
    """What a sealed identity states of a share, so that a wrong one is recognised."""
    return digest([b"GV-escrow share", trustee.encode(), share])


def commitment(blinded: Mapping[str, str]) -> str:
    """One name for all blinded messages of a candidate."""
    return hashlib.sha256(canonical(dict(blinded))).hexdigest()


def escrow_key(seed: bytes) -> PrivateKey:
    """An escrow trustee's own key, from the seed of its secret file."""
    return PrivateKey(derive(seed, "escrow", 32))


# --- cut and choose


def pledge(nonce: bytes) -> str:
    """An issuer's commitment to its nonce, given before it sees the candidates."""
    return hashlib.sha256(b"GV-pledge" + nonce).hexdigest()


def challenge(election: KnownElection, commits: Sequence[str], subject: bytes, nonces: Mapping[str, str]) -> int:
    """The candidate that will be signed: nobody can foresee it as long as one issuer keeps its nonce until it has the
    candidates.
    """
    assert election.manifest.escrow is not None
    parts = [b"GV-challenge", election.mid, subject, canonical(list(commits)), canonical(dict(nonces))]
    return int.from_bytes(digest(parts), "big") % election.manifest.escrow.candidates


def openings_fault(
    election: KnownElection, dimension: Dimension, request: Mapping[str, Any], chosen: int, person: bytes
) -> str | None:
    """Why the opened candidates of a request are not what they must be; None if they are."""
    escrow, commits = request["escrow"], request["escrow"]["commits"]
    openings = escrow.get("openings")
    others = {str(index) for index in range(len(commits)) if index != chosen}
    if not isinstance(openings, dict) or set(openings) != others:
        return "not exactly the candidates that were not drawn are opened"
    for index, opening in openings.items():
        match opening:
            case {"seed": str(seed), "proof": str(proof)}:
                made = EscrowCandidate(
                    election, dimension, request["category"], request["row"], unhex(seed, 32), unhex(proof, _PROOF)
                )
            case _:
                return "an opening has a seed and a proof"
        if not verify_raw(person, made.proof, identity_message(election.context(dimension.name), made.public)):
            return "an opened candidate does not hold the person's signature"
        if commitment(made.request()) != commits[int(index)]:
            return "an opened candidate is not the one that was committed to"
    if commitment(request["blinded"]) != commits[chosen]:
        return "the token is not the candidate that was drawn"
    return None


# --- opening one record


def own_share(election: KnownElection, name: str, seed: bytes, blob: bytes) -> bytes:
    """An escrow trustee's share of a sealed identity, checked by its hash."""
    escrow = election.manifest.escrow
    assert escrow is not None
    if len(blob) != blob_size(escrow):
        raise InputError("the sealed identity has another size")
    position, count = list(escrow.keys).index(name), len(escrow.keys)
    sender, rest = blob[_HIDDEN : _HIDDEN + 32], blob[_HIDDEN + 32 :]
    width = _SHARE + _TAG
    try:
        share = Box(escrow_key(seed), PublicKey(sender)).decrypt(
            rest[position * width : (position + 1) * width], _box_nonce(name)
        )
    except CryptoError:
        raise InputError(f"{name}: the share cannot be opened") from None
    _check_share(name, share, rest[count * width + 32 * position :][:32])
    return share


def _check_share(name: str, share: bytes, expected: bytes) -> None:
    if share_hash(name, share) != expected:
        raise InputError(f"{name}: the share is not the one of the sealed identity")


def open_identity(election: KnownElection, blob: bytes, shares: Mapping[str, bytes]) -> tuple[str, bytes]:
    """The row and the person's signature from enough shares; a wrong share is named."""
    escrow = election.manifest.escrow
    assert escrow is not None
    names, hashes = list(escrow.keys), blob[len(blob) - 32 * len(escrow.keys) :]
    for name, share in shares.items():
        _check_share(name, share, hashes[32 * names.index(name) :][:32])
    if len(shares) < escrow.quorum:
        raise InputError(f"{len(shares)} shares: {escrow.quorum} escrow trustees are needed")
    key = join_secret({names.index(name) + 1: share for name, share in shares.items()})
    try:
        inside = SecretBox(key).decrypt(blob[:_HIDDEN], bytes(_NONCE))
    except CryptoError:
        raise InputError("the shares do not open the sealed identity: its maker sealed another one") from None
    length = int.from_bytes(inside[:2], "big")
    return inside[2 : 2 + length].decode(errors="replace"), inside[2 + ROW :]
