"""How large an answer becomes on the wire, so that it stays below what clients cut off. Pure.

An answer is structured content and a text that says the same, for clients that read only one of them, so every word
counts twice. "Rules for all tools" in spec/servers.md: under 40 kB.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TypeVar

from memory_mcp.model import Memory

PAGE_BYTES = 36_000
"""All entries of one answer together."""
BODY_BYTES = 17_000
"""The part of a body that one answer carries (twice) at most."""
GET_BYTES = 37_000
"""A memory with the part of its body and everything else that is said of it, both times."""
SUPERSEDED_IDS = 50
"""Of the ids that a memory replaced an answer names the newest."""
ENTRY_CHARACTERS = 280
"""Of a longer body a list shows the beginning."""

_FIELDS_BYTES = 450
_LEAST_BODY_BYTES = 1_000
_Item = TypeVar("_Item")


def wire_bytes(text: str) -> int:
    """Returns the bytes of a text as a JSON string in UTF-8."""
    return len(json.dumps(text, ensure_ascii=False).encode())


def entry_bytes(memory: Memory, shown: str) -> int:
    """Returns about how much an entry that shows this piece of text adds to an answer, never less than it does."""
    names = (
        wire_bytes(memory.content.subject or "")
        + wire_bytes(memory.content.scope.name)
        + wire_bytes(memory.origin.client)
    )
    return _FIELDS_BYTES + 2 * (names + wire_bytes(shown[: 2 * ENTRY_CHARACTERS]))


def fitting(items: Iterable[_Item], size: Callable[[_Item], int]) -> tuple[_Item, ...]:
    """Returns the first items that fit into one answer; the first one always does."""
    kept: list[_Item] = []
    used = 0
    for item in items:
        used += size(item)
        if kept and used > PAGE_BYTES:
            break
        kept.append(item)
    return tuple(kept)


def body_part(body: str, start: int, beside_bytes: int = 0) -> tuple[str, int | None]:
    """Returns the part of a body from a character on that fits into one answer, and where the next part begins.

    `beside_bytes` is what else is said of the memory, which counts twice like the body.
    """
    most = max(_LEAST_BODY_BYTES, min(BODY_BYTES, GET_BYTES // 2 - beside_bytes))
    part = body[start : start + most]
    while wire_bytes(part) > most:
        part = part[: max(1, len(part) * most // (wire_bytes(part) + 1))]
    end = start + len(part)
    return part, end if end < len(body) else None
