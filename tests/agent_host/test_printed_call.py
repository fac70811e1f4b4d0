"""A tool call written as words: found, and told to the person."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agent_host.constrained.drafter import PRINTED
from agent_host.constrained.specs import reply_drafter
from agent_host.printed_call import printed_call
from agent_host.providers.openai_compatible import OpenAiCompatibleProvider
from agent_host.providers.protocol import Message, ModelRequest, Text, ToolSpec, ToolUse
from agent_host.tracing.events import Notice
from agent_host.turn import run_turn
from tests.agent_host.test_turn import Room, room
from tests.fakes import openai_server as wire
from tests.fakes.scripted_provider import ScriptedProvider, asks, says

__all__ = ["room"]

TOOL = ToolSpec("calendar_create_event", "Books.", {"type": "object"})
REQUEST = ModelRequest("", (Message("user", (Text("Book it."),)),), (TOOL,), "auto", 500)
CALL = json.dumps({"name": TOOL.name, "arguments": {"title": "Standup"}})


@pytest.mark.parametrize(
    "words",
    [
        CALL,
        f"I'll book that.\n```json\n{CALL}\n```",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"[TOOL_CALLS][{CALL}]",
        '<|python_tag|>{"name": "calendar_create_event", "parameters": {}}',
        '{"type": "function", "function": {"name": "calendar_create_event", "arguments": "{}"}}',
        '{"function": "calendar_create_event", "args": {}}',
        '[calendar_create_event(title="Standup")]',
        "calendar_create_event()",
        f'Like {{"a": 1}} and {{"broken", then {CALL}',
    ],
)
def test_a_call_in_words_is_found_however_a_model_writes_it(words: str) -> None:
    assert printed_call(REQUEST, says(words)) == TOOL.name


@pytest.mark.parametrize(
    "words",
    [
        "Booked.",
        "I would use calendar_create_event(title) for that.",
        '{"name": "calendar_create_event"}',
        '{"name": "somebody_else", "arguments": {}}',
        '{"name": 5, "arguments": {}}',
        '{"' * 5_000,
        '{"a":' * 5_000,
        "",
    ],
)
def test_words_that_are_no_call_are_none(words: str) -> None:
    assert printed_call(REQUEST, says(words)) is None


def test_a_call_that_was_made_and_one_of_a_turn_without_tools_are_no_matter() -> None:
    assert printed_call(REQUEST, asks(ToolUse("u1", TOOL.name, {}), text=CALL)) is None
    assert printed_call(replace(REQUEST, tools=()), says(CALL)) is None


async def test_the_person_is_told_that_nothing_was_done(room: Room) -> None:
    printed = json.dumps({"name": "memory_search", "arguments": {"query": "team"}})
    async with wire.openai_server(wire.Answer(printed)) as server:
        model = OpenAiCompatibleProvider(wire.MODEL, wire.KEY, server.url)
        parts = replace(room.parts(ScriptedProvider()), provider=model, spec=reply_drafter(model.identity, 60_000))
        result = await run_turn("Who is on the team?", room.session, "cli", parts, room.events.append)
        await model.close()

    assert (result.reply, result.receipt.tools) == (printed, ())
    assert Notice(PRINTED.format(name="memory_search")) in room.events
