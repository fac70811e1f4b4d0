"""What `/memory` shows: what was remembered last, and how much of the conversation waits (agent.md row 14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agent_host.gates.hits import Hit, hits_of
from agent_host.gates.remembering import NOT_REACHABLE
from agent_host.mcp_clients.protocol import ToolBox

FACTS: Final = 8
EPISODES: Final = 5
_PROBLEM: Final = f"{NOT_REACHABLE}; `agent-host check` says why."
_LIST: Final = "memory_list"


@dataclass(frozen=True)
class MemoryOverview:
    """The newest facts and episodes, newest first, and how many rows of the chat log are not consolidated.

    `problem` is one sentence when the memory server could not be asked; the lists are empty then.
    """

    facts: tuple[Hit, ...]
    episodes: tuple[Hit, ...]
    open_rows: int
    problem: str = ""


async def memory_overview(tools: ToolBox, open_rows: int) -> MemoryOverview:
    """Asks the memory server for its newest facts and episodes."""
    found: list[tuple[Hit, ...]] = []
    for kind, limit in (("fact", FACTS), ("episode", EPISODES)):
        outcome = await tools.call(_LIST, {"kind": kind, "limit": limit}, {})
        if outcome.is_error:
            return MemoryOverview((), (), open_rows, _PROBLEM)
        found.append(hits_of(outcome)[:limit])
    return MemoryOverview(found[0], found[1], open_rows)
