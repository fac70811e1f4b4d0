"""What servers other than OpenAI send: what is read all the same, what is asked again, what a person reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from agent_host.errors import ProviderError, ProviderUnavailableError
from agent_host.providers.openai_compatible import OpenAiCompatibleProvider
from agent_host.providers.protocol import Message, ModelReply, ModelRequest, Text, ToolSpec, ToolUse, Usage
from tests.fakes.openai_server import (
    KEY,
    MODEL,
    USAGE,
    Answer,
    Cut,
    Failure,
    Raw,
    Step,
    call,
    chunk,
    openai_server,
    raw_chunks,
    whole,
)

TOOL = ToolSpec("notes_read", "Reads a note.", {"type": "object"})
REQUEST = ModelRequest("Be kind.", (Message("user", (Text("hello"),)),), (TOOL,), "auto", 500)
HELLO = Answer("Hello, Ana. How are you?")
ONE = {"id": "n_1"}


async def _reply(*script: Step, request: ModelRequest = REQUEST) -> tuple[str, ModelReply]:
    async with openai_server(*script) as server:
        provider = OpenAiCompatibleProvider(MODEL, KEY, server.url, 10.0)
        try:
            *shown, reply = [item async for item in provider.stream(request)]
        finally:
            await provider.close()
    assert isinstance(reply, ModelReply)
    return "".join(item.text for item in shown), reply


async def _error(*script: Step) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await _reply(*script)
    return caught.value


def _asks(*calls: Mapping[str, Any], reason: str = "tool_calls") -> Raw:
    return raw_chunks(*(chunk({"tool_calls": [one]}) for one in calls), chunk({}, reason))


def _piece(index: int | None, call_id: str | None, name: str | None, arguments: object) -> dict[str, Any]:
    told: dict[str, Any] = {"function": {"name": name, "arguments": arguments}, "id": call_id, "index": index}
    return {key: value for key, value in told.items() if value is not None}


ODD_CALLS = {
    "whole arguments in one piece": _asks(_piece(0, "a", "notes_read", '{"id": "n_1"}')),
    "stop as the reason": _asks(_piece(0, "a", "notes_read", '{"id": "n_1"}'), reason="stop"),
    "no id": _asks(_piece(0, None, "notes_read", '{"id": "n_1"}')),
    "no index": _asks(_piece(None, "a", "notes_read", '{"id": "n_1"}')),
    "the name with each piece": _asks(_piece(0, "a", "notes_read", '{"id":'), _piece(0, "a", "notes_read", '"n_1"}')),
    "an object for arguments": _asks(_piece(0, "a", "notes_read", ONE)),
    "thoughts beside it": raw_chunks(
        chunk({"reasoning_content": "Hm."}),
        chunk({"tool_calls": [_piece(0, "a", "notes_read", '{"id": "n_1"}')]}, "tool_calls"),
    ),
}


@pytest.mark.parametrize("step", ODD_CALLS.values(), ids=ODD_CALLS)
async def test_a_tool_call_is_read_however_a_server_writes_it(step: Step) -> None:
    shown, reply = await _reply(step)
    (use,) = reply.tool_uses
    assert (shown, reply.stop_reason, use.name, use.arguments) == ("", "tool_use", "notes_read", ONE)
    assert use.id


@pytest.mark.parametrize("index", [0, None])
async def test_two_calls_in_one_place_or_none_stay_two(index: int | None) -> None:
    calls = [_piece(index, name, "notes_read", json.dumps({"id": name})) for name in ("a", "b")]
    _, reply = await _reply(_asks(*calls))
    assert [use.arguments["id"] for use in reply.tool_uses] == ["a", "b"]


async def test_ids_used_twice_become_ids_of_their_own() -> None:
    calls = [_piece(index, "same", "notes_read", "{}") for index in (0, 1)]
    before = Message("assistant", (ToolUse("same", "notes_read", {}),))
    _, reply = await _reply(_asks(*calls))
    assert len({use.id for use in reply.tool_uses}) == 2
    request = replace(REQUEST, messages=(*REQUEST.messages, before, *REQUEST.messages))
    async with openai_server() as server:  # a conversation whose first call has the same id
        provider = OpenAiCompatibleProvider(MODEL, KEY, server.url, 10.0)
        with pytest.raises(ProviderError, match="without results"):
            [item async for item in provider.stream(request)]
        await provider.close()


async def test_a_call_although_tools_are_off_is_left_out() -> None:
    odd = raw_chunks(chunk({"content": "Done."}), chunk({"tool_calls": [_piece(0, "a", "x", "{}")]}, "tool_calls"))
    for request in (replace(REQUEST, tool_choice="none"), replace(REQUEST, tools=())):
        _, reply = await _reply(odd, request=request)
        assert (reply.blocks, reply.stop_reason) == ((Text("Done."),), "end_turn")


async def test_a_server_that_counts_nothing_has_a_usage_of_nothing() -> None:
    _, reply = await _reply(replace(HELLO, usage=None))
    assert reply.usage == Usage()
    _, reply = await _reply(raw_chunks(chunk({"content": "Hi."}, "stop") | {"usage": {"prompt_tokens": "many"}}))
    assert reply.usage == Usage()


async def test_counts_beside_the_last_words_are_read_too() -> None:
    _, reply = await _reply(raw_chunks(chunk({"content": "Hi."}, "stop") | {"usage": USAGE}, done=False))
    assert reply.usage == Usage(12, 33)


@pytest.mark.parametrize(("generated", "reason"), [(499, "context_full"), (500, "max_tokens"), ("many", "max_tokens")])
async def test_llama_cpps_own_count_tells_a_full_window_from_the_output_limit(generated: object, reason: str) -> None:
    cut = chunk({"content": "Hello"}, "length")
    _, reply = await _reply(raw_chunks(cut | {"timings": {"predicted_n": generated}}))
    assert (reply.stop_reason, reply.text) == (reason, "Hello")
    _, reply = await _reply(raw_chunks(cut))
    assert reply.stop_reason == "max_tokens"  # others count some of what they generate


async def test_a_model_that_a_server_of_several_does_not_have_is_told_with_what_to_check() -> None:
    told = str(await _error(Failure(400, f"model '{MODEL}' not found")))  # llama.cpp's words
    assert f"offers no model named {MODEL} (400); check PROMETHEUS_MODEL" in told


BROKEN_STREAMS = {
    "nothing": raw_chunks(),
    "nothing at all": raw_chunks(done=False),
    "a web page": Raw(b"<html>Log in</html>", "text/html"),
    "no end": raw_chunks(chunk({"role": "assistant"})),
    "null": raw_chunks(None),
    "a list": raw_chunks([1]),
    "words for choices": raw_chunks(chunk({}) | {"choices": "words"}),
    "words for a delta": raw_chunks(chunk({}) | {"choices": [{"index": 0, "delta": "words"}]}),
    "a number for words": raw_chunks(chunk({"content": 7}, "stop")),
    "a call without a name": _asks(_piece(0, "a", None, "{}")),
    "half an event": Raw(b'data: {"choices": [{"delta', "text/event-stream"),
    "no JSON": Raw(b"data: {nonsense}\n\n", "text/event-stream"),
}


@pytest.mark.parametrize("broken", BROKEN_STREAMS.values(), ids=BROKEN_STREAMS)
async def test_a_stream_that_makes_no_sense_is_replaced_by_one_plain_call(broken: Step) -> None:
    shown, reply = await _reply(broken, HELLO)
    assert shown == reply.text == HELLO.words


BROKEN_PLAIN_REPLIES: Mapping[str, object] = {
    "null": None,
    "a list": [],
    "no choices": {"id": "x"},
    "null choices": whole(HELLO) | {"choices": None},
    "words for a message": whole(HELLO) | {"choices": [{"message": "words", "finish_reason": "stop"}]},
    "no reason": whole(HELLO) | {"choices": [{"index": 0, "message": {"content": "Hello."}}]},
    "a call without a name": whole(Answer("", [call("a", "", "{}")], "tool_calls")),
}


@pytest.mark.parametrize("body", BROKEN_PLAIN_REPLIES.values(), ids=BROKEN_PLAIN_REPLIES)
async def test_a_plain_reply_that_makes_no_sense_is_told_in_one_sentence(body: object) -> None:
    error = await _error(raw_chunks(), Raw(json.dumps(body).encode()))
    assert isinstance(error, ProviderUnavailableError)
    assert "sent a reply that cannot be read" in str(error)


async def test_a_web_page_instead_of_a_reply_is_told_in_one_sentence() -> None:
    page = Raw(b"<html>Log in</html>", "text/html")
    assert "sent a reply that cannot be read" in str(await _error(page, page))


async def test_the_tokens_of_a_broken_stream_are_counted_with_those_of_the_plain_call() -> None:
    counted = raw_chunks(chunk({}) | {"usage": USAGE})
    _, reply = await _reply(counted, HELLO)
    assert reply.usage == Usage(24, 66)
    assert (await _error(counted, Failure(500))).usage == Usage(12, 33)
    assert (await _error(Failure(401))).usage == Usage()  # what is refused costs nothing
    assert (await _error(Failure(500), Failure(500), Failure(500))).usage is None


@pytest.mark.parametrize(("code", "kind"), [("502", ProviderUnavailableError), (429, ProviderUnavailableError)])
async def test_a_status_told_in_mid_stream_counts_as_one(code: object, kind: type[ProviderError]) -> None:
    cut = Cut(HELLO, 1, "error", {"message": "upstream is away", "code": code})
    assert isinstance(await _error(cut, Failure(500)), kind)
