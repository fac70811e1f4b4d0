"""Log records in the middle of a reply."""

from __future__ import annotations

import asyncio
import io
import logging

import pyte
import pytest

from agent_host.gateways.terminal.log_lines import logs_on
from agent_host.gateways.terminal.rich_screen import RichScreen
from agent_host.tracing.events import ReplyDelta


async def test_a_record_from_any_thread_stands_above_what_moves_and_erases_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("LINES", "12")
    out = io.StringIO()
    screen = RichScreen(out)
    before = logging.getLogger().handlers[:]

    with logs_on(screen), screen.working():
        screen.show(ReplyDelta("one\n\ntwo\nthree\nfour"))
        await asyncio.to_thread(logging.getLogger("agent_host.test").warning, "the disk is %s", "full")
        await asyncio.sleep(0)
        screen.show(ReplyDelta(" five\n\nsix"))

    view = pyte.Screen(60, 12)
    pyte.Stream(view).feed(out.getvalue().replace("\n", "\r\n"))
    shown = [line.strip() for line in view.display if line.strip()]
    assert [line for line in shown if "the disk is full" in line] == [shown[1]]
    assert [shown[0], *shown[2:]] == ["one", "two", "three", "four five", "six"]
    assert logging.getLogger().handlers == before
