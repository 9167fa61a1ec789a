"""Keys of parties, servers and clients: one secret of 32 bytes in a private file, from which two keys come.

The first signs (Ed25519), the second agrees on secrets with another party (X25519, RFC 7748). The public half of both
is 128 hexadecimal digits; of clients and servers the first 64, the signing key, are enough. Two aggregators derive the
key that verifies proofs from their agreement (HKDF, RFC 5869): nobody sends it, no client can know it, and it holds for
one session.

    >>> one, other = Identity(bytes(32)), Identity(bytes([1] * 32))
    >>> one.agree(other.public, "session") == other.agree(one.public, "session")
    True
"""

import datetime
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
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


def make_certificate(host: str, days: int = 90) -> tuple[str, str]:
    """A certificate for TLS that signs itself, and its key: for sessions that name the certificate of each party."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    try:
        shown: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        shown = x509.DNSName(host)
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([shown]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    )
    certificate = builder.sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return certificate.public_bytes(pem).decode(), secret.decode()


def trust(certificate: str) -> ssl.SSLContext:
    """Connections that trust one certificate only, or the system's authorities where none is named."""
    return ssl.create_default_context(cadata=certificate or None)
