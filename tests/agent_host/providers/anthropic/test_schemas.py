"""Structured output: what the API is asked, and a model that cannot do it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from agent_host.errors import ProviderRefusedError
from agent_host.providers.anthropic import AnthropicProvider
from agent_host.providers.anthropic.wire import wire_schema
from agent_host.providers.protocol import JsonValue, Message, ModelReply, ModelRequest, Text
from tests.fakes.anthropic_server import KEY, MODEL, Answer, Failure, Step, anthropic_server, text

SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"mood": {"type": "string", "enum": ["glad", "sad"]}},
    "required": ["mood"],
    "additionalProperties": False,
}
REQUEST = ModelRequest("Be kind.", (Message("user", (Text("hello"),)),), (), "none", 500, SCHEMA)
GLAD = Answer([text('{"mood": "glad"}')])


async def _replies(count: int, *script: Step) -> tuple[list[ModelReply], list[Mapping[str, Any]]]:
    async with anthropic_server(*script) as server:
        provider = AnthropicProvider(MODEL, KEY, server.url, 10.0)
        replies = []
        try:
            for _ in range(count):
                *_, reply = [item async for item in provider.stream(REQUEST)]
                assert isinstance(reply, ModelReply)
                replies.append(reply)
        finally:
            await provider.close()
    return replies, [seen.body for seen in server.requests]


async def test_a_schema_is_sent_with_each_request_that_has_one() -> None:
    replies, bodies = await _replies(2, GLAD, GLAD)
    assert [reply.text for reply in replies] == ['{"mood": "glad"}'] * 2
    assert [body["output_config"]["format"] for body in bodies] == [{"type": "json_schema", "schema": SCHEMA}] * 2


async def test_a_model_that_takes_no_schema_is_asked_without_one_from_then_on() -> None:
    refusal = Failure(400, "invalid_request_error", "output_config.format: not supported by this model")
    replies, bodies = await _replies(2, refusal, GLAD, GLAD)
    assert [reply.text for reply in replies] == ['{"mood": "glad"}'] * 2
    assert ["output_config" in body for body in bodies] == [True, False, False]


async def test_any_other_refusal_is_told_and_not_asked_around() -> None:
    with pytest.raises(ProviderRefusedError, match="messages: too many"):
        await _replies(1, Failure(400, "invalid_request_error", "messages: too many"), GLAD)


async def test_a_request_without_a_schema_asks_for_none() -> None:
    async with anthropic_server(GLAD) as server:
        provider = AnthropicProvider(MODEL, KEY, server.url)
        async for _ in provider.stream(replace(REQUEST, output_schema=None)):
            pass
        await provider.close()
    (seen,) = server.requests
    assert "output_config" not in seen.body


def test_what_the_api_cannot_enforce_is_told_in_words_at_every_depth() -> None:
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {
            "rows": {
                "type": "array",
                "maxItems": 3,
                "items": {"type": "integer", "minimum": 1, "description": "A row."},
            },
            "maybe": {"type": ["string", "null"], "maxLength": 5},
        },
        "required": ["rows"],
        "additionalProperties": False,
    }
    assert wire_schema(schema)["properties"] == {
        "rows": {
            "type": "array",
            "items": {"type": "integer", "description": "A row. (minimum: 1)"},
            "description": "(maxItems: 3)",
        },
        "maybe": {"anyOf": [{"type": "string", "description": "(maxLength: 5)"}, {"type": "null"}]},
    }
