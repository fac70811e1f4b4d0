"""Repetition: "every Monday", "daily", "every other week", "the first Friday of every month", as an RFC 5545 rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agent_host.providers.offline.times.days import WEEKDAYS, weekday_at
from agent_host.providers.offline.times.tokens import Match, Token, read_number, word_at, words_at

Frequency = Literal["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]

_ADVERBS: dict[str, Frequency] = {
    "daily": "DAILY", "weekly": "WEEKLY", "monthly": "MONTHLY", "yearly": "YEARLY", "annually": "YEARLY",
}  # fmt: skip
_UNITS: dict[str, Frequency] = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}
_POSITIONS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1}
_CODES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_PARTS = ("morning", "afternoon", "evening", "night")
_LONGEST_INTERVAL = 99


@dataclass(frozen=True)
class Recurrence:
    """How something repeats. `position` picks the n-th weekday of a month, -1 the last."""

    frequency: Frequency
    interval: int = 1
    weekdays: tuple[int, ...] = ()
    position: int | None = None

    def rule(self, *, until: datetime | None, count: int | None) -> str:
        """Returns the RRULE value (RFC 5545 section 3.3.10); `until` is in UTC."""
        parts = [f"FREQ={self.frequency}"]
        if self.interval > 1:
            parts.append(f"INTERVAL={self.interval}")
        if self.weekdays:
            position = str(self.position or "")
            parts.append("BYDAY=" + ",".join(position + _CODES[day] for day in self.weekdays))
        if until is not None:
            parts.append(f"UNTIL={until:%Y%m%dT%H%M%SZ}")
        elif count is not None:
            parts.append(f"COUNT={count}")
        return ";".join(parts)

    def first(self, start: datetime, earliest: datetime) -> datetime | None:
        """Returns the first repetition at or after `earliest`, both naive local times, counted from `start`."""
        from dateutil.rrule import rrulestr  # loaded with dateparser, at the first date

        found: datetime | None = rrulestr(self.rule(until=None, count=None), dtstart=start).after(earliest, inc=True)
        return found


@dataclass(frozen=True)
class Count:
    """How many times something repeats."""

    times: int


def _weekdays(tokens: Sequence[Token], index: int, *, plural: bool) -> Match[tuple[int, ...]]:
    """Reads "Monday", "Monday and Wednesday", "Mon, Wed & Fri"; `plural` asks for "Mondays"."""
    days: list[int] = []
    at, end = index, index
    while True:
        word = word_at(tokens, at)
        name = word.removesuffix("s")
        day = WEEKDAYS.index(name) if name in WEEKDAYS else weekday_at(tokens, at, led=True)
        if day is None or (plural and name == word):
            break
        days.append(day)
        end = at + 1
        at = words_at(tokens, end, ", and", ",", "and", "&") or end
        if at == end:
            break
    return (end, tuple(sorted(set(days)))) if days else None


def _position(tokens: Sequence[Token], index: int) -> Match[Recurrence]:
    """Reads "first Monday of the month" after "every", or "the first Monday of every month"."""
    position = _POSITIONS.get(word_at(tokens, index))
    day = weekday_at(tokens, index + 1, led=True)
    end = words_at(tokens, index + 2, "of the month", "of every month", "of each month", "in the month", "every month")
    if position is None or day is None or end is None:
        return None
    return end, Recurrence("MONTHLY", weekdays=(day,), position=position)


def _every(tokens: Sequence[Token], index: int) -> Match[Recurrence]:
    at = words_at(tokens, index, "every", "each")
    if at is None:
        return None
    placed = _position(tokens, at)
    if placed is not None:
        return placed
    if word_at(tokens, at) in _PARTS:
        return at, Recurrence("DAILY")  # the part of the day is read on its own
    working = words_at(tokens, at, "weekday", "workday", "working day", "business day")
    if working is not None:
        return working, Recurrence("WEEKLY", weekdays=(0, 1, 2, 3, 4))
    return _counted(tokens, at)


def _counted(tokens: Sequence[Token], index: int) -> Match[Recurrence]:
    """Reads what follows "every": "day", "other week on Tuesday", "3 months", "Monday and Friday"."""
    other = words_at(tokens, index, "other", "second")
    number = (other, 2) if other else read_number(tokens, index) or (index, 1)
    if not 1 <= number[1] <= _LONGEST_INTERVAL:
        return None
    unit = _UNITS.get(word_at(tokens, number[0]).removesuffix("s"))
    if unit is not None:
        on = words_at(tokens, number[0] + 1, "on")
        days = _weekdays(tokens, on, plural=False) if on and unit == "WEEKLY" else None
        return (days[0], Recurrence(unit, number[1], days[1])) if days else (number[0] + 1, Recurrence(unit, number[1]))
    days = _weekdays(tokens, number[0], plural=False)
    return (days[0], Recurrence("WEEKLY", number[1], days[1])) if days else None


def read_recurrence(tokens: Sequence[Token], index: int) -> Match[Recurrence]:
    """Reads how something repeats."""
    every = _every(tokens, index)
    if every is not None:
        return every
    the = words_at(tokens, index, "on the", "the")
    placed = _position(tokens, the) if the is not None else None
    if placed is not None:
        return placed
    adverb = _ADVERBS.get(word_at(tokens, index))
    if adverb is not None:
        on = words_at(tokens, index + 1, "on")
        days = _weekdays(tokens, on, plural=False) if on and adverb == "WEEKLY" else None
        return (days[0], Recurrence(adverb, weekdays=days[1])) if days else (index + 1, Recurrence(adverb))
    on = words_at(tokens, index, "on")
    plural = _weekdays(tokens, on, plural=True) if on is not None else None
    return (plural[0], Recurrence("WEEKLY", weekdays=plural[1])) if plural else None


def read_count(tokens: Sequence[Token], index: int) -> Match[Count]:
    """Reads "5 times" and "for 5 sessions"."""
    at = words_at(tokens, index, "for") or index
    number = read_number(tokens, at)
    if number is None or word_at(tokens, number[0]) not in ("times", "sessions", "occurrences"):
        return None
    return (number[0] + 1, Count(number[1])) if 1 < number[1] <= _LONGEST_INTERVAL else None
