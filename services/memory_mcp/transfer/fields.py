"""A memory as named fields, and back: what our own JSON lines and Markdown files hold. Pure.

Nothing is lost: history, times to the millisecond, tags, origin and trust are all there. A field without a value is
left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memory_mcp import intake
from memory_mcp.errors import InvalidArgumentError
from memory_mcp.model import UNTRUSTED, Content, Memory, Origin, Trust
from memory_mcp.moments import FIRST_MS, LAST_MS, Moment
from memory_mcp.normal_form import body_hash
from memory_mcp.scopes import parse_scope
from memory_mcp.transfer.items import Kept, Manner

_HASH_CHARACTERS = 64


def fields_of(memory: Memory) -> dict[str, Any]:
    """Returns everything there is to know of a memory; `number` is its place in this store, the body comes last."""
    content = memory.content
    found = {
        "id": memory.id,
        "number": memory.number,
        "kind": content.kind.value,
        "scope": content.scope.name,
        "subject": content.subject,
        "tags": list(content.tags) or None,
        "happened_at": content.happened.text if content.happened else None,
        "happened_at_ms": content.happened.at_ms if content.happened else None,
        "source_url": content.source_url,
        "origin": memory.origin.client,
        "trust": memory.origin.trust.value,
        "created_at_ms": memory.created_at_ms,
        "last_seen_at_ms": memory.last_seen_at_ms,
        "episode": memory.episode,
        "position": memory.position,
        "superseded_by": memory.superseded_by,
        "retired_at_ms": memory.retired_at_ms,
        "forgotten_at_ms": memory.forgotten_at_ms,
        "forgotten_by": memory.forgotten_by,
        "erased": memory.erased or None,
        "body_hash": memory.body_hash if memory.erased else None,
        "body": content.body,
    }
    return {name: value for name, value in found.items() if value is not None}


def kept_of(fields: Mapping[str, Any], manner: Manner, where: str) -> Kept:
    """Returns the memory that some fields describe.

    Raises:
        InvalidArgumentError: A field is missing or not possible.
    """
    erased = fields.get("erased") is True
    content = _erased_content(fields, manner) if erased else content_of(fields, manner)
    kept = Kept(
        where=where,
        id=intake.checked_id(_text(fields, "id") or ""),
        content=content,
        origin=_origin(fields, manner),
        number=_ms(fields, "number") or 0,
        body_hash=_hash(fields) if erased else body_hash(content.body),
        created_at_ms=_needed_ms(fields, "created_at_ms"),
        last_seen_at_ms=_ms(fields, "last_seen_at_ms") or _needed_ms(fields, "created_at_ms"),
        episode=intake.checked_key("episode", _text(fields, "episode")),
        position=_ms(fields, "position"),
        superseded_by=intake.checked_id(by) if (by := _text(fields, "superseded_by")) else None,
        retired_at_ms=_ms(fields, "retired_at_ms"),
        forgotten_at_ms=_ms(fields, "forgotten_at_ms"),
        forgotten_by=intake.checked_key("forgotten_by", _text(fields, "forgotten_by")),
        erased=erased,
    )
    if kept.erased and kept.forgotten_at_ms is None:
        raise InvalidArgumentError("It is said to be erased but has no forgotten_at_ms.")
    if kept.position is not None and kept.episode is None:
        raise InvalidArgumentError("It has a position but no episode.")
    return kept


def content_of(fields: Mapping[str, Any], manner: Manner) -> Content:
    """Returns what the fields of a memory say.

    Raises:
        InvalidArgumentError: A field is missing or not possible.
    """
    tags = fields.get("tags") or []
    if not isinstance(tags, list):
        raise InvalidArgumentError("Its tags are no list.")
    content = intake.content(
        manner.zone,
        body=_text(fields, "body") or "",
        kind=_text(fields, "kind"),
        scope=_text(fields, "scope") or manner.scope.name,
        subject=_text(fields, "subject"),
        tags=[str(tag) for tag in tags],
        happened_at=_text(fields, "happened_at"),
        source_url=_text(fields, "source_url"),
    )
    at_ms = _ms(fields, "happened_at_ms")
    if content.happened and at_ms is not None:  # a date begins when it began where it was written
        return replace(content, happened=Moment(at_ms, content.happened.text))
    return content


def _erased_content(fields: Mapping[str, Any], manner: Manner) -> Content:
    content = content_of({**fields, "body": "erased", "subject": None, "tags": None, "source_url": None}, manner)
    return replace(content, body="", scope=parse_scope(_text(fields, "scope")))


def _origin(fields: Mapping[str, Any], manner: Manner) -> Origin:
    client = intake.checked_key("origin", _text(fields, "origin")) or "unknown"
    trust = intake.parse_trust(_text(fields, "trust")) or Trust.IMPORT
    if not manner.vouched and trust not in UNTRUSTED:
        trust = Trust.IMPORT
    return Origin(client, trust)


def _text(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidArgumentError(f"Its {name} is no text.")
    return value


def _ms(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if value is None:
        return None
    if type(value) is not int or not FIRST_MS <= value <= LAST_MS:
        raise InvalidArgumentError(f"Its {name} is no whole number that is possible there.")
    return value


def _needed_ms(fields: Mapping[str, Any], name: str) -> int:
    value = _ms(fields, name)
    if value is None:
        raise InvalidArgumentError(f"It has no {name}.")
    return value


def _hash(fields: Mapping[str, Any]) -> str:
    value = _text(fields, "body_hash") or ""
    if len(value) != _HASH_CHARACTERS or set(value) - set("0123456789abcdef"):
        raise InvalidArgumentError("It is erased and has no body_hash of 64 hex digits.")
    return value
