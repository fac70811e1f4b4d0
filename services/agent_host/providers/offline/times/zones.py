"""Time zones by the names people use: "UTC", "CET", "New York time", "in Tokyo"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from agent_host.providers.offline.times.tokens import Match, Token, word_at

WHOSE_CLOCK = "On whose clock is"
_LONGEST_NAME = 3
_IN_PLACE = re.compile(r"\bin ([^\W\d_][\w.'\u2019-]*(?: [^\W\d_][\w.'\u2019-]*){0,2})", re.IGNORECASE)
_ABBREVIATIONS = {
    "UTC": "UTC", "GMT": "UTC", "BST": "Europe/London", "WET": "Europe/Lisbon", "CET": "Europe/Paris",
    "CEST": "Europe/Paris", "EET": "Europe/Athens", "EST": "America/New_York", "EDT": "America/New_York",
    "ET": "America/New_York", "CST": "America/Chicago", "CDT": "America/Chicago", "CT": "America/Chicago",
    "MST": "America/Denver", "MDT": "America/Denver", "MT": "America/Denver", "PST": "America/Los_Angeles",
    "PDT": "America/Los_Angeles", "PT": "America/Los_Angeles", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo",
    "AEST": "Australia/Sydney", "AEDT": "Australia/Sydney",
}  # fmt: skip
_PLACES = {
    "pacific": "America/Los_Angeles", "eastern": "America/New_York", "central european": "Europe/Paris",
    "mountain": "America/Denver", "san francisco": "America/Los_Angeles", "seattle": "America/Los_Angeles",
    "boston": "America/New_York", "washington": "America/New_York", "munich": "Europe/Berlin",
    "hamburg": "Europe/Berlin", "frankfurt": "Europe/Berlin", "porto": "Europe/Lisbon", "barcelona": "Europe/Madrid",
    "milan": "Europe/Rome", "geneva": "Europe/Zurich", "mumbai": "Asia/Kolkata", "delhi": "Asia/Kolkata",
    "bangalore": "Asia/Kolkata", "beijing": "Asia/Shanghai", "osaka": "Asia/Tokyo", "manchester": "Europe/London",
    "edinburgh": "Europe/London", "austin": "America/Chicago", "rio": "America/Sao_Paulo",
}  # fmt: skip


@dataclass(frozen=True)
class Zone:
    """An IANA time zone, by its key."""

    key: str


@cache
def _keys() -> dict[str, str]:
    """Returns the IANA keys that name a place, by the whole key and by its last part, both case-folded."""
    places = sorted((key for key in available_timezones() if "/" in key), reverse=True)  # "posixrules" is no place
    return {name: key for key in places for name in (key.casefold(), key.rpartition("/")[2].casefold())}


def find_zone(place: str) -> ZoneInfo | None:
    """Returns the zone of an IANA key, an abbreviation or a city that names one; None when there is none."""
    name = place.strip(" .?!")
    key = _ABBREVIATIONS.get(name.upper()) or _PLACES.get(name.casefold())
    if key is None:
        key = _keys().get(name.casefold().replace(" ", "_"))
    try:
        return ZoneInfo(key) if key else None
    except (ZoneInfoNotFoundError, ValueError):
        return None


def whose_clock(text: str, moment: datetime, zone: ZoneInfo) -> str:
    """Returns what to ask when "in New York" may say whose clock a time is of, or "".

    `text` holds no time words, `moment` is the naive time, `zone` the person's.
    """
    for match in _IN_PLACE.finditer(text):
        words = match[1].split()
        for length in range(len(words), 0, -1):
            place = " ".join(words[:length])
            there = find_zone(place)
            if there is not None:
                same = moment.replace(tzinfo=there).utcoffset() == moment.replace(tzinfo=zone).utcoffset()
                here = zone.key.rpartition("/")[2].replace("_", " ")
                where = " ".join(word[:1].upper() + word[1:] for word in place.split())
                return "" if same else f"{WHOSE_CLOCK} {moment:%H:%M}? Say “{where} time” or “{here} time”."
    return ""


def _iana(tokens: Sequence[Token], index: int) -> Match[Zone]:
    """Reads a key as IANA writes it, such as "America/New_York"."""
    end = index + 1
    while end < len(tokens) and tokens[end].joined and (tokens[end].raw in "/_" or tokens[end].raw.isalpha()):
        end += 1
    key = "".join(token.raw for token in tokens[index:end])
    zone = find_zone(key) if "/" in key else None
    return (end, Zone(zone.key)) if zone is not None else None


def read_zone(tokens: Sequence[Token], index: int) -> Match[Zone]:
    """Reads an abbreviation in capitals, an IANA key, or up to three words before "time"."""
    if index >= len(tokens):
        return None
    key = _ABBREVIATIONS.get(tokens[index].raw)
    if key is not None:
        end = index + 2 if word_at(tokens, index + 1) == "time" else index + 1
        return end, Zone(key)
    for length in range(1, _LONGEST_NAME + 1):
        last = index + length
        if word_at(tokens, last) == "time":
            zone = find_zone(" ".join(token.raw for token in tokens[index:last]))
            return (last + 1, Zone(zone.key)) if zone is not None else None
    return _iana(tokens, index)
