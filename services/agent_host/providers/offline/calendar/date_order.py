"""Dates that two countries read differently ("5/6"): the calendar takes the day first, and the reply says so."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent_host.providers.offline.calendar.booking import Book
from agent_host.providers.offline.calendar.changing import Cancel, Move
from agent_host.providers.offline.calendar.looking import FindFree, ListEvents, NextEvent
from agent_host.providers.offline.routine import Request, Routine, Scene
from agent_host.providers.offline.times.days import Day, DayRange
from agent_host.providers.offline.times.pieces import TimeWords, Until, find_time_words

_DATED = (Book, Cancel, Move, FindFree, ListEvents, NextEvent)
_TWO_WAYS = re.compile(r"(\d{1,2})[/-](\d{1,2})(?:[/-]\d+)?")
_MONTHS = 12


@dataclass(frozen=True)
class DayFirst:
    """A request whose reply begins with how its dates were read."""

    request: Request
    note: str

    def run(self, scene: Scene) -> Routine:
        """Does what was asked; the note stands first, since a question must stay the reply's last line."""
        reply = yield from self.request.run(scene)
        return f"{self.note}\n{reply}"


def naming_date_order(request: Request, text: str) -> Request:
    """Returns a request of the calendar so that it says how it read a date that could be read in two ways."""
    if not isinstance(request, _DATED):
        return request
    read = dict.fromkeys(filter(None, (_reading(day) for day in _days(find_time_words(text)))))
    if not read:
        return request
    return DayFirst(request, f"I read {' and '.join(read)} (the day first); name the month if you meant another day.")


def _days(words: TimeWords) -> Iterator[Day]:
    for item in words.found:
        if isinstance(item.piece, Day):
            yield item.piece
        elif isinstance(item.piece, DayRange):
            yield from (item.piece.first, item.piece.last)
        elif isinstance(item.piece, Until):
            yield item.piece.day


def _reading(day: Day) -> str:
    """Returns "“5/6” as 5 June", or "" for a date that can be read in one way only."""
    match = _TWO_WAYS.fullmatch(day.words)
    if match is None:
        return ""
    first, second = int(match[1]), int(match[2])
    ambiguous = first != second and 1 <= first <= _MONTHS and 1 <= second <= _MONTHS
    return f"“{day.words}” as {first} {calendar.month_name[second]}" if ambiguous else ""
