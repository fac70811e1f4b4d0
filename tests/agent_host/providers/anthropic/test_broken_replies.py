"""Replies that break off or make no sense: what is asked again, what a person reads, and which tokens are counted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from agent_host.errors import ProviderError, ProviderRefusedError, ProviderUnavailableError
from agent_host.providers.anthropic import AnthropicProvider
from agent_host.providers.protocol import Message, ModelReply, ModelRequest, Text, Usage
from tests.fakes.anthropic_server import (
    KEY,
    MODEL,
    Answer,
    Cut,
    Failure,
    Raw,
    Step,
    anthropic_server,
    raw_stream,
    text,
)

REQUEST = ModelRequest("Be kind.", (Message("user", (Text("hello"),)),), (), "auto", 500)
HELLO = Answer([text("Hello, Ana. How are you?")])
MESSAGE: Mapping[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": MODEL,
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 7, "output_tokens": 1, "cache_read_input_tokens": 900},
}
START = {"type": "message_start", "message": MESSAGE}
BLOCK = {"type": "content_block_start", "index": 0, "content_block": text("")}
DELTA = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}}
DONE = {"stop_reason": "end_turn", "stop_sequence": None}
END = {"type": "message_delta", "delta": DONE, "usage": {"output_tokens": 1}}
STOP = {"type": "message_stop"}


def _started(**changed: object) -> dict[str, object]:
    return {"type": "message_start", "message": {**MESSAGE, **changed}}


BROKEN_STREAMS = {
    "nothing": raw_stream(),
    "a web page": Raw(b"<html>Log in</html>", "text/html"),
    "ping alone": raw_stream({"type": "ping"}),
    "text before the start": raw_stream(DELTA),
    "start without a message": raw_stream({"type": "message_start"}),
    "null message": raw_stream({"type": "message_start", "message": None}),
    "two starts and no end": raw_stream(START, START, STOP),
    "null block": raw_stream(START, {**BLOCK, "content_block": None}),
    "null delta": raw_stream(START, BLOCK, {**DELTA, "delta": None}),
    "no index": raw_stream(START, BLOCK, {"type": "content_block_delta", "delta": DELTA["delta"]}),
    "text that is a number": raw_stream(START, BLOCK, {**DELTA, "delta": {"type": "text_delta", "text": 5}}),
    "end without a delta": raw_stream(START, {"type": "message_delta", "usage": END["usage"]}, STOP),
    "end without usage": raw_stream(START, {"type": "message_delta", "delta": DONE}, STOP),
    "words for blocks": raw_stream(_started(content=["words"]), END, STOP),
    "words for counts": raw_stream(_started(usage={"input_tokens": "a", "output_tokens": "b"}), END, STOP),
}
WHOLE = {**MESSAGE, "content": [text("Hello.")], "stop_reason": "end_turn"}
BROKEN_PLAIN_REPLIES: Mapping[str, object] = {
    "null": None,
    "a list": [],
    "null blocks": WHOLE | {"content": None},
    "words for blocks": WHOLE | {"content": ["words"]},
    "a list for counts": WHOLE | {"usage": [1]},
    "words for counts": WHOLE | {"usage": {"input_tokens": "a"}},
    "no stop reason": WHOLE | {"stop_reason": None},
    "a call without id": WHOLE | {"content": [{"type": "tool_use", "input": {}}], "stop_reason": "tool_use"},
}


async def _reply(*script: Step) -> tuple[str, ModelReply]:
    async with anthropic_server(*script) as server:
        provider = AnthropicProvider(MODEL, KEY, server.url, 10.0)
        try:
            *shown, reply = [item async for item in provider.stream(REQUEST)]
        finally:
            await provider.close()
    assert isinstance(reply, ModelReply)
    return "".join(item.text for item in shown), reply


async def _error(*script: Step) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await _reply(*script)
    return caught.value


@pytest.mark.parametrize("broken", BROKEN_STREAMS.values(), ids=BROKEN_STREAMS)
async def test_a_stream_that_makes_no_sense_is_replaced_by_one_plain_call(broken: Step) -> None:
    shown, reply = await _reply(broken, HELLO)
    assert shown == reply.text == "Hello, Ana. How are you?"


@pytest.mark.parametrize("body", BROKEN_PLAIN_REPLIES.values(), ids=BROKEN_PLAIN_REPLIES)
async def test_a_plain_reply_that_makes_no_sense_is_told_in_one_sentence(body: object) -> None:
    error = await _error(raw_stream(), Raw(json.dumps(body).encode()))
    assert isinstance(error, ProviderUnavailableError)
    assert str(error).endswith("sent a reply that cannot be read; ask again.")


async def test_a_web_page_instead_of_a_plain_reply_is_told_in_one_sentence() -> None:
    error = await _error(raw_stream(), Raw(b"<html>Log in</html>", "text/html"))
    assert str(error).endswith("sent a reply that cannot be read; ask again.")


async def test_the_plain_call_counts_the_tokens_of_the_stream_it_replaces_too() -> None:
    usage = {"input_tokens": 100, "output_tokens": 40}
    _, reply = await _reply(Cut(replace(HELLO, usage=usage), 2, "drop"), HELLO)
    assert reply.usage == Usage(100 + 12, 1 + 33)


async def test_a_reply_that_breaks_off_carries_the_tokens_it_was_billed() -> None:
    assert (await _error(raw_stream(START, BLOCK, DELTA))).usage == Usage(7, 1, cache_read_tokens=900)
    late = raw_stream(START, BLOCK, DELTA, {**END, "usage": {"output_tokens": 50}})
    assert (await _error(late)).usage == Usage(7, 50, cache_read_tokens=900)


async def test_a_failed_plain_call_carries_the_tokens_of_both_calls() -> None:
    first = raw_stream(START)
    error = await _error(first, Raw(json.dumps(WHOLE | {"stop_reason": None}).encode()))
    assert error.usage == Usage(14, 2, cache_read_tokens=1800)
    error = await _error(first, Failure(500))
    assert error.usage == Usage(7, 1, cache_read_tokens=900)


async def test_a_refusal_in_mid_stream_carries_the_tokens_it_was_billed() -> None:
    error = await _error(Cut(HELLO, 2, "error", kind="invalid_request_error"))
    assert isinstance(error, ProviderRefusedError)
    assert error.usage == Usage(12, 1)


@pytest.mark.parametrize("status", [400, 401])
async def test_a_request_that_was_refused_cost_nothing(status: int) -> None:
    assert (await _error(Failure(status))).usage == Usage()
