"""The retrieval gate: rules first, then a model under its spec, and the raw message whatever goes wrong."""

from __future__ import annotations

import asyncio
import json

import pytest

from agent_host.constrained.options import CallOptions
from agent_host.errors import ProviderUnavailableError
from agent_host.gates.retrieval import FAILED, MESSAGE_CHARACTERS, decide
from agent_host.providers.protocol import Text
from agent_host.tracing.events import GateDecided, ModelCalled
from tests.agent_host.constrained.parts import Desk
from tests.agent_host.gates.parts import TURN_ID, turn_events
from tests.fakes.scripted_provider import Line, ScriptedProvider, says


def said(decision: str, query: str = "", reason: str = "why") -> str:
    return json.dumps({"decision": decision, "query": query, "reason": reason})


async def gate(desk: Desk, *lines: str | Line, message: str = "What does Ana drink?") -> GateDecided:
    return await decide(message, (), desk.saying(*lines), turn_events(desk.folder))


async def test_the_model_says_what_to_search_for(desk: Desk) -> None:
    assert await gate(desk, said("retrieve", "Ana drink")) == GateDecided("retrieve", "Ana drink", "why")
    assert (desk.entry.spec_id, desk.entry.turn_id, desk.entry.exit_state) == ("retrieval-gate", TURN_ID, "ok")


async def test_the_model_may_skip(desk: Desk) -> None:
    assert await gate(desk, said("skip")) == GateDecided("skip", "", "why")


async def test_an_empty_query_means_the_message_itself(desk: Desk) -> None:
    assert (await gate(desk, said("retrieve", "  "))).query == "What does Ana drink?"


@pytest.mark.parametrize(
    "line",
    [
        "prose, no JSON",
        '{"decision": "false", "query": "", "reason": ""}',
        '{"decision": false, "query": "x", "reason": ""}',
        '{"decision": "skip"}',
        says(said("skip"), "max_tokens"),
        says("", "refusal"),
        ProviderUnavailableError("Overloaded."),
    ],
)
async def test_any_failure_retrieves_with_the_raw_message(desk: Desk, line: str | Line) -> None:
    decided = await gate(desk, line, line, line)

    assert (decided.decision, decided.query) == ("retrieve", "What does Ana drink?")
    assert decided.reason


async def test_a_fault_of_the_program_retrieves_too(desk: Desk) -> None:
    decided = await decide("What now?", (), desk.options(None), turn_events(desk.folder))

    assert decided == GateDecided("retrieve", "What now?", FAILED)


async def test_a_greeting_asks_no_model(desk: Desk) -> None:
    assert (await gate(desk, message="Good morning!")).decision == "skip"
    assert desk.writer.decisions == []


async def test_without_a_model_rules_decide_and_nothing_is_recorded(desk: Desk) -> None:
    events = turn_events(desk.folder)

    assert (await decide("book a call tomorrow at 3pm", (), None, events)).decision == "skip"
    assert await decide("Who is Ana?", (), None, events) == GateDecided(
        "retrieve", "Who is Ana?", "no rule says that this needs no memory"
    )
    assert events.kept == []


async def test_the_gate_reads_a_bounded_part_of_message_and_history(desk: Desk) -> None:
    provider = ScriptedProvider(says(said("retrieve", "")))

    decided = await decide("x" * 90_000, ("h" * 9_000,), desk.options(provider), turn_events(desk.folder))

    (block,) = provider.requests[0].messages[0].blocks
    assert isinstance(block, Text)
    assert len(block.text) < MESSAGE_CHARACTERS + 1_000
    assert len(decided.query) == MESSAGE_CHARACTERS
    assert provider.requests[0].max_tokens == 600


async def test_the_gates_call_is_an_event_of_the_turn(desk: Desk) -> None:
    events = turn_events(desk.folder)

    await decide("What does Ana drink?", (), desk.saying(said("skip")), events)

    (called,) = (event for event in events.kept if isinstance(event, ModelCalled))
    assert called.kind == "gate"


async def test_a_cancelled_gate_is_cancelled(desk: Desk) -> None:
    options: CallOptions = desk.saying(asyncio.Event())
    task = asyncio.ensure_future(decide("What does Ana drink?", (), options, turn_events(desk.folder)))
    await asyncio.sleep(0)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
