"""From a message to what of memory its prompt has: gate, search, slots.

The search is the host's own call and a tool event like any other. Without a memory server, or with one that fails, the
turn goes on without memory and says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agent_host.constrained.options import CallOptions
from agent_host.gates.hits import Hit, hits_of
from agent_host.gates.retrieval import decide
from agent_host.gates.slots import SlotScorer, earned
from agent_host.identifiers import new_use_id
from agent_host.mcp_clients.protocol import ToolBox, ToolOutcome
from agent_host.memory_settings import RetrievalMode
from agent_host.providers.protocol import JsonValue
from agent_host.tracing.events import Notice, ToolCalled, ToolStarted
from agent_host.tracing.turn_events import TurnEvents

NOT_REACHABLE: Final = "memory: not reachable"
SEARCH: Final = "memory_search"
_SERVER: Final = "memory"


@dataclass(frozen=True)
class Retrieval:
    """How memory comes into a prompt.

    `mode` says who decides whether a turn needs it: nobody (`off`: the model, or the offline rules, search by
    themselves), code alone (`rules`), or a model after the plain cases (`model`, which takes `calls`). `top_k` is how
    many memories a search brings, `scorer` the slot gate, None for none. Times in seconds.
    """

    mode: RetrievalMode = "off"
    top_k: int = 4
    calls: CallOptions | None = None
    scorer: SlotScorer | None = None
    keep_bp: int = 5_000
    timeout_s: float = 10.0


async def remembered(
    message: str, history: Sequence[str], retrieval: Retrieval, tools: ToolBox, events: TurnEvents
) -> tuple[Hit, ...]:
    """Returns what is remembered about a message, best first; nothing when nothing is, or is needed."""
    if retrieval.mode == "off":
        return ()
    decided = await decide(message, history, retrieval.calls if retrieval.mode == "model" else None, events)
    events.emit(decided)
    if decided.decision == "skip":
        return ()
    hits = await _search(decided.query, retrieval, tools, events)
    if retrieval.scorer is not None:
        hits = await earned(message, hits, retrieval.scorer, retrieval.keep_bp, events)
    return hits


async def _search(query: str, retrieval: Retrieval, tools: ToolBox, events: TurnEvents) -> tuple[Hit, ...]:
    if SEARCH not in {tool.name for tool in await tools.specs()}:
        _say_unreachable(events)
        return ()
    arguments: dict[str, JsonValue] = {"query": query, "limit": retrieval.top_k}
    events.emit(ToolStarted(SEARCH))
    try:
        async with asyncio.timeout(retrieval.timeout_s):
            outcome = await tools.call(SEARCH, arguments, {"turn_id": events.turn_id})
    except TimeoutError:
        words = f"No answer within {retrieval.timeout_s:g} s."
        elapsed_ms = round(1000 * retrieval.timeout_s)
        outcome = ToolOutcome(_SERVER, SEARCH, words, None, is_error=True, duration_ms=elapsed_ms)
    events.emit(ToolCalled(new_use_id(), SEARCH, arguments, outcome, gated=True))
    if outcome.is_error:
        _say_unreachable(events)
        return ()
    return hits_of(outcome)[: retrieval.top_k]


def _say_unreachable(events: TurnEvents) -> None:
    """Says that memory is missing, unless its server's own sentence has said so in this turn."""
    said = any(isinstance(event, Notice) and event.text.startswith(f"{_SERVER}:") for event in events.kept)
    if not said:
        events.emit(Notice(NOT_REACHABLE))
