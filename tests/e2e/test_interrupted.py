"""A host that is killed in a turn: the next one shows what had been done, and its model is told."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.e2e.conftest import BIN, Person
from tests.fakes.anthropic_server import KEY, MODEL, Answer, Cut, anthropic_server, text, tool_use

pytestmark = pytest.mark.slow  # starts many processes

EVENT = {"title": "Standup", "start": "2026-12-04T09:00:00", "timezone": "Europe/Berlin"}
BOOK = Answer([tool_use("toolu_1", "calendar_create_event", EVENT)], stop_reason="tool_use")
STALL = Cut(Answer([text("It is booked, and more of it")]), 3, "stall")


async def test_a_killed_turn_is_completed_at_the_next_start(person: Person) -> None:
    async with anthropic_server(BOOK, STALL, Answer([text("It is.")])) as server:
        settings = {
            "PROMETHEUS_PROVIDER": "anthropic",
            "PROMETHEUS_API_KEY": KEY,
            "PROMETHEUS_BASE_URL": server.url,
            "PROMETHEUS_MODEL": MODEL,
            "PROMETHEUS_RETRIEVAL_GATE": "off",
        }
        chat = await asyncio.create_subprocess_exec(
            str(BIN / "agent-host"),
            "chat",
            stdin=-1,
            stdout=-1,
            stderr=-1,
            cwd=person.folder,
            env={**person.environ, **settings},
        )
        assert chat.stdin is not None
        chat.stdin.write(b"Book a standup on Friday at 9\n")
        await chat.stdin.drain()
        async with asyncio.timeout(40):
            while len(server.requests) < 2:  # noqa: ASYNC110 - what comes is a request to a server
                await asyncio.sleep(0.02)
        chat.kill()
        await chat.communicate()
        shown = await asyncio.to_thread(person.run, "agent-host", "chat", "--continue", text=b"booked?\n", **settings)

    assert b"It is." in shown.stdout, shown.stderr
    told = json.dumps(server.requests[-1].body["messages"])
    assert "(This message got no answer.)" in told
    assert "[tools used: calendar_create_event " in told
    said = (await asyncio.to_thread(person.run, "agent-host", "sessions", "show", "1")).stdout.decode()
    assert "Interrupted: the program ended before there was an answer. It had run: calendar_create_event." in said
    receipts = await asyncio.to_thread(person.run, "agent-host", "receipts", "list")
    assert b"interrupted" in receipts.stdout
