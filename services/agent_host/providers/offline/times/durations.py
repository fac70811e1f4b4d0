"""Lengths of time: "for 30 minutes", "an hour and a half", "1h30", "two weeks", and offsets such as "in 2 hours"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_host.providers.offline.times.tokens import (
    Match,
    Token,
    joined_at,
    read_digits,
    read_number,
    word_at,
    words_at,
)

HOUR = 60
DAY = 24 * HOUR
_UNITS = {
    **dict.fromkeys(("minute", "minutes", "minute's", "min", "mins", "m"), 1),
    **dict.fromkeys(("hour", "hours", "hour's", "hr", "hrs", "h"), HOUR),
    **dict.fromkeys(("day", "days"), DAY),
    **dict.fromkeys(("week", "weeks"), 7 * DAY),
}
_LONGEST_MINUTES = 366 * DAY


@dataclass(frozen=True)
class Duration:
    """A length of time in minutes, above 0 and at most a year."""

    minutes: int


@dataclass(frozen=True)
class Offset:
    """A moment that many minutes from now."""

    minutes: int


def _amount(tokens: Sequence[Token], index: int) -> Match[float]:
    """Reads how many: "30", "1.5", "two and a half", "a", "half an", "a couple of"."""
    for phrase, value in (("half an", 0.5), ("half a", 0.5), ("a quarter of an", 0.25), ("a couple of", 2.0)):
        end = words_at(tokens, index, phrase)
        if end is not None:
            return end, value
    if word_at(tokens, index) in ("a", "an"):
        half = words_at(tokens, index + 1, "half")
        return (half, 0.5) if half else (index + 1, 1.0)
    if word_at(tokens, index) == "half":
        return index + 1, 0.5
    number = read_number(tokens, index)
    if number is None:
        return None
    end, amount = number[0], float(number[1])
    decimals = read_digits(tokens, end + 1)
    if word_at(tokens, end) in (".", ",") and joined_at(tokens, end) and joined_at(tokens, end + 1) and decimals:
        return end + 2, float(f"{number[1]}.{word_at(tokens, end + 1)}")
    half = words_at(tokens, end, "and a half")
    return (half, amount + 0.5) if half else (end, amount)


def _rest(tokens: Sequence[Token], index: int, unit: int) -> tuple[int, float]:
    """Reads what may follow the unit: "and a half", "30" right after "1h", "and 15 minutes"."""
    half = words_at(tokens, index, "and a half")
    if half is not None:
        return half, unit / 2
    if unit == HOUR:
        tail = words_at(tokens, index, "and") or index
        minutes = read_digits(tokens, tail, longest=2)
        if minutes is not None and (joined_at(tokens, tail) or _UNITS.get(word_at(tokens, tail + 1)) == 1):
            named = _UNITS.get(word_at(tokens, tail + 1)) == 1
            return tail + (2 if named else 1), minutes
    return index, 0


def read_length(tokens: Sequence[Token], index: int) -> Match[Duration]:
    """Reads an amount with its unit; a bare letter counts as a unit only when it is joined to the number."""
    amount = _amount(tokens, index)
    if amount is None:
        return None
    end = words_at(tokens, amount[0], "-", "\u2013") or amount[0]
    unit = _UNITS.get(word_at(tokens, end))
    if unit is None or (word_at(tokens, end) in ("h", "m") and not joined_at(tokens, end)):
        return None
    after, more = _rest(tokens, end + 1, unit)
    minutes = round(amount[1] * unit + more)
    return (after, Duration(minutes)) if 0 < minutes <= _LONGEST_MINUTES else None


def read_duration(tokens: Sequence[Token], index: int) -> Match[Duration]:
    """Reads "for 30 minutes", "lasting an hour", "30-minute", "30 min"; with the word "long" after it, if there."""
    led = words_at(tokens, index, "for about", "for around", "for at least", "for", "lasting")
    if led is None and word_at(tokens, index - 1) in ("in", "next", "last", "every", "within"):
        return None
    length = read_length(tokens, led or index)
    if length is None:
        return None
    return words_at(tokens, length[0], "- long", "long") or length[0], length[1]


def read_offset(tokens: Sequence[Token], index: int) -> Match[Offset]:
    """Reads "in 2 hours" and "20 minutes from now"; days and weeks are dates and belong to `days`."""
    led = words_at(tokens, index, "in about", "in")
    length = read_length(tokens, led or index)
    if length is None or length[1].minutes >= DAY:
        return None
    end = words_at(tokens, length[0], "from now")
    if led is None and end is None:
        return None
    after = words_at(tokens, length[0], "' time", "time")  # "in an hour's time"
    return end or after or length[0], Offset(length[1].minutes)
