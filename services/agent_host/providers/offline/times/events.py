"""From a booking's words to its times: what day, from when to when, how often, and what had to be assumed."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from agent_host.providers.offline.times.clock import NOON, Clock, ClockRange, Half
from agent_host.providers.offline.times.days import Day, DayRange, resolve_day, resolve_range
from agent_host.providers.offline.times.durations import DAY, Duration, Offset
from agent_host.providers.offline.times.format import show_day, show_moment
from agent_host.providers.offline.times.pieces import AllDay, Part, TimeWords, Until
from agent_host.providers.offline.times.recurrence import Count, Recurrence
from agent_host.providers.offline.times.zones import Zone, whose_clock

_NIGHT_ENDS = 5
_DOUBTFUL_HOURS = range(5, 9)  # "at 5" may be either half of the day; "at 10" or "at 2" is taken as it sounds
_WEEK = 7
_MOST_DAYS = 10
_EVENING = re.compile(
    r"\b(dinner|supper|drinks?|party|concert|cinema|movie|film|theatre|theater|evening|night)\b", re.IGNORECASE
)
_MORNING = re.compile(r"\b(breakfast|morning)\b", re.IGNORECASE)
_LUNCH = re.compile(r"\blunch", re.IGNORECASE)
_WHOLE_DAY = re.compile(
    r"\b(birthday|anniversary|holidays?|days? off|vacation|deadline|sick leave|parental leave)\b",
    re.IGNORECASE,
)
_LONGEST_NIGHT = timedelta(hours=12)  # a range over midnight; a longer one was said the wrong way round


@dataclass(frozen=True)
class EventTimes:
    """When something takes place. An all-day event has no clock: `start` and `end` are midnights, `end` exclusive.

    `start` and `end` are local times in `zone`; `end` is None when nothing was said about it. `assumed` holds one
    sentence for each choice made for the person.
    """

    start: datetime
    end: datetime | None
    all_day: bool
    zone: ZoneInfo
    rule: str | None
    assumed: tuple[str, ...]


@dataclass(frozen=True)
class Unclear:
    """The times cannot be told; `question` is what to ask."""

    question: str


@dataclass(frozen=True)
class _Present:
    """Now: the clock where the event's clock is, without its zone, and the day it is where the person is."""

    here: datetime
    today: date
    zone: ZoneInfo


def _half_hint(words: TimeWords, hour: int) -> Half | None:
    part = words.first(Part)
    if part is not None:
        return "am" if part.name == "morning" or (part.name == "night" and hour <= _NIGHT_ENDS) else "pm"
    if re.search(r"\btonight\b", words.text, re.IGNORECASE) or (_EVENING.search(words.text) and hour >= _NIGHT_ENDS):
        return "pm"
    if _LUNCH.search(words.text) and hour in (1, 2, 3):
        return "pm"
    return "am" if _MORNING.search(words.text) else None


def _settle(words: TimeWords, clock: Clock) -> tuple[time, tuple[str, ...]]:
    hint = _half_hint(words, clock.hour)
    settled = clock.settle(hint)
    if not clock.open or hint is not None or clock.hour not in _DOUBTFUL_HOURS:
        return settled, ()
    said = f"{clock.hour}:{clock.minute:02d}" if clock.minute else f"{clock.hour}"
    other = "am" if settled.hour >= NOON else "pm"
    return settled, (f"I took {said} as {settled:%H:%M}; say “{said}{other}” if you meant the other one.",)


def _days(words: TimeWords, today: date) -> tuple[date, ...] | Unclear:
    """Resolves the days named; a weekday beside a calendar date only confirms it."""
    named = words.all(Day)
    if len(named) > _MOST_DAYS:
        return Unclear(f"That names {len(named)} days, and I book at most {_MOST_DAYS} at once. Which day first?")
    resolved: list[tuple[Day, date]] = []
    for day in named:
        found = resolve_day(day, today)
        if found is None:
            return Unclear(f"There is no such date as “{day.words}”. Which day did you mean?")
        resolved.append((day, found))
    exact = [found for day, found in resolved if day.weekday is None]
    if len(resolved) > len(exact) >= 1 and " and " not in words.text:
        wrong = next(
            (day for day, _ in resolved if day.weekday is not None and exact[0].weekday() != day.weekday), None
        )
        if wrong is not None:
            return Unclear(f"{show_day(exact[0], today)} is no {wrong.words.capitalize()}. Which day did you mean?")
        return tuple(exact)
    return tuple(found for _, found in resolved)


def _several_times(words: TimeWords) -> Unclear | None:
    """Asks for one time when several are named ("Monday at 7, Friday at 8"); a sure one counts before an open one."""
    clocks = words.all(Clock)
    said = {clock for clock in clocks if not clock.open} or set(clocks)
    named = len(said) + len(words.all(ClockRange))
    return Unclear("That names several times, and I book one at a time. Which day first?") if named > 1 else None


def _clock(words: TimeWords) -> ClockRange | Clock | None:
    found = words.first(ClockRange)
    if found is not None:
        return found
    clocks = words.all(Clock)
    exact = [clock for clock in clocks if not clock.open]
    return exact[0] if exact else clocks[-1] if clocks else None


def _week_note(words: TimeWords, day: date, today: date) -> tuple[str, ...]:
    """Says how "next Friday" was read when the coming Friday is another one."""
    named = words.first(Day)
    if named is None or named.week != "next" or (day - today).days <= _WEEK:
        return ()
    return (f"I took “next {named.words.capitalize()}” as the one in next week.",)


def _past(shown: str) -> Unclear:
    return Unclear(f"{shown} is in the past, so I booked nothing. Which day and time did you mean?")


def _this_or_next_week(start: datetime, here: datetime, named: Day) -> tuple[datetime, tuple[str, ...]]:
    """Places a weekday that is today's: today while its time is ahead, else a week later."""
    if start <= here:
        return start + timedelta(weeks=1), ()
    return start, (f"Today is {named.words.capitalize()}, so I took today.",)


def _no_clock(words: TimeWords, day: date, today: date) -> Unclear:
    """Asks for the time of a day, or of the first one of a repetition."""
    if day < today:
        return _past(show_day(day, today))
    midnight, repeat, part = datetime.combine(day, time()), words.first(Recurrence), words.first(Part)
    first = (repeat.first(midnight, midnight) if repeat is not None else None) or midnight
    return Unclear(f"At what time on {show_day(first.date(), today)}{f' in the {part.name}' if part else ''}?")


def _timed(words: TimeWords, day: date, named: bool, present: _Present) -> EventTimes | Unclear:
    said = _clock(words)
    if said is None:
        return _no_clock(words, day, present.today)
    first = said.start if isinstance(said, ClockRange) else said
    at, assumed = _settle(words, first)
    start = datetime.combine(day, at)
    here, today = present.here, present.today
    weekday = next((each for each in words.all(Day) if each.weekday == day.weekday() and not each.week), None)
    if weekday is not None and day == today:
        start, noted = _this_or_next_week(start, here, weekday)
        assumed = (*assumed, *noted)
    elif start < here and not named:
        start += timedelta(days=1)
        assumed = (*assumed, f"You named no day, so I took the next {at:%H:%M}.")
    elif not named:
        assumed = (*assumed, "You named no day, so I took today.")
    end = None
    if isinstance(said, ClockRange):
        hint: Half | None = "pm" if start.hour >= NOON else None
        end = datetime.combine(start.date(), said.end.settle(hint))
        if end <= start and end + timedelta(days=1) - start > _LONGEST_NIGHT:
            return Unclear(f"{end:%H:%M} comes before {start:%H:%M}. From when to when should it be?")
        end = end if end > start else end + timedelta(days=1)
    else:
        length = words.first(Duration)
        end = start + timedelta(minutes=length.minutes) if length is not None and length.minutes < DAY else None
    return EventTimes(
        start, end, all_day=False, zone=present.zone, rule=None, assumed=(*assumed, *_week_note(words, day, today))
    )


def _whole_day(words: TimeWords, day: date, zone: ZoneInfo) -> EventTimes:
    length = words.first(Duration)
    days = max(1, length.minutes // DAY) if length is not None else 1
    start = datetime.combine(day, time())
    return EventTimes(start, start + timedelta(days=days), all_day=True, zone=zone, rule=None, assumed=())


def _repeated(words: TimeWords, event: EventTimes, present: _Present) -> EventTimes | Unclear:
    """Moves an event to its first repetition and writes its rule."""
    repeat = words.first(Recurrence)
    if repeat is None:
        return event
    earliest = max(event.start, present.here) if not event.all_day else event.start
    first = repeat.first(event.start, earliest)
    if first is None:
        return Unclear("I can't tell when that would first take place. Which day should it start?")
    until = words.first(Until)
    length, count = words.first(Duration), words.first(Count)
    last: datetime | None = None
    if until is not None:
        day = resolve_day(until.day, present.today)
        last = datetime.combine(day, time(23, 59, 59)) if day is not None else None
    elif length is not None and length.minutes >= DAY and not event.all_day:
        last = first + timedelta(minutes=length.minutes) - timedelta(seconds=1)
    in_utc = last.replace(tzinfo=event.zone).astimezone(UTC) if last is not None else None
    rule = repeat.rule(until=in_utc, count=count.times if count else None)
    end = first + (event.end - event.start) if event.end is not None else None
    return replace(event, start=first, end=end, rule=rule)


def _one(words: TimeWords, day: date, named: bool, present: _Present) -> EventTimes | Unclear:
    whole = words.first(AllDay) is not None or (_clock(words) is None and bool(_WHOLE_DAY.search(words.text)))
    event = _whole_day(words, day, present.zone) if whole else _timed(words, day, named, present)
    if isinstance(event, Unclear):
        return event
    past = event.start.date() < present.today if event.all_day else event.start < present.here
    if past and words.first(Recurrence) is None:
        shown = show_day(event.start.date(), present.today) if whole else show_moment(event.start, present.today)
        return _past(shown)
    return _repeated(words, event, present)


def _several_days(words: TimeWords, span: DayRange, zone: ZoneInfo, today: date) -> tuple[EventTimes, ...] | Unclear:
    """Books days in a row as one all-day event."""
    days = resolve_range(span, today)
    if days is None:
        return Unclear(f"I can't tell which days {span.first.words} to {span.last.words} are. Which day did you mean?")
    if days[0] < today:
        return _past(show_day(days[0], today))
    if _clock(words) is not None:
        return Unclear("I book several days in a row as whole days, without a time. Which day did you mean?")
    start, end = datetime.combine(days[0], time()), datetime.combine(days[1], time()) + timedelta(days=1)
    return (EventTimes(start, end, all_day=True, zone=zone, rule=None, assumed=()),)


def read_event(words: TimeWords, now: datetime, zone: ZoneInfo) -> tuple[EventTimes, ...] | Unclear:
    """Works out the times of a booking; several days named in a list give one event each.

    `now` is aware, `zone` the person's. A day is a day of theirs, a clock time one of the zone named, else of theirs.
    """
    named_zone = words.first(Zone)
    used = ZoneInfo(named_zone.key) if named_zone is not None else zone
    present = _Present(now.astimezone(used).replace(tzinfo=None), now.astimezone(zone).date(), used)
    offset = words.first(Offset)
    if offset is not None and not words.all(Day):
        start = (present.here + timedelta(minutes=offset.minutes)).replace(second=0, microsecond=0)
        length = words.first(Duration)
        end = start + timedelta(minutes=length.minutes) if length is not None else None
        return (EventTimes(start, end, all_day=False, zone=used, rule=None, assumed=()),)
    span = words.first(DayRange)
    if span is not None:
        return _several_days(words, span, used, present.today)
    days = _several_times(words) or _days(words, present.today)
    if isinstance(days, Unclear):
        return days
    part = words.first(Part)
    undated = not days and words.first(Recurrence) is None and not (part is not None and part.today)
    if undated and _clock(words) is None:
        return Unclear("When should it be? Tell me a day and a time, such as “Friday at 9am”.")
    events = [_one(words, day, not undated, present) for day in sorted(set(days)) or (present.here.date(),)]
    unclear = next((event for event in events if isinstance(event, Unclear)), None)
    told = tuple(event for event in events if not isinstance(event, Unclear))
    return unclear or _doubt(words, told[0], zone) or told


def _doubt(words: TimeWords, event: EventTimes, zone: ZoneInfo) -> Unclear | None:
    """Asks whose clock is meant when a place stands beside the time and no zone is named."""
    plain = event.all_day or words.first(Zone) is not None
    question = "" if plain else whose_clock(words.rest(), event.start, zone)
    return Unclear(question) if question else None
