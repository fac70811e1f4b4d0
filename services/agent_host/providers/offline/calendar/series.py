"""How much of a series a person means: one of its days, that day and those after it, or all of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_host.providers.offline.calendar.replies import Event
from agent_host.providers.offline.routine import Scene
from agent_host.providers.offline.times.days import Day, DayRange
from agent_host.providers.offline.times.pieces import Span, TimeWords
from agent_host.providers.protocol import JsonValue

_WHOLE_SERIES = re.compile(r"\b(?:series|recurring|whole|entire|completely)\b", re.IGNORECASE)
_EVERY_DAY = re.compile(r"\b(?:all|every)\b", re.IGNORECASE)
_ONLY_ONE = re.compile(r"\b(?:only|just|single|one)\b", re.IGNORECASE)
_FROM_THEN_ON = re.compile(
    r"\b(?:from (?:\w+ ){1,4}?on(?:wards?)?|onwards?|going forward|and (?:all )?(?:following|later)(?: ones)?)\b",
    re.IGNORECASE,
)


def scope_of(target: str, words: TimeWords) -> str:
    """Returns how much of a series the words mean: all of it, one of its days and those after it, or that day alone.

    "All my meetings on Friday" means days, and never a series for the one of its days that is a Friday.
    """
    if _FROM_THEN_ON.search(target):
        return "following"
    dated = any(words.first(kind) is not None for kind in (Day, DayRange, Span))
    whole = _WHOLE_SERIES.search(target) or (_EVERY_DAY.search(target) and not dated)
    return "all" if whole and not _ONLY_ONE.search(target) else "this"


def meant(fitting: Sequence[Event], target: str, scope: str) -> list[Event]:
    """Returns the events meant: a series once when all of it or the rest of it is, the first for "the next one"."""
    if scope == "all":
        return _each_series_once(fitting)
    from_one = scope == "following" or re.search(r"\bnext\b", target, re.IGNORECASE)
    one_series = len({event.series for event in fitting}) == 1
    return list(fitting[:1]) if from_one and one_series and fitting[0].repeats else list(fitting)


def after_today(events: Sequence[Event], scene: Scene) -> list[Event]:
    """Returns the events of later days, or all when there are none: what moves all days is told of one yet to come."""
    later = [event for event in events if event.start.date() > scene.today]
    return later or list(events)


def _each_series_once(events: Sequence[Event]) -> list[Event]:
    return list({event.series: event for event in reversed(events)}.values())[::-1]


def cancelled(event: Event, scope: str) -> dict[str, JsonValue]:
    """Returns the arguments that take out as much of an event as is meant."""
    if not event.repeats:
        return {"id": event.id}
    return {"id": event.series if scope == "all" else event.id, "scope": scope}


def reach_of(event: Event, scope: str) -> str:
    """Says how much of a series a change was about; nothing for an event that stands alone."""
    reach = {"all": " The whole series.", "following": " That day and all after it.", "this": " Only that day."}
    return reach[scope] if event.repeats else ""
