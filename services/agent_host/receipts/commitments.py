"""Commitments to what the ledger must not hold, and their openings (receipts.md section 5)."""

from __future__ import annotations

import hmac
import math
import re
import secrets
from dataclasses import dataclass

import rfc8785

from agent_host.providers.protocol import JsonValue

SCHEME = "hmac-sha256"

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Opening:
    """What proves a commitment: the 32-byte key and the RFC 8785 bytes of the value. Kept off the ledger."""

    owner_id: str
    field: str
    key: bytes
    value: bytes


@dataclass(frozen=True)
class Commitment:
    """A lower-case hex HMAC-SHA-256 and the opening that proves it."""

    digest: str
    opening: Opening


def commit(owner_id: str, field: str, value: JsonValue) -> Commitment:
    """Commits to a JSON value with a fresh random key.

    `owner_id` is the turn or call the commitment belongs to, `field` the ledger's name for it. Text that is no valid
    Unicode (lone surrogates) is committed to with U+FFFD in its place, as RFC 8785 has no form for it.
    """
    opening = Opening(owner_id, field, secrets.token_bytes(32), canonical_bytes(value))
    return Commitment(digest_of(opening), opening)


def digest_of(opening: Opening) -> str:
    """Returns the commitment that an opening opens, as the ledger has it under `SCHEME`."""
    return hmac.digest(opening.key, opening.value, "sha256").hex()


def canonical_bytes(value: JsonValue) -> bytes:
    """Returns the RFC 8785 bytes of a JSON value; numbers it has no form for become strings."""
    return rfc8785.dumps(_representable(value))


def _representable(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**53:
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(_representable(name)): _representable(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_representable(item) for item in value]
    return value
