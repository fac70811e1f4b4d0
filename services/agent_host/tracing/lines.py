"""Trace lines: one JSON object an event (agent.md 2.6). Pure; `jsonl.py` writes them, `reading.py` reads them.

The order of a turn: `turn_start`; then `skills`, `gate`, `used`, `slots`, `permission`, `tool`, `llm`, `report` and
`notice` as they happen; `turn_end`; `receipt`. After that may come, under the same turn, what the consolidation
after it did, and a `score`. The receipt's trace hash covers the lines from `turn_start` to `turn_end`;
`receipt` holds it and cannot be covered.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Final

from agent_host.providers.protocol import JsonValue
from agent_host.receipts.members import receipt_members
from agent_host.tracing.events import (
    Consolidated,
    GateDecided,
    KnowledgeUsed,
    ModelCalled,
    Notice,
    PermissionDecided,
    ReceiptMade,
    ReportSaved,
    SkillsChosen,
    SlotsDecided,
    ToolCalled,
    TurnEnded,
    TurnEvent,
    TurnScored,
    TurnStarted,
)
from agent_host.tracing.redaction import redact, redact_text
from agent_host.tracing.tool_lines import QUERY_LIMIT, tool_members

TRACE_VERSION: Final = 2
_LOOP_KINDS: Final = frozenset({"loop", "final"})
_PERMILLE: Final = 1_000


def trace_line(event: TurnEvent, turn_id: str, at_ms: int, iteration: int | None = None) -> bytes | None:
    """Returns the event's trace line with its line break, or None for an event that is not traced.

    Times are UTC with milliseconds. `iteration` is how many model calls the loop has made, this one included.
    """
    members = _members(event)
    if members is None:
        return None
    if isinstance(event, ModelCalled) and event.kind in _LOOP_KINDS and iteration is not None:
        members["iteration"] = iteration
    stamp = datetime.fromtimestamp(at_ms / 1000, tz=UTC).isoformat(timespec="milliseconds")
    row = {"ts": stamp.replace("+00:00", "Z"), "v": TRACE_VERSION, "turn_id": turn_id, **members}
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
            return tool_members(event)
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
            return _outcome_members(event)


def _outcome_members(event: TurnEvent) -> dict[str, JsonValue] | None:
    match event:
        case SkillsChosen():
            return {"type": "skills", "names": list(event.names)}
        case KnowledgeUsed():
            return {"type": "used", "entries": redact(event.entries)}
        case ReportSaved():
            title, summary = redact_text(event.title), redact(event.summary)
            told = {"title": title, "memory_id": event.memory_id, "scope": event.scope, "summary": summary}
            return {"type": "report", **told}
        case ReceiptMade():
            return _receipt_members(event)
        case TurnScored():
            return _score_members(event)
        case _:
            return None


def _model_members(event: ModelCalled) -> dict[str, JsonValue]:
    members: dict[str, JsonValue] = {
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
    if event.kind == "final":
        members["final_answer"] = True
    return members


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


def _receipt_members(event: ReceiptMade) -> dict[str, JsonValue]:
    entry = event.status.entry
    return {
        "type": "receipt",
        "turn_receipt": receipt_members(event.receipt),
        "entry": {"id": entry.id, "hash": entry.hash} if entry else None,
        "queued": event.status.queued,
    }


def _score_members(event: TurnScored) -> dict[str, JsonValue]:
    return {
        "type": "score",
        "source": event.source,
        "name": event.name,
        "value": event.value_permille / _PERMILLE,
        "note": redact_text(event.note),
        "judge": f"{event.judge.provider}/{event.judge.model}" if event.judge else None,
        "cost_micro_usd": event.cost_micro_usd,
    }
