"""Sign the manifest of a folder with an office's own Ed25519 key, in the format of minisign."""

import base64
import hashlib
import os
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safemargin.checker import SIGNATURE
from safemargin.core import InputError, OutputError, cannot_write, new_secret, remove_parts, write_whole
from safemargin.io import MANIFEST, read_bytes, read_manifest, read_text, require_private
from safemargin.ui import SCHEMA, Document, Report, Result
from safemargin.verify.given import PUBLISHED

HASHED, TRUSTED = b"ED", "trusted comment: "
"""How minisign signs: the BLAKE2b hash of a file, and then the signature together with a comment."""
PLAIN = b"\0\0"
"""The key is not locked with a password: `minisign -G -W` and `sign --new` write it so."""
CHECKED = b"B2"
PUBLIC = "untrusted comment: public key "
LONGEST = 10_000
"""Bytes of a signature; minisign writes some three hundred."""
SECRET_LENGTH = 2 + 2 + 2 + 32 + 8 + 8 + 8 + 64 + 32
"""Algorithm, lock, checksum, salt, two limits, id of the key, key (seed and public part), checksum."""


@dataclass(frozen=True)
class Signed(Result):
    """A signature that was written, or a pair of keys that was made."""

    file: Path
    key: str
    public: Path | None = None

    def to_json(self) -> Document:
        """The document of `sign --json`."""
        return {"schema": SCHEMA, "file": str(self.file), "key": self.key, "public": self.public and str(self.public)}

    def to_report(self) -> Report:
        """What was written, and what to do with it."""
        if self.public is not None:
            return Report(
                "Sign",
                f"Written: {self.file}, which must stay secret, and {self.public}, to be published where people look "
                "for it.",
            )
        check = f"safemargin verify {shlex.quote(str(self.file.parent))}"
        return Report("Sign", f"Written: {self.file}, by key {self.key}. Anybody can check it: {check} --key")


def sign(folder: Path | str | None = None, *, key: Path | str, new: bool = False) -> Signed:
    """Sign the manifest of a release, or of other published tables, with the secret `key`.

    `folder` is what a command wrote, or its part `published`. Every file must still have the hash that the manifest
    states. The signature stands beside the manifest; `verify` checks it with the public key. If `new` is true, a pair
    of keys is made instead: the file `key`, and the same name with the ending `.pub`.
    """
    secret = Path(key)
    for path in (secret, secret.with_suffix(".pub")):
        remove_parts(path)
    if new:
        if folder is not None:
            raise InputError("new: makes a pair of keys; remove the folder, and sign in a second call")
        return _new_pair(secret)
    if folder is None:
        raise InputError("folder: which folder is to be signed?")
    place = Path(folder)
    place = place / PUBLISHED if (place / PUBLISHED).is_dir() else place
    manifest = place / MANIFEST
    if changed := read_manifest(manifest).changed(place):
        raise InputError(f"{manifest}: {changed[0]} is missing or was changed after the manifest was written")
    number, signer = _read_secret(secret)
    mark = signer.sign(hashlib.blake2b(read_bytes(manifest)).digest())
    trusted = f"timestamp:{int(time.time())}\tfile:{MANIFEST}\thashed"
    whole = signer.sign(mark + trusted.encode())
    lines = [
        "untrusted comment: signature from safemargin",
        _base64(HASHED + number + mark),
        f"{TRUSTED}{trusted}",
        _base64(whole),
    ]
    target = manifest.with_name(SIGNATURE)
    remove_parts(target)
    if not _is_signed(target, signer, number, manifest):  # by a run that was interrupted after it
        _write(target, lines, 0o644)
    return Signed(target, _key_name(number))


def _is_signed(path: Path, signer: Any, number: bytes, manifest: Path) -> bool:
    """Whether a signature of this manifest by this key is there already."""
    from cryptography.exceptions import InvalidSignature

    if not path.is_file() or path.stat().st_size > LONGEST:
        return False
    try:
        lines = path.read_bytes().decode().splitlines()
        content, whole = base64.b64decode(lines[1], validate=True), base64.b64decode(lines[3], validate=True)
        public = signer.public_key()
        public.verify(content[10:], hashlib.blake2b(read_bytes(manifest)).digest())
        public.verify(whole, content[10:] + lines[2].removeprefix(TRUSTED).encode())
    except (ValueError, IndexError, InvalidSignature):
        return False
    return len(lines) == 4 and content[:10] == HASHED + number


def _new_pair(path: Path) -> Signed:
    public = path.with_suffix(".pub")
    if public == path:
        raise InputError(f"key = {path}: must not end in .pub, which is the public part")
    if path.is_file() and path.stat().st_size and _is_open(public):  # a run that was interrupted made the first half
        number, signer = _read_secret(path)
        _write_public(public, number, signer)
        return Signed(path, _key_name(number), public)
    if not _is_open(public):
        raise OutputError(f"{public}: exists already; remove it or name another")
    # The seed comes from the system, as every secret does.
    seed, number = bytes.fromhex(new_secret()), bytes.fromhex(new_secret())[:8]
    signer = _ed25519(seed)
    printed = signer.public_key().public_bytes_raw()
    content = number + seed + printed
    checksum = hashlib.blake2b(b"Ed" + content, digest_size=32).digest()
    secret = b"Ed" + PLAIN + CHECKED + bytes(32 + 8 + 8) + content + checksum
    _write(path, ["untrusted comment: secret key of safemargin; keep it secret", _base64(secret)], 0o600)
    _write_public(public, number, signer)
    return Signed(path, _key_name(number), public)


def _is_open(public: Path) -> bool:
    """Whether a public key is still to be written."""
    return not os.path.lexists(public) or _is_start(public, PUBLIC)


def _write_public(path: Path, number: bytes, signer: Any) -> None:
    content = b"Ed" + number + signer.public_key().public_bytes_raw()
    _write(path, [f"{PUBLIC}{_key_name(number)}", _base64(content)], 0o644)


def _read_secret(path: Path) -> tuple[bytes, Any]:
    """The id of a secret key, and what signs with it."""
    if not path.exists():
        raise InputError(f"{path}: there is no such key; make one first: safemargin sign --new --key {path}")
    require_private(path)
    lines = read_text(path).splitlines()
    try:
        content = base64.b64decode(lines[1] if len(lines) == 2 else "", validate=True)
    except ValueError:
        content = b""
    if len(content) != SECRET_LENGTH or content[:2] != b"Ed" or content[4:6] != CHECKED:
        raise InputError(f"{path}: is not a secret key of minisign")
    if content[2:4] != PLAIN:
        raise InputError(f"{path}: is locked with a password; sign with minisign -S -H -m {MANIFEST}")
    held, checksum = content[54:126], content[126:]
    if hashlib.blake2b(b"Ed" + held, digest_size=32).digest() != checksum:
        raise InputError(f"{path}: was changed: its checksum does not match")
    return held[:8], _ed25519(held[8:40])


def _ed25519(seed: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ModuleNotFoundError:
        raise InputError("key: signatures need the package cryptography; install safemargin[sign]") from None
    return Ed25519PrivateKey.from_private_bytes(seed)


def _write(path: Path, lines: list[str], mode: int) -> None:
    """Write a new file whole or not at all; one that exists is never replaced, unless a crash left only its start."""
    text = "\n".join(lines) + "\n"
    try:
        if _is_start(path, lines[0]):
            path.unlink()
        write_whole(path, text.encode(), mode, new=True)
    except FileExistsError:
        raise OutputError(f"{path}: exists already; remove it or name another") from None
    except OSError as error:
        raise cannot_write(path, error) from error


def _is_start(path: Path, comment: str) -> bool:
    """Whether a file is empty, or a first line of ours that was not finished: no signature and no key."""
    if not path.is_file() or path.is_symlink() or path.stat().st_size > len(comment) + 1:
        return False
    return comment.encode().startswith(path.read_bytes().rstrip(b"\n"))


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _key_name(number: bytes) -> str:
    """The id of a key as minisign prints it."""
    return number[::-1].hex().upper()
