"""The file that describes a session of parties on several machines."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import BaseModel, ConfigDict, ValidationError

from safemargin.aggregate.backend import Backend, Options
from safemargin.aggregate.backends import make_backend
from safemargin.aggregate.identity import Identity, signing_key
from safemargin.core import InputError
from safemargin.io import check_keys, read_bytes
from safemargin.parties.signature import VERSION


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
    keys: dict[str, str] = {}
    """Public keys of parties, 128 digits: what they sign results with, and derive the key for proofs from."""
    certificates: dict[str, str] = {}
    """Certificates of parties that sign themselves; of others the system's authorities decide."""
    weights: list[int] = []
    most: int = 0
    """Options of `prio3-statistic` and `prio3-some`."""


@dataclass(frozen=True)
class Session:
    """A session with its backend and keys made ready."""

    file: SessionFile
    backend: Backend
    keys: Mapping[str, Ed25519PublicKey] = field(hash=False)
    server: Ed25519PublicKey
    parties: Mapping[str, Ed25519PublicKey] = field(default_factory=dict, hash=False)


def read_session(path: Path) -> Session:
    """The session file, checked."""
    content = read_bytes(path)
    check_keys(content, path)
    try:
        stated = SessionFile.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(f"{path}: {place}: {first['msg']}") from None
    return make_session(stated, str(path))


def make_session(stated: SessionFile, name: str = "session") -> Session:
    """Backend and keys from a session's parameters."""
    if stated.version != VERSION:
        raise InputError(f"{name}: version {stated.version}: this program speaks version {VERSION}")
    options = Options(tuple(stated.weights), stated.most, f"safemargin {stated.name}".encode())
    backend = make_backend(stated.backend, len(stated.questions), len(stated.clients), stated.largest, options)
    missing = set(backend.parties) ^ set(stated.parties)
    if missing:
        raise InputError(f"{name}: parties: {min(missing)!r} is not a party of {stated.backend}, or has no address")
    for role, address in stated.parties.items():
        if not address.startswith(("https://", "http://127.0.0.1:")):
            raise InputError(f"{name}: parties: {role}: {address!r} must begin with https://")
    try:
        keys = {client: signing_key(key) for client, key in stated.clients.items()}
        server = signing_key(stated.server)
        parties = {role: signing_key(key) for role, key in stated.keys.items()}
    except ValueError:
        raise InputError(f"{name}: a public key is not 32 or 64 bytes in hexadecimal digits") from None
    if backend.proves and any(len(stated.keys.get(role, "")) != 128 for role in backend.parties):
        raise InputError(f"{name}: keys: every party of {stated.backend} has a public key of 128 digits")
    return Session(stated, backend, keys, server, parties)


def verify_key(session: Session, identity: Identity, role: str) -> bytes | None:
    """What both aggregators verify proofs with; nothing where there are no proofs."""
    if not session.backend.proves:
        return None
    if session.file.keys.get(role) != identity.public:
        raise InputError(f"the key is not the one of {role!r} in session {session.file.name!r}")
    (other,) = (key for name, key in session.file.keys.items() if name != role)
    return identity.agree(other, session.file.name)
