"""What is kept with a turn's reply in the chat log (agent.md 2.3). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agent_host.consolidation.reading import what_was_read
from agent_host.loop import Reply
from agent_host.providers.protocol import Identity, JsonValue, Text
from agent_host.receipts.drafts import TurnReceipt
from agent_host.receipts.members import receipt_members
from agent_host.tracing.events import GateDecided, KnowledgeUsed, ToolCalled, TurnEvent
from agent_host.tracing.redaction import redact, redact_text


def turn_meta(
    events: Iterable[TurnEvent], reply: Reply, receipt: TurnReceipt, identity: Identity, latency_ms: int
) -> dict[str, JsonValue]:
    """Returns the members; what a turn has nothing of is left out.

    `said` stands where the model's words are not the reply that the person saw: a later prompt has them in its place.
    """
    events = tuple(events)
    meta: dict[str, JsonValue] = {
        "turn_id": receipt.turn_id,
        "iterations": receipt.iterations,
        "latency_ms": latency_ms,
        "model": identity.model,
        "provider": identity.provider,
        **what_was_read(events, reply.text),
        "turn_receipt": receipt_members(receipt),
    }
    for event in events:
        if isinstance(event, GateDecided):
            meta["gate"] = {"decision": event.decision, "reason": redact_text(event.reason)}
    if tools := [_tool(event) for event in events if isinstance(event, ToolCalled)]:
        meta["tools"] = tools
    if used := knowledge_used(events):
        meta["used"] = redact(used)
    words = "".join(block.text for block in reply.messages[-1].blocks if isinstance(block, Text))
    if words != reply.text:
        meta["said"] = words
    return meta


def knowledge_used(events: Iterable[TurnEvent]) -> tuple[Mapping[str, JsonValue], ...]:
    """Returns what memory held about the subject of a research turn (row 55)."""
    return tuple(entry for event in events if isinstance(event, KnowledgeUsed) for entry in event.entries)


def _tool(event: ToolCalled) -> JsonValue:
    return {"tool": event.name, "status": "error" if event.outcome.is_error else "ok"}
