"""Changing the calendar: cancelling and moving what is there."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent_host.providers.offline.calendar.looking import list_call, named_period
from agent_host.providers.offline.calendar.matching import matching, title_words
from agent_host.providers.offline.calendar.replies import (
    Event,
    agenda,
    read_event_row,
    read_events,
    show_event,
)
from agent_host.providers.offline.calendar.series import after_today, cancelled, meant, reach_of, scope_of
from agent_host.providers.offline.patterns import pattern
from agent_host.providers.offline.questions import WHICH_ONE
from agent_host.providers.offline.results import failure, object_of
from agent_host.providers.offline.routine import Call, Calls, Outcome, Outcomes, Routine, Scene, choose
from agent_host.providers.offline.times.clock import Clock, ClockRange
from agent_host.providers.offline.times.days import Day
from agent_host.providers.offline.times.durations import Duration
from agent_host.providers.offline.times.events import Unclear, read_event
from agent_host.providers.offline.times.format import show_days
from agent_host.providers.offline.times.periods import Period
from agent_host.providers.offline.times.pieces import AllDay, Found, Part, TimeWords, find_time_words
from agent_host.providers.offline.wording import numbered, stems
from agent_host.providers.protocol import JsonValue

_SHOWN = 9
_EVENING = 18
_ALL_DAY = Found(AllDay(), 0, 0, 0, 0)
_SEVERAL = pattern(r"\b(?:all|both|every|everything|each|series|other|another|next)\b")
_POINTER = pattern(
    "(?:it|that|this|(?:the|that|this) (?:one|meeting|event|appointment|booking))(?: again| then| instead)?"
)


def _which(events: Sequence[Event], scene: Scene) -> str:
    shown = list(events)[:_SHOWN]
    more = f"\n… and {len(events) - len(shown)} more." if len(events) > len(shown) else ""
    return f"These events fit:\n{numbered(show_event(event, scene) for event in shown)}{more}\n\n{WHICH_ONE}"


def _deleted(event: Event, outcome: Outcome, scene: Scene) -> str:
    if outcome.is_error:
        return failure(outcome, f"cancel “{event.title}”")
    return f"Cancelled. {show_event(event, scene)}."


@dataclass(frozen=True)
class _Search:
    """What was found for a person's words: the events of the period looked through, and those that fit."""

    words: TimeWords
    period: Period
    events: Sequence[Event]
    fitting: list[Event]
    failed: Outcome | None = None
    pointed_at: bool = False

    @property
    def vague(self) -> bool:
        """Whether the words name no event at all ("cancel that")."""
        return not self.pointed_at and not self.words.found and not title_words(self.words.rest())

    @property
    def problem(self) -> str:
        """Why nothing can be changed, or ""; a series that was only pointed at needs its day."""
        if self.failed is not None:
            return failure(self.failed, "look into your calendar, so I changed nothing")
        title = self.fitting[0].title if self.pointed_at and self.fitting[0].repeats else ""
        return title and (
            f"“{title}” repeats, so I changed nothing. Name it with its day (“{title} on Monday”) for that day alone, "
            f"or say “the whole {title} series”."
        )


def _search(target: str, scene: Scene) -> Generator[Calls, Outcomes, _Search]:
    """Looks for the events that words may mean; "on Tuesday", said on a Tuesday, is today or else a week later.

    The event of the turn before is meant by "it", and by its own words without a day.
    """
    words = find_time_words(target)
    last = read_event_row(scene.touched, scene) if scene.touched is not None else None
    if last is not None and _points_at(last, words):
        return _Search(words, named_period(words, scene), (last,), [last], pointed_at=True)
    named = named_period(words, scene)
    later = Period(named.start + timedelta(weeks=1), named.end + timedelta(weeks=1), named.whole_days)
    found = _Search(words, named, (), [])
    for period in (named, later) if _names_this_weekday(words, scene) else (named,):
        (listed,) = yield (list_call(period),)
        if listed.is_error:
            return _Search(words, period, (), [], listed)
        events = read_events(listed, scene)
        fitting = matching(events, words, scene)
        ahead = [event for event in fitting if event.end > scene.now]
        found = _Search(words, period, events, ahead or fitting)  # what is over is meant only when nothing else is
        if found.fitting:
            break
    return found


def _points_at(event: Event, words: TimeWords) -> bool:
    if words.found or _SEVERAL.search(words.text):
        return False
    wanted = stems(title_words(words.rest()))
    return wanted <= stems(event.title) if wanted else _POINTER.fullmatch(words.text.strip()) is not None


def _nothing(search: _Search, scene: Scene) -> str:
    """Says that no event fits, and what there is instead when that is little."""
    wanted, period = title_words(search.words.rest()), search.period
    called = f" called “{wanted}”" if wanted else ""
    there = f"\nWhat is there:\n{agenda(search.events, scene)}" if 0 < len(search.events) < _SHOWN else ""
    return f"I found nothing{called} in your calendar, {show_days(period.start, period.end, scene.today)}.{there}"


def _names_this_weekday(words: TimeWords, scene: Scene) -> bool:
    day = words.first(Day)
    return day is not None and day.weekday == scene.today.weekday() and not day.week


@dataclass(frozen=True)
class Cancel:
    """Take an event out of the calendar."""

    target: str

    def run(self, scene: Scene) -> Routine:
        """Finds the event meant and deletes it; asks when several fit, and never drops a series for one of its days."""
        search = yield from _search(self.target, scene)
        if search.problem:
            return search.problem
        scope = scope_of(self.target, search.words)
        fitting = meant(search.fitting, self.target, scope)
        chosen = choose(fitting, scene.choice) if scene.choice is not None else fitting
        if not chosen:
            return _nothing(search, scene)
        if (len(chosen) > 1 or search.vague) and scene.choice is None:
            return _which(fitting, scene)
        if scope != "all" and any(event.repeats and not event.series_id for event in chosen):
            return (
                f"“{chosen[0].title}” repeats, and I can only cancel the whole series, so I cancelled nothing. "
                f"Say “cancel the whole {chosen[0].title} series” if that is what you want."
            )
        outcomes = yield tuple(Call("calendar_delete_event", cancelled(event, scope)) for event in chosen)
        return "\n".join(
            f"{_deleted(event, outcome, scene)}{'' if outcome.is_error else reach_of(event, scope)}"
            for event, outcome in zip(chosen, outcomes, strict=True)
        )


@dataclass(frozen=True)
class Move:
    """Give an event another time or name; `target` names it.

    `to` says when it is to be or how long, `shift` by how many minutes it moves, `title` what it shall be called.
    """

    target: str
    to: str = ""
    shift: int = 0
    title: str = ""

    def run(self, scene: Scene) -> Routine:
        """Finds the event meant and changes it; what was not named stays. Of a series one day changes alone."""
        search = yield from _search(self.target, scene)
        if search.problem:
            return search.problem
        scope = scope_of(f"{self.target} {self.to}", search.words)
        fitting = meant(after_today(search.fitting, scene) if scope == "all" else search.fitting, self.target, scope)
        chosen = choose(fitting, scene.choice) if scene.choice is not None else fitting
        if not chosen:
            return _nothing(search, scene)
        if len(chosen) > 1 or (scene.choice is None and search.vague):
            return _which(fitting, scene)
        event = chosen[0]
        call = _change_call(event, self, scene, scope)
        if isinstance(call, str):
            return call
        (moved,) = yield (call,)
        if moved.is_error:
            return failure(moved, f"change “{event.title}”")
        now = read_event_row(object_of(moved, "event"), scene)
        return (
            f"{'Renamed' if self.title else 'Moved'}. {show_event(now or event, scene)}.{reach_of(event, scope)}"
            f"\nBefore it was: {show_event(event, scene)}."
        )


def _change_call(event: Event, move: Move, scene: Scene, scope: str) -> Call | str:
    """Returns the call that changes an event, or why there is none."""
    if event.repeats and not event.series_id:
        return (
            f"“{event.title}” repeats, and I cannot change one of its days alone, so I changed nothing. "
            f"Say “cancel the whole {event.title} series” and book it anew if that is what you want."
        )
    changed = {"title": move.title} if move.title else _new_times(event, move, scene)
    if isinstance(changed, str):
        return changed
    reach: dict[str, JsonValue] = {"scope": scope} if event.repeats else {}
    return Call("calendar_update_event", {"id": event.id, **changed, **reach})


def _new_times(event: Event, move: Move, scene: Scene) -> dict[str, JsonValue] | str:
    """Returns the times to send, or why there are none.

    A new day keeps the clock time, a new clock time keeps the day, and a new length keeps both.
    """
    to = f"at {move.to}" if move.to[:1].isdigit() else move.to
    words = find_time_words(to)
    has_clock = bool(words.all(Clock) or words.all(ClockRange))
    length, has_day = words.first(Duration), words.first(Day) is not None
    if event.all_day:
        return _new_days(event, words, scene)
    if move.shift or (length is not None and not has_clock and not has_day):
        start = (event.start + timedelta(minutes=move.shift)).replace(tzinfo=None)
        lasts = event.end - event.start if move.shift or length is None else timedelta(minutes=length.minutes)
        return _times(start, start + lasts, scene.zone.key)
    said = to if has_clock else f"{to} at {event.start:%H:%M}"
    said = f"{said} in the evening" if event.start.hour >= _EVENING and not words.all(Part) else said  # dinner "at 9"
    said = said if has_day or not has_clock else f"{said} on {event.start:%Y-%m-%d}"
    times = read_event(find_time_words(said), scene.now, scene.zone)
    if isinstance(times, Unclear):
        return times.question
    if len(times) > 1:
        return "That names several days, so I changed nothing. Say one of them."
    start = times[0].start
    return _times(start, times[0].end or start + (event.end - event.start), times[0].zone.key)


def _times(start: datetime, end: datetime, zone: str) -> dict[str, JsonValue]:
    return {"start": start.isoformat(), "end": end.isoformat(), "timezone": zone}


def _new_days(event: Event, words: TimeWords, scene: Scene) -> dict[str, JsonValue] | str:
    """Moves a whole day to another one."""
    times = read_event(TimeWords(f"{words.text} all day", (*words.found, _ALL_DAY)), scene.now, scene.zone)
    if isinstance(times, Unclear) or not all(isinstance(item.piece, Day) for item in words.found):
        return f"“{event.title}” takes whole days, so I changed nothing. Say which day it should be."
    last = times[0].start + (event.end - event.start) - timedelta(days=1)
    return {"start": times[0].start.date().isoformat(), "end": last.date().isoformat(), "all_day": True}
