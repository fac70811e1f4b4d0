"""Who calls, and how the server shows who it is: bearer tokens in, a TLS certificate out."""

import ssl
from collections.abc import Iterable
from pathlib import Path

from receipt_writer.errors import CredentialRefusedError, ListenError

_NAME = "authorization"
_SCHEME = "bearer"
_LONGEST_TOKEN = 512


def bearer_token(metadata: Iterable[tuple[str, str | bytes]] | None) -> str | None:
    """Return the token of a call's `authorization: Bearer TOKEN`, None when the call has no such metadata.

    Raises:
        CredentialRefusedError: There is an authorization, but not exactly one of this form (RFC 6750 section 2.1).
    """
    given = [value for name, value in metadata or () if name == _NAME]
    if not given:
        return None
    scheme, _, token = str(given[0]).partition(" ")
    is_form = scheme.lower() == _SCHEME and token.isascii() and token.isprintable() and " " not in token
    if len(given) > 1 or not token or not is_form or len(token) > _LONGEST_TOKEN:
        raise CredentialRefusedError("The authorization is none of the form `Bearer TOKEN`; send one token, or none.")
    return token


def read_certificate(certificate: Path, key: Path) -> tuple[bytes, bytes]:
    """Return a certificate chain and its private key, both PEM, as gRPC takes them.

    Raises:
        ListenError: A file cannot be read, or the two are not a certificate and its unencrypted key.
    """
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, _no_password)
        return certificate.read_bytes(), key.read_bytes()
    except ssl.SSLError as error:  # a kind of OSError, whose text says nothing a person could use
        raise ListenError(
            f"{certificate} and {key} are not a certificate and its own unencrypted key, both PEM."
        ) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ListenError(f"{certificate} or {key} cannot be read: {reason}.") from error


def _no_password() -> str:
    return ""
