"""Looking at the calendar: what is on, when something is, when there is time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from agent_host.providers.offline.calendar.matching import matching, title_words
from agent_host.providers.offline.calendar.replies import Event, agenda, read_events, show_event
from agent_host.providers.offline.results import as_list, as_mapping, failure, moment_of, rows_of
from agent_host.providers.offline.routine import Call, Routine, Scene
from agent_host.providers.offline.times.durations import DAY, HOUR, Duration
from agent_host.providers.offline.times.format import show_day, show_days, show_minutes, show_moment
from agent_host.providers.offline.times.periods import Period, read_moment, read_period
from agent_host.providers.offline.times.pieces import Part, TimeWords, find_time_words
from agent_host.providers.offline.times.zones import Zone, whose_clock
from agent_host.providers.offline.wording import bullets, clip, mirrored

_LIMIT = 50
_COMING_DAYS = 7
_SEARCHED_DAYS = 120
_DEFAULT_MINUTES = 30
_SHOWN_SLOTS = 6
_DAY_BEGINS = 8  # "a free hour in the morning" is not at six


def coming(scene: Scene, days: int) -> Period:
    """Returns the period from this day's start, that many days long."""
    midnight = datetime.combine(scene.today, time(), tzinfo=scene.zone)
    return Period(midnight, midnight + timedelta(days=days), whole_days=True)


def list_call(period: Period) -> Call:
    """Returns the call that lists a period."""
    start, end = period.start.isoformat(), period.end.isoformat()
    return Call("calendar_list_events", {"start": start, "end": end, "limit": _LIMIT})


def within(events: tuple[Event, ...], period: Period) -> list[Event]:
    """Keeps the events that touch a period."""
    return [event for event in events if event.start < period.end and event.end > period.start]


@dataclass(frozen=True)
class ListEvents:
    """Show what is on in a period; without one, in the coming week."""

    text: str

    def run(self, scene: Scene) -> Routine:
        """Lists the events of the period under their days."""
        period = read_period(find_time_words(self.text), scene.now, scene.zone) or coming(scene, _COMING_DAYS)
        (outcome,) = yield (list_call(period),)
        if outcome.is_error:
            return failure(outcome, "look into your calendar")
        events = within(read_events(outcome, scene), period)
        shown = show_days(period.start, period.end, scene.today)
        if not events:
            return f"Nothing is on your calendar: {shown}."
        more = "\nThere is more than I can show here." if as_mapping(outcome.data).get("next_cursor") else ""
        listed = agenda(events, scene).removeprefix(f"{shown}:\n")  # a single day needs no heading of its own
        return f"On your calendar, {shown} ({scene.zone.key}):\n{listed}{more}"


@dataclass(frozen=True)
class NextEvent:
    """Say when something takes place next."""

    target: str

    def run(self, scene: Scene) -> Routine:
        """Finds the next event whose title fits."""
        words = find_time_words(self.target)
        period = read_period(words, scene.now, scene.zone) or coming(scene, _SEARCHED_DAYS)
        (outcome,) = yield (list_call(period),)
        if outcome.is_error:
            return failure(outcome, "look into your calendar")
        ahead = [event for event in read_events(outcome, scene) if event.end > scene.now]
        found = matching(ahead, words, scene)
        if not found:
            what = title_words(words.rest())
            return f"I found nothing{f' called “{mirrored(what)}”' if what else ''} ahead in your calendar."
        return f"Next: {show_event(min(found, key=lambda event: event.start), scene)}."


@dataclass(frozen=True)
class FindFree:
    """Say when there is time, or whether a moment is free."""

    text: str

    def run(self, scene: Scene) -> Routine:
        """Asks the calendar for free stretches of a period, or looks what is on at the moment named."""
        words = find_time_words(self.text)
        length = words.first(Duration)
        minutes = length.minutes if length is not None and length.minutes < DAY else _named_length(self.text)
        moment = read_moment(words, scene.now, scene.zone)
        doubt = whose_clock(words.rest(), moment, scene.zone) if moment is not None and not words.all(Zone) else ""
        if doubt:
            return doubt
        if moment is not None:
            return (yield from _free_at(moment, minutes or 2 * _DEFAULT_MINUTES, scene))
        period = read_period(words, scene.now, scene.zone) or coming(scene, _COMING_DAYS)
        if period.end <= scene.now:
            return f"{show_days(period.start, period.end, scene.today)} is over. Which day did you mean?"
        in_part = words.first(Part) is not None
        return (yield from _free_in(period, minutes or _DEFAULT_MINUTES, scene, in_part=in_part))


def _named_length(text: str) -> int | None:
    """Reads "a free hour" and "a half hour"."""
    if not re.search(r"\bhour\b", text, re.IGNORECASE):
        return None
    return HOUR // 2 if re.search(r"\bhalf\b", text, re.IGNORECASE) else HOUR


def _free_at(moment: datetime, minutes: int, scene: Scene) -> Routine:
    end = moment + timedelta(minutes=minutes)
    period = Period(moment, end, whole_days=False)
    (outcome,) = yield (list_call(period),)
    if outcome.is_error:
        return failure(outcome, "look into your calendar")
    events = within(read_events(outcome, scene), period)
    when = f"{show_moment(moment, scene.today)} ({show_minutes(minutes)}, {scene.zone.key})"
    busy = [event for event in events if not event.all_day]
    if busy:
        return f"No, something is on then:\n{agenda(busy, scene)}"
    whole = [event for event in events if event.all_day]
    return f"Yes, you are free on {when}." + (f"\nAll day then:\n{agenda(whole, scene)}" if whole else "")


def _free_in(period: Period, minutes: int, scene: Scene, *, in_part: bool) -> Routine:
    start = max(period.start, scene.now.replace(second=0, microsecond=0))
    opens = max(period.start.hour, _DAY_BEGINS) if in_part else period.start.hour
    arguments = {"start": start.isoformat(), "end": period.end.isoformat(), "duration": str(minutes)}
    arguments["timezone"] = scene.zone.key
    if not period.whole_days:
        arguments["working_hours"] = f"{opens:02d}:{period.start:%M}-{period.end:%H:%M}"
    (outcome,) = yield (Call("calendar_find_free", arguments),)
    if outcome.is_error:
        return failure(outcome, "look for free time")
    when, wanted = show_days(period.start, period.end, scene.today), show_minutes(minutes)
    slots = rows_of(outcome, "slots", "free")
    lines = []
    for row in slots[:_SHOWN_SLOTS]:
        first, last = moment_of(row.get("start"), scene.zone), moment_of(row.get("end"), scene.zone)
        if first is not None and last is not None:
            lines.append(f"{show_day(first.date(), scene.today)}, {first:%H:%M} to {last:%H:%M}")
    hours = _hours_note(as_mapping(outcome.data).get("working_hours"), period)
    if not lines:
        return f"There is no free stretch of {wanted}: {when}{hours}."
    days = as_list(as_mapping(outcome.data).get("all_day_events"))
    whole = f"\nAll day: {clip(', '.join(str(day) for day in days), 200)}." if days else ""
    return f"You have {wanted} or more free, {when}{hours}:\n{bullets(lines)}{whole}"


def _hours_note(hours: object, period: Period) -> str:
    return f", within {hours}" if isinstance(hours, str) and period.whole_days else ""


def named_period(words: TimeWords, scene: Scene) -> Period:
    """Returns the period named, or the coming months when none is."""
    return read_period(words, scene.now, scene.zone) or coming(scene, _SEARCHED_DAYS)
