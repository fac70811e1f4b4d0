"""What a whole turn leaves in its trace, in the chat log and in what a gateway is told."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_host.providers.protocol import ToolUse
from agent_host.receipts.members import receipt_members
from tests.agent_host.test_turn import Room
from tests.fakes.scripted_provider import ScriptedProvider, asks, says

SEARCH = asks(ToolUse("u1", "memory_search", {"query": "team"}))


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path)
    yield made
    made.close()


def traced(room: Room) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (room.folder / "2026-11-30.jsonl").read_text().splitlines()]


def chat_meta(room: Room) -> dict[str, Any]:
    connection = sqlite3.connect(room.folder / "sessions.db")
    try:
        (meta,) = connection.execute("SELECT meta FROM chat_log WHERE role = 'assistant'").fetchone()
    finally:
        connection.close()
    told: dict[str, Any] = json.loads(meta)
    return told


@pytest.mark.parametrize("away", [False, True])
async def test_the_receipt_is_the_same_in_the_answer_the_chat_log_and_the_trace(room: Room, *, away: bool) -> None:
    room.writer.away = away

    result = await room.turn(ScriptedProvider(SEARCH, says("done")))

    answer = json.loads(json.dumps(receipt_members(result.receipt)))
    line = traced(room)[-1]
    assert line["turn_receipt"] == answer == chat_meta(room)["turn_receipt"]
    assert (line["entry"] is None) is away
    assert line["queued"] == (1 if away else 0)


async def test_every_line_of_a_turn_names_it_and_its_version(room: Room) -> None:
    result = await room.turn(ScriptedProvider(SEARCH, says("done")))

    assert {(row["turn_id"], row["v"]) for row in traced(room)} == {(result.receipt.turn_id, 2)}


async def test_the_calls_of_the_loop_are_numbered(room: Room) -> None:
    await room.turn(ScriptedProvider(SEARCH, SEARCH, says("done")))

    calls = [row for row in traced(room) if row["type"] == "llm"]
    assert [row["iteration"] for row in calls] == [1, 2, 3]


async def test_the_last_call_at_the_cap_is_marked_as_the_final_answer(room: Room) -> None:
    await room.turn(ScriptedProvider(*[SEARCH] * 5, says("done")))

    last = [row for row in traced(room) if row["type"] == "llm"][-1]
    assert (last["kind"], last["final_answer"], last["iteration"]) == ("final", True, 6)


async def test_no_secret_reaches_the_trace_the_chat_meta_or_the_receipt(room: Room) -> None:
    secret = "sk-abcdefghijklmnop1234"
    asked = asks(ToolUse("u1", "memory_search", {"query": f"find {secret}", "api_key": "hunter22"}))

    result = await room.turn(ScriptedProvider(asked, says(f"It is {secret}.")), f"my key is {secret}")

    everywhere = json.dumps([traced(room), chat_meta(room)]) + repr(result.receipt)
    assert secret not in everywhere
    assert "hunter22" not in json.dumps(traced(room))
