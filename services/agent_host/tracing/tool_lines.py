"""The members of a tool call's trace line, version 2 (agent.md 2.6). Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final

from agent_host.mcp_clients.protocol import ToolOutcome
from agent_host.providers.protocol import JsonValue
from agent_host.tracing.events import ToolCalled
from agent_host.tracing.redaction import redact, redact_text
from agent_host.tracing.results import members_of, parsed, stated

ARGUMENTS_LIMIT: Final = 500
OUTPUT_LIMIT: Final = 20_000
ERROR_LIMIT: Final = 200
QUERY_LIMIT: Final = 200
IDS_LIMIT: Final = 20
_ID_LIMIT: Final = 80
_MEMORY: Final = "memory"
_LOCAL: Final = "local"  # this host's own tools
SPANS: Final[Mapping[str, str]] = {
    "memory_search": "retrieval",
    "memory_recall": "retrieval",
    "memory_remember": "memory_write",
    "memory_update": "memory_write",
}
OPERATIONS: Final[Mapping[str, str]] = {
    "tool": "execute_tool",
    "retrieval": "search_memory",
    "memory_write": "create_memory",
}


def tool_members(event: ToolCalled) -> dict[str, JsonValue]:
    """Returns the members of one tool call; what a call has no value for is left out.

    Arguments and output are without secrets, and cut to `ARGUMENTS_LIMIT` and `OUTPUT_LIMIT` characters;
    `output_sha256` is over the whole output as the model read it, `output_chars` stands where the output was cut.
    """
    outcome = event.outcome
    said = stated(outcome)
    output = _readable(outcome)
    span = SPANS.get(outcome.tool, "tool")
    members: dict[str, JsonValue] = {
        "type": "tool",
        "span": span,
        "tool": event.name,
        "gen_ai.operation.name": OPERATIONS[span],
        "gen_ai.tool.type": _tool_type(outcome.server),
        "gen_ai.tool.call.id": event.call_id,
        "source": _source(outcome.server),
        "args": _arguments(event),
        "output": output[:OUTPUT_LIMIT],
        "output_sha256": hashlib.sha256(outcome.content.encode("utf-8", "surrogatepass")).hexdigest(),
        "ok": said.ok,
        "duration_ms": outcome.duration_ms,
        "cost_micro_usd": said.cost_micro_usd,
        "endpoint_id": said.endpoint_id and redact_text(said.endpoint_id),
        "provider": said.provider and redact_text(said.provider),
        "output_chars": len(output) if len(output) > OUTPUT_LIMIT else None,
        "read_first": event.read_first or None,
        "error": None if said.ok else redact_text(said.reason or output)[:ERROR_LIMIT],
    }
    if span == "retrieval":
        members |= _retrieval_members(event)
    elif span == "memory_write":
        members["memory_ids"] = _stored_ids(members_of(outcome))
    return {name: value for name, value in members.items() if value is not None}


def _retrieval_members(event: ToolCalled) -> dict[str, JsonValue]:
    """Returns what was searched for and what came back, by ids alone."""
    answer = members_of(event.outcome)
    entries = answer.get("entries")
    found = [one for one in entries if isinstance(one, Mapping)] if isinstance(entries, list | tuple) else []
    trace_id = answer.get("retrieval_trace_id")
    return {
        "gated": event.gated,
        "query": redact_text(str(event.arguments.get("query", "")))[:QUERY_LIMIT],
        "results": len(found),
        "memory_ids": [str(one.get("id", ""))[:_ID_LIMIT] for one in found[:IDS_LIMIT]],
        "retrieval_trace_id": trace_id[:_ID_LIMIT] if isinstance(trace_id, str) else None,
    }


def _stored_ids(answer: Mapping[str, JsonValue]) -> list[JsonValue]:
    memory = answer.get("memory")
    stored = memory.get("id") if isinstance(memory, Mapping) else None
    return [stored[:_ID_LIMIT]] if isinstance(stored, str) else []


def _source(server: str) -> str:
    """Returns who answered: the memory, a server by name, or this host itself where no server was asked."""
    if server in {"", _LOCAL, _MEMORY}:
        return server or _LOCAL
    return f"mcp:{server}"


def _tool_type(server: str) -> str:
    """Returns the kind of tool in OpenTelemetry's words (semantic conventions for GenAI, `gen_ai.tool.type`)."""
    return {"": "function", _LOCAL: "function", _MEMORY: "datastore"}.get(server, "extension")


def _arguments(event: ToolCalled) -> JsonValue:
    arguments = redact(event.arguments)
    as_text = json.dumps(arguments, ensure_ascii=False)
    return arguments if len(as_text) <= ARGUMENTS_LIMIT else as_text[:ARGUMENTS_LIMIT]


def _readable(outcome: ToolOutcome) -> str:
    """Returns what a tool answered without secrets: by name and by shape where there is structure, else by shape."""
    value = outcome.structured if outcome.structured is not None else parsed(outcome.content)
    if value is None:
        return redact_text(outcome.content)
    return json.dumps(redact(value), ensure_ascii=False, separators=(",", ":"))
