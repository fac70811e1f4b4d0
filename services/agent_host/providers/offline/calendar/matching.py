"""Which of the listed events a person means."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_host.providers.offline.calendar.replies import Event
from agent_host.providers.offline.routine import Scene
from agent_host.providers.offline.times.periods import read_moment
from agent_host.providers.offline.times.pieces import TimeWords
from agent_host.providers.offline.wording import coverage, tidy

_GENERIC = re.compile(
    r"\b(?:the|my|our|a|an|all|any|every|everything|meetings?|appointments?|events?|entry|entries|bookings?|thing|one|"
    r"series|that|this|it|them|whole|recurring|from|in|off|on|calendar|agenda|schedule|occurrences?|of)\b",
    re.IGNORECASE,
)
_CLOSE = 0.5


def title_words(target: str) -> str:
    """Returns what of a person's words may stand in a title; "" when they only say "the meeting"."""
    return tidy(_GENERIC.sub(" ", target))


def _at_time(events: Sequence[Event], words: TimeWords, scene: Scene) -> list[Event]:
    """Keeps the events that start at the clock time named; the day has been looked for already."""
    moment = read_moment(words, scene.now, scene.zone)
    if moment is None:
        return list(events)
    return [event for event in events if event.start.time() == moment.time() and not event.all_day]


def matching(events: Sequence[Event], target: TimeWords, scene: Scene) -> list[Event]:
    """Returns the events whose title holds the most of the target's words, and that start when it says.

    At least half of the words must be there; a target without any takes every event.
    """
    timed = _at_time(events, target, scene)
    wanted = title_words(target.rest())
    if not wanted:
        return timed
    fits = [(coverage(wanted, f"{event.title} {event.location}"), event) for event in timed]
    best = max((fit for fit, _ in fits), default=0.0)
    return [event for fit, event in fits if fit == best and fit >= _CLOSE]
