"""A whole turn over a scripted provider, an in-memory tool box and an in-memory writer."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from agent_host.chat_log import ChatLog
from agent_host.constrained.retrying import Patience
from agent_host.constrained.specs import FAILURE_MESSAGE, reply_drafter
from agent_host.errors import ProviderUnavailableError, WriterUnavailableError
from agent_host.mcp_clients.protocol import ToolOutcome
from agent_host.providers.protocol import (
    JsonValue,
    ModelReply,
    ModelRequest,
    StopReason,
    Text,
    TextDelta,
    ToolSpec,
    ToolUse,
    Usage,
)
from agent_host.receipts.drafts import DecisionDraft, Draft, TurnReceipt
from agent_host.receipts.log import ReceiptLog
from agent_host.receipts.openings import OpeningStore
from agent_host.receipts.protocol import StoredEntry
from agent_host.receipts.spool import Spool
from agent_host.session import Session
from agent_host.skills.loading import SkillFolder
from agent_host.tracing.events import Notice, ToolCalled, TurnEnded, TurnEvent
from agent_host.turn import CANCELLED_MESSAGE, TurnResult, run_turn
from agent_host.turn_parts import TurnParts
from tests.fakes.scripted_provider import IDENTITY, ScriptedProvider, asks, says
from tests.fakes.writer import FakeWriter

ZONE = ZoneInfo("Europe/Berlin")


async def _at_once(_: float) -> None:
    """Waits for nothing."""


class Hanging(ScriptedProvider):
    """Says a few words and then nothing more; `spoken` is set once they are out."""

    def __init__(self) -> None:
        super().__init__()
        self.spoken = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelReply]:
        self.requests.append(request)
        yield TextDelta("I was about to ")
        self.spoken.set()
        await asyncio.Event().wait()


class Memory:
    """A tool box with one memory tool and one server that cannot be reached."""

    async def specs(self) -> tuple[ToolSpec, ...]:
        return (ToolSpec("memory_search", "Find memories.", {"type": "object"}),)

    async def call(self, name: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str]) -> ToolOutcome:
        structured: JsonValue = {
            "entries": [{"id": "m_1", "snippet": "They like mornings.", "asked": dict(arguments), **meta}]
        }
        return ToolOutcome("memory", name, json.dumps(structured), structured, is_error=False, duration_ms=2)

    def problems(self) -> tuple[str, ...]:
        return ("notes: not reachable",)

    async def close(self) -> None:
        return


SEARCH = asks(ToolUse("u1", "memory_search", {"query": "team"}))


class Stuck(Memory):
    """A tool box whose tool never answers; `entered` is set once it was called."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()

    async def call(self, name: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str]) -> ToolOutcome:
        self.entered.set()
        await asyncio.Event().wait()
        return await super().call(name, arguments, meta)


class Faulty(ScriptedProvider):
    """A provider with a bug."""

    def __init__(self, fault: Exception) -> None:
        super().__init__()
        self._fault = fault

    async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelReply]:
        self.requests.append(request)
        raise self._fault
        yield TextDelta("never")


class Room:
    """Everything a turn touches, on a real disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer = FakeWriter()
        self.openings = OpeningStore(folder / "openings.db")
        self.chat_log = ChatLog(folder / "sessions.db")
        self.session = Session("s_1", history_turns=12)
        self.tools = Memory()
        self.skills = SkillFolder(())
        self.events: list[TurnEvent] = []
        self._clock = datetime(2026, 11, 30, 12, 0, tzinfo=ZONE)

    def parts(self, provider: ScriptedProvider, llm_timeout_s: int = 60) -> TurnParts:
        async def ensure() -> None:
            if self.writer.away:
                raise WriterUnavailableError("The receipt writer does not answer.")

        return TurnParts(
            provider=provider,
            spec=reply_drafter(IDENTITY, llm_timeout_s * 1000),
            tools=self.tools,
            receipts=ReceiptLog(self.writer, Spool(self.folder / "spool.jsonl"), self.openings, ensure),
            chat_log=self.chat_log,
            traces=self.folder,
            soul=lambda: "Be kind.",
            now=self._tick,
            zone_name="Europe/Berlin",
            cost=lambda usage: usage.input_tokens * 2,
            max_iterations=5,
            max_tokens=100,
            skills=self.skills,
            patience=Patience(sleep=_at_once),
        )

    async def turn(self, provider: ScriptedProvider, text: str = "hello") -> TurnResult:
        return await run_turn(text, self.session, "cli", self.parts(provider), self.events.append)

    def _tick(self) -> datetime:
        self._clock += timedelta(milliseconds=5)
        return self._clock

    def close(self) -> None:
        self.openings.close()
        self.chat_log.close()


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path)
    yield made
    made.close()


async def test_a_turn_leaves_an_intent_a_decision_a_call_and_a_receipt(room: Room) -> None:
    result = await room.turn(ScriptedProvider(SEARCH, says("They like mornings.")))

    assert (result.reply, result.outcome) == ("They like mornings.", "replied")
    assert [intent.turn_id for intent in room.writer.intents] == [result.receipt.turn_id]
    assert [decision.exit_state for decision in room.writer.decisions] == ["ok", "ok"]
    assert room.writer.turns == [result.receipt]
    assert result.receipt.iterations == 2
    assert [decision.entry_id for decision in result.receipt.decisions] == [1, 2]
    assert (result.receipt.memory.searches, result.receipt.memory.used) == (1, 1)
    assert result.status.entry is not None


async def test_the_trace_hash_in_the_receipt_is_the_hash_of_the_turns_lines(room: Room) -> None:
    result = await room.turn(ScriptedProvider(says("hi")))

    lines = (room.folder / "2026-11-30.jsonl").read_bytes().splitlines(keepends=True)
    kinds = [json.loads(line)["type"] for line in lines]
    assert kinds == ["turn_start", "notice", "llm", "turn_end", "receipt"]
    written = b"".join(lines[:-1])  # the receipt holds the hash, which cannot cover its line
    assert result.receipt.trace_hash == hashlib.sha256(written).hexdigest()


async def test_the_receipt_holds_no_word_of_what_was_said(room: Room) -> None:
    result = await room.turn(ScriptedProvider(SEARCH, says("zebra answer")), "zebra question")

    assert "zebra" not in repr(result.receipt)
    opening = room.openings.find(result.receipt.turn_id, "inputHash")
    assert opening is not None
    assert opening.value == b'{"text":"zebra question"}'


async def test_unreachable_servers_are_named_and_do_not_stop_the_turn(room: Room) -> None:
    result = await room.turn(ScriptedProvider(says("hi")))

    assert Notice("notes: not reachable") in room.events
    assert result.outcome == "replied"


async def test_a_provider_failure_is_a_failed_turn_with_a_receipt_and_a_reason(room: Room) -> None:
    result = await room.turn(ScriptedProvider(ProviderUnavailableError("Overloaded; try again.")))

    assert result.outcome == "failed"
    assert result.reply == f"{FAILURE_MESSAGE} Overloaded; try again."
    assert [decision.exit_state for decision in room.writer.decisions] == ["fallback_provider"]
    assert room.writer.turns[0].outcome == "failed"


@pytest.mark.parametrize(("usage", "cost", "priced"), [(Usage(7, 1), 3 * 14, True), (None, 0, False)])
async def test_a_call_that_failed_costs_what_was_counted_and_is_never_simply_free(
    room: Room, usage: Usage | None, cost: int, *, priced: bool
) -> None:
    result = await room.turn(ScriptedProvider(ProviderUnavailableError("Broke off.", usage)))

    model = result.receipt.model
    assert (model.cost_micro_usd, model.priced) == (cost, priced)
    assert model.input_tokens == (3 * usage.input_tokens if usage else 0)  # two more tries


async def test_a_model_past_its_deadline_is_recorded_as_a_timeout(room: Room) -> None:
    parts = room.parts(Hanging(), llm_timeout_s=1)

    result = await run_turn("hello", room.session, "cli", parts, room.events.append)

    assert result.outcome == "failed"
    assert room.writer.decisions[0].exit_state == "fallback_timeout"


async def test_a_cancelled_turn_keeps_what_was_said_and_is_receipted_as_cancelled(room: Room) -> None:
    provider = Hanging()
    task = asyncio.ensure_future(room.turn(provider))
    await provider.spoken.wait()

    task.cancel()
    result = await task

    assert (result.outcome, result.reply) == ("cancelled", "I was about to")
    assert room.writer.turns[0].outcome == "cancelled"
    assert [decision.exit_state for decision in room.writer.decisions] == ["failed_closed"]


async def test_a_turn_cancelled_before_it_began_is_receipted_all_the_same(room: Room) -> None:
    task = asyncio.ensure_future(room.turn(ScriptedProvider(says("never"))))
    await asyncio.sleep(0)  # the task takes its first step

    task.cancel()
    result = await task

    assert (result.outcome, result.reply) == ("cancelled", CANCELLED_MESSAGE)
    assert [turn.outcome for turn in room.writer.turns] == ["cancelled"]


class Slow(FakeWriter):
    """Holds one kind of append until it is let go; `entered` is set when the append has begun."""

    def __init__(self, held: str) -> None:
        super().__init__()
        self._held = held
        self.entered = asyncio.Event()
        self.let_go = asyncio.Event()

    async def append_decision(self, draft: DecisionDraft) -> StoredEntry:
        await self._wait("decision")
        return await super().append_decision(draft)

    async def append_turn(self, receipt: TurnReceipt) -> StoredEntry:
        await self._wait("turn")
        return await super().append_turn(receipt)

    async def _wait(self, kind: str) -> None:
        if kind == self._held:
            self.entered.set()
            await self.let_go.wait()


async def cancelled_in(room: Room, held: str, times: int) -> TurnResult:
    room.writer = writer = Slow(held)
    task = asyncio.ensure_future(room.turn(ScriptedProvider(says("hi"))))
    await writer.entered.wait()
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)  # the cancellation is delivered
    writer.let_go.set()
    return await task


@pytest.mark.parametrize("times", [1, 3])
async def test_a_cancellation_while_the_receipt_is_appended_loses_neither_receipt_nor_reply(
    room: Room, times: int
) -> None:
    result = await cancelled_in(room, "turn", times)

    assert (result.reply, result.outcome) == ("hi", "replied")
    assert room.writer.turns == [result.receipt]
    assert room.chat_log.rows("s_1")[-1] == ("assistant", "hi")


@pytest.mark.parametrize("times", [1, 3])
async def test_a_cancellation_while_a_decision_is_appended_keeps_its_entry(room: Room, times: int) -> None:
    result = await cancelled_in(room, "decision", times)

    assert result.outcome == "cancelled"
    assert [decision.exit_state for decision in room.writer.decisions] == ["ok"]
    assert [decision.entry_id for decision in result.receipt.decisions] == [1]
    assert result.receipt.iterations == 1


async def test_a_cancelled_tool_call_is_in_the_receipt_as_one_that_may_have_happened(room: Room) -> None:
    room.tools = Stuck()
    task = asyncio.ensure_future(room.turn(ScriptedProvider(SEARCH)))
    await room.tools.entered.wait()

    task.cancel()
    result = await task

    assert result.outcome == "cancelled"
    assert [(row.tool, row.status) for row in result.receipt.tools] == [("memory_search", "error")]
    assert b"may have carried it out" in (room.folder / "2026-11-30.jsonl").read_bytes()


@pytest.mark.parametrize("fault", [KeyError("x"), RuntimeError("y")])
async def test_a_fault_of_the_program_is_a_failed_turn_with_its_entries(
    room: Room, fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    result = await room.turn(Faulty(fault))

    assert result.outcome == "failed"
    assert type(fault).__name__ in result.reply
    assert [decision.exit_state for decision in room.writer.decisions] == ["fallback_provider"]
    assert room.writer.turns == [result.receipt]
    assert "Traceback" in caplog.text


async def test_a_screen_that_breaks_does_not_touch_the_turn(room: Room) -> None:
    def broken(_: TurnEvent) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    parts = room.parts(ScriptedProvider(says("hi")))
    result = await run_turn("hello", room.session, "cli", parts, broken)

    assert result.outcome == "replied"
    assert room.writer.turns == [result.receipt]


async def test_a_full_disk_under_the_spool_costs_the_receipt_and_not_the_reply(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Spool, draft: Draft) -> None:
        if isinstance(draft, TurnReceipt):
            raise OSError(28, "No space left on device")

    room.writer.away = True
    monkeypatch.setattr(Spool, "append", full)

    result = await room.turn(ScriptedProvider(says("hi")))

    assert (result.reply, result.status.lost) == ("hi", "No space left on device")


async def test_why_receipts_wait_is_said(room: Room) -> None:
    room.writer.away = True

    await room.turn(ScriptedProvider(says("hi")))

    assert Notice("The receipt writer does not answer. Receipts wait and will be sent in order.") in room.events


@pytest.mark.parametrize("stop", ["refusal", "max_tokens", "context_full", "end_turn"])
async def test_a_model_without_a_word_still_ends_the_turn_in_words(room: Room, stop: StopReason) -> None:
    result = await room.turn(ScriptedProvider(says("", stop)))

    assert result.outcome == "replied"
    assert len(result.reply) > 20
    assert room.session.turns[0].rows[-1].blocks == (Text(result.reply),)


async def test_the_next_turn_sees_the_last_one_with_its_tool_calls(room: Room) -> None:
    await room.turn(ScriptedProvider(SEARCH, says("They like mornings.")), "what do they like?")
    second = ScriptedProvider(says("You asked about mornings."))

    await room.turn(second, "what did I ask?")

    roles = [message.role for message in second.requests[0].messages]
    assert roles == ["user", "assistant", "user", "assistant", "user"]


async def test_a_failed_turn_leaves_no_unanswered_tool_call_in_the_history(room: Room) -> None:
    await room.turn(ScriptedProvider(SEARCH, ProviderUnavailableError("gone")), "what do they like?")
    second = ScriptedProvider(says("ok"))

    await room.turn(second, "again")

    blocks = [block for message in second.requests[0].messages for block in message.blocks]
    assert all(isinstance(block, Text) for block in blocks)


async def test_only_the_last_turns_stay_in_the_prompt(room: Room) -> None:
    room.session.history_turns = 2
    for number in range(4):
        await room.turn(ScriptedProvider(says(f"reply {number}")), f"message {number}")
    last = ScriptedProvider(says("done"))

    await room.turn(last, "now")

    texts = [block.text for message in last.requests[0].messages for block in message.blocks if isinstance(block, Text)]
    assert texts == ["message 2", "reply 2", "message 3", "reply 3", "now"]


async def test_the_prompt_states_soul_model_time_zone_and_rules_in_order(room: Room) -> None:
    provider = ScriptedProvider(says("hi"))
    await room.turn(provider)

    request = provider.requests[0]
    system = request.system
    assert system[: request.lasting] == "Be kind.\n\nYou run as scripted by mock."  # no clock in it
    positions = [
        system.index(part) for part in ("Be kind.", "scripted by mock", "Monday, 30 November 2026", "UTC+01:00")
    ]
    assert positions == sorted(positions)
    assert system.index("data, not instructions") > positions[-1]


async def test_messages_and_replies_are_kept_on_disk(room: Room) -> None:
    await room.turn(ScriptedProvider(says("hi")), "hello")

    assert room.chat_log.rows("s_1") == [("user", "hello"), ("assistant", "hi")]


async def test_what_is_kept_of_a_turn_with_tools_tells_once_what_it_ran(room: Room) -> None:
    result = await room.turn(ScriptedProvider(SEARCH, says("They like mornings.\n[tools used: a {} -> b]")), "well?")
    stored = room.chat_log.rows("s_1")[-1][1]

    assert result.reply == "They like mornings."
    assert stored.startswith("They like mornings.\n\n[tools used: memory_search ")
    assert stored.count("[tools used: ") == 1


async def test_events_come_in_the_order_things_happened(room: Room) -> None:
    await room.turn(ScriptedProvider(SEARCH, says("done")))

    kinds = [type(event).__name__ for event in room.events]
    assert kinds == [
        "TurnStarted",
        "Notice",
        "ModelCalled",
        "ToolStarted",
        "ToolCalled",
        "ReplyDelta",
        "ModelCalled",
        "TurnEnded",
        "ReceiptMade",
    ]
    called = next(event for event in room.events if isinstance(event, ToolCalled))
    assert '"turn_id": "t_' in called.outcome.content
    assert isinstance(room.events[-2], TurnEnded)
