"""Booking an event: its title, its times, and the call that stores it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from agent_host.providers.offline.calendar.replies import (
    agenda,
    read_event_row,
    read_events,
    remarks,
    show_event,
    show_rule,
)
from agent_host.providers.offline.questions import WHAT_TO_BOOK
from agent_host.providers.offline.results import as_mapping, failure, object_of
from agent_host.providers.offline.routine import Call, Outcome, Routine, Scene
from agent_host.providers.offline.times.events import EventTimes, Unclear, read_event
from agent_host.providers.offline.times.pieces import find_time_words
from agent_host.providers.offline.wording import capitalised, clip, tidy
from agent_host.providers.protocol import JsonValue

_LONGEST_TITLE = 300
_DEFAULT_LENGTH = timedelta(hours=1)
_LEADING = re.compile(
    r"^(?:(?:i(?: have|.?ve got|.?ve)|we have|there is|there.?s|me|us|let.?s|in|a|an|the|another|some"
    r"|my|our|new|recurring|event|entry|appointment|meeting|called|titled|named|for|to|that|put|add|one|two|three|four|five|six|[2-6])\b[:,]?\s*)+",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"(?:two|three|four|five|six|[2-6]) \w+(?: \w+)*s$", re.IGNORECASE)
_JUST_TIME = ("calendar", "time", "slot", "time slot", "schedule")
_POINTERS = ("it", "that", "this", "them", "one", "something", "anything")
_KEPT = re.compile(r"(?:appointment|meeting|event|entry)\b", re.IGNORECASE)
_CALENDAR = re.compile(
    r"\s*\b(?:in|to|into|on|onto) (?:the |my |our )?(?:calendar|agenda|diary|schedule)\b", re.IGNORECASE
)
_TRAILING = re.compile(
    r"(?:[\s,;:.!?-]|\b(?:at|on|for|from|to|by|and|before|after|instead|rather|then|please|thanks|thank you|"
    r"starting|due))+$",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"(?:(?:me|us)\s+)?(?:nothing|none|nobody|no (?:one|more)|not|never)\b", re.IGNORECASE)
_AFTER_TIMES = re.compile(
    r"(?:\s*[,;])+\s+(?=(?:with|at|in|for|about|between|please|thanks|thank you)\b)", re.IGNORECASE
)
_IT_AND_MORE = re.compile(r"(?:it|them|him|her)\s+(?!in |into |to |on )\w", re.IGNORECASE)
_LEFTOVER = re.compile(
    r"\s[,;.]\s*\w|\?\s*\w|(?:[,;.!\n]\s*|\band\s+)(?:(?:and|then|also|please)\s+)*(?:remember|remind|forget|book|"
    r"schedule|cancel|move|draft|e-?mail|send|text|tell|ask|invite|note|take|add|find|search|what|when|who|where|don.?t)\b",
    re.IGNORECASE,
)


def unclear_title(rest: str) -> str:
    """Returns why a sentence without its time words gives no title, or "" when it may give one.

    A comma in what is left, or a verb of another request, tells that more was said than a name.
    """
    if re.search(r"[\"“].{2,}?[\"”]", rest):
        return ""
    if _NOTHING.match(rest):
        return "All right, I booked nothing."
    plain = _TRAILING.sub("", _AFTER_TIMES.sub(" ", rest))
    if not _LEFTOVER.search(plain) and not _IT_AND_MORE.match(plain):
        return ""
    return (
        f"I booked nothing: I can't tell what of “{clip(tidy(rest), 80)}” is its name. "
        "Ask for one thing at a time, such as “book lunch on Friday at noon”."
    )


def title_of(rest: str) -> str:
    """Returns an event's title from what is left of a sentence without its time words; "" for a mere "it"."""
    plain = tidy(_AFTER_TIMES.sub(" ", _CALENDAR.sub(" ", rest)))
    quoted = re.search(r"[\"“](.{2,}?)[\"”]", plain)
    if quoted is not None:
        return quoted[1].strip()
    plain = _TRAILING.sub("", plain)
    counted = _COUNTED.match(plain)
    plain = plain.removesuffix("s") if counted is not None else plain
    bare = _LEADING.sub("", plain)
    if not bare or bare.split()[0].casefold() in ("with", "about", "at", "between"):
        kept = _KEPT.search(plain)
        bare = plain[kept.start() :] if kept else bare
    title = capitalised(tidy(bare))[:_LONGEST_TITLE]
    if title.casefold() in _JUST_TIME:
        return "Busy"
    return "" if title.casefold() in _POINTERS else title


def booking_call(title: str, times: EventTimes) -> Call:
    """Returns the call that stores an event; a length nobody named is left to the calendar."""
    arguments: dict[str, JsonValue] = {"title": title}
    if times.all_day:
        arguments["start"] = times.start.date().isoformat()
        last = ((times.end or times.start) - timedelta(days=1)).date()
        if last > times.start.date():
            arguments["end"] = last.isoformat()
        arguments["all_day"] = True
    else:
        arguments["start"] = times.start.isoformat()
        if times.end is not None:
            arguments["end"] = times.end.isoformat()
        arguments["timezone"] = times.zone.key
    if times.rule is not None:
        arguments["recurrence"] = times.rule
    return Call("calendar_create_event", arguments)


def _booked(outcome: Outcome, scene: Scene) -> str:
    if outcome.is_error:
        return failure(outcome, "book that")
    row = object_of(outcome, "event")
    event = read_event_row(row, scene)
    shown = show_event(event, scene) if event is not None else clip(outcome.content, _LONGEST_TITLE)
    if as_mapping(outcome.data).get("status") == "exists":
        return f"That is in your calendar already, so I added nothing. {shown}."
    rule = f" Repeats {show_rule(event.rule, scene)}." if event is not None and event.rule else ""
    return f"Booked. {shown}.{rule}"


def _unique(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


@dataclass(frozen=True)
class Book:
    """Put something into the calendar. `if_free` asks to look first and to book only when nothing else is there."""

    text: str
    if_free: bool = False

    def run(self, scene: Scene) -> Routine:
        """Stores one event for each day named; asks back when the title, the day or the time is missing."""
        words = find_time_words(self.text)
        unnamed = unclear_title(words.rest())
        if unnamed:
            return unnamed
        title = title_of(words.rest())
        times = read_event(words, scene.now, scene.zone)
        if isinstance(times, Unclear):
            return times.question if title else WHAT_TO_BOOK
        if not title:
            return WHAT_TO_BOOK
        if self.if_free:
            conflict = yield from _conflict(times[0], scene)
            if conflict:
                return conflict
        outcomes = yield tuple(booking_call(title, each) for each in times)
        booked = _unique(_booked(outcome, scene) for outcome in outcomes)
        assumed = _unique(note for each in times for note in each.assumed)
        said = _unique(filter(None, (remarks(outcome) for outcome in outcomes)))
        return "\n".join([*booked, *assumed, *said])


def _conflict(times: EventTimes, scene: Scene) -> Routine:
    """Says what else takes place at that time, or ""."""
    start = times.start.replace(tzinfo=times.zone)
    end = times.end.replace(tzinfo=times.zone) if times.end is not None else start + _DEFAULT_LENGTH
    (outcome,) = yield (Call("calendar_list_events", {"start": start.isoformat(), "end": end.isoformat()}),)
    if outcome.is_error:
        return failure(outcome, "look into your calendar, so I booked nothing")
    busy = [event for event in read_events(outcome, scene) if event.start < end and event.end > start]
    timed = [event for event in busy if not event.all_day]
    return f"You are not free then, so I booked nothing.\n{agenda(timed, scene)}" if timed else ""
