"""Changing the calendar: cancelling and moving what is there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_host.providers.offline.calendar.looking import list_call, named_period
from agent_host.providers.offline.calendar.matching import choose, matching, title_words
from agent_host.providers.offline.calendar.replies import (
    Event,
    agenda,
    read_event_row,
    read_events,
    show_event,
)
from agent_host.providers.offline.questions import WHICH_ONE
from agent_host.providers.offline.results import failure, object_of
from agent_host.providers.offline.routine import Call, Outcome, Routine, Scene
from agent_host.providers.offline.times.days import Day
from agent_host.providers.offline.times.events import Unclear, read_event
from agent_host.providers.offline.times.format import show_days
from agent_host.providers.offline.times.periods import Period, read_moment
from agent_host.providers.offline.times.pieces import find_time_words
from agent_host.providers.offline.wording import numbered
from agent_host.providers.protocol import JsonValue

_SHOWN = 9
_WHOLE_SERIES = re.compile(r"\b(?:all|every|series|recurring|whole|entire|completely)\b", re.IGNORECASE)


def _nothing(target: str, period: Period, events: Sequence[Event], scene: Scene) -> str:
    """Says that no event fits, and what there is instead when a short period was named."""
    wanted = title_words(target)
    called = f" called “{wanted}”" if wanted else ""
    there = f"\nWhat is there:\n{agenda(events, scene)}" if 0 < len(events) < 8 else ""  # noqa: PLR2004 - a short list
    return f"I found nothing{called} in your calendar, {show_days(period.start, period.end, scene.today)}.{there}"


def _which(events: Sequence[Event], scene: Scene) -> str:
    shown = list(events)[:_SHOWN]
    more = f"\n… and {len(events) - len(shown)} more." if len(events) > len(shown) else ""
    return f"These events fit:\n{numbered(show_event(event, scene) for event in shown)}{more}\n\n{WHICH_ONE}"


def _deleted(event: Event, outcome: Outcome, scene: Scene) -> str:
    if outcome.is_error:
        return failure(outcome, f"cancel “{event.title}”")
    return f"Cancelled. {show_event(event, scene)}."


@dataclass(frozen=True)
class Cancel:
    """Take an event out of the calendar."""

    target: str

    def run(self, scene: Scene) -> Routine:
        """Finds the event meant and deletes it; asks when several fit, and never drops a series for one of its days."""
        words = find_time_words(self.target)
        period = named_period(words, scene)
        (listed,) = yield (list_call(period),)
        if listed.is_error:
            return failure(listed, "look into your calendar, so I cancelled nothing")
        events = read_events(listed, scene)
        found = matching(events, words, scene)
        found = _each_series_once(found) if _WHOLE_SERIES.search(self.target) else found
        chosen = choose(found, scene.choice) if scene.choice is not None else found
        if not chosen:
            return _nothing(words.rest(), period, events, scene)
        vague = not words.found and not title_words(words.rest())
        if (len(chosen) > 1 or vague) and scene.choice is None:
            return _which(found, scene)
        if chosen[0].repeats and not _WHOLE_SERIES.search(self.target):
            return (
                f"“{chosen[0].title}” repeats, and I can only cancel the whole series, so I cancelled nothing. "
                f"Say “cancel the whole {chosen[0].title} series” if that is what you want."
            )
        outcomes = yield tuple(Call("calendar_delete_event", {"id": event.id}) for event in chosen)
        return "\n".join(_deleted(event, outcome, scene) for event, outcome in zip(chosen, outcomes, strict=True))


def _each_series_once(events: Sequence[Event]) -> list[Event]:
    return list({event.id: event for event in reversed(events)}.values())[::-1]


@dataclass(frozen=True)
class Move:
    """Give an event another time: `target` names it, `to` says when it is to be."""

    target: str
    to: str

    def run(self, scene: Scene) -> Routine:
        """Finds the event meant and changes its start; its length stays."""
        words = find_time_words(self.target)
        period = named_period(words, scene)
        (listed,) = yield (list_call(period),)
        if listed.is_error:
            return failure(listed, "look into your calendar, so I moved nothing")
        events = read_events(listed, scene)
        found = matching(events, words, scene)
        chosen = choose(found, scene.choice) if scene.choice is not None else found
        if not chosen:
            return _nothing(words.rest(), period, events, scene)
        if len(chosen) > 1 or (scene.choice is None and not words.found and not title_words(words.rest())):
            return _which(found, scene)
        event = chosen[0]
        call = _move_call(event, self.to, scene)
        if isinstance(call, Unclear):
            return call.question
        (moved,) = yield (call,)
        if moved.is_error:
            return failure(moved, f"move “{event.title}”")
        now = read_event_row(object_of(moved, "event"), scene)
        return f"Moved. {show_event(now or event, scene)}.\nBefore it was: {show_event(event, scene)}."


def _move_call(event: Event, to: str, scene: Scene) -> Call | Unclear:
    """Returns the call that changes the times; a new day keeps the clock time, a new clock time keeps the day."""
    to = f"at {to}" if to[:1].isdigit() else to
    words = find_time_words(to)
    moment = read_moment(words, scene.now, scene.zone)
    has_day = words.first(Day) is not None
    said = to if moment is not None else f"{to} at {event.start:%H:%M}"
    said = said if has_day or moment is None else f"{said} on {event.start:%Y-%m-%d}"
    times = read_event(find_time_words(said), scene.now, scene.zone)
    if isinstance(times, Unclear):
        return times
    start = times[0].start
    end = times[0].end or start + (event.end - event.start)
    arguments: dict[str, JsonValue] = {"id": event.id, "start": start.isoformat(), "end": end.isoformat()}
    return Call("calendar_update_event", {**arguments, "timezone": times[0].zone.key})
