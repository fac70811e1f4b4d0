"""How often the loop's own calls are sent: through the real SDK, with the breaker that the small calls have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from agent_host.constrained import run_constrained_ai
from agent_host.constrained.breaker import Breakers
from agent_host.constrained.drafter import ReplyDrafter
from agent_host.constrained.retrying import Patience
from agent_host.constrained.specs import reply_drafter
from agent_host.errors import BrokenOffError, ProviderRefusedError, ProviderUnavailableError
from agent_host.providers.anthropic import AnthropicProvider
from agent_host.providers.protocol import Message, ModelReply, ModelRequest, Text, TextDelta, Usage
from agent_host.tracing.events import ModelCalled
from tests.agent_host.constrained.parts import GOOD, MESSAGE, Desk, spec
from tests.fakes import anthropic_server as wire
from tests.fakes.scripted_provider import ScriptedProvider, says

REQUEST = ModelRequest("Be kind.", (Message("user", (Text("hello"),)),), (), "auto", 500)
HELLO = wire.Answer([wire.text("Hello, Ana. How are you?")])
BUSY = wire.Failure(529)


def drafter(desk: Desk, provider: AnthropicProvider | ScriptedProvider, patience: Patience) -> ReplyDrafter:
    return ReplyDrafter(
        provider,
        reply_drafter(provider.identity, 60_000),
        desk.ledger,
        desk.events.append,
        turn_id="t_1",
        now_ms=desk.clock.now_ms,
        cost=lambda usage: usage.input_tokens,
        patience=patience,
    )


def patience(desk: Desk, breakers: Breakers | None = None) -> Patience:
    return Patience(breakers or Breakers(), now_ms=desk.clock.now_ms, draw=lambda: 0.5, sleep=desk.clock.sleep)


async def reply(desk: Desk, *script: wire.Step, shown: list[str]) -> int:
    """Asks once and returns how many requests that were."""
    async with wire.anthropic_server(*script) as server:
        provider = AnthropicProvider(wire.MODEL, wire.KEY, server.url)
        try:
            await drafter(desk, provider, patience(desk)).reply(REQUEST, "loop", shown.append)
        finally:
            await provider.close()
            desk.clock.ms = len(server.requests)
    return len(server.requests)


def called(desk: Desk) -> ModelCalled:
    (event,) = (event for event in desk.events if isinstance(event, ModelCalled))
    return event


async def test_a_passing_fault_is_tried_again_twice_and_leaves_one_decision(desk: Desk) -> None:
    shown: list[str] = []
    assert await reply(desk, BUSY, BUSY, HELLO, shown=shown) == 3
    assert "".join(shown) == "Hello, Ana. How are you?"
    assert desk.clock.waits == [0.5 * 1.0 + 0.005, 0.5 * 2.0 + 0.005]  # drawn, after the wait that was asked for
    assert called(desk).exit_state == desk.entry.exit_state == "ok"


async def test_a_lasting_fault_is_given_up_after_three_requests(desk: Desk) -> None:
    with pytest.raises(ProviderUnavailableError, match="overloaded"):
        await reply(desk, *[BUSY] * 9, shown=[])
    assert desk.clock.ms == 3
    assert desk.entry.exit_state == "fallback_provider"


async def test_a_refusal_is_never_asked_again(desk: Desk) -> None:
    with pytest.raises(ProviderRefusedError):
        await reply(desk, wire.Failure(400), HELLO, shown=[])
    assert desk.clock.ms == 1


async def test_a_stream_that_breaks_after_words_were_shown_is_not_asked_again(desk: Desk) -> None:
    shown: list[str] = []
    with pytest.raises(BrokenOffError, match=r"^The reply broke off; ask again\.$"):
        await reply(desk, wire.Cut(HELLO, 5, "drop"), HELLO, shown=shown)
    assert shown
    assert desk.clock.ms == 1


async def test_a_reply_that_passes_the_deadline_after_some_words_broke_off_too(desk: Desk) -> None:
    class Slow(ScriptedProvider):
        async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelReply]:
            async for item in super().stream(request):
                yield item
                await asyncio.Event().wait()

    made = drafter(desk, Slow(says("They like mornings.")), patience(desk))
    made._spec = replace(made._spec, max_latency_ms=20)
    with pytest.raises(BrokenOffError, match=r"^The reply broke off: it was not done within 0 s; ask again\.$"):
        await made.reply(REQUEST, "loop", lambda _: None)
    assert desk.entry.exit_state == "fallback_timeout"


async def test_a_model_that_fails_the_loop_is_left_alone_by_the_small_calls_too_and_the_other_way_round(
    desk: Desk,
) -> None:
    breakers = Breakers(failures=5)
    away = ScriptedProvider(ProviderUnavailableError("Overloaded."))
    loop = drafter(desk, away, patience(desk, breakers))
    options = desk.options(away, breakers=breakers)

    await run_constrained_ai(spec(), MESSAGE, options)
    for _ in range(3):
        with pytest.raises(ProviderUnavailableError):
            await loop.reply(REQUEST, "loop", lambda _: None)
    spared = await run_constrained_ai(spec(), MESSAGE, options)

    assert len(away.requests) == 5
    assert spared.reason == "scripted failed too often just now and is left alone for up to 30 s."
    assert len(desk.writer.decisions) == 5  # those that asked nobody as well
    *_, last = (event for event in desk.events if isinstance(event, ModelCalled))
    assert (last.usage, last.cost_micro_usd) == (Usage(), 0)  # nothing was sent

    desk.clock.ms += 30_000
    back = await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD, breakers=breakers))
    assert back.exit_state == "ok"
