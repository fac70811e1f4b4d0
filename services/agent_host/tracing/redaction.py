"""Takes secrets out of what is traced (agent.md row 88).

Two rules: a member whose name speaks of a secret loses its value, also in JSON that stands as text inside other JSON,
and text that has the shape of a known kind of token loses that token, wherever it stands. An address loses the name
and password in it, and what is assigned as in `api_key=…` goes too, since addresses and logs are what tools return.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from agent_host.providers.protocol import JsonValue
from agent_host.tracing.results import parsed
from service_telemetry.redaction import HIDDEN, redact_text

__all__ = ["HIDDEN", "redact", "redact_text"]

_MOST_LEVELS: Final = 64
"""How deep a value is looked into; what lies deeper is hidden whole: no tool needs it."""

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


def redact(value: JsonValue) -> JsonValue:
    """Returns the value with secrets hidden, at any depth."""
    return _redacted(value, 0)


def _redacted(value: JsonValue, level: int) -> JsonValue:
    if level > _MOST_LEVELS:
        return HIDDEN
    if isinstance(value, str):
        return _text(value, level)
    if isinstance(value, Mapping):
        return {
            name: HIDDEN if _names_a_secret(name) else _redacted(member, level + 1) for name, member in value.items()
        }
    if isinstance(value, Sequence):
        return [_redacted(item, level + 1) for item in value]
    return value


def _text(text: str, level: int) -> str:
    """Returns a text without secrets; JSON in it stays as it was written unless something in it has to go."""
    inner = parsed(text)
    if inner is not None and (hidden := _redacted(inner, level + 1)) != inner:
        return json.dumps(hidden, ensure_ascii=False, separators=(",", ":"))
    return redact_text(text)


def _names_a_secret(name: str) -> bool:
    letters = re.sub(r"[^a-z0-9]", "", name.lower())
    return any(word in letters for word in _SECRET_NAMES)
