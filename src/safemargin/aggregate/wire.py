"""Messages between parties: versioned, signed with Ed25519, and bound to session, role and client.

Keys come from `cryptography`; nothing here is a primitive of our own. Channels are expected to be encrypted (TLS in
front of a party): a signature keeps messages from being forged or replayed elsewhere, it does not hide them.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import BaseModel, ConfigDict, ValidationError

from safemargin.aggregate.backends import Backend, make_backend
from safemargin.core import InputError

VERSION = 1


class SessionFile(BaseModel):
    """What all parties know of a session before it starts: public, and the same for everybody."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int
    name: str
    backend: str
    questions: list[str]
    largest: int
    least: int
    parties: dict[str, str]
    """Address of every role."""
    clients: dict[str, str]
    """Public key of every enrolled client."""
    server: str
    """Public key of the server."""


@dataclass(frozen=True)
class Session:
    """A session with its backend and keys made ready."""

    file: SessionFile
    backend: Backend
    keys: Mapping[str, Ed25519PublicKey] = field(hash=False)
    server: Ed25519PublicKey


def read_session(path: Path) -> Session:
    """The session file, checked."""
    try:
        stated = SessionFile.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(f"{path}: {place}: {first['msg']}") from None
    return make_session(stated, str(path))


def make_session(stated: SessionFile, name: str = "session") -> Session:
    """Backend and keys from a session's parameters."""
    if stated.version != VERSION:
        raise InputError(f"{name}: version {stated.version}: this program speaks version {VERSION}")
    backend = make_backend(stated.backend, len(stated.questions), len(stated.clients), stated.largest)
    missing = set(backend.parties) ^ set(stated.parties)
    if missing:
        raise InputError(f"{name}: parties: {min(missing)!r} is not a party of {stated.backend}, or has no address")
    try:
        keys = {
            client: Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)) for client, key in stated.clients.items()
        }
        server = Ed25519PublicKey.from_public_bytes(bytes.fromhex(stated.server))
    except ValueError:
        raise InputError(f"{name}: a public key is not 32 bytes in hexadecimal digits") from None
    return Session(stated, backend, keys, server)


def _public_key(text: str) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(text))


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
