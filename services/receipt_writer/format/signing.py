"""Signatures: which bytes are signed, which keys and signatures are fit to be checked at all (RF-11 to RF-14).

Ed25519 libraries disagree at the edges: with the identity point as key, some accept one signature for every message.
The byte checks here remove every case on which PyNaCl, OpenSSL and Node disagree, so they come before verifying.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from receipt_writer.format.digest import sha256_hex
from receipt_writer.format.errors import UnsafeKeyError, UnsafeSignatureError

ALGORITHM = "ed25519"
"""The one algorithm of forms v1 and v2."""
PUBLIC_KEY_BYTES = 32
"""Length of an Ed25519 public key: the encoded point A."""
SIGNATURE_BYTES = 64
"""Length of an Ed25519 signature: the encoded point R, then the scalar S, little-endian."""

_FIELD_PRIME = 2**255 - 19
_GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493
_SIGN_BIT = 2**255
_POINT_BYTES = 32

# The y of every point whose order divides 8 (the two of order 8 have no short form). With the sign bit left out, and y
# kept below the prime, these five stand for all fourteen encodings of such points.
_LOW_ORDER_Y = frozenset(
    {
        0,
        1,
        _FIELD_PRIME - 1,
        0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
        0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
    }
)


class Signer(Protocol):
    """Holds one private key and signs with it: a file, a token, a service, an agent."""

    @property
    def public_key(self) -> bytes:
        """The 32-byte public key that verifies what `sign` returns."""
        ...

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte Ed25519 signature (RFC 8032, no prehash) of `message`."""
        ...


@lru_cache(maxsize=64)
def payload_type(layer: str, form: str, signed_at_iso: str) -> str:
    """Return the type that a signature binds beside the body: the layer, the form and the time of signing (RF-12)."""
    return f"application/vnd.prometheus.receipt+json;layer={layer};form={form};signedAt={signed_at_iso}"


def pae(payload_kind: str, payload: bytes) -> bytes:
    """Return the DSSE pre-authentication encoding, the bytes that are really signed (RF-12).

    Lengths are of bytes, in decimal, so no type and payload can be read as another type and payload.
    """
    kind = payload_kind.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def precheck_key(public_key: bytes) -> None:
    """Refuse a public key that implementations judge differently (RF-13).

    Raises:
        UnsafeKeyError: not 32 bytes, y not below 2^255-19, or a point of low order.
    """
    if len(public_key) != PUBLIC_KEY_BYTES:
        raise UnsafeKeyError(f"A public key has {PUBLIC_KEY_BYTES} bytes; this one has {len(public_key)}.")
    fault = _point_fault(public_key)
    if fault:
        raise UnsafeKeyError(f"The public key {fault}.")


def precheck_signature(signature: bytes) -> None:
    """Refuse a signature that implementations judge differently (RF-13).

    Raises:
        UnsafeSignatureError: not 64 bytes, R's y not below 2^255-19, R of low order, or S not below the group order.
    """
    if len(signature) != SIGNATURE_BYTES:
        raise UnsafeSignatureError(f"A signature has {SIGNATURE_BYTES} bytes; this one has {len(signature)}.")
    fault = _point_fault(signature[:_POINT_BYTES])
    if fault:
        raise UnsafeSignatureError(f"The signature's first half {fault}.")
    if int.from_bytes(signature[_POINT_BYTES:], "little") >= _GROUP_ORDER:
        raise UnsafeSignatureError("The signature's second half is not below the group order.")


def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Say whether `signature` is the key's Ed25519 signature of `message`, byte checks included (RF-13, RF-14)."""
    try:
        precheck_key(public_key)
        precheck_signature(signature)
        VerifyKey(public_key).verify(message, signature)
    except (UnsafeKeyError, UnsafeSignatureError, BadSignatureError):
        return False
    return True


def fingerprint(public_key: bytes) -> str:
    """Return the name by which people compare a key: the SHA-256 of its 32 bytes, 64 lower-case hex digits (RF-18)."""
    return sha256_hex(public_key)


def _point_fault(encoded: bytes) -> str | None:
    y = int.from_bytes(encoded, "little") & (_SIGN_BIT - 1)
    if y >= _FIELD_PRIME:
        return "is not a canonical point encoding"
    if y in _LOW_ORDER_Y:
        return "is a point of low order"
    return None
