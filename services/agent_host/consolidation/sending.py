"""Sends pending memories to the memory server, oldest first, each once (agent.md row 33)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agent_host.consolidation.store import ConsolidationStore, Pending
from agent_host.identifiers import new_use_id
from agent_host.mcp_clients.protocol import ToolBox
from agent_host.providers.protocol import JsonValue
from agent_host.tracing.events import ToolCalled, ToolStarted
from agent_host.tracing.turn_events import TurnEvents

REMEMBER: Final = "memory_remember"


async def has_memory(tools: ToolBox) -> bool:
    """Tells whether there is a memory server to send to."""
    return REMEMBER in {tool.name for tool in await tools.specs()}


async def send_pending(store: ConsolidationStore, tools: ToolBox, events: TurnEvents) -> dict[str, str | None]:
    """Sends what waits until the first failure; returns the memory id of each that was sent, by its key.

    An id is None where the server took the memory and named none.
    """
    sent: dict[str, str | None] = {}
    for pending in store.pending():
        arguments = _arguments(pending)
        events.emit(ToolStarted(REMEMBER))
        outcome = await tools.call(REMEMBER, arguments, {})  # of no turn: nobody is asked about it in the background
        events.emit(ToolCalled(new_use_id(), REMEMBER, arguments, outcome))
        if outcome.is_error:
            break
        sent[pending.key] = _memory_id(outcome.structured)
        store.mark_sent(pending, sent[pending.key])
    return sent


def _arguments(pending: Pending) -> dict[str, JsonValue]:
    memory = pending.memory
    arguments: dict[str, JsonValue] = {
        "body": memory.content,
        "kind": memory.kind,
        "scope": memory.scope,
        "trust": memory.trust,
        "episode": pending.session_id,
        "idempotency_key": pending.key,
    }
    if memory.subject:
        arguments["subject"] = memory.subject
    if memory.happened_on:
        arguments["happened_at"] = memory.happened_on
    return arguments


def _memory_id(structured: JsonValue) -> str | None:
    memory = structured.get("memory") if isinstance(structured, Mapping) else None
    named = memory.get("id") if isinstance(memory, Mapping) else None
    return named if isinstance(named, str) else None
