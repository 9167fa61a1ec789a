"""The group of the construction: ristretto255 (RFC 9496), computed by libsodium through `rbcl`.

`rbcl` checks little by itself: sums of invalid points are the identity, scalars beyond the order act as their
remainder, and a product that is the identity raises. So every point and scalar that somebody else made passes
`read_point` or `read_scalar` before any arithmetic, and products with zero or the identity are handled here.

A point is 32 bytes, a scalar 32 bytes in little-endian order, below the order of the group.

    >>> multiply(scalar_of(2), base(scalar_of(3))) == base(scalar_of(6))
    True
    >>> add(base(scalar_of(5)), negate_point(base(scalar_of(5)))) == IDENTITY
    True
"""

import hashlib
import os
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path

import rbcl

from safemargin.core import InputError

if os.name == "posix":
    # `rbcl` unpacks its library to a temporary file, and leaves it there: once it is loaded, nobody needs the name.
    Path(import_module("rbcl._sodium").lib_path).unlink(missing_ok=True)

Point = bytes
Scalar = bytes
ORDER = 2**252 + 27742317777372353535851937790883648493
"""Points of the group (a prime)."""
WIDTH = 32
IDENTITY: Point = bytes(WIDTH)
ZERO: Scalar = bytes(WIDTH)
PROTOCOL = b"safemargin election 2"
"""Version of every message: what was made for another version proves nothing here."""
DOMAINS = {
    "ballot": b"one-hot ballot",
    "possession": b"possession of a share of the tally key",
    "pledge": b"hash of commitments to a share of the tally key",
    "decryption": b"partial decryption of a sum",
    "private": b"partial decryptions that trustees exchange",
    "salt": b"salt of the release, which trustees compute together",
    "message": b"ballot in a message to the box",
    "freeze": b"root of all ballots",
    "list": b"sums that may be decrypted",
    "token": b"token",
    "cast": b"ballot signed by its one-time key",
}
"""Every hash names its purpose. There is no other place where these strings are written."""


def scalar_of(number: int) -> Scalar:
    """A small whole number, which may be negative, as a scalar."""
    return (number % ORDER).to_bytes(WIDTH, "little")


ONE = scalar_of(1)


def read_point(content: object, *, identity: bool = False) -> Point:
    """A point that somebody else made. The identity is refused unless `identity` allows it."""
    if not isinstance(content, bytes) or len(content) != WIDTH or not is_point(content):
        raise InputError("32 bytes that are not a point of the group")
    if content == IDENTITY and not identity:
        raise InputError("the identity of the group stands where it must not")
    return content


def is_point(content: bytes) -> bool:
    """Whether 32 bytes are the one valid encoding of a point."""
    return len(content) == WIDTH and bool(rbcl.crypto_core_ristretto255_is_valid_point(content))


def is_scalar(content: bytes) -> bool:
    """Whether 32 bytes are a scalar below the order."""
    return len(content) == WIDTH and int.from_bytes(content, "little") < ORDER


def read_scalar(content: object) -> Scalar:
    """A scalar that somebody else made; refused unless it is below the order of the group."""
    if not isinstance(content, bytes) or not is_scalar(content):
        raise InputError("32 bytes that are not a scalar below the order of the group")
    return content


def random_scalar() -> Scalar:
    """A fresh scalar from the operating system (libsodium's generator)."""
    return bytes(rbcl.crypto_core_ristretto255_scalar_random())


def reduce_scalar(content: bytes) -> Scalar:
    """64 bytes as a scalar; uniform up to 2^-250 if the bytes are."""
    return bytes(rbcl.crypto_core_ristretto255_scalar_reduce(content))


def base(scalar: Scalar) -> Point:
    """A multiple of the generator."""
    return IDENTITY if scalar == ZERO else bytes(rbcl.crypto_scalarmult_ristretto255_base(scalar))


def multiply(scalar: Scalar, point: Point) -> Point:
    """A multiple of a valid point."""
    if scalar == ZERO or point == IDENTITY:
        return IDENTITY
    return bytes(rbcl.crypto_scalarmult_ristretto255(scalar, point))


def add(one: Point, other: Point) -> Point:
    """The sum of two valid points."""
    return bytes(rbcl.crypto_core_ristretto255_add(one, other))


def subtract(one: Point, other: Point) -> Point:
    """The difference of two valid points."""
    return bytes(rbcl.crypto_core_ristretto255_sub(one, other))


def negate_point(point: Point) -> Point:
    """The inverse of a valid point."""
    return subtract(IDENTITY, point)


def add_all(points: Iterable[Point]) -> Point:
    """The sum of valid points; of none it is the identity."""
    total = IDENTITY
    for point in points:
        total = point if total == IDENTITY else add(total, point)
    return total


def add_scalars(one: Scalar, other: Scalar) -> Scalar:
    """The sum of two scalars."""
    return bytes(rbcl.crypto_core_ristretto255_scalar_add(one, other))


def subtract_scalars(one: Scalar, other: Scalar) -> Scalar:
    """The difference of two scalars."""
    return bytes(rbcl.crypto_core_ristretto255_scalar_sub(one, other))


def multiply_scalars(one: Scalar, other: Scalar) -> Scalar:
    """The product of two scalars."""
    return bytes(rbcl.crypto_core_ristretto255_scalar_mul(one, other))


def invert_scalar(scalar: Scalar) -> Scalar:
    """The inverse of a scalar other than 0."""
    return bytes(rbcl.crypto_core_ristretto255_scalar_invert(scalar))


GENERATOR: Point = base(ONE)


def transcript(domain: str, parts: Sequence[bytes]) -> bytes:
    """64 bytes over protocol, purpose and parts, each with its length: no two lists of parts are the same bytes."""
    total = hashlib.sha512()
    for part in (PROTOCOL, DOMAINS[domain], *parts):
        total.update(len(part).to_bytes(8, "big"))
        total.update(part)
    return total.digest()


def challenge(domain: str, parts: Sequence[bytes]) -> Scalar:
    """The challenge of a proof (Fiat and Shamir 1986): it depends on the whole statement and on all commitments."""
    return reduce_scalar(transcript(domain, parts))


def hash_to_point(domain: str, parts: Sequence[bytes]) -> Point:
    """A point of which nobody knows the logarithm (the map of RFC 9496, of a hash of 64 bytes)."""
    return bytes(rbcl.crypto_core_ristretto255_from_hash(transcript(domain, parts)))


def name_of(domain: str, parts: Sequence[bytes]) -> bytes:
    """32 bytes that name a list of parts."""
    return transcript(domain, parts)[:32]
