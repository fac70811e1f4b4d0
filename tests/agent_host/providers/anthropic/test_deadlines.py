"""The provider's silences under the drafter's deadline, which bounds the whole call."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_host.constrained.drafter import ReplyDrafter
from agent_host.constrained.specs import reply_drafter
from agent_host.errors import ProviderUnavailableError
from agent_host.providers.anthropic import AnthropicProvider
from agent_host.providers.protocol import Message, ModelReply, ModelRequest, Text
from agent_host.receipts.log import ReceiptLog
from agent_host.receipts.openings import OpeningStore
from agent_host.receipts.spool import Spool
from agent_host.tracing.events import ModelCalled, TurnEvent
from tests.fakes.anthropic_server import KEY, MODEL, Answer, AnthropicServer, Cut, anthropic_server, text
from tests.fakes.writer import FakeWriter

SILENCE_S = 1.0
DEADLINE_S = 60
REQUEST = ModelRequest("Be kind.", (Message("user", (Text("hello"),)),), (), "auto", 500)
HELLO = Answer([text("Hello, Ana. How are you?")])


async def _draft(server: AnthropicServer, folder: Path, events: list[TurnEvent], shown: list[str]) -> ModelReply:
    provider = AnthropicProvider(MODEL, KEY, server.url, SILENCE_S)
    drafter = ReplyDrafter(
        provider,
        reply_drafter(provider.identity, DEADLINE_S * 1000),
        ReceiptLog(FakeWriter(), Spool(folder / "spool.jsonl"), OpeningStore(folder / "openings.db"), _nothing),
        events.append,
        turn_id="t_1234",
        now_ms=lambda: 0,
        cost=lambda usage: usage.output_tokens,
    )
    try:
        return await drafter.reply(REQUEST, "loop", shown.append)
    finally:
        await provider.close()


async def _nothing() -> None:
    return


async def test_a_stream_that_falls_silent_before_any_text_is_asked_plainly_well_before_the_deadline(
    tmp_path: Path,
) -> None:
    events: list[TurnEvent] = []
    shown: list[str] = []
    async with anthropic_server(Cut(HELLO, 2, "stall"), HELLO) as server:
        reply = await _draft(server, tmp_path, events, shown)
    assert "".join(shown) == reply.text == "Hello, Ana. How are you?"
    assert [seen.body.get("stream") for seen in server.requests] == [True, None]
    patience_s = float(server.requests[1].headers["x-stainless-timeout"])
    assert patience_s == 2 * SILENCE_S  # a plain reply is silent until it is whole
    (called,) = events
    assert isinstance(called, ModelCalled)
    assert (called.exit_state, called.cost_micro_usd) == ("ok", 1 + 33)


async def test_a_stream_that_falls_silent_after_text_broke_off_and_is_no_timeout_of_the_call(tmp_path: Path) -> None:
    events: list[TurnEvent] = []
    shown: list[str] = []
    async with anthropic_server(Cut(HELLO, 5, "stall"), HELLO) as server:
        with pytest.raises(ProviderUnavailableError, match=r"^The reply broke off; ask again\.$"):
            await _draft(server, tmp_path, events, shown)
    assert shown
    assert len(server.requests) == 1
    (called,) = events
    assert isinstance(called, ModelCalled)
    assert called.exit_state == "fallback_provider"
