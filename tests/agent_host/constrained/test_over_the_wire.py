"""Constrained calls through the real SDKs, against servers that speak the real wire formats."""

from __future__ import annotations

from collections.abc import Sequence
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
