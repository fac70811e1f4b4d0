"""Time zones in calendar files: each file's own definitions for itself, and ours where one is missing. Pure.

Programs give different zones the same name (`Customized Time Zone` is Outlook's), and the iCalendar library keeps one
zone per name for the whole process. So a zone that only its file knows gets a mark of its definition behind its name
while it is in memory, and loses it where it is written.
"""

import contextlib
import copy
import hashlib
import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import icalendar
from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from tools_mcp.calendar.properties import moment, several
from tools_mcp.calendar.recurrence import first_date
from tools_mcp.calendar.vtimezone import parts_of

_MARK = "\ue000"  # of the private use area: no program writes it
_FOLD = re.compile(r"\r?\n[ \t]")
_CALENDAR = re.compile(r"(?=^BEGIN:VCALENDAR\s*$)", re.MULTILINE | re.IGNORECASE)
_BLOCK = re.compile(
    r"^BEGIN:VTIMEZONE[ \t]*\r?\n.*?^END:VTIMEZONE[ \t]*\r?\n", re.MULTILINE | re.DOTALL | re.IGNORECASE
)
_NAME = re.compile(r"^(TZID(?:;[^:\r\n]*)?:)(.+?)[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_RULE = re.compile(r"^RRULE(?:;[^:\r\n]*)?:(.*?)[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_MOST_VALUES = 20
_ANY_START = datetime(1970, 1, 1)  # noqa: DTZ001 - wall clock time, and no date of any rule depends on it
_FIRST, _LAST = 1850, 2199
_LATE = "This timezone only works from"
_REACH = 10  # years after the last start, for zones whose changes follow no rule


def told_apart(text: str) -> str:
    """Return iCalendar text in which every zone that only this text knows has a name that is its own.

    Raises:
        ValueError: A zone's clock would change so often that no time in it could be told soon.
    """
    custom = [block for block in _BLOCK.findall(text) if _is_custom(block)]
    if not custom:
        return text
    if not all(_is_calm(rule.upper()) for block in custom for rule in _RULE.findall(_FOLD.sub("", block))):
        raise ValueError("a zone changes too often")
    return "".join(_marked(part) for part in _CALENDAR.split(_FOLD.sub("", text)))


def without_known(text: str) -> str:
    """Return iCalendar text without the definitions of zones that the time zone database has."""
    return _BLOCK.sub(lambda block: block[0] if _is_custom(block[0]) else "", text)


def complete(calendar: icalendar.Calendar) -> icalendar.Calendar:
    """Return a calendar as it is written: with a definition of every zone its events use, each under its plain name."""
    starts = [start for event in calendar.walk("VEVENT") if isinstance(start := moment(event, "DTSTART"), date)]
    years = [start.year for start in starts]
    first, last = _in_reach(min(years, default=2026)), _in_reach(max(years, default=2026)) + _REACH
    if any(_MARK in _tzid(zone) for zone in calendar.walk("VTIMEZONE")):
        calendar = copy.deepcopy(calendar)
        _unmark(calendar)
    kept = [zone for zone in calendar.walk("VTIMEZONE") if not _known(_tzid(zone)) or _holds_from(zone, first)]
    names = sorted(calendar.get_used_tzids() - {_tzid(zone) for zone in kept})
    rest = [part for part in calendar.subcomponents if part.name != "VTIMEZONE"]
    written = icalendar.Calendar(calendar)
    written.subcomponents = [*kept, *_made(names, first, last), *rest]
    return written


def _made(names: Iterable[str], first: int, last: int) -> Iterator[icalendar.Component]:
    for name in names:
        with contextlib.suppress(ZoneInfoNotFoundError, ValueError, OSError):  # a name that nobody knows stays as it is
            zone = icalendar.Timezone.from_ical(parts_of(WINDOWS_TO_OLSON.get(name, name), first, last))
            zone["TZID"] = icalendar.vText(name)
            yield zone


def _in_reach(year: int) -> int:
    """Return the year, or the nearest in which clocks change at all as far as anybody knows."""
    return min(max(year, _FIRST), _LAST)


def _holds_from(zone: icalendar.Component, year: int) -> bool:
    """Whether a definition begins before a year; those that our earlier versions wrote are an hour late each spring."""
    if str(zone.get("COMMENT", "")).startswith(_LATE):
        return False
    starts = [moment(part, "DTSTART") for part in zone.subcomponents]
    return any(start.year < year for start in starts if isinstance(start, date))


def _is_calm(rule: str) -> bool:
    """Whether a rule of a zone leads to a few dates of a year: reading a time goes through all of them."""
    values = sum(len(part.split(",")) for part in rule.split(";"))
    by_year = "FREQ=YEARLY" in rule and not re.search(r"BY(?:HOUR|MINUTE|SECOND)=", rule)
    return by_year and values <= _MOST_VALUES and first_date(rule, _ANY_START) is not None


def _is_custom(block: str) -> bool:
    name = _NAME.search(block)
    return name is not None and not _known(_unescaped(name[2]))


def _known(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _marked(calendar: str) -> str:
    """Mark the zones of one calendar, and put their definitions before what uses them."""
    blocks = [block for block in _BLOCK.findall(calendar) if _is_custom(block)]
    marks: dict[str, str] = {}
    for block in blocks:
        if name := _NAME.search(block):
            digest = hashlib.sha256(_as_written(block)).hexdigest()[:12]
            marks.setdefault(_plain(_unescaped(name[2])), f"{_MARK}{digest}")
    for plain, mark in marks.items():
        use = re.compile(rf'(?<!\\);TZID=("?){re.escape(plain)}(?:{_MARK}\w*)?\1(?=[;:])', re.IGNORECASE)
        calendar = use.sub(f';TZID="{plain}{mark}"'.replace("\\", r"\\"), calendar)
    rest = _BLOCK.sub(lambda block: "" if _is_custom(block[0]) else block[0], calendar)
    head, line, body = rest.partition("\n")
    return "".join((head, line, *(_renamed(block, marks) for block in blocks), body))


def _as_written(block: str) -> bytes:
    """Return a definition the way the library writes it, so that its mark stays the same when it was written once."""
    text = _NAME.sub(lambda name: name[1] + _MARK, block)
    try:
        return bytes(icalendar.Timezone.from_ical(text).to_ical())
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError):
        return text.encode()  # it is broken and will not be used


def _renamed(block: str, marks: dict[str, str]) -> str:
    return _NAME.sub(lambda name: f"{name[1]}{_plain(name[2])}{marks[_plain(_unescaped(name[2]))]}", block)


def _unmark(calendar: icalendar.Calendar) -> None:
    """Take the marks off; of several zones with one name the later ones get a number."""
    names: dict[str, str] = {}
    zones = {_tzid(zone): zone for zone in calendar.walk("VTIMEZONE")}
    for marked in zones:
        plain, number = _plain(marked), 1
        names[marked] = plain
        while names[marked] in [told for other, told in names.items() if other != marked]:
            number += 1
            names[marked] = f"{plain} {number}"
    for marked, zone in zones.items():
        zone["TZID"] = icalendar.vText(names[marked])
    others = [part for part in calendar.subcomponents if part.name != "VTIMEZONE"]
    calendar.subcomponents = [*zones.values(), *others]
    for component in calendar.walk():
        for value in component.values():
            for one in several(value):
                told = getattr(one, "params", {}).get("TZID")
                if told is not None:
                    one.params["TZID"] = names.get(str(told), _plain(str(told)))


def _tzid(zone: icalendar.Component) -> str:
    return str(zone.get("TZID", ""))


def _plain(name: str) -> str:
    return name.partition(_MARK)[0]


def _unescaped(text: str) -> str:
    return re.sub(r"\\([,;\\])", r"\1", text)
