"""Structured output and other parts of a request that not every server knows: what is sent, and sent without."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from agent_host.errors import ProviderRefusedError
from agent_host.providers.openai_compatible import OpenAiCompatibleProvider
from agent_host.providers.openai_compatible.wire import build_params, wire_schema
from agent_host.providers.protocol import JsonValue, Message, ModelReply, ModelRequest, Text, ToolUse
from tests.fakes.openai_server import KEY, MODEL, Answer, Failure, Step, openai_server

SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"mood": {"type": "string", "enum": ["glad", "sad"]}},
    "required": ["mood"],
    "additionalProperties": False,
}
REQUEST = ModelRequest("Be kind.", (Message("user", (Text("hello"),)),), (), "none", 500, SCHEMA)
GLAD = Answer('{"mood": "glad"}')


async def _replies(count: int, *script: Step, request: ModelRequest = REQUEST) -> tuple[list[str], list[Any]]:
    async with openai_server(*script) as server:
        provider = OpenAiCompatibleProvider(MODEL, KEY, server.url, 10.0)
        words = []
        try:
            for _ in range(count):
                *_, reply = [item async for item in provider.stream(request)]
                assert isinstance(reply, ModelReply)
                words.append(reply.text)
        finally:
            await provider.close()
    return words, [seen.body for seen in server.requests]


async def test_a_schema_is_sent_with_each_request_that_has_one() -> None:
    words, bodies = await _replies(2, GLAD, GLAD)
    assert words == [GLAD.words] * 2
    named = {"name": "answer", "schema": SCHEMA, "strict": True}
    assert [body["response_format"] for body in bodies] == [{"type": "json_schema", "json_schema": named}] * 2
    _, (body,) = await _replies(1, GLAD, request=replace(REQUEST, output_schema=None))
    assert "response_format" not in body


@pytest.mark.parametrize(
    ("refusal", "part"),
    [
        ("Invalid parameter: 'response_format' of type 'json_schema' is not supported", "response_format"),
        ("Failed to parse the grammar of the schema", "response_format"),
        ("Unrecognized request argument supplied: stream_options", "stream_options"),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens"),
    ],
)
async def test_a_part_that_a_server_refuses_is_left_out_from_then_on(refusal: str, part: str) -> None:
    words, bodies = await _replies(2, Failure(400, refusal), GLAD, GLAD)
    assert words == [GLAD.words] * 2
    assert [part in body for body in bodies] == [True, False, False]


async def test_a_server_that_refuses_all_three_is_asked_without_them() -> None:
    refusals = [Failure(422, told) for told in ("json_schema?", "stream_options?", "say max_completion_tokens")]
    words, bodies = await _replies(1, *refusals, GLAD)
    assert words == [GLAD.words]
    assert sorted(bodies[-1]) == ["max_completion_tokens", "messages", "model", "stream"]


async def test_a_refusal_that_stays_is_told_and_not_asked_around_for_ever() -> None:
    with pytest.raises(ProviderRefusedError, match="json_schema"):
        await _replies(1, *[Failure(400, "json_schema? never heard of it")] * 3, GLAD)
    with pytest.raises(ProviderRefusedError, match="too many"):
        await _replies(1, Failure(400, "messages: too many"), GLAD)


async def test_openai_itself_is_told_the_output_limit_by_its_newer_name() -> None:
    params = build_params(MODEL, REQUEST, {"max_tokens"})
    assert (params["max_completion_tokens"], "max_tokens" in params) == (500, False)


SHORT: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 5}},
    "required": ["name"],
    "additionalProperties": False,
}
IN_WORDS = {"type": "string", "description": "(maxLength: 5)"}


def _name(body: Mapping[str, Any]) -> object:
    return body["response_format"]["json_schema"]["schema"]["properties"]["name"]


@pytest.mark.parametrize(
    "refusal",
    [
        "Invalid schema for response_format 'answer': In context=('properties', 'name'), 'maxLength' is not permitted.",
        "Failed to initialize samplers: failed to parse grammar",
    ],
)
async def test_lengths_of_texts_are_sent_until_a_server_refuses_them_and_are_told_in_words_then(refusal: str) -> None:
    request = replace(REQUEST, output_schema=SHORT)
    words, bodies = await _replies(2, Failure(400, refusal), GLAD, GLAD, request=request)
    assert words == [GLAD.words] * 2
    assert [_name(body) for body in bodies] == [{"type": "string", "maxLength": 5}, IN_WORDS, IN_WORDS]


async def test_a_schema_that_cannot_be_kept_to_without_lengths_either_is_left_out() -> None:
    refusal = Failure(400, "Failed to initialize samplers: std::exception")  # llama.cpp's whole explanation
    words, bodies = await _replies(1, refusal, refusal, GLAD, request=replace(REQUEST, output_schema=SHORT))
    assert words == [GLAD.words]
    assert ["response_format" in body for body in bodies] == [True, True, False]


def test_openai_itself_is_told_lengths_in_words_from_the_start() -> None:
    request = replace(REQUEST, output_schema=SHORT)
    assert _name(build_params(MODEL, request, {"max_tokens", "lengths"})) == IN_WORDS


def test_what_a_strict_schema_may_not_hold_is_told_in_words_at_every_depth() -> None:
    name: dict[str, JsonValue] = {"type": "string", "maxLength": 5, "description": "A name."}
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {"names": {"type": "array", "maxItems": 3, "items": name}},
        "additionalProperties": False,
    }
    names = wire_schema(schema, {"lengths"})["properties"]["names"]
    assert names == {
        "type": "array",
        "maxItems": 3,
        "items": {"type": "string", "description": "A name. (maxLength: 5)"},
    }
    sent = build_params(MODEL, replace(REQUEST, output_schema=schema), ())
    assert "strict" not in sent["response_format"]["json_schema"]  # a property may be missing


def _roles(params: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(message["role"], message["content"]) for message in params["messages"]]


def test_words_that_say_nothing_are_not_sent_and_half_characters_do_not_break_the_request() -> None:
    rows = (
        Message("user", (Text("one \ud83d"), Text(" "), Text("two"))),
        Message("assistant", (Text(" \n"),)),
        Message("assistant", (ToolUse("c", "x", {"q": "ü"}),)),
    )
    params = build_params(MODEL, replace(REQUEST, system=" ", messages=rows), ())
    assert _roles(params) == [("user", "one ?\n\ntwo"), ("assistant", None)]
    assert params["messages"][1]["tool_calls"][0]["function"] == {"name": "x", "arguments": '{"q": "ü"}'}
