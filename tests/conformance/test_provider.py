"""What every provider keeps to, whoever is behind it: the contract of `agent_host.providers.protocol.Provider`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, get_args, get_type_hints
from zoneinfo import ZoneInfo

import pytest

from agent_host.errors import ProviderRefusedError
from agent_host.providers.anthropic import AnthropicProvider
from agent_host.providers.offline.provider import OfflineProvider
from agent_host.providers.openai_compatible import OpenAiCompatibleProvider
from agent_host.providers.protocol import (
    Identity,
    JsonValue,
    Message,
    ModelReply,
    ModelRequest,
    Provider,
    StopReason,
    Text,
    TextDelta,
    ToolResult,
    ToolSpec,
    ToolUse,
)
from tests.fakes import anthropic_server, openai_server
from tests.fakes.scripted_provider import Line, ScriptedProvider, asks, says

WORDS = "Remember that the design team prefers morning meetings."
FACT = {"body": "the design team prefers morning meetings"}
REMEMBER = ToolSpec(
    "memory_remember",
    "Stores a memory.",
    {"type": "object", "properties": {"body": {"type": "string"}}, "required": ["body"]},
)
REQUEST = ModelRequest("You are Prometheus.", (Message("user", (Text(WORDS),)),), (REMEMBER,), "auto", 1000)

Factory = Callable[[], AbstractAsyncContextManager[Provider]]


def _scripted_line(request: ModelRequest) -> Line:
    answered = any(isinstance(block, ToolResult) for block in request.messages[-1].blocks)
    if answered or request.tool_choice == "none" or not request.tools:
        return says("I will remember that.")
    return asks(ToolUse(f"call_{len(request.messages)}", "memory_remember", FACT), text="Let me note that. ")


@asynccontextmanager
async def _scripted() -> AsyncIterator[Provider]:
    yield ScriptedProvider(_scripted_line)


def _anthropic_step(body: Mapping[str, Any]) -> anthropic_server.Step:
    answered = any(block["type"] == "tool_result" for block in body["messages"][-1]["content"])
    if answered or body.get("tool_choice") == {"type": "none"} or not body.get("tools"):
        return anthropic_server.Answer([anthropic_server.text("I will remember that.")])
    use = anthropic_server.tool_use(f"toolu_{len(body['messages'])}", "memory_remember", FACT)
    return anthropic_server.Answer([anthropic_server.text("Let me note that. "), use], "tool_use")


@asynccontextmanager
async def _anthropic() -> AsyncIterator[Provider]:
    async with anthropic_server.anthropic_server(_anthropic_step) as server:
        provider = AnthropicProvider(anthropic_server.MODEL, anthropic_server.KEY, server.url)
        yield provider
        await provider.close()


def _openai_step(body: Mapping[str, Any]) -> openai_server.Step:
    answered = body["messages"][-1]["role"] == "tool"
    if answered or body.get("tool_choice") == "none" or not body.get("tools"):
        return openai_server.Answer("I will remember that.")
    use = openai_server.call(f"call_{len(body['messages'])}", "memory_remember", json.dumps(FACT))
    return openai_server.Answer("Let me note that. ", [use], "tool_calls")


@asynccontextmanager
async def _openai() -> AsyncIterator[Provider]:
    async with openai_server.openai_server(_openai_step) as server:
        provider = OpenAiCompatibleProvider(openai_server.MODEL, openai_server.KEY, server.url)
        yield provider
        await provider.close()


@asynccontextmanager
async def _offline() -> AsyncIterator[Provider]:
    zone = ZoneInfo("Europe/Berlin")
    yield OfflineProvider(lambda: datetime(2026, 12, 1, 9, 0, tzinfo=zone), zone)


FACTORIES: dict[str, Factory] = {
    "scripted": _scripted,
    "anthropic": _anthropic,
    "openai-compatible": _openai,
    "offline": _offline,
}


@pytest.fixture(params=sorted(FACTORIES))
async def provider(request: pytest.FixtureRequest) -> AsyncIterator[Provider]:
    async with FACTORIES[request.param]() as made:
        yield made


async def _ask(provider: Provider, request: ModelRequest) -> tuple[list[str], ModelReply]:
    items = [item async for item in provider.stream(request)]
    reply = items.pop()
    assert isinstance(reply, ModelReply)
    assert all(isinstance(item, TextDelta) for item in items)
    return [item.text for item in items if isinstance(item, TextDelta)], reply


async def test_a_stream_is_text_that_joins_to_the_replys_and_one_reply_at_its_end(provider: Provider) -> None:
    for request in (REQUEST, replace(REQUEST, tool_choice="none")):
        deltas, reply = await _ask(provider, request)
        assert "".join(deltas) == reply.text


async def test_a_request_for_a_tool_names_an_offered_one_and_gives_arguments(provider: Provider) -> None:
    _, reply = await _ask(provider, REQUEST)
    assert reply.stop_reason == "tool_use"
    assert [use.name for use in reply.tool_uses] == ["memory_remember"]
    assert "morning meetings" in str(reply.tool_uses[0].arguments["body"])


async def test_the_result_of_a_tool_leads_to_an_answer_in_words(provider: Provider) -> None:
    _, asked = await _ask(provider, REQUEST)
    result = ToolResult(asked.tool_uses[0].id, '{"memory":{"id":"m_1"},"deduped":false}', is_error=False)
    messages = (*REQUEST.messages, Message("assistant", asked.blocks), Message("user", (result,)))
    _, answer = await _ask(provider, replace(REQUEST, messages=messages))
    assert answer.stop_reason == "end_turn"
    assert answer.tool_uses == ()
    assert answer.text.strip()


async def test_two_calls_for_tools_have_two_ids(provider: Provider) -> None:
    _, first = await _ask(provider, REQUEST)
    result = ToolResult(first.tool_uses[0].id, "{}", is_error=False)
    rows = (Message("assistant", first.blocks), Message("user", (result,)), *REQUEST.messages)
    _, second = await _ask(provider, replace(REQUEST, messages=(*REQUEST.messages, *rows)))
    assert first.tool_uses[0].id != second.tool_uses[0].id


async def test_no_tool_is_asked_for_when_tools_are_off_or_none_is_offered(provider: Provider) -> None:
    for request in (replace(REQUEST, tool_choice="none"), replace(REQUEST, tools=())):
        _, reply = await _ask(provider, request)
        assert reply.tool_uses == ()
        assert reply.stop_reason != "tool_use"


async def test_a_request_for_a_value_of_a_schema_ends_in_words_or_in_a_refusal(provider: Provider) -> None:
    closed: dict[str, JsonValue] = {
        "type": "object",
        "properties": {"mood": {"type": "string"}},
        "additionalProperties": False,
    }
    request = replace(REQUEST, tools=(), tool_choice="none", output_schema=closed)
    try:
        deltas, reply = await _ask(provider, request)
    except ProviderRefusedError:
        return
    assert "".join(deltas) == reply.text
    assert reply.tool_uses == ()


async def test_the_reply_says_which_model_answered_why_it_ended_and_what_it_counted(provider: Provider) -> None:
    _, reply = await _ask(provider, REQUEST)
    assert reply.model
    assert reply.stop_reason in get_args(StopReason)
    usage = reply.usage
    counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    assert all(isinstance(count, int) and count >= 0 for count in counts)


def test_the_identity_fits_the_ledger(provider: Provider) -> None:
    identity = provider.identity
    assert identity.provider in get_args(get_type_hints(Identity)["provider"])
    assert identity.model
    assert identity.version


async def test_a_listener_may_leave_early_and_ask_again(provider: Provider) -> None:
    async with aclosing(provider.stream(REQUEST)) as stream:  # type: ignore[type-var]
        await anext(stream)
    _, reply = await _ask(provider, REQUEST)
    assert reply.tool_uses


async def test_questions_asked_at_the_same_time_do_not_mix(provider: Provider) -> None:
    answers = await asyncio.gather(*(_ask(provider, replace(REQUEST, tool_choice="none")) for _ in range(3)))
    assert all("".join(deltas) == reply.text for deltas, reply in answers)


async def test_closing_twice_is_harmless(provider: Provider) -> None:
    await _ask(provider, REQUEST)
    await provider.close()
    await provider.close()
