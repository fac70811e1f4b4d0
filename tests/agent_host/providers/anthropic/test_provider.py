"""The provider through the real SDK, against a server that speaks the real wire format."""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

import pytest
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, use_span

from agent_host.errors import ConfigurationError, ProviderError, ProviderRefusedError, ProviderUnavailableError
from agent_host.providers.anthropic import DEFAULT_MODEL, AnthropicProvider
from agent_host.providers.protocol import (
    Message,
    ModelReply,
    ModelRequest,
    Text,
    TextDelta,
    ToolResult,
    ToolSpec,
    ToolUse,
    Usage,
)
from tests.fakes.anthropic_server import (
    KEY,
    MODEL,
    Answer,
    AnthropicServer,
    Cut,
    Failure,
    anthropic_server,
    text,
    tool_use,
)

TOOL = ToolSpec("notes_read", "Reads a note.", {"type": "object", "properties": {"id": {"type": "string"}}})
REQUEST = ModelRequest("Be kind.", (Message("user", (Text("hello"),)),), (TOOL,), "auto", 500)
HELLO = Answer([text("Hello, Ana. Здравствуй 🙂 — how are you?")])
USE = tool_use("toolu_1", "notes_read", {"id": "n_1"})
THOUGHT = {"type": "thinking", "thinking": "", "signature": "c2lnbmF0dXJl"}


def _provider(server: AnthropicServer, timeout_s: float = 10.0, key: str = KEY) -> AnthropicProvider:
    return AnthropicProvider(MODEL, key, server.url, timeout_s)


async def _ask(provider: AnthropicProvider, request: ModelRequest = REQUEST) -> tuple[str, ModelReply]:
    shown = ""
    async for item in provider.stream(request):
        if isinstance(item, ModelReply):
            return shown, item
        shown += item.text
    raise AssertionError("the stream had no reply")


async def _fail(provider: AnthropicProvider, shown: list[str] | None = None) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await _listen(provider, [] if shown is None else shown)
    await provider.close()
    return caught.value


async def _listen(provider: AnthropicProvider, shown: list[str]) -> None:
    async for item in provider.stream(REQUEST):
        shown.append(item.text)  # noqa: PERF401 - what was shown must survive the error


async def test_text_arrives_in_pieces_and_adds_up() -> None:
    async with anthropic_server(HELLO) as server:
        provider = _provider(server)
        items = [item async for item in provider.stream(REQUEST)]
        await provider.close()
    reply = items[-1]
    assert isinstance(reply, ModelReply)
    assert len(items) > 3
    assert "".join(item.text for item in items[:-1] if isinstance(item, TextDelta)) == reply.text
    assert reply.text == "Hello, Ana. Здравствуй 🙂 — how are you?"
    assert reply.model == MODEL


async def test_a_character_split_between_two_chunks_arrives_whole() -> None:
    async with anthropic_server(replace(HELLO, chunk_bytes=1)) as server:
        provider = _provider(server)
        shown, reply = await _ask(provider)
        await provider.close()
    assert shown == reply.text == "Hello, Ana. Здравствуй 🙂 — how are you?"


async def test_two_tool_calls_in_one_reply_and_their_results_make_a_round() -> None:
    second = tool_use("toolu_2", "notes_read", {"id": "ü"})
    usage = {
        "input_tokens": 12,
        "output_tokens": 33,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 2000,
    }
    async with anthropic_server(Answer([text("One moment."), USE, second], "tool_use", usage), HELLO) as server:
        provider = _provider(server)
        _, asked = await _ask(provider)
        results = tuple(ToolResult(use.id, '{"title":"x"}', is_error=False) for use in asked.tool_uses)
        rows = (*REQUEST.messages, Message("assistant", asked.blocks), Message("user", results))
        _, answer = await _ask(provider, replace(REQUEST, messages=rows))
        await provider.close()
    assert asked.tool_uses == (
        ToolUse("toolu_1", "notes_read", {"id": "n_1"}),
        ToolUse("toolu_2", "notes_read", {"id": "ü"}),
    )
    assert asked.usage == Usage(12, 33, cache_read_tokens=2000, cache_write_tokens=100)
    assert answer.stop_reason == "end_turn"


async def test_a_model_that_thinks_gets_its_thinking_back_with_the_tools_result() -> None:
    async with anthropic_server(Answer([THOUGHT, USE], "tool_use"), HELLO) as server:
        provider = _provider(server)
        _, asked = await _ask(provider)
        result = ToolResult("toolu_1", "{}", is_error=False)
        rows = (*REQUEST.messages, Message("assistant", asked.blocks), Message("user", (result,)))
        await _ask(provider, replace(REQUEST, messages=rows))
        await provider.close()
    assert asked.blocks == (ToolUse("toolu_1", "notes_read", {"id": "n_1"}),)
    assert server.requests[1].body["messages"][1]["content"] == [THOUGHT, USE]


async def test_the_request_carries_the_key_the_api_version_and_no_trace_context() -> None:
    context = SpanContext(0xA1, 0xB2, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    async with anthropic_server(HELLO) as server:
        provider = _provider(server)
        with use_span(NonRecordingSpan(context)):
            await _ask(provider)
        await provider.close()
    headers = server.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["anthropic-version"]
    assert "traceparent" not in headers
    assert server.requests[0].body["stream"] is True


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (400, "invalid_request_error", "it did not work"),
        (401, "authentication_error", "PROMETHEUS_API_KEY"),
        (402, "billing_error", "credit"),
        (403, "permission_error", MODEL),
        (404, "not_found_error", MODEL),
        (413, "request_too_large", "too large"),
        (422, "invalid_request_error", "it did not work"),
    ],
)
async def test_a_refusal_is_told_once_and_never_repeated(status: int, kind: str, words: str) -> None:
    async with anthropic_server(Failure(status, kind), HELLO) as server:
        error = await _fail(_provider(server))
    assert isinstance(error, ProviderRefusedError)
    assert words in str(error)
    assert str(status) in str(error)
    assert len(server.requests) == 1


async def test_a_wrong_key_is_named_by_its_setting_and_never_shown() -> None:
    async with anthropic_server(HELLO) as server:
        error = await _fail(_provider(server, key="sk-very-secret-123"))
    assert "PROMETHEUS_API_KEY" in str(error)
    assert "secret" not in str(error)


async def test_a_refusal_that_quotes_the_key_is_shown_without_it() -> None:
    async with anthropic_server(Failure(400, "invalid_request_error", f"bad\nheader {KEY}")) as server:
        error = await _fail(_provider(server))
    assert KEY not in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize(("status", "words"), [(429, "how often"), (500, "fault"), (503, "fault"), (529, "overloaded")])
async def test_a_fault_is_told_at_once_and_asking_again_is_left_to_the_caller(status: int, words: str) -> None:
    async with anthropic_server(Failure(status), HELLO) as server:
        error = await _fail(_provider(server))
    assert isinstance(error, ProviderUnavailableError)
    assert words in str(error)
    assert (error.wait_s, error.requests, len(server.requests)) == (0.005, 1, 1)


@pytest.mark.parametrize(
    ("headers", "wait_s", "words"),
    [
        ({"retry-after": "3600"}, 3600.0, "ask again in 3600 s"),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0, "ask again in a moment"),
        ({"retry-after": "nan"}, None, "ask again in a moment"),
        ({"retry-after": "-5"}, None, "ask again in a moment"),
        ({"x-should-retry": "false", "retry-after": "1"}, math.inf, "ask again in a moment"),
        ({}, None, "ask again in a moment"),
    ],
)
async def test_the_wait_the_api_asks_for_is_told(headers: dict[str, str], wait_s: float | None, words: str) -> None:
    async with anthropic_server(Failure(429, "rate_limit_error", headers=headers)) as server:
        error = await _fail(_provider(server))
    assert isinstance(error, ProviderUnavailableError)
    assert error.wait_s == wait_s
    assert str(error).endswith(f"(429); {words}.")


async def test_nobody_at_the_address_is_told_with_the_setting_to_check() -> None:
    async with anthropic_server() as server:
        url = server.url
    error = await _fail(AnthropicProvider(MODEL, KEY, f"{url}/v1", 5.0))
    assert isinstance(error, ProviderUnavailableError)
    assert "PROMETHEUS_BASE_URL" in str(error)


@pytest.mark.parametrize("how", ["drop", "end", "error"])
async def test_a_stream_that_breaks_before_any_text_is_replaced_by_one_plain_call(how: str) -> None:
    async with anthropic_server(Cut(HELLO, 2, how), HELLO) as server:  # type: ignore[arg-type]
        provider = _provider(server)
        shown, reply = await _ask(provider)
        await provider.close()
    assert shown == reply.text
    assert [request.body.get("stream") for request in server.requests] == [True, None]


@pytest.mark.parametrize("how", ["drop", "end", "error"])
async def test_a_stream_that_breaks_after_text_was_shown_is_not_asked_for_again(how: str) -> None:
    shown: list[str] = []
    async with anthropic_server(Cut(HELLO, 5, how), HELLO) as server:  # type: ignore[arg-type]
        error = await _fail(_provider(server), shown)
    assert isinstance(error, ProviderUnavailableError)
    assert str(error) == "The reply broke off; ask again."
    assert shown
    assert len(server.requests) == 1


async def test_a_refusal_told_in_mid_stream_is_not_asked_again() -> None:
    async with anthropic_server(Cut(HELLO, 2, "error", kind="invalid_request_error"), HELLO) as server:
        error = await _fail(_provider(server))
    assert isinstance(error, ProviderRefusedError)
    assert len(server.requests) == 1


async def test_a_stream_that_falls_silent_is_left_and_asked_plainly() -> None:
    async with anthropic_server(Cut(HELLO, 2, "stall"), HELLO) as server:
        provider = _provider(server, timeout_s=1.0)
        _, reply = await _ask(provider)
        await provider.close()
        await server.left.wait()
    assert reply.text


@pytest.mark.parametrize("raw", ['{"id": "n_', '{"id" nonsense', "[1]"])
async def test_a_tool_call_with_broken_arguments_is_asked_for_again(raw: str) -> None:
    broken = Answer([tool_use("toolu_1", "notes_read", {}, raw_input=raw)], "tool_use")
    async with anthropic_server(broken, Answer([USE], "tool_use")) as server:
        provider = _provider(server)
        _, reply = await _ask(provider)
        await provider.close()
    assert reply.tool_uses == (ToolUse("toolu_1", "notes_read", {"id": "n_1"}),)
    assert len(server.requests) == 2


async def test_a_tool_call_cut_off_by_the_output_limit_is_dropped_without_asking_again() -> None:
    cut_off = Answer([text("Let me"), tool_use("toolu_1", "notes_read", {}, raw_input='{"id": "n_')], "max_tokens")
    async with anthropic_server(cut_off) as server:
        provider = _provider(server)
        _, reply = await _ask(provider)
        await provider.close()
    assert (reply.stop_reason, reply.blocks) == ("max_tokens", (Text("Let me"),))
    assert len(server.requests) == 1


async def test_cancelling_closes_the_connection() -> None:
    async with anthropic_server(Cut(HELLO, 5, "stall")) as server:
        provider = _provider(server)
        heard = asyncio.Event()

        async def listen() -> None:
            async for _ in provider.stream(REQUEST):
                heard.set()

        task = asyncio.create_task(listen())
        await heard.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.left.wait(), 5)
        await provider.close()


def _unusable() -> Sequence[tuple[str, str, str | None, str]]:
    return [
        (MODEL, "", None, "PROMETHEUS_API_KEY"),
        (MODEL, "sk with space", None, "PROMETHEUS_API_KEY"),
        (MODEL, "sk-ключ", None, "PROMETHEUS_API_KEY"),
        (" ", KEY, None, "PROMETHEUS_MODEL"),
        (MODEL, KEY, "localhost:8080", "PROMETHEUS_BASE_URL"),
        (MODEL, KEY, "http://[", "PROMETHEUS_BASE_URL"),
    ]


@pytest.mark.parametrize(("model", "key", "url", "named"), _unusable())
async def test_settings_that_cannot_work_are_refused_at_once(model: str, key: str, url: str | None, named: str) -> None:
    with pytest.raises(ConfigurationError, match=named) as caught:
        AnthropicProvider(model, key, url)
    assert not key.strip() or key not in str(caught.value)


async def test_the_identity_carries_the_version_in_the_models_name() -> None:
    assert AnthropicProvider(DEFAULT_MODEL, KEY).identity.version == "5-5"
    assert AnthropicProvider("my-gateway-model", KEY).identity.version == "my-gateway-model"


def test_the_sdk_is_not_imported_before_the_first_call() -> None:
    code = "import sys; from agent_host.providers.anthropic import AnthropicProvider; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"anthropic", "httpx2", "pydantic"} & set(done.stdout.split())
