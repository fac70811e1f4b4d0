"""A turn out of its trace lines, of today's and of a real turn, and of lines nobody expects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_host.providers.protocol import ToolUse
from agent_host.tracing.reading import Row, read_folder
from agent_host.tracing.traced_turn import TracedTurn, traced_turns
from tests.agent_host.test_turn import Room
from tests.fakes.scripted_provider import ScriptedProvider, asks, says

SEARCH = asks(ToolUse("u1", "memory_search", {"query": "team"}))


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path)
    yield made
    made.close()


def turn_of(*members: dict[str, Any]) -> TracedTurn:
    rows = (Row(str(one["type"]), "t_1", 1, None, one, json.dumps(one).encode()) for one in members)
    (turn,) = traced_turns([Row("turn_start", "t_1", 1, None, {}, b""), *rows])
    return turn


async def test_a_real_turn_reads_back_as_it_was(room: Room) -> None:
    result = await room.turn(ScriptedProvider(SEARCH, says("done")), "Who is on the team?")

    (turn,) = traced_turns(read_folder(room.folder).rows)

    assert (turn.turn_id, turn.message, turn.reply) == (result.receipt.turn_id, "Who is on the team?", "done")
    assert (turn.outcome, turn.has_ended, turn.is_old, turn.gateway) == ("replied", True, False, "cli")
    assert [(tool.tool, tool.ok, tool.source, tool.results) for tool in turn.tools] == [
        ("memory_search", True, "memory", 1)
    ]
    assert [call.cost_micro_usd for call in turn.calls] == [24, 24]
    assert turn.entry_id == 1
    assert turn.started is not None


async def test_a_real_trace_is_as_its_receipt_has_it_until_somebody_edits_it(room: Room) -> None:
    await room.turn(ScriptedProvider(says("It is 4 o'clock.")))
    path = room.folder / "2026-11-30.jsonl"
    (turn,) = traced_turns(read_folder(room.folder).rows)

    path.write_text(path.read_text().replace("4 o'clock", "5 o'clock"))
    (edited,) = traced_turns(read_folder(room.folder).rows)

    assert (turn.is_as_receipted, edited.is_as_receipted) == (True, False)


async def test_each_turn_of_a_day_has_its_own_lines(room: Room) -> None:
    first = await room.turn(ScriptedProvider(says("one")))
    second = await room.turn(ScriptedProvider(says("two")))

    turns = traced_turns(read_folder(room.folder).rows)

    assert [turn.turn_id for turn in turns] == [first.receipt.turn_id, second.receipt.turn_id]
    assert all(turn.is_as_receipted for turn in turns)


def test_what_comes_after_the_end_is_not_the_turn() -> None:
    turn = turn_of(
        {"type": "llm", "cost_micro_usd": 5},
        {"type": "turn_end", "reply": "bye"},
        {"type": "llm", "kind": "consolidation"},
        {"type": "score", "name": "judge", "value": 0.7},
    )

    assert [call.kind for call in turn.calls] == ["loop"]
    assert [score["name"] for score in turn.scores] == ["judge"]


def test_lines_of_the_first_version_leave_what_they_do_not_say_empty() -> None:
    turn = turn_of({"type": "tool", "tool": "find", "output": "7", "cost_usd": 0.02})

    (tool,) = turn.tools
    assert (tool.ok, tool.source, tool.provider, tool.cost_micro_usd) == (None, "", "", 20_000)
    assert turn.is_old
    assert turn.is_as_receipted is None


@pytest.mark.parametrize("cost", [-1, "2", True, 10**9, None, [1]])
def test_a_cost_that_is_none_is_none(cost: object) -> None:
    (tool,) = turn_of({"type": "tool", "cost_usd": cost, "duration_ms": cost, "ok": "yes", "args": cost}).tools

    assert (tool.cost_micro_usd, tool.ok) == (None, None)


def test_rows_of_a_turn_that_began_before_they_do_are_no_turn() -> None:
    assert traced_turns([Row("consolidation", "t_9", 2, None, {}, b"")]) == []
