"""The provider against llama.cpp's real server, with a model of some kilobytes that talks nonsense.

Tested is what the server makes certain whatever its model says: counts, limits, grammars, errors.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agent_host.constrained.output import read_output
from agent_host.constrained.specs import SHIPPED, shipped_spec
from agent_host.errors import ProviderRefusedError, ProviderUnavailableError
from agent_host.providers.openai_compatible import OpenAiCompatibleProvider
from agent_host.providers.protocol import (
    Identity,
    JsonValue,
    Message,
    ModelReply,
    ModelRequest,
    Text,
    TextDelta,
    ToolResult,
    ToolSpec,
)
from tests.llama_server import WHY_NOT, LlamaServer, found_program, llama_server
from tests.tiny_model import write_tiny_model

PROGRAM = found_program() or ["absent"]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(PROGRAM == ["absent"], reason=WHY_NOT)]

WINDOW = 8_192
TOOL = ToolSpec(
    "notes_read",
    "Reads a note.",
    {"type": "object", "properties": {"id": {"type": "string"}, "lines": {"type": "integer"}}, "required": ["id"]},
)
IDENTITY = Identity("openai-compatible", "tiny", "tiny")
REQUEST = ModelRequest("Be kind.", (Message("user", (Text("hello"),)),), (), "auto", 2_000)


def _served(folder: Path, *, calls_tools: bool = False, ends: bool = True) -> Iterator[LlamaServer]:
    write_tiny_model(folder / "tiny.gguf", calls_tools=calls_tools, ends=ends)
    with llama_server(PROGRAM, folder / "tiny.gguf", WINDOW) as server:
        yield server


@pytest.fixture(scope="module")
def talking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    yield from _served(tmp_path_factory.mktemp("talking"))


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    yield from _served(tmp_path_factory.mktemp("endless"), ends=False)


@pytest.fixture(scope="module")
def calling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    yield from _served(tmp_path_factory.mktemp("calling"), calls_tools=True)


@asynccontextmanager
async def _provider(server: LlamaServer, model: str = "tiny") -> AsyncIterator[OpenAiCompatibleProvider]:
    provider = OpenAiCompatibleProvider(model, "", server.url, 30.0)
    yield provider
    await provider.close()


async def _asked(server: LlamaServer, request: ModelRequest, model: str = "tiny") -> tuple[list[str], ModelReply]:
    async with _provider(server, model) as provider:
        *pieces, reply = [item async for item in provider.stream(request)]
    assert isinstance(reply, ModelReply)
    return [piece.text for piece in pieces], reply


def _said(words: str) -> tuple[Message, ...]:
    return (Message("user", (Text(words),)),)


async def test_text_arrives_in_pieces_and_its_tokens_are_counted(talking: LlamaServer) -> None:
    pieces, reply = await _asked(talking, REQUEST)
    assert "".join(pieces) == reply.text
    assert reply.stop_reason == "end_turn"
    # Each byte is a token, and so is the end.
    assert reply.usage.output_tokens == len(reply.text.encode()) + 1
    assert len(pieces) == len(reply.text)


async def test_a_prompt_told_again_is_counted_as_read_from_the_cache(talking: LlamaServer) -> None:
    request = replace(REQUEST, messages=_said("The same words as before. " * 20))
    first, again = [(await _asked(talking, request))[1].usage for _ in range(2)]
    assert again.cache_read_tokens > 500
    assert first.input_tokens + first.cache_read_tokens == again.input_tokens + again.cache_read_tokens


async def test_a_reply_stops_at_the_output_limit(endless: LlamaServer) -> None:
    _, reply = await _asked(endless, replace(REQUEST, max_tokens=40))
    assert (reply.stop_reason, reply.usage.output_tokens, len(reply.text)) == ("max_tokens", 40, 40)


async def test_a_reply_that_fills_the_window_is_told_apart_from_one_at_its_limit(endless: LlamaServer) -> None:
    request = replace(REQUEST, messages=_said("x" * (WINDOW - 300)), max_tokens=2_000)
    _, reply = await _asked(endless, request)
    assert reply.stop_reason == "context_full"
    assert reply.usage.output_tokens < 300


async def test_a_prompt_that_does_not_fit_the_window_is_one_sentence(talking: LlamaServer) -> None:
    # A first message may be what does not fit, so the server's own figures are told too.
    told = rf"too large for tiny .* exceeds the available context size \({WINDOW} tokens\).*; start a new session or"
    with pytest.raises(ProviderRefusedError, match=told):
        await _asked(talking, replace(REQUEST, messages=_said("x" * 3 * WINDOW)))


@pytest.mark.parametrize("name", SHIPPED)
async def test_every_shipped_spec_is_kept_to_by_a_model_that_knows_nothing(name: str, talking: LlamaServer) -> None:
    schema = shipped_spec(name, IDENTITY).output_schema
    _, reply = await _asked(talking, replace(REQUEST, output_schema=schema, max_tokens=WINDOW - 500))
    read_output(reply, schema)  # lengths included


async def test_a_length_that_no_grammar_holds_is_told_in_words(talking: LlamaServer) -> None:
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 100_000}},
        "required": ["name"],
        "additionalProperties": False,
    }
    _, reply = await _asked(talking, replace(REQUEST, output_schema=schema))
    read_output(reply, schema)


async def test_a_tool_is_called_with_arguments_of_its_schema_and_its_result_is_taken(calling: LlamaServer) -> None:
    request = replace(REQUEST, tools=(TOOL,))
    _, asked = await _asked(calling, request)
    assert asked.stop_reason == "tool_use"
    for use in asked.tool_uses:
        assert (use.name, use.fault) == ("notes_read", None)
        assert isinstance(use.arguments["id"], str)
    results = tuple(ToolResult(use.id, '{"title": "x"}', is_error=False) for use in asked.tool_uses)
    rows = (*REQUEST.messages, Message("assistant", asked.blocks), Message("user", results))
    _, answer = await _asked(calling, replace(request, messages=rows))
    assert answer.stop_reason == "tool_use"  # it always begins with a call
    assert not {use.id for use in answer.tool_uses} & {use.id for use in asked.tool_uses}


async def test_no_tool_is_called_where_none_may_be(calling: LlamaServer) -> None:
    _, reply = await _asked(calling, replace(REQUEST, tools=(TOOL,), tool_choice="none"))
    assert (reply.stop_reason, reply.tool_uses) == ("end_turn", ())


async def test_a_server_of_one_model_answers_to_any_name_and_says_which_it_has(talking: LlamaServer) -> None:
    _, reply = await _asked(talking, REQUEST, "no-such-model")
    assert reply.model.endswith("tiny.gguf")


async def test_a_server_that_dies_in_mid_sentence_is_told_and_so_is_one_that_is_gone(tmp_path: Path) -> None:
    request = replace(REQUEST, max_tokens=100_000)
    for server in _served(tmp_path, ends=False):
        async with _provider(server) as provider:
            items = provider.stream(request)
            assert isinstance(await anext(items), TextDelta)
            server.kill()
            with pytest.raises(ProviderUnavailableError, match="The reply broke off; ask again"):
                async for _ in items:
                    pass
            with pytest.raises(ProviderUnavailableError, match="cannot be reached; see that the server runs"):
                await anext(provider.stream(request))
