"""From a turn's events to its receipt. Pure; reads events only, never counters kept elsewhere (agent.md row 81)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

from agent_host.providers.protocol import Identity, JsonValue
from agent_host.receipts.drafts import CallCount, DecisionRef, MemoryUsage, ModelUsage, ToolUsage, TurnReceipt
from agent_host.tracing.events import ModelCalled, ReportSaved, ToolCalled, TurnEnded, TurnEvent, TurnStarted
from agent_host.tracing.results import stated

MEMORY_SERVER = "memory"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")

Kind = TypeVar("Kind", bound=TurnEvent)


def turn_receipt(
    events: Sequence[TurnEvent],
    identity: Identity,
    *,
    input_hash: str,
    reply_hash: str,
    commitment: str,
    trace_hash: str,
) -> TurnReceipt:
    """Computes the receipt of a turn that has started and ended.

    Raises:
        ValueError: the events hold no `TurnStarted` or no `TurnEnded`.
    """
    started = _only(events, TurnStarted)
    ended = _only(events, TurnEnded)
    calls = [event for event in events if isinstance(event, ModelCalled)]
    tool_calls = [event for event in events if isinstance(event, ToolCalled)]
    model = model_usage(calls, identity)
    tools = tool_usage(tool_calls)
    return TurnReceipt(
        turn_id=started.turn_id,
        session_id=started.session_id,
        gateway=started.gateway,
        outcome=ended.outcome,
        iterations=ended.iterations,
        input_hash=input_hash,
        reply_hash=reply_hash,
        commitment=commitment,
        model=model,
        tools=tools,
        memory=memory_usage(tool_calls, _report(events)),
        decisions=tuple(DecisionRef(call.call_id, call.entry_id) for call in calls),
        total_micro_usd=model.cost_micro_usd + sum(row.cost_micro_usd or 0 for row in tools),
        trace_hash=trace_hash,
    )


def model_usage(calls: Sequence[ModelCalled], identity: Identity) -> ModelUsage:
    """Sums tokens and money over a turn's model calls.

    A call without a known price adds 0 and marks the sum as estimated: an unknown price is never shown as free.
    """
    kinds = Counter(call.kind for call in calls)
    priced_exactly = identity.provider == "offline"
    uncounted = sum(call.cost_micro_usd is None for call in calls)
    return ModelUsage(
        id=identity.model,
        input_tokens=sum(call.usage.input_tokens for call in calls),
        output_tokens=sum(call.usage.output_tokens for call in calls),
        cache_read_tokens=sum(call.usage.cache_read_tokens for call in calls),
        cache_write_tokens=sum(call.usage.cache_write_tokens for call in calls),
        cost_micro_usd=sum(call.cost_micro_usd or 0 for call in calls),
        estimated=bool(calls) and not priced_exactly,
        priced=uncounted == 0,
        calls=tuple(CallCount(kind, n) for kind, n in kinds.items()),
        uncounted=uncounted,
    )


def tool_usage(calls: Sequence[ToolCalled]) -> tuple[ToolUsage, ...]:
    """Counts tool calls by tool, server and status, in the order first seen."""
    rows: dict[tuple[str, str, bool], list[ToolCalled]] = {}
    for call in calls:
        key = (ledger_name(call.outcome.tool), ledger_name(call.outcome.server), not stated(call.outcome).ok)
        rows.setdefault(key, []).append(call)
    return tuple(
        ToolUsage(tool, server, "error" if failed else "ok", len(group), _stated_cost(group))
        for (tool, server, failed), group in rows.items()
    )


def ledger_name(name: str) -> str:
    """Returns a tool's or server's name as the ledger may hold it, or `unknown`.

    Names come from outside, a tool's even from a model; free text must not get onto the ledger (agent.md row 81).
    """
    return name if _NAME.fullmatch(name) else "unknown"


def memory_usage(calls: Sequence[ToolCalled], report_id: str | None = None) -> MemoryUsage:
    """Counts searches, memories found and memories stored, from the memory server's structured answers."""
    done = [call.outcome for call in calls if call.outcome.server == MEMORY_SERVER and not call.outcome.is_error]
    searches = [outcome for outcome in done if outcome.tool in {"memory_search", "memory_recall"}]
    stored = [outcome for outcome in done if outcome.tool in {"memory_remember", "memory_update"}]
    return MemoryUsage(
        searches=len(searches),
        used=_different([entry for outcome in searches for entry in _members(outcome.structured, "entries")]),
        kept=sum(1 for outcome in stored if not _flag(outcome.structured, "deduped")),
        unsent=0,
        report_id=report_id,
    )


def _different(entries: Sequence[JsonValue]) -> int:
    """Counts memories, each id once however many searches found it; entries without an id count each."""
    ids = [entry.get("id") if isinstance(entry, Mapping) else None for entry in entries]
    named = {one for one in ids if isinstance(one, str)}
    return len(named) + sum(1 for one in ids if not isinstance(one, str))


def _report(events: Sequence[TurnEvent]) -> str | None:
    """Returns the memory id of the report the turn saved, if it has the form of a name."""
    saved = next((event.memory_id for event in events if isinstance(event, ReportSaved)), None)
    return saved if saved and _NAME.fullmatch(saved) else None


def _stated_cost(calls: Sequence[ToolCalled]) -> int | None:
    """Sums what the results say they cost, in micro-dollars; None when none says so."""
    prices = [price for call in calls if (price := stated(call.outcome).cost_micro_usd) is not None]
    return sum(prices) if prices else None


def _members(structured: JsonValue, name: str) -> Sequence[JsonValue]:
    value = structured.get(name) if isinstance(structured, Mapping) else None
    return value if isinstance(value, list | tuple) else ()


def _flag(structured: JsonValue, name: str) -> bool:
    return isinstance(structured, Mapping) and structured.get(name) is True


def _only(events: Sequence[TurnEvent], kind: type[Kind]) -> Kind:
    for event in events:
        if isinstance(event, kind):
            return event
    raise ValueError(f"the turn's events hold no {kind.__name__}")
