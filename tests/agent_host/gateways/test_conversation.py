"""Conversations over scripted readers and hosts, Ctrl-C included."""

from __future__ import annotations

import asyncio
import io
import os
import signal
from dataclasses import replace

import pytest

from agent_host.chat_log import SessionSummary
from agent_host.gates.hits import Hit
from agent_host.gateways.conversation import converse
from agent_host.gateways.readers import PromptInterruptedError
from agent_host.gateways.screen import Screen
from agent_host.memory_overview import MemoryOverview
from agent_host.receipts.protocol import ReceiptStatus, StoredEntry
from agent_host.tracing.events import Emit
from agent_host.turn import TurnResult
from tests.agent_host.receipts.test_spool import RECEIPT

ENTRY = StoredEntry(4, "a" * 64, 0, '{"id":4}')


class Typed:
    """A reader of prepared messages; `None` is the end of input, "^C" is Ctrl-C at the prompt."""

    def __init__(self, *messages: str | bytes | None) -> None:
        self._messages = list(messages)

    async def read(self) -> str | bytes | None:
        message = self._messages.pop(0)
        if message == "^C":
            raise PromptInterruptedError
        return message


class EchoHost:
    """Answers with the message; "wait" waits until it is cancelled, "disk" finds the disk full."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.resumed: list[str] = []
        self.waiting = asyncio.Event()

    async def turn(self, text: str, watch: Emit) -> TurnResult:
        del watch
        self.heard.append(text)
        if text == "disk":
            raise OSError(28, "No space left on device")
        if text != "wait":
            return TurnResult(text, "replied", RECEIPT, ReceiptStatus(ENTRY, 0))
        self.waiting.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return TurnResult("Cancelled.", "cancelled", replace(RECEIPT, outcome="cancelled"), ReceiptStatus(ENTRY, 0))
        raise AssertionError

    async def tool_names(self) -> tuple[str, ...]:
        return ("memory_search", "notes_write")

    def sessions(self, limit: int) -> list[SessionSummary]:
        known = [SessionSummary(f"s_{number}", f"About {number}", "cli", number, 0) for number in (3, 2, 1)]
        return known[:limit] if limit >= 0 else known

    def resume(self, session_id: str) -> None:
        self.resumed.append(session_id)

    async def memory(self) -> MemoryOverview:
        fact = Hit("mem_1", "fact", "Ana likes tea.", "2026-11-03", "x", untrusted=True, score=None)
        return MemoryOverview((fact,), (), 4)


async def talk(*messages: str | bytes | None, host: EchoHost | None = None) -> tuple[EchoHost, str]:
    out = io.StringIO()
    host = host or EchoHost()
    async with asyncio.timeout(5):
        await converse(host, Typed(*messages), Screen(out, live=False))
    return host, out.getvalue()


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


async def test_every_message_is_a_turn_until_the_end_of_input() -> None:
    host, shown = await talk("one", "two", None)

    assert host.heard == ["one", "two"]
    assert shown.count("receipt 4 signed") == 2


async def test_bad_input_costs_a_sentence_and_not_the_conversation() -> None:
    host, shown = await talk("", b"\xff", "x" * 200_000, "/nonsense now", "still here", None)

    assert host.heard == ["still here"]
    assert "The message is empty" in shown
    assert "not UTF-8" in shown
    assert "more than 100,000 characters" in shown
    assert "There is no command /nonsense; /help lists them." in shown


async def test_a_full_disk_costs_a_sentence_and_not_the_conversation() -> None:
    host, shown = await talk("disk", "again", None)

    assert host.heard == ["disk", "again"]
    assert "No space left on device" in shown


@pytest.mark.parametrize("word", ["/quit", "quit", "Exit"])
async def test_quit_leaves_at_once(word: str) -> None:
    host, _ = await talk(word, "never read")

    assert host.heard == []


async def test_help_tools_and_receipt_answer_without_a_turn() -> None:
    host, shown = await talk("/help", "/tools", "/receipt", "hello", "/receipt", None)

    assert host.heard == ["hello"]
    assert "/quit" in shown
    assert "memory_search\nnotes_write" in shown
    assert "There is no receipt yet" in shown
    assert '{"id":4}' in shown


async def test_sessions_are_listed_and_one_is_resumed_by_number_or_id() -> None:
    host, shown = await talk("/sessions", "/resume 2", "/resume s_1", "/resume", None)

    assert "1  1970-01-01 00:00  About 3  (3 turns, s_3)" in shown
    assert "Going on with “About 2” (2 turns)." in shown
    assert "Type /resume and a number." in shown
    assert host.resumed == ["s_2", "s_1"]


@pytest.mark.parametrize("told", ["0", "4", "99999999999999999999", "s_9", "-1", "²"])
async def test_a_session_there_is_not_costs_a_sentence(told: str) -> None:
    host, shown = await talk(f"/resume {told}", None)

    assert host.resumed == []
    assert "There is no session" in shown


async def test_memory_shows_the_newest_and_what_waits() -> None:
    host, shown = await talk("/memory", None)

    assert host.heard == []
    assert "2026-11-03  Ana likes tea. (untrusted)" in shown
    assert "Newest episodes\n(none)" in shown
    assert "4 rows of the conversation are not consolidated yet." in shown


async def test_ctrl_c_cancels_the_running_turn_and_the_conversation_goes_on() -> None:
    host = EchoHost()
    talking = asyncio.ensure_future(talk("wait", "next", None, host=host))
    await host.waiting.wait()

    interrupt()
    _, shown = await talking

    assert host.heard == ["wait", "next"]
    assert "Cancelled." in shown


async def test_ctrl_c_twice_in_a_turn_quits_after_its_receipt() -> None:
    host = EchoHost()
    talking = asyncio.ensure_future(talk("wait", "never", None, host=host))
    await host.waiting.wait()

    interrupt()
    interrupt()
    _, shown = await talking

    assert host.heard == ["wait"]
    assert shown.count("receipt 4 signed") == 1


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_to_stop_ends_the_running_turn_and_the_conversation(told: signal.Signals) -> None:
    host = EchoHost()
    out = io.StringIO()
    talking = asyncio.ensure_future(converse(host, Typed("wait", "never"), Screen(out, live=False)))
    await host.waiting.wait()

    os.kill(os.getpid(), told)

    assert await talking is False
    assert host.heard == ["wait"]
    assert out.getvalue().count("receipt 4 signed") == 1


async def test_ctrl_c_cancels_a_command_that_hangs() -> None:
    class Stuck(EchoHost):
        async def tool_names(self) -> tuple[str, ...]:
            self.waiting.set()
            await asyncio.Event().wait()
            raise AssertionError

    host = Stuck()
    talking = asyncio.ensure_future(talk("/tools", "hello", None, host=host))
    await host.waiting.wait()

    interrupt()
    _, shown = await talking

    assert host.heard == ["hello"]
    assert "Cancelled." in shown


async def test_ctrl_c_at_the_prompt_warns_once_and_then_quits() -> None:
    host, shown = await talk("^C", "^C", "never")

    assert host.heard == []
    assert shown.count("Press Ctrl-C again") == 1


async def test_a_message_after_the_warning_takes_it_back() -> None:
    host, shown = await talk("^C", "hello", "^C", "more", None)

    assert host.heard == ["hello", "more"]
    assert shown.count("Press Ctrl-C again") == 2


async def test_mcp_is_answered_with_what_follows_it_and_without_a_turn() -> None:
    out, host = io.StringIO(), EchoHost()
    typed = Typed("/mcp", "/mcp accept far", "/mcpx", None)
    await converse(host, typed, Screen(out, live=False), lambda told: f"servers <{told}>")

    assert host.heard == []
    assert "servers <>\nservers <accept far>\n" in out.getvalue()
    assert "There is no command /mcpx" in out.getvalue()
