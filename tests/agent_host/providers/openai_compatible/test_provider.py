"""The provider through the real SDK, against a server that speaks the real wire format."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from agent_host.errors import ConfigurationError, ProviderError, ProviderRefusedError, ProviderUnavailableError
from agent_host.providers.openai_compatible import OpenAiCompatibleProvider
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
from tests.fakes.openai_server import KEY, MODEL, Answer, Cut, Failure, OpenAiServer, call, openai_server

TOOL = ToolSpec("notes_read", "Reads a note.", {"type": "object", "properties": {"id": {"type": "string"}}})
REQUEST = ModelRequest("Be kind.", (Message("user", (Text("hello"),)),), (TOOL,), "auto", 500)
HELLO = Answer("Hello, Ana. Здравствуй 🙂 — how are you?")
USE = call("call_1", "notes_read", '{"id": "n_1"}')


def _provider(server: OpenAiServer, timeout_s: float = 10.0, key: str = KEY) -> OpenAiCompatibleProvider:
    return OpenAiCompatibleProvider(MODEL, key, server.url, timeout_s)


async def _ask(provider: OpenAiCompatibleProvider, request: ModelRequest = REQUEST) -> tuple[str, ModelReply]:
    shown = ""
    async for item in provider.stream(request):
        if isinstance(item, ModelReply):
            return shown, item
        shown += item.text
    raise AssertionError("the stream had no reply")


async def _fail(provider: OpenAiCompatibleProvider, shown: list[str] | None = None) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await _listen(provider, [] if shown is None else shown)
    await provider.close()
    return caught.value


async def _listen(provider: OpenAiCompatibleProvider, shown: list[str]) -> None:
    async for item in provider.stream(REQUEST):
        shown.append(item.text)  # noqa: PERF401 - what was shown must survive the error


@pytest.mark.parametrize("chunk_bytes", [None, 1])
async def test_text_arrives_in_pieces_and_adds_up(chunk_bytes: int | None) -> None:
    async with openai_server(replace(HELLO, chunk_bytes=chunk_bytes)) as server:
        provider = _provider(server)
        items = [item async for item in provider.stream(REQUEST)]
        await provider.close()
    reply = items[-1]
    assert isinstance(reply, ModelReply)
    assert len(items) > 3
    assert "".join(item.text for item in items[:-1] if isinstance(item, TextDelta)) == reply.text == HELLO.words
    assert (reply.model, reply.stop_reason, reply.usage) == (MODEL, "end_turn", Usage(12, 33))


async def test_two_tool_calls_streamed_in_turns_and_their_results_make_a_round() -> None:
    usage = {
        "prompt_tokens": 2112,
        "completion_tokens": 33,
        "total_tokens": 2145,
        "prompt_tokens_details": {"cached_tokens": 2000, "cache_write_tokens": 100},
    }
    second = call("call_2", "notes_read", '{"id": "ü"}')
    async with openai_server(Answer("One moment.", [USE, second], "tool_calls", usage), HELLO) as server:
        provider = _provider(server)
        _, asked = await _ask(provider)
        results = (ToolResult("call_1", '{"title":"x"}', is_error=False), ToolResult("call_2", "gone", is_error=True))
        rows = (*REQUEST.messages, Message("assistant", asked.blocks), Message("user", results))
        _, answer = await _ask(provider, replace(REQUEST, messages=rows))
        await provider.close()
    uses = (ToolUse("call_1", "notes_read", {"id": "n_1"}), ToolUse("call_2", "notes_read", {"id": "ü"}))
    assert (asked.stop_reason, asked.tool_uses) == ("tool_use", uses)
    assert asked.usage == Usage(12, 33, cache_read_tokens=2000, cache_write_tokens=100)
    assert answer.stop_reason == "end_turn"
    assert server.requests[1].body["messages"][-2:] == [
        {"role": "tool", "tool_call_id": "call_1", "content": '{"title":"x"}'},
        {"role": "tool", "tool_call_id": "call_2", "content": "Error: gone"},
    ]


@pytest.mark.parametrize("raw", ['{"id": "n_', '{"id" nonsense', "[1]", '{"id": NaN}', "[" * 50_000])
async def test_broken_arguments_are_told_to_the_model_and_lose_no_other_call(raw: str) -> None:
    broken = Answer("", [call("call_1", "notes_read", raw), {**USE, "id": "call_2"}], "tool_calls")
    async with openai_server(broken, HELLO) as server:
        provider = _provider(server)
        _, asked = await _ask(provider)
        results = tuple(ToolResult(use.id, use.fault or "{}", bool(use.fault)) for use in asked.tool_uses)
        rows = (*REQUEST.messages, Message("assistant", asked.blocks), Message("user", results))
        await _ask(provider, replace(REQUEST, messages=rows))
        await provider.close()
    first, second = asked.tool_uses
    assert first.fault is not None
    assert (first.arguments, second.arguments, second.fault) == ({}, {"id": "n_1"}, None)
    assert "not one JSON object" in server.requests[1].body["messages"][-2]["content"]


async def test_a_tool_call_cut_off_by_the_output_limit_is_dropped() -> None:
    async with openai_server(Answer("Let me", [call("call_1", "notes_read", '{"id')], "length")) as server:
        provider = _provider(server)
        _, reply = await _ask(provider)
        await provider.close()
    assert (reply.stop_reason, reply.blocks) == ("max_tokens", (Text("Let me"),))


@pytest.mark.parametrize(
    "answer", [Answer(refusal="I will not do that."), Answer("I will not do that.", finish_reason="content_filter")]
)
async def test_a_refusal_is_told_in_the_models_words(answer: Answer) -> None:
    async with openai_server(answer) as server:
        provider = _provider(server)
        shown, reply = await _ask(provider)
        await provider.close()
    assert shown == reply.text == "I will not do that."
    assert reply.stop_reason == "refusal"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "it did not work"),
        (401, "PROMETHEUS_API_KEY"),
        (402, "credit"),
        (403, MODEL),
        (404, MODEL),
        (413, "too large"),
        (422, "it did not work"),
    ],
)
async def test_a_refusal_of_the_server_is_told_once_and_never_repeated(status: int, words: str) -> None:
    async with openai_server(Failure(status), HELLO) as server:
        error = await _fail(_provider(server))
    assert isinstance(error, ProviderRefusedError)
    assert words in str(error)
    assert str(status) in str(error)
    assert len(server.requests) == 1


async def test_an_account_without_credit_is_told_so_although_its_status_is_that_of_a_limit() -> None:
    async with openai_server(*[Failure(429, code="insufficient_quota")] * 3) as server:
        error = await _fail(_provider(server))
    assert isinstance(error, ProviderRefusedError)
    assert "credit" in str(error)


async def test_a_prompt_that_does_not_fit_the_model_is_told_with_what_to_do() -> None:
    async with openai_server(Failure(400, "8193 > 8192", code="context_length_exceeded"), HELLO) as server:
        error = await _fail(_provider(server))
    assert isinstance(error, ProviderRefusedError)
    assert "start a new session" in str(error)
    assert len(server.requests) == 1


async def test_a_wrong_key_is_named_by_its_setting_and_never_shown() -> None:
    async with openai_server(HELLO) as server:
        error = await _fail(_provider(server, key="sk-very-secret-123"))
        quoted = await _fail(_provider(server, key=KEY + "9"))
    assert "PROMETHEUS_API_KEY" in str(error)
    assert "secret" not in str(error) + str(quoted)


async def test_a_refusal_that_quotes_the_key_is_shown_without_it() -> None:
    async with openai_server(Failure(400, f"bad\nheader {KEY}")) as server:
        error = await _fail(_provider(server))
    assert KEY not in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_fault_is_told_at_once_with_the_wait_the_server_asks_for(status: int) -> None:
    async with openai_server(Failure(status, headers={"retry-after": "7"}), HELLO) as server:
        error = await _fail(_provider(server))
    assert isinstance(error, ProviderUnavailableError)
    assert (error.wait_s, error.requests, len(server.requests)) == (7.0, 1, 1)


async def test_a_long_wait_the_server_asks_for_is_told() -> None:
    async with openai_server(Failure(429, headers={"retry-after": "100"}), HELLO) as server:
        error = await _fail(_provider(server))
    assert isinstance(error, ProviderUnavailableError)
    assert "100 s" in str(error)
    assert len(server.requests) == 1


async def test_nobody_at_the_address_is_told_with_the_setting_to_check() -> None:
    async with openai_server() as server:
        url = server.url
    error = await _fail(OpenAiCompatibleProvider(MODEL, KEY, url, 5.0))
    assert isinstance(error, ProviderUnavailableError)
    assert "PROMETHEUS_BASE_URL" in str(error)


@pytest.mark.parametrize("how", ["drop", "end", "error"])
async def test_a_stream_that_breaks_before_any_text_is_replaced_by_one_plain_call(how: str) -> None:
    async with openai_server(Cut(HELLO, 1, how), HELLO) as server:  # type: ignore[arg-type]
        provider = _provider(server)
        shown, reply = await _ask(provider)
        await provider.close()
    assert shown == reply.text == HELLO.words
    assert [request.body.get("stream") for request in server.requests] == [True, None]
    assert "stream_options" not in server.requests[1].body


@pytest.mark.parametrize("how", ["drop", "end", "error"])
async def test_a_stream_that_breaks_after_text_was_shown_is_not_asked_for_again(how: str) -> None:
    shown: list[str] = []
    async with openai_server(Cut(HELLO, 3, how), HELLO) as server:  # type: ignore[arg-type]
        error = await _fail(_provider(server), shown)
    assert str(error) == "The reply broke off; ask again."
    assert shown
    assert len(server.requests) == 1


async def test_a_refusal_told_in_mid_stream_is_not_asked_again() -> None:
    refusal = {"message": "no", "type": "invalid_request_error", "code": None}
    async with openai_server(Cut(HELLO, 1, "error", refusal), HELLO) as server:
        error = await _fail(_provider(server))
    assert isinstance(error, ProviderRefusedError)
    assert len(server.requests) == 1


async def test_a_stream_that_falls_silent_is_left_and_asked_plainly_with_twice_the_patience() -> None:
    async with openai_server(Cut(HELLO, 1, "stall"), HELLO) as server:
        provider = _provider(server, timeout_s=1.0)
        _, reply = await _ask(provider)
        await provider.close()
        await server.left.wait()
    assert reply.text
    assert float(server.requests[1].headers["x-stainless-read-timeout"]) == 2.0


async def test_cancelling_closes_the_connection() -> None:
    async with openai_server(Cut(HELLO, 3, "stall")) as server:
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


@pytest.mark.parametrize(
    ("model", "key", "url", "named"),
    [
        (" ", KEY, None, "PROMETHEUS_MODEL"),
        (MODEL, "", None, "OPENAI_API_KEY"),
        (MODEL, "sk with space", None, "PROMETHEUS_API_KEY"),
        (MODEL, "sk-ключ", None, "PROMETHEUS_API_KEY"),
        (MODEL, KEY, "localhost:8080", "PROMETHEUS_BASE_URL"),
        (MODEL, KEY, "http://[", "PROMETHEUS_BASE_URL"),
    ],
)
async def test_settings_that_cannot_work_are_refused_at_once(model: str, key: str, url: str | None, named: str) -> None:
    with pytest.raises(ConfigurationError, match=named) as caught:
        OpenAiCompatibleProvider(model, key, url)
    assert not key.strip() or key not in str(caught.value)


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
async def test_a_local_server_needs_no_key_and_its_address_no_path(ending: str) -> None:
    async with openai_server(HELLO) as server:
        provider = OpenAiCompatibleProvider("llama3.2", "", server.url.removesuffix("/v1") + ending, 10.0)
        _, reply = await _ask(provider)
        await provider.close()
    assert reply.text


def test_the_identity_says_who_answers_by_the_address() -> None:
    official = OpenAiCompatibleProvider("gpt-4.1-2025-04-14", KEY).identity
    assert (official.provider, official.version) == ("openai", "2025-04-14")
    local = OpenAiCompatibleProvider("llama3.2", "", "http://localhost:11434/v1").identity
    assert (local.provider, local.version) == ("openai-compatible", "llama3.2")
    like = OpenAiCompatibleProvider("x", KEY, "https://api.openai.com.example.org/v1").identity
    assert like.provider == "openai-compatible"


async def test_no_variable_of_another_program_changes_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = {
        "OPENAI_API_KEY": "sk-other",
        "OPENAI_BASE_URL": "http://127.0.0.1:1",
        "OPENAI_ORG_ID": "org-secret",
        "OPENAI_PROJECT_ID": "proj-secret",
        "OPENAI_CUSTOM_HEADERS": "X-Team-Secret: hush",
    }
    for name, value in foreign.items():
        monkeypatch.setenv(name, value)
    async with openai_server(HELLO) as server:
        provider = _provider(server)
        await _ask(provider)
        await provider.close()
    headers = server.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert not [value for value in headers.values() if "secret" in value or "hush" in value]
    assert {name: os.environ[name] for name in foreign} == foreign


def test_the_sdk_is_not_imported_before_the_first_call() -> None:
    code = (
        "import sys; from agent_host.providers.openai_compatible import OpenAiCompatibleProvider; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"openai", "httpx2", "pydantic"} & set(done.stdout.split())
