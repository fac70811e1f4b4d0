"""Takes secrets out of what is traced (agent.md row 88).

Two rules: a member whose name speaks of a secret loses its value, and text that has the shape of a known kind of
token loses that token, wherever it stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agent_host.providers.protocol import JsonValue

HIDDEN = "***"

_SECRET_NAMES = (
    "authorization",
    "apikey",
    "token",
    "secret",
    "password",
    "passwd",
    "cookie",
    "credential",
    "privatekey",
    "accesskey",
    "bearer",
)

_SECRET_SHAPES = re.compile(
    r"(?i:bearer)\s+[A-Za-z0-9._~+/=-]{8,}"  # RFC 6750 section 2.1
    r"|\b[spr]k-[A-Za-z0-9_-]{16,}"  # model providers' keys
    r"|\bgh[a-z]{1,2}_[A-Za-z0-9]{20,}"
    r"|\bxox[a-z]-[A-Za-z0-9-]{10,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"  # RFC 7519 compact form
)


def redact_text(text: str) -> str:
    """Returns the text with every token-shaped part hidden."""
    return _SECRET_SHAPES.sub(HIDDEN, text)


def redact(value: JsonValue) -> JsonValue:
    """Returns the value with secrets hidden, at any depth."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Mapping):
        return {name: HIDDEN if _names_a_secret(name) else redact(member) for name, member in value.items()}
    if isinstance(value, Sequence):
        return [redact(item) for item in value]
    return value


def _names_a_secret(name: str) -> bool:
    letters = re.sub(r"[^a-z0-9]", "", name.lower())
    return any(word in letters for word in _SECRET_NAMES)
