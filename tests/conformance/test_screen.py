"""Every screen shows the same conversation: each word once, whatever comes when, and nothing that steers a terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace

import pyte
import pytest

from agent_host.gateways.plain_screen import PlainScreen
from agent_host.gateways.screen import Screen
from agent_host.gateways.terminal.rich_screen import RichScreen
from agent_host.mcp_clients.protocol import ToolOutcome
from agent_host.receipts.protocol import ReceiptStatus
from agent_host.tracing.events import (
    GateDecided,
    Notice,
    ReplyDelta,
    ReportSaved,
    SlotsDecided,
    SlotVerdict,
    ToolCalled,
    ToolStarted,
    TurnEvent,
)
from agent_host.turn import TurnResult
from tests.agent_host.receipts.test_spool import RECEIPT

REPLY = "First words.\n\nSecond words\nthird words.\n\n* fourth\n* fifth"
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b5n\u202eback\r"
Make = Callable[[io.StringIO], Screen]


def _lines(out: io.StringIO) -> Screen:
    return PlainScreen(out, live=True)


def _plain(out: io.StringIO) -> Screen:
    return PlainScreen(out, live=False)


@pytest.fixture(params=[_plain, _lines, RichScreen], ids=["plain", "lines", "rich"])
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    made: Make = request.param
    return made


def result(reply: str, outcome: str = "replied") -> TurnResult:
    receipt = replace(RECEIPT, outcome="cancelled") if outcome == "cancelled" else RECEIPT
    return TurnResult(reply, receipt.outcome, receipt, ReceiptStatus(None, 1))


def called(content: str = "x", *, failed: bool = False) -> ToolCalled:
    outcome = ToolOutcome("memory", "memory_search", content, None, failed, 12)
    return ToolCalled("u1", "memory_search", {"query": "tea", "token": "hush"}, outcome)


def seen(out: io.StringIO) -> str:
    """What a person sees in the end, with single spaces."""
    screen = pyte.HistoryScreen(80, 24, history=1_000)
    pyte.Stream(screen).feed(out.getvalue().replace("\n", "\r\n"))
    above = ["".join(row[column].data for column in range(80)) for row in screen.history.top]
    return " ".join(" ".join([*above, *screen.display]).split())


def turn(screen: Screen, events: list[TurnEvent], ended: TurnResult) -> None:
    with screen.working():
        for event in events:
            screen.show(event)
    screen.finish(ended)


def deltas(text: str) -> list[TurnEvent]:
    return [ReplyDelta(text[start : start + 3]) for start in range(0, len(text), 3)]


async def test_each_word_is_shown_once_and_the_receipt_line_last(make: Make) -> None:
    out = io.StringIO()
    turn(make(out), [ToolStarted("memory_search"), called(), *deltas(REPLY)], result(REPLY))

    shown = seen(out)
    for word in ("First", "Second", "third", "fourth", "fifth"):
        assert shown.count(word) == 1
    assert shown.endswith("queued (1)")


async def test_a_reply_that_did_not_stream_is_shown_whole(make: Make) -> None:
    out = io.StringIO()
    turn(make(out), [ReplyDelta("I was abo")], result("I could not do that."))

    assert "I could not do that." in seen(out)


async def test_a_reply_that_ends_in_blanks_is_not_shown_twice(make: Make) -> None:
    out = io.StringIO()
    turn(make(out), deltas("Only once.\n\n"), result("Only once.\n\n"))

    assert seen(out).count("Only once.") == 1


async def test_a_reply_that_was_cut_short_says_so(make: Make) -> None:
    out = io.StringIO()
    turn(make(out), deltas("Half a"), result("Half a", "cancelled"))
    turn(make(out), [], result("Cancelled.", "cancelled"))

    assert seen(out).count("Cancelled.") == 2


async def test_what_follows_the_words_of_a_reply_that_was_cut_short_is_shown_alone(make: Make) -> None:
    out = io.StringIO()
    turn(make(out), deltas("Half a"), result("I will.\n\nHalf a\n\nDone before that: notes_write.", "cancelled"))
    turn(make(out), [], result("Cancelled.\n\nPerhaps done: notes_write.", "cancelled"))

    shown = seen(out)
    assert shown.count("Done before that: notes_write.") == shown.count("Perhaps done: notes_write.") == 1
    assert shown.count("Half a") == 1
    assert shown.count("Cancelled.") == 2


async def test_notices_are_said_again_only_after_a_turn_without_them(make: Make) -> None:
    out = io.StringIO()
    screen = make(out)
    for noticed in (True, True, False, True):
        turn(screen, [Notice("notes: not reachable")] * noticed, result("ok"))

    assert seen(out).count("! notes: not reachable") == 2


async def test_nothing_that_comes_from_outside_steers_the_terminal(make: Make) -> None:
    out = io.StringIO()
    screen = make(out)
    events: list[TurnEvent] = [
        ToolStarted(HOSTILE),
        called(HOSTILE, failed=True),
        called(HOSTILE),
        GateDecided("retrieve", HOSTILE, HOSTILE),
        ReportSaved(HOSTILE, "mem_1", HOSTILE, ()),
        Notice(HOSTILE),
        *deltas(HOSTILE),
    ]
    turn(screen, events, result(HOSTILE))
    screen.say(HOSTILE)
    screen.table([(HOSTILE, HOSTILE)])

    ours = re.sub(r"\x1b\[(?:\?25[lh]|\?2026[lh]|\d*A|J|[0-9;]*m)|\n|\r(?=\x1b)", "", out.getvalue())
    assert re.findall("[\x00-\x1f\x7f-\x9f\u202a-\u202e]", ours) == []


async def test_a_question_in_the_middle_keeps_what_stands_and_lets_the_reply_go_on(make: Make) -> None:
    out = io.StringIO()
    screen = make(out)
    with screen.working():
        screen.show(ReplyDelta("Let me "))
        screen.show(ReplyDelta("write."))
        with screen.held():
            screen.say("May it?")
        screen.show(called())
        screen.show(ReplyDelta("Written."))
    screen.finish(result("Written."))

    shown = seen(out)
    assert shown.count("Written.") == shown.count("May it?") == 1
    if "Let me" in shown:
        assert shown.index("Let me write.") < shown.index("May it?") < shown.index("Written.")


async def test_what_breaks_off_leaves_no_spinner_and_no_hidden_cursor(make: Make) -> None:
    out = io.StringIO()
    screen = make(out)

    def break_off() -> None:
        with screen.working():
            screen.show(ReplyDelta("Half"))
            raise OSError(28, "full")

    with pytest.raises(OSError, match="full"):
        break_off()
    screen.say("That was not possible.")

    assert "Ctrl-C cancels" not in seen(out)
    assert out.getvalue().rfind("\x1b[?25l") <= out.getvalue().rfind("\x1b[?25h")


@pytest.mark.parametrize("made", [_lines, RichScreen])
async def test_live_screens_say_what_happens_and_no_secret(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = io.StringIO()
    verdicts = (SlotVerdict("mem_1", 9_000, kept=True), SlotVerdict("mem_2", 10, kept=False))
    events: list[TurnEvent] = [
        GateDecided("retrieve", "green tea", "asks for a fact"),
        SlotsDecided(verdicts),
        called(),
        called("it is away\nsince noon", failed=True),
        GateDecided("skip", "", "a greeting"),
    ]
    turn(made(out), events, result("ok"))

    shown = seen(out)
    assert "· memory: looks up “green tea” (asks for a fact)" in shown
    assert "· memory: 1 of 2 hits earned a place" in shown
    assert "· memory_search ok, 12 ms (query: tea, token: ***)" in shown
    assert "· memory_search failed, 12 ms: it is away since noon" in shown
    assert "· memory: not needed (a greeting)" in shown
    assert "hush" not in shown
