"""Certificates that parties name to each other: a connection trusts one certificate, and no authority is needed."""

import datetime
import ipaddress
import ssl

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


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
