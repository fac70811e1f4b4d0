"""From a turn's events to the attributes of its spans (agent.md 2.7). Pure.

Of prompts, replies, arguments and outputs nothing is in them: names, ids, counts, times and costs only. What a memory
was searched for is the one exception, and only when the person asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from agent_host.tracing import otel_names as names
from agent_host.tracing.events import (
    Consolidated,
    GateDecided,
    ModelCalled,
    PermissionDecided,
    ReceiptMade,
    ToolCalled,
    TurnEnded,
    TurnEvent,
    TurnStarted,
)
from agent_host.tracing.tool_lines import OPERATIONS, SPANS, tool_members

Attribute: TypeAlias = str | bool | int | float | list[str]

AGENT_NAME: Final = "prometheus-agent"
_CHAT, _TURN, _CALL_OF_TOOL = "chat", "invoke_agent", "tools/call"
_MEMORY: Final = "memory"
_MICRO: Final = 1_000_000
_FINE: Final = frozenset({"ok", "ok_amended", "rejected_by_reviewer"})
_OF_TOOL: Final[Mapping[str, str]] = {
    "gen_ai.operation.name": names.OPERATION,
    "gen_ai.tool.type": names.TOOL_TYPE,
    "gen_ai.tool.call.id": names.TOOL_CALL_ID,
    "results": names.MEMORY_COUNT,
    "endpoint_id": names.ENDPOINT,
    "provider": names.ANSWERED_BY,
    "read_first": names.READ_FIRST,
    "gated": names.GATED,
    "retrieval_trace_id": names.RETRIEVAL_TRACE,
}
"""The members of a tool's trace line that a span has too, and what it calls them."""


def turn_name() -> str:
    """Returns the name of a turn's span."""
    return f"{_TURN} {AGENT_NAME}"


def model_name(event: ModelCalled) -> str:
    """Returns the name of a model call's span."""
    return f"{_CHAT} {event.identity.model}"


def tool_name(name: str) -> str:
    """Returns the name of a tool call's span, by the tool's model-facing name."""
    return f"{operation_of(name)} {name}"


def operation_of(tool: str) -> str:
    """Returns what the conventions call the work of a tool, by its model-facing name."""
    return OPERATIONS[SPANS.get(tool, "tool")]


def turn_attributes(event: TurnStarted) -> dict[str, Attribute]:
    """Returns what a turn's span begins with, so that a sampler sees it."""
    return {
        names.OPERATION: _TURN,
        names.AGENT: AGENT_NAME,
        names.CONVERSATION: event.session_id,
        names.TURN_ID: event.turn_id,
        names.GATEWAY: event.gateway,
    }


def added_attributes(event: TurnEvent) -> dict[str, Attribute]:
    """Returns what an event adds to the span it happened in; nothing for most."""
    match event:
        case GateDecided():
            return {names.GATE: event.decision}
        case PermissionDecided():
            return {names.GRANTED: event.permission.granted}
        case TurnEnded():
            failed: dict[str, Attribute] = {names.ERROR_TYPE: event.outcome} if event.outcome == "failed" else {}
            return {names.OUTCOME: event.outcome, names.ITERATIONS: event.iterations} | failed
        case ReceiptMade():
            return _receipt(event)
        case Consolidated():
            return {
                names.BATCH_ID: event.batch_id,
                names.EXCHANGES: event.exchanges,
                names.KEPT: len(event.kept),
            }
        case _:
            return {}


def model_attributes(event: ModelCalled) -> dict[str, Attribute]:
    """Returns what a model call's span says; its input tokens count cached ones too, as the conventions want it."""
    usage = event.usage
    optional: dict[str, Attribute | None] = {
        names.FINISH_REASONS: [event.stop_reason] if event.stop_reason else None,
        names.COST: _usd(event.cost_micro_usd),
        names.ENTRY_ID: event.entry_id,
        names.ERROR_TYPE: None if event.exit_state in _FINE else event.exit_state,
    }
    return {
        names.OPERATION: _CHAT,
        names.PROVIDER: event.identity.provider,
        names.REQUEST_MODEL: event.identity.model,
        names.INPUT_TOKENS: usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        names.OUTPUT_TOKENS: usage.output_tokens,
        names.CACHE_READ_TOKENS: usage.cache_read_tokens,
        names.CACHE_WRITE_TOKENS: usage.cache_write_tokens,
        names.CALL_KIND: event.kind,
        names.CALL_ID: event.call_id,
        names.EXIT_STATE: event.exit_state,
        **_known(optional),
    }


def started_attributes(tool: str) -> dict[str, Attribute]:
    """Returns what a tool call's span begins with, so that a sampler sees it."""
    return {names.OPERATION: operation_of(tool), names.TOOL: tool}


def tool_attributes(event: ToolCalled, *, with_queries: bool) -> dict[str, Attribute]:
    """Returns what a tool call's span says; `with_queries`: also what a memory was searched for, without secrets."""
    members, server = tool_members(event), event.outcome.server
    told = {ours: member for name, ours in _OF_TOOL.items() if isinstance(member := members.get(name), str | int)}
    cost = members.get("cost_micro_usd")
    query = members.get("query")
    optional: dict[str, Attribute | None] = {
        names.SERVER: server or None,
        names.MCP_METHOD: _CALL_OF_TOOL if server else None,
        names.MEMORY_STORE: server if server == _MEMORY else None,
        names.MEMORY_QUERY: query if with_queries and isinstance(query, str) else None,
        names.COST: _usd(cost) if isinstance(cost, int) else None,
        names.ERROR_TYPE: None if members["ok"] else "tool_error",
    }
    return {names.TOOL: event.name, **told, **_known(optional)}


def _receipt(event: ReceiptMade) -> dict[str, Attribute]:
    entry, receipt = event.status.entry, event.receipt
    optional: dict[str, Attribute | None] = {
        names.ENTRY_ID: entry.id if entry else None,
        names.ENTRY_HASH: entry.hash if entry else None,
        names.TURN_COST: _usd(receipt.total_micro_usd if receipt.model.priced else None),
    }
    return {names.QUEUED: event.status.queued, **_known(optional)}


def _usd(micro_usd: int | None) -> float | None:
    return None if micro_usd is None else micro_usd / _MICRO


def _known(optional: Mapping[str, Attribute | None]) -> dict[str, Attribute]:
    return {name: value for name, value in optional.items() if value is not None}
