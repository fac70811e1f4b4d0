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

HIDDEN: Final = "***"
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

_SECRET_SHAPES = re.compile(
    r"(?i:bearer)\s+[A-Za-z0-9._~+/=-]{8,}"  # RFC 6750 section 2.1
    r"|\b[spr]k-[A-Za-z0-9_-]{16,}"  # model providers' keys
    r"|\bgh[a-z]{1,2}_[A-Za-z0-9]{20,}"
    r"|\bxox[a-z]-[A-Za-z0-9-]{10,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"  # RFC 7519 compact form
    r"|(?<=://)[^/\s:@\"]+:[^/\s@\"]+(?=@)"  # RFC 3986 section 3.2.1
)
_ASSIGNED = re.compile(
    r"(?i)((?<![a-z])(?:(?:api|access|private)[_-]?key|(?:\w+[_-])?token|(?:\w+[_-])?secret|password|passwd))"
    r"=[^\s&\"'<>;,*]{4,}"
)


def redact_text(text: str) -> str:
    """Returns the text with every token-shaped part hidden."""
    return _ASSIGNED.sub(rf"\1={HIDDEN}", _SECRET_SHAPES.sub(HIDDEN, text))


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
