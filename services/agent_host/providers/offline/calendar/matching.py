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
    r"series|that|this|it|them|whole|recurring|from|in|off|on|calendar|agenda|schedule|occurrences?|of|only|just|single|once|"
    r"next|onwards?|going forward|and (?:all )?(?:following|later)(?: ones)?)\b|(?<!\w)[\u2019']s\b",
    re.IGNORECASE,
)
_CLOSE = 0.5
_WORD = re.compile(r"[^\W_]+")
_LONGEST_RUN = 5  # words


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
    fits = [(_fit(wanted, event), event) for event in timed]
    best = max((fit for fit, _ in fits), default=0.0)
    return [event for fit, event in fits if fit == best and fit >= _CLOSE]


def _fit(wanted: str, event: Event) -> float:
    """Returns what part of the words an event holds, 0 to 1; "standup" is "Stand-up"."""
    words = _WORD.findall(event.title.casefold())
    together = "".join(_WORD.findall(wanted.casefold())).removesuffix("s")
    runs = ("".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, start + _LONGEST_RUN))
    if together and any(run.removesuffix("s") == together for run in runs):
        return 1.0
    return coverage(wanted, f"{event.title} {event.location}")
