"""What a server lists, put in order before the SDK reads it: one bad tool must not hide the others.

What a model would have to read is bounded too: every word of a list is in every prompt, and a server may list whatever
it likes. A description is cut, and a tool whose schema is longer than any person writes is left out.

Output schemas are left out as well: the SDK would check every answer against them in the event loop, and a pattern
there, written by anybody, can take for ever. The model reads an answer as it is, so nothing is lost.
"""

from __future__ import annotations

import json
import logging
from typing import Any, Final

from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCResponse
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

_USED: Final = ("name", "title", "description", "inputSchema", "annotations")
DESCRIPTION_CHARS: Final = 8_000
SCHEMA_CHARS: Final = 50_000
_CUT: Final = "… (cut here)"
_STRICTEST: Final = "2025-11-25"  # later revisions take more, which models do not


def in_order(item: SessionMessage | Exception) -> SessionMessage | Exception:
    """Returns what was read from a server; an answer that lists tools keeps those that can be used."""
    if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
        result = item.message.result
        if isinstance(tools := result.get("tools"), list):
            result["tools"] = [kept for tool in tools if (kept := _usable(tool)) is not None]
    return item


def _usable(tool: Any) -> dict[str, Any] | None:
    """A tool with what is used of it; None when it has no name, or no schema that a model can be given."""
    kept = {key: tool[key] for key in _USED if key in tool} if isinstance(tool, dict) else {}
    if isinstance(schema := kept.get("inputSchema"), dict):
        kept["inputSchema"] = {"type": "object", **schema}  # models are refused a schema that leaves its type open
    for name in ("title", "description"):
        if isinstance(text := kept.get(name), str) and len(text) > DESCRIPTION_CHARS:
            kept[name] = text[:DESCRIPTION_CHARS] + _CUT
    if len(json.dumps(kept.get("inputSchema"))) > SCHEMA_CHARS:
        kept = {}
    try:
        validate_server_result("tools/list", _STRICTEST, {"tools": [kept]})
    except ValidationError:
        kept = {}
    if not kept.get("name"):
        logging.getLogger("mcp").warning("a tool that cannot be used is left out: %.200r", tool)
        return None
    return kept
