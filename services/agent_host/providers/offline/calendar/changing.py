"""Changing the calendar: cancelling and moving what is there."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from datetime import timedelta

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
from agent_host.providers.offline.questions import WHICH_ONE
from agent_host.providers.offline.results import failure, object_of
from agent_host.providers.offline.routine import Call, Calls, Outcome, Outcomes, Routine, Scene, choose
from agent_host.providers.offline.times.days import Day
from agent_host.providers.offline.times.events import Unclear, read_event
from agent_host.providers.offline.times.format import show_days
from agent_host.providers.offline.times.periods import Period, read_moment
from agent_host.providers.offline.times.pieces import TimeWords, find_time_words
from agent_host.providers.offline.wording import numbered
from agent_host.providers.protocol import JsonValue

_SHOWN = 9


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

    @property
    def vague(self) -> bool:
        """Whether the words name no event at all ("cancel that")."""
        return not self.words.found and not title_words(self.words.rest())


def _search(target: str, scene: Scene) -> Generator[Calls, Outcomes, _Search]:
    """Looks for the events that words may mean; "on Tuesday", said on a Tuesday, is today or else a week later."""
    words = find_time_words(target)
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
        if search.failed is not None:
            return failure(search.failed, "look into your calendar, so I cancelled nothing")
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
    """Give an event another time: `target` names it, `to` says when it is to be."""

    target: str
    to: str

    def run(self, scene: Scene) -> Routine:
        """Finds the event meant and changes its start; its length stays. Of a series one day moves alone."""
        search = yield from _search(self.target, scene)
        if search.failed is not None:
            return failure(search.failed, "look into your calendar, so I moved nothing")
        scope = scope_of(f"{self.target} {self.to}", search.words)
        fitting = meant(after_today(search.fitting, scene) if scope == "all" else search.fitting, self.target, scope)
        chosen = choose(fitting, scene.choice) if scene.choice is not None else fitting
        if not chosen:
            return _nothing(search, scene)
        if len(chosen) > 1 or (scene.choice is None and search.vague):
            return _which(fitting, scene)
        event = chosen[0]
        call = _move_call(event, self.to, scene, scope)
        if isinstance(call, str):
            return call
        (moved,) = yield (call,)
        if moved.is_error:
            return failure(moved, f"move “{event.title}”")
        now = read_event_row(object_of(moved, "event"), scene)
        return (
            f"Moved. {show_event(now or event, scene)}.{reach_of(event, scope)}"
            f"\nBefore it was: {show_event(event, scene)}."
        )


def _move_call(event: Event, to: str, scene: Scene, scope: str) -> Call | str:
    """Returns the call that changes the times, or why there is none.

    A new day keeps the clock time, a new clock time keeps the day.
    """
    if event.repeats and not event.series_id:
        return (
            f"“{event.title}” repeats, and I cannot move one of its days alone, so I moved nothing. "
            f"Say “cancel the whole {event.title} series” and book it anew if that is what you want."
        )
    to = f"at {to}" if to[:1].isdigit() else to
    words = find_time_words(to)
    moment = read_moment(words, scene.now, scene.zone)
    has_day = words.first(Day) is not None
    said = to if moment is not None else f"{to} at {event.start:%H:%M}"
    said = said if has_day or moment is None else f"{said} on {event.start:%Y-%m-%d}"
    times = read_event(find_time_words(said), scene.now, scene.zone)
    if isinstance(times, Unclear):
        return times.question
    start = times[0].start
    end = times[0].end or start + (event.end - event.start)
    arguments: dict[str, JsonValue] = {"id": event.id, "start": start.isoformat(), "end": end.isoformat()}
    if event.repeats:
        arguments["scope"] = scope
    return Call("calendar_update_event", {**arguments, "timezone": times[0].zone.key})
