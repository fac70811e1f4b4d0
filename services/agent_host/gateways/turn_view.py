"""Turns and what the checks say of them, as lines for a person. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, tzinfo
from typing import Final

from agent_host.gateways.turn_steps import short, step_line
from agent_host.tracing.reading import Row
from agent_host.tracing.traced_turn import TracedTurn
from agent_host.turn_checks.verdict import Rate, Result

SHOWN: Final = 50
_TITLE_CHARACTERS: Final = 60
_TEXT_CHARACTERS: Final = 400
_MARKS: Final = {1: "pass", 0: "FAIL", None: "n/a"}
_SPANS: Final = {"today": "today", "7d": "in the last 7 days", "all": "in all"}

Checked = tuple[TracedTurn, tuple[Result, ...]]


def overview_lines(
    turns: Sequence[Checked], rates: Sequence[Rate], zone: tzinfo, window: str, *, torn: int
) -> Iterator[str]:
    """Yields the turns, newest first and at most `SHOWN`, the rate of each check, and what failed."""
    if not turns:
        yield f"No turn was traced {'yet' if window == 'all' else _SPANS.get(window, window)}."
        return
    yield f"{_count(len(turns), 'turn')} {_SPANS.get(window, window)}"
    yield ""
    for turn, results in reversed(turns[-SHOWN:]):
        title = short(turn.message, _TITLE_CHARACTERS)
        yield f"{_when(turn.started, zone)}  {turn.turn_id}  {_summary(results)}  {title}"
    if len(turns) > SHOWN:
        yield f"… and {len(turns) - SHOWN} older"
    yield ""
    yield f"{'check':<18}{'pass':>6}{'fail':>6}{'n/a':>6}{'rate':>7}"
    for rate in rates:
        percent = "-" if rate.percent is None else f"{rate.percent} %"
        yield f"{rate.name:<18}{rate.passed:>6}{rate.failed:>6}{rate.not_applicable:>6}{percent:>7}"
    failures = [(turn, one) for turn, results in reversed(turns) for one in results if one.value == 0]
    if failures:
        yield ""
        yield "failed:"
        yield from (f"  {turn.turn_id}  {one.name}: {one.note}" for turn, one in failures[:SHOWN])
    if changed := sum(turn.is_as_receipted is False for turn, _ in turns):
        yield ""
        yield f"{_count(changed, 'trace')} changed or incomplete since the receipt."
    if torn:
        yield ""
        yield f"{_count(torn, 'line')} could not be read and were left out."
    yield ""
    yield "`agent-host turns TURN` shows one turn with every note."


def turn_lines(turn: TracedTurn, results: Sequence[Result], zone: tzinfo) -> Iterator[str]:
    """Yields one turn: its words and steps, what each check says and why, and whether the trace is as receipted."""
    how = turn.outcome or ("ended" if turn.has_ended else "did not end")
    yield f"{turn.turn_id}  {_when(turn.started, zone)}  {turn.gateway or 'unknown gateway'}  {how}"
    yield f"message: {short(turn.message, _TEXT_CHARACTERS)}"
    yield from _steps(turn.rows)
    if turn.has_ended:
        yield f"reply: {short(turn.reply, _TEXT_CHARACTERS)}"
    yield from _steps(turn.later)
    yield ""
    for one in results:
        yield f"{one.name:<18}{_MARKS[one.value]:<6}{one.note}"
    yield ""
    yield _integrity(turn)


def _steps(rows: Sequence[Row]) -> Iterator[str]:
    yield from (f"  {step}" for row in rows if (step := step_line(row)))


def _integrity(turn: TracedTurn) -> str:
    if turn.is_as_receipted is None:
        return "This trace holds no receipt to compare it with."
    if not turn.is_as_receipted:
        number = f"receipt {turn.entry_id}" if turn.entry_id is not None else "receipt"
        return f"The trace is not the one of its {number}: it was changed, or lost lines. Do not rely on it."
    same = f"the same must be under the signature of `agent-host receipts show {turn.turn_id}`, as its trace hash"
    signed = same if turn.entry_id is not None else "its receipt was not signed when it was made"
    return f"The trace is whole, byte for byte, by its own receipt line. Its SHA-256 is {turn.sha256}; {signed}."


def _summary(results: Sequence[Result]) -> str:
    """Returns how many checks failed and passed, in as few words as a line has room for."""
    failed, passed = (sum(one.value == value for one in results) for value in (0, 1))
    return f"{failed} FAIL" if failed else f"{passed} pass"


def _when(at: datetime | None, zone: tzinfo) -> str:
    return at.astimezone(zone).strftime("%Y-%m-%d %H:%M") if at else "no time known   "


def _count(number: int, thing: str) -> str:
    return f"1 {thing}" if number == 1 else f"{number:,} {thing}s"
