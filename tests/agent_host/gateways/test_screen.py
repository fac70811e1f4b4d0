"""What a person sees of a turn."""

from __future__ import annotations

import io

import pytest

from agent_host.gateways.plain_screen import PlainScreen
from agent_host.gateways.screen import printable, table
from agent_host.mcp_clients.protocol import ToolOutcome
from agent_host.receipts.protocol import ReceiptStatus
from agent_host.tracing.events import Notice, ReplyDelta, ToolCalled, ToolStarted
from agent_host.turn import TurnResult
from tests.agent_host.receipts.test_spool import RECEIPT

LINE = "offline-rules · 0 in / 0 out · $0.000 | memory 2 used · 0 kept | $0.000 | unsigned, queued (1)"


def result(reply: str) -> TurnResult:
    return TurnResult(reply, "replied", RECEIPT, ReceiptStatus(None, 1))


def called(*, failed: bool = False) -> ToolCalled:
    return ToolCalled("u1", "memory_search", {}, ToolOutcome("memory", "memory_search", "x", None, failed, 12))


def test_a_plain_screen_shows_reply_and_receipt_line_only() -> None:
    out = io.StringIO()
    screen = PlainScreen(out, live=False)

    for event in (ToolStarted("memory_search"), called(), ReplyDelta("Hel"), ReplyDelta("lo.")):
        screen.show(event)
    screen.finish(result("Hello."))

    assert out.getvalue() == f"Hello.\n{LINE}\n\n"


def test_a_live_screen_streams_the_reply_once() -> None:
    out = io.StringIO()
    screen = PlainScreen(out, live=True)

    for event in (ToolStarted("memory_search"), called(), ReplyDelta("Hel"), ReplyDelta("lo.")):
        screen.show(event)
    screen.finish(result("Hello."))

    assert out.getvalue() == f"· memory_search …\n· memory_search ok, 12 ms\nHello.\n{LINE}\n\n"


def test_words_before_a_tool_call_end_their_line() -> None:
    out = io.StringIO()
    screen = PlainScreen(out, live=True)

    for event in (ReplyDelta("Let me look."), called(failed=True), ReplyDelta("Nothing.")):
        screen.show(event)
    screen.finish(result("Nothing."))

    assert out.getvalue().splitlines()[:3] == ["Let me look.", "· memory_search failed, 12 ms: x", "Nothing."]


def test_a_reply_that_did_not_stream_is_shown_whole() -> None:
    out = io.StringIO()
    screen = PlainScreen(out, live=True)

    screen.show(ReplyDelta("I was about"))
    screen.finish(result("I could not get an answer."))

    assert out.getvalue().splitlines()[:2] == ["I was about", "I could not get an answer."]


def test_notices_show_on_every_screen() -> None:
    out = io.StringIO()

    PlainScreen(out, live=False).show(Notice("notes: not reachable"))

    assert out.getvalue() == "! notes: not reachable\n"


def test_a_notice_is_said_again_only_after_a_turn_without_it() -> None:
    out = io.StringIO()
    screen = PlainScreen(out, live=False)

    for noticed in (True, True, False, True):
        if noticed:
            screen.show(Notice("notes: not reachable"))
        screen.finish(result("ok"))

    assert out.getvalue().count("! notes: not reachable") == 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("bell\x07", "bell\\x07"),
        ("c1 \x9b31m", "c1 \\x9b31m"),
        ("line\nbreak\ttab é 日本", "line\nbreak\ttab é 日本"),
        ("cr\rhidden", "cr\\x0dhidden"),
    ],
)
def test_control_characters_cannot_steer_the_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_table_aligns_its_second_column() -> None:
    assert table([("/a", "one"), ("/long", "two")]) == "/a     one\n/long  two"
    assert not table([])
