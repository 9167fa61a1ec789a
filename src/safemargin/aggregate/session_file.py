"""The file that describes a session of parties on several machines."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import BaseModel, ConfigDict, ValidationError

from safemargin.aggregate.backends import Backend, make_backend
from safemargin.aggregate.signature import VERSION
from safemargin.core import InputError
from safemargin.io import read_bytes


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
        stated = SessionFile.model_validate_json(read_bytes(path))
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
