"""Trace lines: one JSON object an event (agent.md 2.6). Pure; `jsonl.py` writes them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime

from agent_host.mcp_clients.protocol import ToolOutcome
from agent_host.providers.protocol import JsonValue
from agent_host.tracing.events import (
    Consolidated,
    GateDecided,
    KnowledgeUsed,
    ModelCalled,
    Notice,
    PermissionDecided,
    ReportSaved,
    SlotsDecided,
    ToolCalled,
    TurnEnded,
    TurnEvent,
    TurnStarted,
)
from agent_host.tracing.redaction import redact, redact_text

ARGUMENTS_LIMIT = 500
OUTPUT_LIMIT = 4_000
ERROR_LIMIT = 200
QUERY_LIMIT = 200
IDS_LIMIT = 20
_MEMORY_SPANS: Mapping[str, str] = {
    "memory_search": "retrieval",
    "memory_recall": "retrieval",
    "memory_remember": "memory_write",
    "memory_update": "memory_write",
}


def trace_line(event: TurnEvent, turn_id: str, at_ms: int) -> bytes | None:
    """Returns the event's trace line with its line break, or None for an event that is not traced.

    Times are UTC with milliseconds. Arguments and outputs are redacted and cut to `ARGUMENTS_LIMIT` and
    `OUTPUT_LIMIT` characters; `output_sha256` is over the whole output as the model read it.
    """
    members = _members(event)
    if members is None:
        return None
    stamp = datetime.fromtimestamp(at_ms / 1000, tz=UTC).isoformat(timespec="milliseconds")
    row = {"ts": stamp.replace("+00:00", "Z"), "turn_id": turn_id, **members}
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace") + b"\n"


def _members(event: TurnEvent) -> dict[str, JsonValue] | None:
    match event:
        case TurnStarted():
            return {
                "type": "turn_start",
                "session_id": event.session_id,
                "gateway": event.gateway,
                "user_message": redact_text(event.text),
            }
        case ModelCalled():
            return _model_members(event)
        case ToolCalled():
            return _tool_members(event)
        case Notice():
            return {"type": "notice", "text": redact_text(event.text)}
        case TurnEnded():
            return {
                "type": "turn_end",
                "outcome": event.outcome,
                "reply": redact_text(event.reply),
                "iterations": event.iterations,
            }
        case _:
            return _other_members(event)


def _other_members(event: TurnEvent) -> dict[str, JsonValue] | None:
    match event:
        case PermissionDecided():
            return _permission_members(event)
        case GateDecided():
            reason, query = redact_text(event.reason), redact_text(event.query)[:QUERY_LIMIT]
            return {"type": "gate", "decision": event.decision, "reason": reason, "query": query}
        case SlotsDecided():
            return {"type": "slots", "verdicts": [asdict(verdict) for verdict in event.verdicts]}
        case Consolidated():
            return _consolidation_members(event)
        case _:
            return _knowledge_members(event)


def _knowledge_members(event: TurnEvent) -> dict[str, JsonValue] | None:
    match event:
        case KnowledgeUsed():
            return {"type": "used", "entries": redact(event.entries)}
        case ReportSaved():
            title, summary = redact_text(event.title), redact(event.summary)
            told = {"title": title, "memory_id": event.memory_id, "scope": event.scope, "summary": summary}
            return {"type": "report", **told}
        case _:
            return None


def _model_members(event: ModelCalled) -> dict[str, JsonValue]:
    return {
        "type": "llm",
        "kind": event.kind,
        "provider": event.identity.provider,
        "model": event.identity.model,
        "stop_reason": event.stop_reason,
        "usage": {
            "in": event.usage.input_tokens,
            "out": event.usage.output_tokens,
            "cache_read": event.usage.cache_read_tokens,
            "cache_write": event.usage.cache_write_tokens,
        },
        "cost_micro_usd": event.cost_micro_usd,
        "duration_ms": event.latency_ms,
        "exit_state": event.exit_state,
        "call_id": event.call_id,
        "entry_id": event.entry_id,
    }


def _permission_members(event: PermissionDecided) -> dict[str, JsonValue]:
    decided = event.permission
    return {
        "type": "permission",
        "tool": event.name,
        "gen_ai.tool.call.id": event.call_id,
        "granted": decided.granted,
        "reason": decided.reason,
        "answer": decided.answer,
    }


def _consolidation_members(event: Consolidated) -> dict[str, JsonValue]:
    return {
        "type": "consolidation",
        "batch_id": event.batch_id,
        "exchanges": event.exchanges,
        "new_facts": sum(one.kind != "episode" for one in event.kept),
        "kept": [redact(asdict(one)) for one in event.kept],
    }


def _tool_members(event: ToolCalled) -> dict[str, JsonValue]:
    outcome = event.outcome
    arguments = redact(event.arguments)
    as_text = json.dumps(arguments, ensure_ascii=False)
    members: dict[str, JsonValue] = {
        "type": "tool",
        "v": 2,
        "span": _MEMORY_SPANS.get(outcome.tool, "tool"),
        "tool": event.name,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.call.id": event.call_id,
        "source": f"mcp:{outcome.server}",
        "args": arguments if len(as_text) <= ARGUMENTS_LIMIT else as_text[:ARGUMENTS_LIMIT],
        "output": _readable(outcome)[:OUTPUT_LIMIT],
        "output_sha256": hashlib.sha256(outcome.content.encode("utf-8", "surrogatepass")).hexdigest(),
        "ok": not outcome.is_error,
        "duration_ms": outcome.duration_ms,
    }
    if event.read_first:
        members["read_first"] = True
    if members["span"] == "retrieval":
        members |= _retrieval_members(event)
    if outcome.is_error:
        members["error"] = redact_text(outcome.content)[:ERROR_LIMIT]
    return members


def _retrieval_members(event: ToolCalled) -> dict[str, JsonValue]:
    """Returns what was searched for and what came back, by ids alone."""
    structured = event.outcome.structured
    answer = structured if isinstance(structured, Mapping) else {}
    entries = answer.get("entries")
    found = [one for one in entries if isinstance(one, Mapping)] if isinstance(entries, list | tuple) else []
    members: dict[str, JsonValue] = {
        "gated": event.gated,
        "query": redact_text(str(event.arguments.get("query", "")))[:QUERY_LIMIT],
        "results": len(found),
        "memory_ids": [str(one.get("id", ""))[:80] for one in found[:IDS_LIMIT]],
    }
    if isinstance(trace_id := answer.get("retrieval_trace_id"), str):
        members["retrieval_trace_id"] = trace_id[:80]
    return members


def _readable(outcome: ToolOutcome) -> str:
    """Returns what a tool answered without secrets: by name and by shape where there is structure, else by shape."""
    if outcome.structured is None:
        return redact_text(outcome.content)
    return json.dumps(redact(outcome.structured), ensure_ascii=False, separators=(",", ":"))
