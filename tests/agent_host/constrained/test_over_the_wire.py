"""Constrained calls through the real SDKs, against servers that speak the real wire formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from agent_host.constrained import Decision, run_constrained_ai
from agent_host.providers.anthropic import AnthropicProvider
from agent_host.providers.openai_compatible import OpenAiCompatibleProvider
from agent_host.providers.pricing import cost_micro_usd
from agent_host.providers.protocol import Usage
from agent_host.tracing.events import ModelCalled
from agent_host.usage import UsageFile
from tests.agent_host.constrained.parts import GOOD, MESSAGE, Desk, spec
from tests.fakes import anthropic_server as wire
from tests.fakes import openai_server as other

HAIKU = "claude-haiku-5-5"  # 0.1 micro-dollars a token of a prompt of up to 100,000, five times that above


async def decided(desk: Desk, server: wire.AnthropicServer, *, model: str = HAIKU) -> Decision:
    """Makes one call of Claude and keeps its usage."""
    provider = AnthropicProvider(model, wire.KEY, server.url)
    rows = UsageFile(desk.folder / "usage.jsonl", lambda: datetime.now(UTC))
    try:
        return await run_constrained_ai(
            spec(model_identity=provider.identity),
            MESSAGE,
            desk.options(
                provider, meter=rows.add, cost=lambda usage: cost_micro_usd("anthropic", provider.identity.model, usage)
            ),
        )
    finally:
        await provider.close()


async def test_each_request_of_a_call_has_a_row_and_a_price_of_its_own(desk: Desk) -> None:
    long = {"input_tokens": 60_000, "output_tokens": 100}
    script = (wire.Answer([wire.text(said)], usage=long) for said in ("no JSON", GOOD))
    async with wire.anthropic_server(*script) as server:
        decision = await decided(desk, server)

    (event,) = (event for event in desk.events if isinstance(event, ModelCalled))
    rows = list(UsageFile(desk.folder / "usage.jsonl", lambda: datetime.now(UTC)).rows())
    assert decision.exit_state == "ok"
    assert (event.usage, event.cost_micro_usd) == (Usage(120_000, 200), 12_100)
    assert [(row.usage, row.cost_micro_usd) for row in rows] == [(Usage(60_000, 100), 6_050)] * 2


ANSWER = wire.Answer([wire.text(GOOD)])


@pytest.mark.parametrize(
    ("script", "requests"),
    [
        ([wire.Failure(529)] * 9, 2),
        ([wire.Cut(ANSWER, 1, "drop"), *[wire.Failure(529)] * 8], 2),  # the plain request is the one retry
        ([wire.Failure(529), wire.Cut(ANSWER, 1, "drop"), *[wire.Failure(529)] * 8], 3),
        ([wire.Failure(429, headers={"retry-after": "60"})] * 9, 1),  # longer than the call may take
        ([wire.Failure(529, headers={"x-should-retry": "false"})] * 9, 1),
        ([wire.Failure(400)] * 9, 1),
    ],
)
async def test_all_requests_of_a_call_come_out_of_one_allowance(
    desk: Desk, script: Sequence[wire.Step], requests: int
) -> None:
    async with wire.anthropic_server(*script) as server:
        decision = await decided(desk, server)
    assert decision.exit_state == "fallback_provider"
    assert len(server.requests) == requests


async def test_a_wait_that_the_server_asks_for_is_kept(desk: Desk) -> None:
    desk.draws = [0.5]
    async with wire.anthropic_server(wire.Failure(429, headers={"retry-after": "3"}), ANSWER) as server:
        decision = await decided(desk, server)
    assert (decision.exit_state, len(server.requests)) == ("ok", 2)
    assert desk.clock.waits == [3 + 0.5 * 0.2]


async def test_the_other_sdk_is_kept_to_the_same_allowance(desk: Desk) -> None:
    async with other.openai_server(*[other.Failure(503)] * 9) as server:
        provider = OpenAiCompatibleProvider(other.MODEL, other.KEY, server.url)
        decision = await run_constrained_ai(
            spec(model_identity=provider.identity), MESSAGE, replace(desk.options(provider), retries=2)
        )
        await provider.close()
    assert (decision.exit_state, len(server.requests)) == ("fallback_provider", 3)


# A schema that one spec has and the API refuses


async def test_a_schema_that_is_refused_costs_no_other_spec_its_structured_output(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = wire.Failure(400, "invalid_request_error", "output_config.format.schema: too many optional parameters")
    schema = {**spec().output_schema, "title": "Another mood"}
    async with wire.anthropic_server(refusal, *[ANSWER] * 3) as server:
        provider = AnthropicProvider(HAIKU, wire.KEY, server.url)
        plain, other_spec = (
            spec(model_identity=provider.identity, output_schema=one) for one in (spec().output_schema, schema)
        )
        for asked in (plain, other_spec, plain):
            assert (await run_constrained_ai(asked, MESSAGE, desk.options(provider))).exit_state == "ok"
        await provider.close()
    assert ["output_config" in seen.body for seen in server.requests] == [True, False, True, False]
    assert caplog.text.count("too many optional parameters") == 1


async def test_the_other_sdk_leaves_out_a_refused_schema_for_its_spec_alone(desk: Desk) -> None:
    refusal = other.Failure(400, "Invalid schema for response_format 'answer'")
    schema = {**spec().output_schema, "title": "Another mood"}
    async with other.openai_server(refusal, *[other.Answer(GOOD)] * 3) as server:
        provider = OpenAiCompatibleProvider(other.MODEL, other.KEY, server.url)
        plain, other_spec = (
            spec(model_identity=provider.identity, output_schema=one) for one in (spec().output_schema, schema)
        )
        for asked in (plain, other_spec, plain):
            await run_constrained_ai(asked, MESSAGE, desk.options(provider))
        await provider.close()
    assert ["response_format" in seen.body for seen in server.requests] == [True, False, True, False]


# Floods


CALL = {"index": 0, "function": {"arguments": "x" * 500}}


@pytest.mark.parametrize(
    "delta",
    [
        {"content": "x" * 500},
        {"reasoning_content": "x" * 500},
        {"tool_calls": [CALL]},
        {"tool_calls": [{"index": None, "id": "", "function": {"name": "a"}}]},
    ],
    ids=["text", "thoughts", "arguments", "calls"],
)
async def test_a_flood_of_anything_is_given_up_while_it_comes(desk: Desk, delta: Mapping[str, object]) -> None:
    chunks = [{"choices": [{"index": 0, "delta": delta}]}] * 2_000
    async with other.openai_server(other.raw_chunks(*chunks)) as server:
        provider = OpenAiCompatibleProvider(other.MODEL, other.KEY, server.url)
        decision = await run_constrained_ai(spec(model_identity=provider.identity), MESSAGE, desk.options(provider))
        await provider.close()
    assert decision.exit_state == "fallback_schema"
    assert "characters" in decision.reason
    assert len(server.requests) == 1


FLOODS: Mapping[str, tuple[str, Mapping[str, object], str]] = {
    "text": ("text", {"type": "text", "text": ""}, ""),
    "thinking": ("thinking", {"type": "thinking", "thinking": "", "signature": ""}, ""),
    "input_json": ("partial_json", {"type": "tool_use", "id": "toolu_1", "name": "a", "input": {}}, '{"a": "'),
}


@pytest.mark.parametrize("kind", FLOODS)
async def test_a_flood_from_claude_is_given_up_while_it_comes(desk: Desk, kind: str) -> None:
    field, block, first = FLOODS[kind]
    message: dict[str, object] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": HAIKU,
        "content": [],
        "stop_reason": None,
    }
    usage = {"input_tokens": 7, "output_tokens": 1}
    flood = wire.raw_stream(
        {"type": "message_start", "message": {**message, "stop_sequence": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": f"{kind}_delta", field: piece}}
            for piece in (first, *["x" * 500] * 300)
        ),
    )
    async with wire.anthropic_server(flood) as server:
        decision = await decided(desk, server)
    assert decision.exit_state == "fallback_schema"
    assert "characters" in decision.reason
    assert len(server.requests) == 1
