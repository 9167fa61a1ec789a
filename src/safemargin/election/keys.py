"""Keys of parties and people, made of vetted primitives: Ed25519, HPKE with X25519 and ML-KEM-768, SHAKE256, Shamir."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import (
    AEAD,
    KDF,
    KEM,
    MLKEM768X25519PrivateKey,
    MLKEM768X25519PublicKey,
    Suite,
)

from safemargin.core import InputError, new_secret
from safemargin.election.wording import PersonError
from safemargin.io import parse_json

SUITE = Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
SEALING = KEM.MLKEM768_X25519.enc_length() + 16
"""Bytes that sealing adds: the encapsulated key and the tag."""
PRIME = 2**521 - 1
"""Field of Shamir's shares: a Mersenne prime above every 64-byte secret."""


def canonical(value: object) -> bytes:
    """JSON with sorted names and no blanks: RFC 8785 for texts, whole numbers, lists and objects: what is signed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def parse(body: bytes) -> dict[str, Any]:
    """A JSON object somebody sent; anything else is refused without repeating it."""
    try:
        value = parse_json(body.decode(), "the message")
    except UnicodeDecodeError:
        raise InputError("the message is not JSON") from None
    if not isinstance(value, dict):
        raise InputError("the message is not a JSON object")
    return value


def unhex(value: object, size: int | None = None) -> bytes:
    """Bytes from hexadecimal digits in somebody's message."""
    try:
        found = bytes.fromhex(value) if isinstance(value, str) else None
    except ValueError:
        found = None
    if found is None or size not in (None, len(found)):
        raise InputError("the message holds a value that is not hexadecimal digits of the right length")
    return found


def derive(seed: bytes, label: str, size: int) -> bytes:
    """Bytes that follow from a secret seed and a public label (SHAKE256)."""
    return hashlib.shake_256(len(label).to_bytes(2, "big") + label.encode() + seed).digest(size)


def new_seed() -> bytes:
    """32 bytes from the system."""
    return bytes.fromhex(new_secret())


@dataclass(frozen=True)
class SealingKey:
    """A private key that others seal to: both a classical and a post-quantum one have to be broken."""

    seed: bytes = field(repr=False)

    @cached_property
    def _pair(self) -> tuple[MLKEM768PrivateKey, X25519PrivateKey]:
        return (
            MLKEM768PrivateKey.from_seed_bytes(derive(self.seed, "ML-KEM-768", 64)),
            X25519PrivateKey.from_private_bytes(derive(self.seed, "X25519", 32)),
        )

    @cached_property
    def private(self) -> MLKEM768X25519PrivateKey:
        """The key for `cryptography`."""
        return MLKEM768X25519PrivateKey(*self._pair)

    @property
    def public(self) -> str:
        """The public half as manifests hold it."""
        lattice, curve = self._pair
        return (lattice.public_key().public_bytes_raw() + curve.public_key().public_bytes_raw()).hex()

    def open(self, sealed: bytes, info: bytes) -> bytes:
        """What was sealed; refused if it was sealed to another key or for another purpose."""
        try:
            return SUITE.decrypt(sealed, self.private, info)
        except (InvalidTag, ValueError):
            raise InputError("cannot be opened: it is sealed to another key, or was changed") from None


def sealing_public(text: str) -> MLKEM768X25519PublicKey:
    """A public sealing key from a manifest."""
    raw = unhex(text, 1184 + 32)
    try:
        return MLKEM768X25519PublicKey(
            MLKEM768PublicKey.from_public_bytes(raw[:1184]), X25519PublicKey.from_public_bytes(raw[1184:])
        )
    except ValueError:
        raise InputError("a public key to seal to is none") from None


def seal(content: bytes, key: MLKEM768X25519PublicKey, info: bytes) -> bytes:
    """Seal to a public key for one purpose."""
    return SUITE.encrypt(content, key, info)


def verify_raw(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether an Ed25519 signature is valid."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except Exception:  # a wrong length, a point that is none, a wrong signature: all the same to the reader
        return False
    return True


def split_secret(secret: bytes, needed: int, count: int, seed: bytes | None = None) -> list[bytes]:
    """Shamir's shares: any `needed` of them give the secret, fewer give nothing. One seed gives one set of shares."""
    seed = seed or new_seed()
    factors = [int.from_bytes(secret, "big")]
    factors += [int.from_bytes(derive(seed, f"factor {power}", 82)) % PRIME for power in range(1, needed)]
    return [
        sum(factor * pow(x, power, PRIME) for power, factor in enumerate(factors)).__mod__(PRIME).to_bytes(66, "big")
        for x in range(1, count + 1)
    ]


def join_secret(shares: Mapping[int, bytes]) -> bytes:
    """The secret of 32 bytes from shares by their number, counted from 1 (Lagrange at 0)."""
    total = 0
    for x, share in shares.items():
        weight = 1
        for other in shares:
            if other != x:
                weight = weight * other * pow(other - x, -1, PRIME) % PRIME
        total = (total + int.from_bytes(share, "big") * weight) % PRIME
    if total >= 256**32:
        raise InputError("the shares do not fit together: one is wrong, or there are too few")
    return total.to_bytes(32, "big")


def digest(parts: Sequence[bytes]) -> bytes:
    """One name for a list of parts of any length."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "big") + part)
    return total.digest()


ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""32 letters and digits that nobody confuses when typing (Crockford): no I, L, O or U."""


def typeable(content: bytes, length: int) -> str:
    """The first bits of some bytes as so many letters, in groups of four."""
    number = int.from_bytes(content, "big") >> max(0, 8 * len(content) - 5 * length)
    letters = "".join(ALPHABET[number >> (5 * place) & 31] for place in reversed(range(length)))
    return "-".join(letters[place : place + 4] for place in range(0, length, 4))


def typed(text: str) -> str:
    """What somebody typed, without blanks and hyphens, and with the letters that they meant."""
    plain = "".join(text.upper().split()).replace("-", "")
    return plain.translate(str.maketrans("OIL", "011"))


def fingerprint(name: bytes) -> str:
    """160 bits of a hash for people: eight groups of four letters."""
    return typeable(name, 32)


def check_letter(letters: str) -> str:
    """A letter that shows every single wrong letter and nearly every swap of two neighbours (Luhn, modulo 32)."""
    total = 0
    for place, letter in enumerate(reversed(letters)):
        value = ALPHABET.index(letter) * (2 - place % 2)
        total += value // 32 + value % 32
    return ALPHABET[-total % 32]


def code_of(content: bytes) -> str:
    """A code for a letter: 95 bits and a check letter, five groups of four."""
    letters = typeable(content, 19).replace("-", "")
    whole = letters + check_letter(letters)
    return "-".join(whole[place : place + 4] for place in range(0, 20, 4))


def read_code(text: str) -> str:
    """A typed code in its one form; refused with a plain sentence if a letter is wrong."""
    letters = typed(text)
    if len(letters) != 20 or any(letter not in ALPHABET for letter in letters):
        raise PersonError("code_form")
    if check_letter(letters[:19]) != letters[19]:
        raise PersonError("code_letter")
    return "-".join(letters[place : place + 4] for place in range(0, 20, 4))


def register_leaf(mid: bytes, row: str, code: str) -> bytes:
    """The hash in the public register of a person who enrolled: whoever has the letter can look for it."""
    return digest([b"GV2 register", mid, row.encode(), code.encode()])


def operator_bytes(message: str, boot: str, nonce: str) -> bytes:
    """What a signed request is about: the hash of its message, one running process, and a nonce."""
    return canonical([message, boot, nonce])
