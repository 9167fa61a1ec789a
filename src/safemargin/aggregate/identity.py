"""Keys of parties, servers and clients: one secret of 32 bytes in a private file, from which two keys come.

The first signs (Ed25519), the second agrees on secrets with another party (X25519, RFC 7748). The public half of both
is 128 hexadecimal digits; of clients and servers the first 64, the signing key, are enough. Two aggregators derive the
key that verifies proofs from their agreement (HKDF, RFC 5869): nobody sends it, no client can know it, and it holds for
one session.

    >>> one, other = Identity(bytes(32)), Identity(bytes([1] * 32))
    >>> one.agree(other.public, "session") == other.agree(one.public, "session")
    True
"""

from pathlib import Path

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from safemargin.core import InputError, write_secret
from safemargin.io import require_file


def _derive(secret: bytes, purpose: str) -> bytes:
    return HKDF(hashes.SHA256(), 32, None, f"safemargin aggregate {purpose}".encode()).derive(secret)


class Identity:
    """The keys of one party, server or client."""

    def __init__(self, secret: bytes) -> None:
        self.signing = Ed25519PrivateKey.from_private_bytes(_derive(secret, "signing"))
        self._agreeing = X25519PrivateKey.from_private_bytes(_derive(secret, "agreeing"))

    @property
    def public(self) -> str:
        """Both public keys."""
        return (self.signing.public_key().public_bytes_raw() + self._agreeing.public_key().public_bytes_raw()).hex()

    def agree(self, other: str, session: str) -> bytes:
        """32 bytes that this party and the other one know, for one session."""
        theirs = X25519PublicKey.from_public_bytes(bytes.fromhex(other)[32:])
        both = "".join(sorted((self.public, other)))
        return _derive(self._agreeing.exchange(theirs), f"verifying {both} {session}")


def new_identity(path: Path) -> Identity:
    """A new secret in a file that its owner alone may read."""
    write_secret(path)
    return read_identity(path)


def read_identity(path: Path) -> Identity:
    """The keys in a file."""
    require_file(path)
    try:
        secret = bytes.fromhex(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        secret = b""
    if len(secret) != 32:
        raise InputError(f"{path}: is not a key: 64 hexadecimal digits, as `aggregate key` writes them")
    return Identity(secret)


def signing_key(public: str) -> Ed25519PublicKey:
    """The key that verifies signatures, from 64 or 128 hexadecimal digits."""
    content = bytes.fromhex(public)
    if len(content) not in (32, 64):
        raise ValueError("a public key has 64 or 128 hexadecimal digits")
    return Ed25519PublicKey.from_public_bytes(content[:32])
