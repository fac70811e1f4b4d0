"""What is kept with a reply, and what a gateway is told of a turn."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import Any

from agent_host.gates.remembering import Retrieval
from agent_host.receipts.members import receipt_members
from agent_host.skills.loading import SHIPPED, SkillFolder
from agent_host.turn import run_turn
from tests.agent_host.test_turn import SEARCH, Room, room
from tests.fakes.scripted_provider import ScriptedProvider, says

__all__ = ["room"]


def kept(room: Room) -> dict[str, Any]:
    with closing(sqlite3.connect(room.folder / "sessions.db")) as log:
        (meta,) = log.execute("SELECT meta FROM chat_log WHERE role = 'assistant' ORDER BY id DESC").fetchone()
    value: dict[str, Any] = json.loads(meta)
    return value


async def test_a_reply_is_kept_with_what_its_turn_did(room: Room) -> None:
    parts = replace(room.parts(ScriptedProvider(SEARCH, says("Mornings."))), retrieval=Retrieval(mode="rules"))
    result = await run_turn("What do they like?", room.session, "cli", parts, room.events.append)

    meta = kept(room)
    latency = meta.pop("latency_ms")
    assert meta.pop("turn_receipt") == receipt_members(result.receipt)
    assert meta == {
        "turn_id": result.receipt.turn_id,
        "iterations": 2,
        "model": "scripted",
        "provider": "mock",
        "read": ["They like mornings."],
        "gate": {"decision": "retrieve", "reason": "no rule says that this needs no memory"},
        "tools": [{"tool": "memory_search", "status": "ok"}, {"tool": "memory_search", "status": "ok"}],
    }
    assert latency > 0


async def test_what_a_research_turn_used_is_told_and_kept_and_not_in_the_chat_log(room: Room) -> None:
    room.skills = SkillFolder((SHIPPED,))
    result = await room.turn(ScriptedProvider(says("They do.")), "Research the competitors of mem0")

    (used,) = result.used
    assert set(used) == {"id", "text", "created_at", "kind", "report", "title"}
    assert kept(room)["used"] == [used]
    assert "They like mornings" not in "".join(content for _, content in room.chat_log.rows("s_1"))


async def test_other_turns_used_nothing(room: Room) -> None:
    result = await room.turn(ScriptedProvider(says("hi")))

    assert result.used == ()
    assert not {"used", "gate", "tools", "said"} & set(kept(room))
