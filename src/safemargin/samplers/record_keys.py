"""Record keys: a secret and a person's stable id give a number that nobody else can compute.

The same person has the same key in every table and every release made with the secret. Keys are never stored.
"""

import hashlib
import hmac
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from safemargin.core import InputError, IntArray
from safemargin.samplers.keys import BITS

LEAST = 16
"""Bytes that a secret must have."""


def read_secret(path: Path) -> bytes:
    """The secret in a file: all its bytes."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: the secret cannot be read ({error.strerror})") from None
    return secret_of(content, str(path))


def secret_of(content: bytes, name: str = "the secret") -> bytes:
    """A key for hashing from the bytes of a secret, however many there are."""
    if len(content.strip()) < LEAST:
        raise InputError(f"{name}: has {len(content.strip())} bytes; a secret needs at least {LEAST}")
    return hmac.digest(b"safemargin record keys", content, "sha256")


def record_keys(ids: Iterable[str], secret: bytes) -> IntArray:
    """A uniform number below `2**48` for every id: keyed BLAKE2b.

    >>> secret = secret_of(b"sixteen bytes ..")
    >>> bool((record_keys(["a", "b"], secret) == record_keys(["b", "a"], secret)[::-1]).all())
    True
    """
    blake = hashlib.blake2b
    joined = b"".join([blake(text.encode(), digest_size=8, key=secret).digest() for text in ids])
    return (np.frombuffer(joined, dtype="<u8") & np.uint64(2**BITS - 1)).astype(np.int64)
