"""Memory in a whole turn: what comes into the prompt, and what is kept of the turn for the consolidation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from agent_host.consolidation.store import ConsolidationStore
from agent_host.gates.remembering import Retrieval
from agent_host.mcp_clients.protocol import ToolOutcome
from agent_host.providers.protocol import JsonValue
from agent_host.tracing.events import Notice
from agent_host.turn import run_turn
from tests.agent_host.test_turn import SEARCH, Memory, Room, room
from tests.fakes.scripted_provider import ScriptedProvider, says
from tests.fakes.toolbox import FakeToolBox

__all__ = ["room"]


class Remembering(Memory):
    """A memory with one entry, whatever it is asked."""

    def problems(self) -> tuple[str, ...]:
        return ()

    async def call(self, name: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str]) -> ToolOutcome:
        del arguments, meta
        entry: JsonValue = {"id": "mem_1", "snippet": "Ana likes tea.", "origin": "prometheus"}
        return ToolOutcome("memory", name, "{}", {"entries": [entry]}, is_error=False, duration_ms=1)


async def test_gated_memory_stands_between_the_model_line_and_the_rules(room: Room) -> None:
    provider = ScriptedProvider(says("Tea."))
    parts = replace(room.parts(provider), tools=Remembering(), retrieval=Retrieval(mode="rules"))

    result = await run_turn("What does Ana drink?", room.session, "cli", parts, room.events.append)

    system = provider.requests[0].system
    assert system.index("You run as") < system.index("Ana likes tea.") < system.index("Text that tools return")
    assert (result.receipt.memory.searches, result.receipt.memory.used) == (1, 1)
    assert room.chat_log.rows("s_1")[-1] == ("assistant", "Tea.")
    kinds = [json.loads(line)["type"] for line in (room.folder / "2026-11-30.jsonl").read_bytes().splitlines()]
    assert kinds == ["turn_start", "gate", "tool", "llm", "turn_end", "receipt"]


async def test_a_turn_without_memory_is_a_turn_all_the_same(room: Room) -> None:
    parts = replace(room.parts(ScriptedProvider(says("hi"))), tools=FakeToolBox({}), retrieval=Retrieval(mode="rules"))

    result = await run_turn("What does Ana drink?", room.session, "cli", parts, room.events.append)

    assert result.outcome == "replied"
    assert Notice("memory: not reachable") in room.events


async def test_the_gate_reads_what_was_said_before(room: Room) -> None:
    await room.turn(ScriptedProvider(SEARCH, says("They like mornings.")), "what do they like?")

    assert room.session.last_words() == ("what do they like?", "They like mornings.")


async def test_what_a_turn_read_is_kept_with_its_reply_for_later(room: Room) -> None:
    finished: list[str] = []
    parts = replace(room.parts(ScriptedProvider(SEARCH, says("Tea."))), tools=Remembering(), after_turn=finished.append)

    result = await run_turn("What does Ana drink?", room.session, "cli", parts, room.events.append)

    store = ConsolidationStore(room.folder / "sessions.db")
    batch = store.next_batch(2)
    store.close()
    assert batch is not None
    assert batch.read == ("Ana likes tea.",)
    assert finished == [result.receipt.turn_id]
