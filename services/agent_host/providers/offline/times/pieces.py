"""Finds the time words of a sentence and what is left when they are taken out."""

from __future__ import annotations

import calendar
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias, TypeVar

from agent_host.providers.offline.times.clock import Clock, ClockRange, read_clock, read_range
from agent_host.providers.offline.times.days import Day, DayRange, read_day, read_day_range, weekday_at
from agent_host.providers.offline.times.durations import Duration, Offset, read_duration, read_offset
from agent_host.providers.offline.times.recurrence import Count, Recurrence, read_count, read_recurrence
from agent_host.providers.offline.times.tokens import Match, Token, read_number, tokenize, word_at, words_at
from agent_host.providers.offline.times.zones import Zone, read_zone

PartName = Literal["morning", "lunchtime", "afternoon", "evening", "night"]
SpanName = Literal["week", "month", "weekend", "days", "rest", "named month"]
_MONTH_NAMES = tuple(name.lower() for name in calendar.month_name[1:])

_PARTS: tuple[PartName, ...] = ("morning", "lunchtime", "afternoon", "evening", "night")
_CLOCK_LEADS = ("at", "@", "from", "by", "around", "about", "after", "before", "until", "till", "starting")
_BARE_FOLLOWERS = frozenset((
    "on", "for", "with", "in", "at", "to", "until", "till", "today", "tomorrow", "tonight", "next", "this", "every",
    "each", "please", "and", "then", "sharp", "by", "about", "the", "from", "a", "an", "or", "my", "i", "we", "it",
    "so", "but", "instead", "not",
))  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A part of a day; `today` when the words say so ("this evening")."""

    name: PartName
    today: bool


@dataclass(frozen=True)
class Span:
    """Several days: a week from Monday to Sunday, a month, a weekend, a number of days from today, the week's rest.

    `shift` counts whole units from the present one: 0 this, 1 next, -1 last. For a month that is named it is the
    month's number.
    """

    name: SpanName
    shift: int = 0
    days: int = 0


@dataclass(frozen=True)
class Until:
    """The last day of a repetition."""

    day: Day


@dataclass(frozen=True)
class AllDay:
    """The whole day."""


Piece: TypeAlias = (
    Day | DayRange | Clock | ClockRange | Duration | Offset | Part | Span | Recurrence | Count | Until | AllDay | Zone
)
_Kind = TypeVar("_Kind", bound=Piece)


@dataclass(frozen=True)
class Found:
    """A piece with its place: characters `start` to `end` of the sentence, tokens `first` to `last` (exclusive)."""

    piece: Piece
    start: int
    end: int
    first: int
    last: int


@dataclass(frozen=True)
class TimeWords:
    """The pieces of a sentence in their order."""

    text: str
    found: tuple[Found, ...]

    def all(self, kind: type[_Kind]) -> tuple[_Kind, ...]:
        """Returns the pieces of one kind."""
        return tuple(item.piece for item in self.found if isinstance(item.piece, kind))

    def first(self, kind: type[_Kind]) -> _Kind | None:
        """Returns the first piece of one kind."""
        return next(iter(self.all(kind)), None)

    def said(self) -> str:
        """Returns the time words alone."""
        return " ".join(self.text[item.start : item.end].strip() for item in self.found)

    def rest(self) -> str:
        """Returns the sentence without its time words."""
        kept, at = [], 0
        for item in self.found:
            kept.append(self.text[at : item.start])
            at = item.end
        return " ".join("".join([*kept, self.text[at:]]).split())


def _read_part(tokens: Sequence[Token], index: int, *, after_day: bool) -> Match[Part]:
    led = words_at(tokens, index, "in the", "during the", "at", "this")
    if led is None and not after_day:
        return None
    at = led if led is not None else index
    name = next((part for part in _PARTS if word_at(tokens, at).removesuffix("s") == part), None)
    if name is None and words_at(tokens, at, "lunch time") is not None:
        return at + 2, Part("lunchtime", today=False)
    return (at + 1, Part(name, today=word_at(tokens, index) == "this")) if name is not None else None


def _read_span(tokens: Sequence[Token], index: int) -> Match[Span]:
    month = words_at(tokens, index, "in")
    if month is not None and word_at(tokens, month) in _MONTH_NAMES:
        return month + 1, Span("named month", _MONTH_NAMES.index(word_at(tokens, month)) + 1)
    return _read_unnamed_span(tokens, index)


def _read_unnamed_span(tokens: Sequence[Token], index: int) -> Match[Span]:
    rest = words_at(tokens, index, "the rest of the week", "rest of the week", "the rest of this week")
    if rest is not None:
        return rest, Span("rest")
    weekend = words_at(tokens, index, "the weekend", "weekend")
    if weekend is not None:
        return weekend, Span("weekend")
    at, shift = index, 0
    for phrase, value in (
        ("this coming", 0),
        ("this", 0),
        ("my", 0),
        ("the next", 1),
        ("next", 1),
        ("coming", 1),
        ("last", -1),
    ):
        after = words_at(tokens, index, phrase)
        if after is not None:
            at, shift = after, value
            break
    else:
        return None
    few = words_at(tokens, at, "few days", "couple of days")
    number = read_number(tokens, at)
    if shift == 1 and (few or (number and word_at(tokens, number[0]) in ("days", "weeks"))):
        count = number[1] if number else 3
        unit = 7 if number and word_at(tokens, number[0]) == "weeks" else 1
        return (few or number[0] + 1 if number else few or at), Span("days", days=min(count * unit, 366))
    for name in ("weekend", "week", "month"):
        if word_at(tokens, at) in (name, f"{name}'s"):
            return at + 1, Span(name, shift)
    return None


def _read_until(tokens: Sequence[Token], index: int) -> Match[Until]:
    led = words_at(tokens, index, "until the", "until", "till", "through", "up to", "ending on", "ending")
    day = read_day(tokens, led) if led is not None else None
    return (day[0], Until(day[1])) if day is not None else None


def _read_all_day(tokens: Sequence[Token], index: int) -> Match[AllDay]:
    end = words_at(
        tokens, index, "all day long", "all day", "all - day", "the whole day", "whole day", "the entire day"
    )
    return (end, AllDay()) if end is not None else None


def _read_led_clock(tokens: Sequence[Token], index: int) -> Match[Clock]:
    """Reads a clock time after "at" or another lead, where a plain number is enough, or one that stands alone."""
    led = word_at(tokens, index) in _CLOCK_LEADS
    at = index
    while word_at(tokens, at) in _CLOCK_LEADS:
        at += 1
    clock = read_clock(tokens, at, bare=led)
    if clock is None:
        return None
    follower = word_at(tokens, clock[0])
    plain = clock[0] == at + 1 and clock[1].half is None
    followed = follower in _BARE_FOLLOWERS or _is_time(tokens, clock[0])
    if plain and follower.isalnum() and not followed:
        return None  # "at 5 Main Street"
    return words_at(tokens, clock[0], "sharp", "exactly") or clock[0], clock[1]


def _is_time(tokens: Sequence[Token], index: int) -> bool:
    """Tells whether a day or a zone follows a bare hour ("at 9 Friday", "at 9 EST")."""
    dated = read_day(tokens, index) is not None or weekday_at(tokens, index, led=True) is not None
    return dated or read_zone(tokens, index) is not None


def _read_led_day(tokens: Sequence[Token], index: int) -> Match[Day]:
    led = words_at(
        tokens, index, "starting on", "starting from", "starting", "on", "for", "by", "from", "due", "due on"
    )
    if led is not None:
        return read_day(tokens, led)
    return read_day(tokens, index)


_READERS: tuple[Callable[[Sequence[Token], int], tuple[int, Piece] | None], ...] = (
    _read_all_day,
    read_count,
    _read_until,
    read_recurrence,
    read_day_range,
    read_range,
    read_offset,
    _read_led_day,
    _read_span,
    read_duration,
    _read_led_clock,
    read_zone,
)


def _read_any(tokens: Sequence[Token], index: int, *, after_day: bool) -> tuple[int, Piece] | None:
    part = _read_part(tokens, index, after_day=after_day)
    if part is not None:
        return part
    span = read_range(tokens, index, after_day=True) if after_day and read_day_range(tokens, index) is None else None
    if span is not None:
        return span
    return next((match for reader in _READERS if (match := reader(tokens, index)) is not None), None)


def _listed(tokens: Sequence[Token], before: Found, after: Found) -> bool:
    """Tells whether two days stand in one list: only commas and "and" lie between them."""
    between = [token.text for token in tokens[before.last : after.first]]
    days = isinstance(before.piece, Day) and isinstance(after.piece, Day)
    return days and all(word in (",", "and", "&") for word in between)


def _drop_names(tokens: Sequence[Token], found: Sequence[Found]) -> list[Found]:
    """Leaves out a weekday that belongs to a name ("the Monday review on Tuesday")."""

    def is_name(index: int) -> bool:
        item = found[index]
        if not isinstance(item.piece, Day) or item.piece.led:
            return False
        after = found[index + 1] if index + 1 < len(found) else None
        if after is not None and after.first == item.last and isinstance(after.piece, Clock | ClockRange):
            return False  # "on Monday at 7, Wednesday at 8"
        beside = [found[at] for at in (index - 1, index + 1) if 0 <= at < len(found)]
        return not any(_listed(tokens, *sorted((item, other), key=lambda each: each.first)) for other in beside)

    led = any(isinstance(item.piece, Day) and item.piece.led for item in found)
    return [item for index, item in enumerate(found) if not (led and is_name(index))]


def _join_lists(tokens: Sequence[Token], found: Sequence[Found]) -> tuple[Found, ...]:
    """Takes the commas and "and" of a list of days out together with the days."""
    joined: list[Found] = []
    for item in found:
        start = joined[-1].end if joined and _listed(tokens, joined[-1], item) else item.start
        joined.append(Found(item.piece, start, item.end, item.first, item.last))
    return tuple(joined)


@lru_cache(maxsize=64)
def find_time_words(text: str) -> TimeWords:
    """Reads a sentence from left to right; at each place the first reader that matches counts.

    Kept for the last sentences, because one message is looked at by many intents.
    """
    tokens = tokenize(text)
    found: list[Found] = []
    index = 0
    while index < len(tokens):
        previous = found[-1] if found and found[-1].last == index else None
        after_day = previous is not None and isinstance(previous.piece, Day | Recurrence)
        match = None if tokens[index].quoted else _read_any(tokens, index, after_day=after_day)
        if match is None:
            index += 1
            continue
        end, piece = match
        found.append(Found(piece, tokens[index].start, tokens[end - 1].end, index, end))
        index = max(end, index + 1)
    return TimeWords(text, _join_lists(tokens, _drop_names(tokens, found)))
