"""Times of day: "9am", "14:30", "half past three", "noon", "from 2 to 3pm"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import time
from typing import Literal

from agent_host.providers.offline.times.days import read_day
from agent_host.providers.offline.times.tokens import (
    Match,
    Token,
    joined_at,
    read_digits,
    read_number,
    word_at,
    words_at,
)

Half = Literal["am", "pm"]

_WORDS = {"noon": (12, 0), "midday": (12, 0), "midnight": (0, 0)}
_LAST_HOUR = 24
NOON = 12
_MINUTES = 60
_FIRST_WORKING_HOUR = 7
_MINUTE_DIGITS = 2
_TO = ("to", "until", "till", "-", "\u2013", "\u2014", "and")


@dataclass(frozen=True)
class Clock:
    """A time of day as typed. `half` is None when neither words nor a 24-hour form say which half of the day."""

    hour: int
    minute: int
    half: Half | None

    def settle(self, hint: Half | None) -> time:
        """Returns the time of day; an open one takes the hint, else 7 to 11 is morning and 12 to 6 afternoon."""
        half = self.half or hint or ("am" if _FIRST_WORKING_HOUR <= self.hour < NOON else "pm")
        if self.hour > NOON or (self.hour == 0 and self.half is None):
            return time(self.hour, self.minute)
        return time(self.hour % NOON + (NOON if half == "pm" else 0), self.minute)

    @property
    def open(self) -> bool:
        """Whether the half of the day has to be assumed."""
        return self.half is None and 0 < self.hour <= NOON


@dataclass(frozen=True)
class ClockRange:
    """A start and an end on one day; an end at or before the start lies on the next day."""

    start: Clock
    end: Clock


def _half(tokens: Sequence[Token], index: int) -> Match[Half]:
    word = word_at(tokens, index)
    if word in ("am", "pm"):
        return index + 1, "am" if word == "am" else "pm"
    if word in ("a", "p") and word_at(tokens, index + 1) == "." and word_at(tokens, index + 2) == "m":
        end = index + 4 if word_at(tokens, index + 3) == "." and joined_at(tokens, index + 3) else index + 3
        return end, "am" if word == "a" else "pm"
    return None


def _spoken(tokens: Sequence[Token], index: int) -> Match[Clock]:
    """Reads "half past three", "quarter to five", "ten past six"."""
    start = words_at(tokens, index, "a") or index
    side = word_at(tokens, start + 1)
    if word_at(tokens, start) in ("half", "quarter") and side in ("past", "to", "after"):
        minutes, at = (30 if word_at(tokens, start) == "half" else 15), start + 1
    else:
        number = read_number(tokens, start)
        if number is None:
            return None
        minutes = number[1]
        at = words_at(tokens, number[0], "minutes", "minute", "mins") or number[0]
        side = word_at(tokens, at)
    hour = read_number(tokens, at + 1)
    if side not in ("past", "to", "after") or hour is None or not 1 <= hour[1] <= NOON or not 0 < minutes < _MINUTES:
        return None
    if side == "to" and word_at(tokens, start).isdigit() and at == start + 1:
        return None  # "10 to 12" is a range, "ten to twelve" a time
    half = _half(tokens, hour[0])
    past_midnight = hour[1] * _MINUTES + (minutes if side != "to" else -minutes)
    clock = Clock(past_midnight // _MINUTES or NOON, past_midnight % _MINUTES, half[1] if half else None)
    return (half[0] if half else hour[0]), clock


def _minutes(tokens: Sequence[Token], index: int, *, bare: bool) -> Match[int]:
    """Reads ":30", "h30" and, where it cannot be a version or a price ("at 9.30", "9.30 am"), ".30"."""
    sign = word_at(tokens, index)
    if sign not in (":", ".", "h") or not joined_at(tokens, index) or not joined_at(tokens, index + 1):
        return None
    value = read_digits(tokens, index + 1)
    if value is None or len(word_at(tokens, index + 1)) != _MINUTE_DIGITS or value >= _MINUTES:
        return None
    return (index + 2, value) if sign != "." or bare or _half(tokens, index + 2) else None


def read_clock(tokens: Sequence[Token], index: int, *, bare: bool) -> Match[Clock]:
    """Reads one time of day; a plain number counts only when `bare` (a word such as "at" stands before it)."""
    word = word_at(tokens, index)
    if word in _WORDS:
        hour, minute = _WORDS[word]
        return index + 1, Clock(hour, minute, "pm" if hour else "am")
    spoken = _spoken(tokens, index)
    if spoken is not None:
        return spoken
    number = read_number(tokens, index)
    if number is None or number[1] > _LAST_HOUR:
        return None
    end, hour = number
    minutes = _minutes(tokens, end, bare=bare)
    end, minute = minutes or (end, 0)
    half = _half(tokens, end)
    if half is not None and 1 <= hour <= NOON:
        return half[0], Clock(hour, minute, half[1])
    oclock = words_at(tokens, end, "o'clock", "oclock")
    if minutes is None and oclock is None and not bare:
        return None
    return _plain(word, hour, minute, oclock or end)


def _plain(word: str, hour: int, minute: int, end: int) -> Match[Clock]:
    """Judges a time without am or pm: a leading zero or an hour above 12 is the 24-hour form."""
    if hour == _LAST_HOUR:
        return (end, Clock(0, 0, "am")) if minute == 0 else None
    if word.startswith("0") and 0 < hour <= NOON:
        return end, Clock(hour, minute, "am" if hour < NOON else "pm")
    return end, Clock(hour, minute, None)


def read_range(tokens: Sequence[Token], index: int, *, after_day: bool = False) -> Match[ClockRange]:
    """Reads "from 2 to 3pm", "between noon and 1", "14:00-15:30", "at 2 until 5", and "2-3" after a day."""
    led = words_at(tokens, index, "from", "between", "at") or index
    first = read_clock(tokens, led, bare=True)
    if first is None or word_at(tokens, first[0]) not in _TO:
        return None
    if word_at(tokens, first[0]) == "and" and word_at(tokens, index) != "between":
        return None
    last = read_clock(tokens, first[0] + 1, bare=True)
    if last is None or read_day(tokens, first[0] + 1) is not None:  # "at 10 until 20 December"
        return None
    start, end = first[1], last[1]
    timed = after_day or led != index or any(clock.half or clock.minute or clock.hour > NOON for clock in (start, end))
    if not timed:
        return None  # "2-3" alone may be a score or a page range
    if start.half is None and end.half is not None and start.open:
        lower = start.hour % NOON * _MINUTES + start.minute < end.hour % NOON * _MINUTES + end.minute
        start = Clock(start.hour, start.minute, end.half if lower else "am" if end.half == "pm" else "pm")
    return last[0], ClockRange(start, end)
