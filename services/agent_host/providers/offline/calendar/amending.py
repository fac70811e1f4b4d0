"""Corrections of an event right after it was booked or changed: "actually, make it 10", "no, I meant Tuesday"."""

from __future__ import annotations

from agent_host.providers.offline.calendar.changing import Cancel, Move
from agent_host.providers.offline.calendar.replies import Event
from agent_host.providers.offline.patterns import pattern
from agent_host.providers.offline.routine import Request
from agent_host.providers.offline.times.clock import Clock, ClockRange
from agent_host.providers.offline.times.days import Day
from agent_host.providers.offline.times.durations import Duration
from agent_host.providers.offline.times.pieces import Part, find_time_words
from agent_host.providers.offline.times.zones import Zone
from agent_host.providers.offline.wording import stems

_LEAD = pattern(
    r"(?:(?:oh|ah|hm+|ok(?:ay)?|and|but|please)\b[,.! ]+)*",
    r"(?:(?:no|nope|actually|sorry|wait|oops|correction|my mistake|rather|not quite|i (?:was wrong|meant|mean)|",
    r"that(?:.?s| is|.?s all) (?:wrong|not right))\b[,.:;!\u2013\u2014 ]+)+(?:that )?",
)
_CHANGE = pattern(r"(?:let.?s )?(?:make|move|change|set|shift|put|have|book(?= it| that)|reschedule)\b")
_DROP = pattern(r"(?:delete|remove|drop|scrap) (?:it|that|this)(?: again| please)?[.!]*")
_SHOULD = pattern(r".*\b(?:should (?:be|start)|instead|rather)\b")
_DOUBT = pattern(
    r".*(?:\b(?:if|what|when|where|who|why|how|which|did|was|were|could|would|will|had|not|never|or|again|also|too|another|same)\b|n['\u2019]?t\b)"
)
_AROUND = pattern(
    r"\b(?:make|move|change|set|shift|put|have|book|reschedule|let.?s|let|instead|rather|start|starts|please|time|day|"
    r"meeting|event|appointment|then)\b"
)
_BARE_HOUR = pattern(
    r"((?:^|\b(?:it|that|this|to|is|be|for))[, ]*)",
    r"(\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?=(?: instead| please| then)?[.! ]*$)",
)
_CHANGEABLE = (Day, Clock, ClockRange, Part, Duration, Zone)


def amendment(text: str, event: Event) -> Request | None:
    """Returns the change of an event that a correction asks for, or None when it is none.

    It must begin as a correction or as an order to change, and hold nothing but times, the event's own words and small
    words: anything more may mean something else.
    """
    lead = _LEAD.match(text)
    said = text[lead.end() :] if lead is not None else text
    if _DROP.fullmatch(said):
        return Cancel("it")
    if _DOUBT.match(said) or not (lead or _CHANGE.match(said) or _SHOULD.match(said)):
        return None
    words = find_time_words(_BARE_HOUR.sub(r"\1at \2", said))
    changeable = all(isinstance(item.piece, _CHANGEABLE) for item in words.found)
    if not words.found or not changeable or len(words.all(Clock)) > 1 or len(words.all(Day)) > 1:
        return None
    return None if stems(_AROUND.sub(" ", words.rest())) - stems(event.title) else Move("it", words.said())
