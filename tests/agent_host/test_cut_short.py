"""A turn that ends without an answer: what it did is said, and a later turn knows it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Literal

import pytest

from agent_host.budget import Budget, Limits
from agent_host.chat_log import UNANSWERED
from agent_host.consolidation.store import ConsolidationStore
from agent_host.constrained.specs import FAILURE_MESSAGE, reply_drafter
from agent_host.errors import ProviderRefusedError, ProviderUnavailableError
from agent_host.providers.anthropic import AnthropicProvider
from agent_host.providers.protocol import JsonValue, ModelReply, ModelRequest, Text, TextDelta, ToolSpec, ToolUse
from agent_host.receipts.drafts import DecisionDraft, Draft
from agent_host.receipts.spool import Spool
from agent_host.session import Session
from agent_host.turn import CANCELLED_MESSAGE, TurnResult, run_turn
from tests.agent_host.test_turn import Memory, Room, room
from tests.fakes import anthropic_server as wire
from tests.fakes.scripted_provider import Line, ScriptedProvider, asks, says
from tests.fakes.toolbox import FakeToolBox, ToolFailedError

__all__ = ["room"]

BOOK = asks(ToolUse("u1", "calendar_create_event", {"title": "Standup"}))


class Tools(FakeToolBox):
    """A calendar; looking into it changes nothing."""

    def __init__(self) -> None:
        super().__init__({"calendar_create_event": self.book, "calendar_list_events": lambda _: {"events": []}})

    async def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(replace(spec, read_only="list" in spec.name) for spec in await super().specs())

    def book(self, arguments: Mapping[str, JsonValue]) -> JsonValue:
        if arguments["title"] == "Nothing":
            raise ToolFailedError("An event needs a title.")
        return {"event": {"id": "ev_1"}}


class Stalled(ScriptedProvider):
    """Says its lines, then half a sentence, and then nothing more; `spoken` is set once that is out."""

    def __init__(self, *lines: Line) -> None:
        super().__init__(*lines)
        self.spoken = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelReply]:
        if self._lines:
            async for item in super().stream(request):
                yield item
            return
        yield TextDelta("It is ")
        self.spoken.set()
        await asyncio.Event().wait()


@pytest.fixture(autouse=True)
def _calendar(room: Room) -> None:
    room.tools = Tools()  # type: ignore[assignment]  # any tool box will do


async def next_request(room: Room) -> list[str]:
    """Returns the words of the history that the next turn's model is asked with."""
    provider = ScriptedProvider(says("ok"))
    await room.turn(provider, "is it booked?")
    rows = provider.requests[0].messages[:-1]
    return ["".join(block.text for block in row.blocks if isinstance(block, Text)) for row in rows]


def resumed(room: Room) -> list[str]:
    session = Session.resumed("s_1", 12, room.chat_log.tail("s_1", 12))
    return ["".join(block.text for block in row.blocks if isinstance(block, Text)) for row in session.messages_with("")]


async def cancelled(room: Room) -> TurnResult:
    provider = Stalled(BOOK)
    task = asyncio.ensure_future(room.turn(provider, "Book a standup"))
    await provider.spoken.wait()
    task.cancel()
    return await task


async def test_a_failed_turn_says_what_it_had_done_and_the_next_one_knows(room: Room) -> None:
    result = await room.turn(ScriptedProvider(BOOK, ProviderRefusedError("refused (400): no good")), "Book a standup")

    assert result.reply == f"{FAILURE_MESSAGE} refused (400): no good\n\nDone before that: calendar_create_event."
    history = await next_request(room)
    assert history[0] == "Book a standup"
    assert history[1].startswith(f"{UNANSWERED}\n\n[tools used: calendar_create_event ")
    assert "no good" not in "".join(history)


async def test_a_cancelled_turn_says_what_it_had_done_and_the_next_one_knows(room: Room) -> None:
    result = await cancelled(room)

    assert result.outcome == "cancelled"
    assert result.reply == "It is\n\nDone before that: calendar_create_event."
    history = await next_request(room)
    assert history[1].startswith("It is\n\n[tools used: calendar_create_event ")


async def test_a_turn_that_a_budget_stopped_says_what_it_had_done_and_the_next_one_knows(room: Room) -> None:
    budget = Budget(Limits(1, None, asked_for=True))
    parts = replace(room.parts(ScriptedProvider(BOOK)), budget=budget)
    result = await run_turn("Book a standup", room.session, "cli", parts, room.events.append)

    assert result.outcome == "limit_reached"
    assert result.reply.startswith("I stopped before the next model call")
    assert result.receipt.tools[0].status == "error"  # the budget had stopped the tool too
    history = await next_request(room)
    assert history[1].startswith(f"{UNANSWERED}\n\n[tools used: calendar_create_event ")


@pytest.mark.parametrize("how", ["failed", "cancelled"])
async def test_a_conversation_reads_the_same_when_it_is_resumed(room: Room, how: str) -> None:
    if how == "cancelled":
        await cancelled(room)
    else:
        await room.turn(ScriptedProvider(BOOK, ProviderUnavailableError("gone")), "Book a standup")
    stored = resumed(room)

    live = await next_request(room)
    assert live == stored[:-1]


async def test_the_persons_own_history_keeps_what_they_saw(room: Room) -> None:
    result = await room.turn(ScriptedProvider(BOOK, ProviderUnavailableError("gone")), "Book a standup")

    assert room.chat_log.rows("s_1")[-1][1].startswith(f"{result.reply}\n\n[tools used: ")


async def test_an_error_is_no_word_of_the_assistant_for_the_summariser(room: Room) -> None:
    await room.turn(ScriptedProvider(ProviderUnavailableError("The provider is down.")), "I moved to Bonn")
    store = ConsolidationStore(room.folder / "sessions.db")
    batch = store.next_batch(2)
    store.close()

    assert batch is not None
    assert batch.values("2026-11-30")["exchanges"] == [{"person": "I moved to Bonn", "assistant": ""}]
    assert room.session.last_words() == ("I moved to Bonn", UNANSWERED)


async def test_reads_and_writes_that_failed_were_nothing_done(room: Room) -> None:
    uses = (ToolUse("u1", "calendar_list_events", {}), ToolUse("u2", "calendar_create_event", {"title": "Nothing"}))
    result = await room.turn(ScriptedProvider(asks(*uses), ProviderUnavailableError("gone")))

    assert result.reply == f"{FAILURE_MESSAGE} gone"


async def test_a_write_that_was_under_way_may_be_done(room: Room) -> None:
    entered = asyncio.Event()

    async def stuck(_: Mapping[str, JsonValue]) -> JsonValue:
        entered.set()
        await asyncio.Event().wait()
        return None

    room.tools = FakeToolBox({"calendar_create_event": stuck})  # type: ignore[assignment]  # any tool box will do
    task = asyncio.ensure_future(room.turn(ScriptedProvider(BOOK)))
    await entered.wait()
    task.cancel()
    result = await task

    assert result.reply == f"{CANCELLED_MESSAGE}\n\nPerhaps done: calendar_create_event."


@pytest.mark.parametrize("how", ["drop", "end", "error"])
async def test_half_a_sentence_stays_when_the_stream_breaks_and_is_said_to_break_off(
    room: Room, how: Literal["drop", "end", "error"]
) -> None:
    whole = wire.Answer([wire.text("They like mornings.")])
    async with wire.anthropic_server(wire.Cut(whole, 4, how), whole) as server:
        claude = AnthropicProvider(wire.MODEL, wire.KEY, server.url)
        parts = replace(room.parts(ScriptedProvider()), provider=claude, spec=reply_drafter(claude.identity, 60_000))
        result = await run_turn("hello", room.session, "cli", parts, room.events.append)
        await claude.close()

    said, told = result.reply.split("\n\n")
    assert said
    assert "They like mornings.".startswith(said)
    assert told == "The reply broke off; ask again."
    assert (result.outcome, len(server.requests)) == ("failed", 1)
    assert room.chat_log.rows("s_1")[-1] == ("assistant", result.reply)
    assert (await next_request(room))[1] == said.strip()


async def test_a_full_disk_in_mid_turn_is_named_and_keeps_the_words(
    room: Room, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_: Spool, draft: Draft) -> None:
        if isinstance(draft, DecisionDraft):
            raise OSError(28, "No space left on device")

    room.writer.away = True
    monkeypatch.setattr(Spool, "append", full)
    result = await room.turn(ScriptedProvider(says("They like mornings.")))

    assert result.outcome == "failed"
    assert result.reply == (
        "They like mornings.\n\nThe turn failed: the disk refused a write (No space left on device). Free some space "
        "and ask again."
    )
    assert "Traceback" not in caplog.text


async def test_a_day_that_is_spent_pays_for_no_call_at_all(room: Room) -> None:
    spent = Budget(Limits(None, 1, asked_for=True), spent_today_micro_usd=lambda: 2)
    provider = ScriptedProvider(says("never"))
    room.tools = Memory()  # whose missing server would be told of, were a prompt made
    parts = replace(room.parts(provider), budget=spent)
    result = await run_turn("hello", room.session, "cli", parts, room.events.append)

    assert (result.outcome, provider.requests, result.receipt.decisions) == ("limit_reached", [], ())
    assert [type(event).__name__ for event in room.events] == ["TurnStarted", "TurnEnded", "ReceiptMade"]
