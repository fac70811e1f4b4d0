"""A certificate for 127.0.0.1, made on the spot and trusted by nobody else."""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

_HOUR = dt.timedelta(hours=1)


@dataclass(frozen=True)
class CertificateFiles:
    """Where a certificate and its key are, PEM."""

    certificate: Path
    key: Path


def make_certificate(folder: Path, name: str = "server", password: bytes | None = None) -> CertificateFiles:
    """Make a self-signed certificate that is good for an hour either way."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a receipt writer")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _HOUR)
        .not_valid_after(now + _HOUR)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = CertificateFiles(folder / f"{name}.pem", folder / f"{name}.key")
    files.certificate.write_bytes(certificate.public_bytes(Encoding.PEM))
    protection = BestAvailableEncryption(password) if password else NoEncryption()
    files.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection))
    return files
