"""Conversations over scripted readers and hosts, Ctrl-C included."""

from __future__ import annotations

import asyncio
import io
import os
import signal
from pathlib import Path

import pytest

from agent_host.gateways.conversation import converse
from agent_host.gateways.plain_screen import PlainScreen
from tests.agent_host.gateways.talking import EchoHost, Typed, desk_of, talk


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


async def test_ctrl_c_cancels_the_running_turn_and_the_conversation_goes_on() -> None:
    host = EchoHost()
    talking = asyncio.ensure_future(talk("wait", "next", None, host=host))
    await host.waiting.wait()

    interrupt()
    _, shown = await talking

    assert host.heard == ["wait", "next"]
    assert "Cancelled." in shown


async def test_ctrl_c_once_in_each_of_two_turns_does_not_add_up_to_leaving() -> None:
    host = EchoHost()
    talking = asyncio.ensure_future(talk("wait", "wait", "still here", None, host=host))
    for _ in range(2):
        await host.waiting.wait()
        host.waiting.clear()
        interrupt()
    await talking

    assert host.heard == ["wait", "wait", "still here"]


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
    talking = asyncio.ensure_future(
        converse(desk_of(host, Path("/nowhere")), Typed("wait", "never"), PlainScreen(out, live=False))
    )
    await host.waiting.wait()

    os.kill(os.getpid(), told)

    assert await talking is False
    assert host.heard == ["wait"]
    assert out.getvalue().count("receipt 4 signed") == 1


async def test_ctrl_c_cancels_a_command_that_hangs() -> None:
    class Stuck(EchoHost):
        async def tools(self) -> tuple[tuple[str, str], ...]:
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


async def test_ctrl_c_at_an_empty_prompt_leaves() -> None:
    host, shown = await talk("hello", "^C", "never")

    assert host.heard == ["hello"]
    assert "Cancelled." not in shown


async def test_an_interrupt_while_a_message_is_awaited_leaves() -> None:
    class Waiting(Typed):
        async def read(self) -> str | bytes | None:
            interrupt()
            await asyncio.Event().wait()
            raise AssertionError

    out = io.StringIO()
    assert await converse(desk_of(EchoHost(), Path("/nowhere")), Waiting(), PlainScreen(out, live=False))
    assert not out.getvalue()
