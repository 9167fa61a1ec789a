"""Signatures of messages with Ed25519, bound to session, role, sender and purpose.

Keys come from `cryptography`; nothing here is a primitive of our own. Channels are expected to be encrypted (TLS in
front of a party): a signature keeps messages from being forged or replayed elsewhere, it does not hide them.
"""

import hashlib
import json

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

VERSION = 1
"""Of messages and session files."""


def signed_bytes(session: str, role: str, sender: str, purpose: str, body: bytes) -> bytes:
    """What a signature is about: a message of one session is worth nothing in another, to another role, or for another
    purpose. JSON keeps names with line breaks apart.
    """
    head = json.dumps([VERSION, session, role, sender, purpose, hashlib.sha256(body).hexdigest()])
    return f"safemargin aggregate {head}".encode()


def sign(key: Ed25519PrivateKey, session: str, role: str, sender: str, purpose: str, body: bytes) -> str:
    """A signature in hexadecimal digits."""
    return key.sign(signed_bytes(session, role, sender, purpose, body)).hex()


def is_signed(
    key: Ed25519PublicKey | None, signature: str, session: str, role: str, sender: str, purpose: str, body: bytes
) -> bool:
    """Whether a message comes from whom it says; an unknown sender has no key."""
    if key is None:
        return False
    try:
        key.verify(bytes.fromhex(signature), signed_bytes(session, role, sender, purpose, body))
    except (InvalidSignature, ValueError):
        return False
    return True


def public_hex(key: Ed25519PrivateKey) -> str:
    """The public half of a key, as session files hold it."""
    return key.public_key().public_bytes_raw().hex()
