"""From a message to the prompt's part about memory, over an in-memory tool box."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_host.gates.hits import block
from agent_host.gates.remembering import NOT_REACHABLE, SEARCH, Retrieval, remembered
from agent_host.gates.slots import ShareScorer
from agent_host.providers.protocol import JsonValue
from agent_host.tracing.events import GateDecided, Notice, SlotsDecided, ToolCalled, ToolStarted
from tests.agent_host.constrained.parts import Desk
from tests.agent_host.gates.parts import TURN_ID, turn_events
from tests.fakes.toolbox import Arguments, FakeToolBox, ToolFailedError

RULES = Retrieval(mode="rules", timeout_s=5)
QUESTION = "Who is Ana?"


def entry(number: int, score: float = 1.0) -> JsonValue:
    return {"id": f"mem_{number}", "kind": "fact", "snippet": f"Fact {number}.", "origin": "x", "score": score}


def memory(*entries: JsonValue) -> FakeToolBox:
    return FakeToolBox({SEARCH: lambda _: {"entries": list(entries)}})


def failing(_: Arguments) -> JsonValue:
    raise ToolFailedError("the disk is full")


async def test_what_was_found_stands_in_the_prompt_and_the_search_is_an_event(tmp_path: Path) -> None:
    events, tools = turn_events(tmp_path), memory(entry(1), entry(2))

    told = block(await remembered(QUESTION, (), RULES, tools, events))

    assert "mem_1" in told
    assert "mem_2" in told
    (call,) = tools.calls
    assert (call.arguments, call.meta) == ({"query": QUESTION, "limit": 4}, {"turn_id": TURN_ID})
    decided, started, called = events.kept
    assert isinstance(decided, GateDecided)
    assert started == ToolStarted(SEARCH)
    assert isinstance(called, ToolCalled)
    assert called.gated


async def test_no_more_than_the_top_k_come_in(tmp_path: Path) -> None:
    tools = memory(*(entry(number) for number in range(9)))

    told = block(await remembered(QUESTION, (), Retrieval(mode="rules", top_k=2), tools, turn_events(tmp_path)))

    assert told.count("mem_") == 2


async def test_the_slot_gate_drops_what_is_noise(tmp_path: Path) -> None:
    events = turn_events(tmp_path)
    retrieval = Retrieval(mode="rules", scorer=ShareScorer())

    told = block(await remembered(QUESTION, (), retrieval, memory(entry(1, 5.0), entry(2, 0.1)), events))

    assert "mem_2" not in told
    assert any(isinstance(event, SlotsDecided) for event in events.kept)


@pytest.mark.parametrize("message", ["hello!", "what is 2 + 2?"])
async def test_a_message_that_needs_no_memory_searches_nothing(tmp_path: Path, message: str) -> None:
    events, tools = turn_events(tmp_path), memory(entry(1))

    assert await remembered(message, (), RULES, tools, events) == ()
    assert tools.calls == []
    assert [type(event) for event in events.kept] == [GateDecided]


async def test_a_gate_that_is_off_does_and_says_nothing(tmp_path: Path) -> None:
    events, tools = turn_events(tmp_path), memory(entry(1))

    assert await remembered(QUESTION, (), Retrieval(), tools, events) == ()
    assert (tools.calls, events.kept) == ([], [])


@pytest.mark.parametrize(
    "tools", [FakeToolBox({}), FakeToolBox({"notes_find": lambda _: ""}), FakeToolBox({SEARCH: failing})]
)
async def test_without_memory_the_turn_goes_on_and_says_so(tmp_path: Path, tools: FakeToolBox) -> None:
    events = turn_events(tmp_path)

    assert await remembered(QUESTION, (), RULES, tools, events) == ()
    assert events.kept[-1] == Notice(NOT_REACHABLE)


async def test_a_server_that_has_its_own_sentence_is_not_reported_twice(tmp_path: Path) -> None:
    events = turn_events(tmp_path)
    events.emit(Notice("memory: it could not be started."))

    await remembered(QUESTION, (), RULES, FakeToolBox({}), events)

    assert [event for event in events.kept if isinstance(event, Notice)] == events.kept[:1]


async def test_a_search_that_hangs_is_given_up(tmp_path: Path) -> None:
    async def hang(_: Arguments) -> JsonValue:
        await asyncio.Event().wait()
        return None

    events = turn_events(tmp_path)
    slow = Retrieval(mode="rules", timeout_s=0.01)

    assert await remembered(QUESTION, (), slow, FakeToolBox({SEARCH: hang}), events) == ()
    called = next(event for event in events.kept if isinstance(event, ToolCalled))
    assert (called.outcome.is_error, called.outcome.content) == (True, "No answer within 0.01 s.")
    assert events.kept[-1] == Notice(NOT_REACHABLE)


async def test_a_models_query_is_what_is_searched_for(desk: Desk) -> None:
    tools = memory(entry(1))
    calls = desk.saying('{"decision": "retrieve", "query": "Ana", "reason": ""}')

    await remembered(QUESTION, (), Retrieval(mode="model", calls=calls), tools, turn_events(desk.folder))

    assert [call.arguments["query"] for call in tools.calls] == ["Ana"]
