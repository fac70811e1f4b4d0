"""From a question's words to the period it asks about: "tomorrow afternoon", "this week", "on Friday"."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from agent_host.providers.offline.times.clock import NOON, Clock, ClockRange, Half
from agent_host.providers.offline.times.days import Day, DayRange, resolve_day, resolve_range
from agent_host.providers.offline.times.pieces import Part, PartName, Span, TimeWords
from agent_host.providers.offline.times.zones import Zone

_HOURS: dict[PartName, tuple[int, int]] = {
    "morning": (6, 12),
    "lunchtime": (12, 14),
    "afternoon": (12, 18),
    "evening": (18, 23),
    "night": (20, 24),
}
_MONTHS_IN_YEAR = 12
_SATURDAY = 5


@dataclass(frozen=True)
class Period:
    """A stretch of local time in a zone, its end exclusive. `whole_days` tells that no clock time limits it."""

    start: datetime
    end: datetime
    whole_days: bool


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), tzinfo=zone)


def _month(today: date, shift: int) -> tuple[date, date]:
    first = today.month - 1 + shift
    start = date(today.year + first // _MONTHS_IN_YEAR, first % _MONTHS_IN_YEAR + 1, 1)
    after = first + 1
    return start, date(today.year + after // _MONTHS_IN_YEAR, after % _MONTHS_IN_YEAR + 1, 1)


def _span_days(span: Span, today: date) -> tuple[date, date]:
    monday = today - timedelta(days=today.weekday())
    if span.name == "days":
        return today, today + timedelta(days=span.days)
    if span.name == "month":
        return _month(today, span.shift)
    if span.name == "named month":  # the coming one of that name, this month included
        return _month(today, (span.shift - today.month) % _MONTHS_IN_YEAR)
    if span.name == "rest":
        return today, monday + timedelta(days=7)
    start = monday + timedelta(weeks=span.shift)
    if span.name == "weekend":
        return start + timedelta(days=_SATURDAY), start + timedelta(days=7)
    return start, start + timedelta(days=7)


def _within(day: date, part: Part, zone: ZoneInfo) -> Period:
    first, last = _HOURS[part.name]
    start = _midnight(day, zone)
    end = _midnight(day + timedelta(days=1), zone) if last == 24 else start.replace(hour=last)  # noqa: PLR2004 - midnight
    return Period(start.replace(hour=first), end, whole_days=False)


def _at(day: date, said: ClockRange, used: ZoneInfo, zone: ZoneInfo) -> Period:
    start = datetime.combine(day, said.start.settle(None), tzinfo=used)
    end = datetime.combine(day, said.end.settle("pm" if start.hour >= NOON else None), tzinfo=used)
    end = end if end > start else end + timedelta(days=1)
    return Period(start.astimezone(zone), end.astimezone(zone), whole_days=False)


def _zone_of(words: TimeWords, zone: ZoneInfo) -> ZoneInfo:
    """Returns the zone whose clock the sentence names, else the person's."""
    named = words.first(Zone)
    return ZoneInfo(named.key) if named is not None else zone


def _named_days(words: TimeWords, today: date) -> tuple[date, date] | None:
    """Returns the first and last day a sentence names; a part of this day names today."""
    span = words.first(DayRange)
    if span is not None:
        return resolve_range(span, today)
    part, named = words.first(Part), words.all(Day)
    if not named:
        return (today, today) if part is not None and part.today else None
    days = [resolve_day(each, today) for each in named]
    known = [day for day in days if day is not None]
    return (min(known), max(known)) if len(known) == len(days) else None


def read_period(words: TimeWords, now: datetime, zone: ZoneInfo) -> Period | None:
    """Returns the period a sentence names, or None when it names none or no date that exists.

    A clock time alone ("at 3pm") is no period: see `read_moment`.
    """
    today = now.astimezone(zone).date()
    part, span, said = words.first(Part), words.first(Span), words.first(ClockRange)
    if span is not None:
        start, end = _span_days(span, today)
        return Period(_midnight(start, zone), _midnight(end, zone), whole_days=True)
    days = _named_days(words, today)
    if days is None:
        return None
    if said is not None:
        return _at(days[0], said, _zone_of(words, zone), zone)
    if part is None and "tonight" in words.text.casefold():
        part = Part("evening", today=True)
    if part is not None:
        return _within(days[0], part, zone)
    return Period(_midnight(days[0], zone), _midnight(days[1] + timedelta(days=1), zone), whole_days=True)


def read_moment(words: TimeWords, now: datetime, zone: ZoneInfo) -> datetime | None:
    """Returns the one moment a sentence names ("tomorrow at 3pm"), in the person's zone, or None.

    The day is the person's; the clock is of the zone named, if one is.
    """
    clock = words.first(Clock)
    if clock is None:
        return None
    here = now.astimezone(zone)
    named = words.first(Day)
    day = resolve_day(named, here.date()) if named is not None else here.date()
    part = words.first(Part)
    hint: Half | None = None if part is None else "am" if part.name == "morning" else "pm"
    there = datetime.combine(day, clock.settle(hint), tzinfo=_zone_of(words, zone)) if day is not None else None
    return there.astimezone(zone) if there is not None else None
