"""Detached Ed25519 signatures in the format of minisign, checked with the optional package `cryptography`.

A file of two or four lines: a comment that nobody vouches for, then in base64 the algorithm (two letters), the id of
the key (8 bytes) and the key or signature; a signature goes on with a trusted comment and a signature of both.
"""

import base64
import binascii
import hashlib
from pathlib import Path

from safemargin.core import InputError
from safemargin.io import read_bytes, read_text

SUFFIX = ".minisig"
HASHED = b"ED"
"""The algorithm that signs the BLAKE2b hash of a file, which minisign has used since version 0.10."""
TRUSTED = "trusted comment: "


def signature_failures(signed: Path, signature: Path, key: Path) -> list[str]:
    """Why `signature` is not a signature of the file `signed` by the public `key`."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ModuleNotFoundError:
        raise InputError("key: signatures need the package cryptography; install safemargin[sign]") from None
    lines = read_text(key).splitlines()
    algorithm, key_id, public = _parts(key, lines[-1] if len(lines) in (1, 2) else "", 32)
    if algorithm != b"Ed":
        raise InputError(f"{key}: is not a public key of minisign")
    if not signature.is_file():
        return [f"{signature.name}: is missing; nobody has signed {signed.name}"]
    lines = read_text(signature).splitlines()
    if len(lines) != 4 or not lines[2].startswith(TRUSTED):
        return [f"{signature.name}: is not a signature of minisign"]
    try:
        algorithm, signer, mark = _parts(signature, lines[1], 64)
        # Lines end with what `splitlines` takes away; everything else is signed as it stands.
        whole = base64.b64decode(lines[3], validate=True)
    except (InputError, binascii.Error):
        return [f"{signature.name}: is not a signature of minisign"]
    if signer != key_id:
        return [f"{signature.name}: was made with another key than {key.name}"]
    if algorithm != HASHED:
        return [
            f"{signature.name}: signs in the old way of minisign, without a hash; sign again with a current version"
        ]
    verifier = Ed25519PublicKey.from_public_bytes(public)
    try:
        verifier.verify(mark, hashlib.blake2b(read_bytes(signed)).digest())
        verifier.verify(whole, mark + lines[2].removeprefix(TRUSTED).encode())
    except InvalidSignature:
        return [f"{signature.name}: does not sign {signed.name} as it is; one of them was changed"]
    return []


def _parts(path: Path, line: str, length: int) -> tuple[bytes, bytes, bytes]:
    """Algorithm, id of the key, and the key or signature of so many bytes."""
    try:
        content = base64.b64decode(line, validate=True)
    except (binascii.Error, ValueError):
        content = b""
    if len(content) != 10 + length:
        raise InputError(f"{path}: is not a file of minisign")
    return content[:2], content[2:10], content[10:]
