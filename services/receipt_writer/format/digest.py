"""Hashes: of bodies, of a chain's beginning, of what a receipt commits to without saying it (RF-7, RF-10, RF-15)."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass

from receipt_writer.format.errors import OpeningError, OriginError

MAX_ORIGIN_CHARACTERS = 200
"""Longest origin."""
OPENING_KEY_BYTES = 32
"""Length of the random key behind an `hmac-sha256` commitment."""
NO_TENANT = "-"
"""How an origin spells the chain that belongs to no tenant."""
ZERO_HASH = "0" * 64
"""What stands in a hash member when there is nothing to hash, and no digest anyone can produce."""

_GENESIS = b"prometheus-receipts genesis v1\n"
_PART = re.compile(r"[a-z0-9.-]+")
_NEW_PART = re.compile(r"[a-z0-9][a-z0-9.-]*")


@dataclass(frozen=True, slots=True)
class OriginParts:
    """The parts of an origin: who runs the ledger, which chain, and whose it is (None: nobody's in particular)."""

    substrate_id: str
    chain: str
    tenant_id: str | None


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of `data` as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def origin(substrate_id: str, chain: str, tenant: str | None = None) -> str:
    """Return the name for a new chain, `<substrateId>/<chain>/<tenantId>` (RF-10).

    New parts start with a letter or digit, so that each is also a harmless folder name.

    Raises:
        OriginError: a part has other characters than it may, or the whole is longer than 200.
    """
    for word, part in (("substrate id", substrate_id), ("chain", chain), ("tenant id", tenant)):
        if part is not None and not _NEW_PART.fullmatch(part):
            raise OriginError(
                f"The {word} of an origin must be lower-case letters, digits, dots and hyphens after a letter or digit."
            )
    whole = "/".join((substrate_id, chain, NO_TENANT if tenant is None else tenant))
    _refuse_long(whole)
    return whole


def split_origin(whole: str) -> OriginParts:
    """Return the parts of any origin.

    Raises:
        OriginError: not three parts of lower-case letters, digits, dots and hyphens, or longer than 200.
    """
    _refuse_long(whole)
    match whole.split("/"):
        case [substrate_id, chain, tenant] if all(map(_PART.fullmatch, (substrate_id, chain, tenant))):
            return OriginParts(substrate_id, chain, None if tenant == NO_TENANT else tenant)
        case _:
            raise OriginError("An origin is <substrateId>/<chain>/<tenantId> of a-z, 0-9, dots and hyphens.")


def genesis_hash(whole_origin: str) -> str:
    """Return the `prevHash` of a chain's first entry, which binds every later entry to this origin (RF-10).

    Raises:
        OriginError: the origin is malformed.
    """
    split_origin(whole_origin)
    return sha256_hex(_GENESIS + whole_origin.encode() + b"\n")


def commit(value: bytes, key: bytes | None) -> str:
    """Return the commitment to a value: HMAC-SHA-256 under its opening key, or plain SHA-256 without one (RF-15).

    `value` is the RFC 8785 bytes of the value. `key` is 32 fresh random bytes for this one field, kept outside the
    ledger. A plain hash of a short value can be guessed, so None is for whoever configured it.

    Raises:
        OpeningError: the key is not 32 bytes.
    """
    if key is None:
        return sha256_hex(value)
    if len(key) != OPENING_KEY_BYTES:
        raise OpeningError(f"An opening key has {OPENING_KEY_BYTES} bytes; this one has {len(key)}.")
    return hmac.digest(key, value, "sha256").hex()


def _refuse_long(whole: str) -> None:
    if len(whole) > MAX_ORIGIN_CHARACTERS:
        raise OriginError(f"An origin has at most {MAX_ORIGIN_CHARACTERS} characters; this one has {len(whole)}.")
