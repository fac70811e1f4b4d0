"""Exports of mem0: a list of memories as its `get_all` gives them, or an object that holds it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory_mcp.errors import InvalidArgumentError
from memory_mcp.transfer.bundle import Bundle
from memory_mcp.transfer.items import Batch, Collector, Manner, text_of
from memory_mcp.transfer.json_text import decoded, parsed

NAME = "mem0"

_LISTS = ("results", "memories", "data")


def rows_of(document: Any) -> list[Any] | None:
    """Returns the memories of an export, none when the document is no such export."""
    if isinstance(document, dict):
        document = next((document[name] for name in _LISTS if isinstance(document.get(name), list)), None)
    if not isinstance(document, list) or not document:
        return None
    return document if any(isinstance(row, dict) and isinstance(row.get("memory"), str) for row in document) else None


def read(bundle: Bundle, manner: Manner) -> Batch:
    """Reads the export."""
    found = Collector(NAME, "mem0", manner)
    for name, data in bundle.files.items():
        try:
            rows = rows_of(parsed(decoded(data), name))
        except InvalidArgumentError as error:
            found.skip(name, str(error))
            continue
        if rows is None:
            found.skip(name, "It has no list of memories.")
            continue
        for number, row in enumerate(rows, start=1):
            where = f"{name} memory {number}"
            if not isinstance(row, dict):
                found.skip(where, "It is no object.")
                continue
            found.add(
                where,
                row.get("memory"),
                created_at=row.get("created_at"),
                episode=text_of(row, "run_id"),
                tags=_tags(row),
            )
    return found.batch()


def _tags(row: Mapping[str, Any]) -> list[str]:
    """Returns what mem0 files a memory under: its categories, and whose it is."""
    metadata = row.get("metadata") if isinstance(row.get("metadata"), dict) else {}
    categories = row.get("categories") or (metadata or {}).get("categories") or (metadata or {}).get("category") or []
    named = [categories] if isinstance(categories, str) else categories if isinstance(categories, list) else []
    owner = text_of(row, "user_id", "agent_id")
    return [*(str(name) for name in named), *([owner] if owner else [])]
