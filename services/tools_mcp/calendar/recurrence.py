"""Recurrence rules (RFC 5545 section 3.3.10): what is accepted, checked before anything is stored. Pure."""

import copy
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

import icalendar

from tools_mcp.calendar.times import at_local, wall
from tools_mcp.errors import InvalidInputError
from tools_mcp.texts import shown

_PART = re.compile(r"([A-Z]+)=([A-Z0-9,+\-:]+)")
_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_BY_DAY = re.compile(r"([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
_NUMBERS = {  # part: lowest, highest, may be negative
    "INTERVAL": (1, 1000, False),
    "COUNT": (1, 10_000, False),
    "BYMONTH": (1, 12, False),
    "BYMONTHDAY": (1, 31, True),
    "BYYEARDAY": (1, 366, True),
    "BYWEEKNO": (1, 53, True),
    "BYSETPOS": (1, 366, True),
}
_KNOWN = {"FREQ", "UNTIL", "BYDAY", "WKST", *_NUMBERS}
_UNTIL = re.compile(r"(\d{8})(?:T(\d{6})(Z)?)?")
_MOST_BEFORE = 100_000
_LAST_YEAR = 9980  # of the 9999 there are, with room for rules of several years


def checked_rule(text: str, start: date) -> str:
    """Return the rule as it is stored: upper case, without `RRULE:`, its UNTIL in the form that fits the start.

    UNTIL counts whole days when it is a date, so the occurrence on that day is included.

    Raises:
        InvalidInputError: It is no rule we keep, or the start is not its first date.
    """
    parts = _parts(text)
    _check_values(parts, text)
    begins = wall(start)
    until = _until(parts, start, text)
    if until is not None and until < begins:
        raise InvalidInputError(f"The recurrence {shown(text)} ends before the event starts; send a later UNTIL.")
    _check_first(_joined(parts), begins, until, text)
    if until is not None:
        parts["UNTIL"] = _stored_until(until, start)
    return _joined(parts)


def _joined(parts: Mapping[str, str]) -> str:
    return ";".join(f"{name}={value}" for name, value in parts.items())


def _parts(text: str) -> dict[str, str]:
    body = text.strip().upper().removeprefix("RRULE:").rstrip(";")
    matches = [_PART.fullmatch(part.strip()) for part in body.split(";")]
    pairs = [(match[1], match[2]) for match in matches if match]
    names = [name for name, _ in pairs]
    if len(pairs) < len(matches) or len(set(names)) < len(names) or "FREQ" not in names:
        raise InvalidInputError(
            f"The recurrence {shown(text)} is no RRULE; send one such as FREQ=WEEKLY;BYDAY=MO or FREQ=DAILY;COUNT=5."
        )
    return dict(pairs)


def _check_values(parts: Mapping[str, str], text: str) -> None:
    if unknown := sorted(parts.keys() - _KNOWN):
        raise _refused(text, f"{unknown[0]} is not supported; use {', '.join(sorted(_KNOWN))}")
    if parts["FREQ"] not in _FREQUENCIES:
        raise _refused(text, f"FREQ must be one of {', '.join(_FREQUENCIES)}")
    if "UNTIL" in parts and "COUNT" in parts:
        raise _refused(text, "it has both UNTIL and COUNT; send one of them")
    for name, (least, most, signed) in _NUMBERS.items():
        numbers = parts[name].split(",") if name in parts else []
        if name in {"INTERVAL", "COUNT"} and len(numbers) > 1:
            raise _refused(text, f"{name} takes one number")
        for number in numbers:
            size = number.lstrip("+-") if signed else number
            if not size.isdecimal() or len(size) > 5 or not least <= int(size) <= most:  # noqa: PLR2004 - as read
                raise _refused(text, f"{name} takes numbers of {least} to {most}")
    days = [_BY_DAY.fullmatch(day) for name in ("BYDAY", "WKST") if name in parts for day in parts[name].split(",")]
    if not all(days):
        raise _refused(text, "days are MO, TU, WE, TH, FR, SA, SU, such as BYDAY=MO,WE or BYDAY=2TU")
    if parts["FREQ"] in {"DAILY", "WEEKLY"} and any(day[1] for day in days if day):
        raise _refused(text, "a numbered day such as 2MO needs FREQ=MONTHLY or YEARLY")


def _until(parts: Mapping[str, str], start: date, text: str) -> datetime | None:
    """Return the last wall clock time that an UNTIL of a caller allows, in the zone of the start."""
    if "UNTIL" not in parts:
        return None
    match = _UNTIL.fullmatch(parts["UNTIL"])
    if match is None:
        raise _refused(text, "UNTIL takes 20261231 or 20261231T235959Z")
    day, clock, utc = match.groups()
    try:
        last = datetime.strptime(day + (clock or "235959"), "%Y%m%d%H%M%S")  # noqa: DTZ007 - wall clock time on purpose
    except ValueError as error:
        raise _refused(text, "UNTIL is no date of the calendar") from error
    if utc and isinstance(start, datetime):
        return wall(last.replace(tzinfo=UTC).astimezone(start.tzinfo))
    return last


def first_date(rule: str, begins: datetime) -> datetime | None:
    """Return the first date of a rule at or after a wall clock time, UNTIL and COUNT aside; none when it has no date.

    `dateutil` looks for a date up to the year 9999, which takes ten seconds for a 30 February. The Gregorian calendar
    repeats every 400 years, so the question is moved to the last of those years.

    Raises:
        ValueError: It is no rule.
    """
    from dateutil.rrule import rrulestr  # imported late: most events do not repeat

    years = (_LAST_YEAR - begins.year) // 400 * 400
    endless = ";".join(part for part in rule.split(";") if not part.upper().startswith(("UNTIL=", "COUNT=")))
    first: datetime | None = next(iter(rrulestr(endless, dtstart=begins.replace(year=begins.year + years))), None)
    return first.replace(year=first.year - years) if first else None


def dates_before(rule: str, start: datetime, at: datetime) -> tuple[int, bool]:
    """Return how many dates of a rule lie before a wall clock time, and whether that is one of its dates.

    Raises:
        InvalidInputError: There are more than 100,000.
        ValueError: It is no rule.
    """
    from dateutil.rrule import rrulestr  # imported late: most events do not repeat

    endless = ";".join(part for part in rule.split(";") if not part.upper().startswith("UNTIL="))
    before = 0
    for due in rrulestr(endless, dtstart=start):
        if due >= at:
            return before, due == at
        before += 1
        if before > _MOST_BEFORE:
            raise InvalidInputError("The series has too many occurrences before this one to be split there.")
    return before, False


def last_wall(until: date, start: date, configured: ZoneInfo) -> datetime:
    """Return the last wall clock time a rule's UNTIL allows, in the zone its series' start has in the file.

    RFC 5545 section 3.3.10: UNTIL is what DTSTART is, or in UTC. Programs also write a date for a series with times,
    and mean the whole day; a UTC time for one without a zone is meant in the configured one.
    """
    if not isinstance(until, datetime):
        return datetime.combine(until, time(23, 59, 59))
    if not isinstance(start, datetime):
        return datetime.combine(until.date(), time(23, 59, 59))
    return wall(until.astimezone(start.tzinfo or configured)) if until.tzinfo else until


def until_at(last: datetime, start: date) -> date:
    """Return the UNTIL that says a last wall clock time the way RFC 5545 wants it beside this start."""
    if not isinstance(start, datetime):
        return last.date()
    return last if start.tzinfo is None else at_local(last, start.tzinfo)[0].astimezone(UTC)


def plain_rule(rule: icalendar.vRecur, start: date, configured: ZoneInfo) -> icalendar.vRecur:
    """Return a rule of a file with its UNTIL in the form that RFC 5545 wants beside this start."""
    told = rule.get("UNTIL", [None])[0]
    if not isinstance(told, date):
        return rule
    plain = copy.deepcopy(rule)
    plain["UNTIL"] = [until_at(last_wall(told, start, configured), start)]
    return plain


def moved_rule(rule: icalendar.vRecur, was: date, start: date, configured: ZoneInfo) -> icalendar.vRecur:
    """Return the rule of a series whose start goes from `was` to `start`: its UNTIL moves by as much of the clock."""
    told = rule.get("UNTIL", [None])[0]
    if not isinstance(told, date):
        return rule
    moved = copy.deepcopy(rule)
    last = last_wall(told, was, configured)
    moved["UNTIL"] = [until_at(last + (wall(start) - wall(was)), start)]
    return moved


def starts_with(rule: str, start: date) -> bool:
    """Whether a start is a date of its rule."""
    try:
        return first_date(rule, wall(start)) == wall(start)
    except ValueError:
        return False


def check_start(rule: str, start: date) -> None:
    """Refuse a start that is no date of its rule, because programs disagree on what such a series is.

    Raises:
        InvalidInputError: It is none, and the sentence names the date that would be.
    """
    _check_first(rule, wall(start), None, rule)


def _check_first(rule: str, begins: datetime, until: datetime | None, text: str) -> None:
    first = first_date(rule, begins)
    if first is None or (until and first > until):
        raise _refused(text, "it has no date at or after the start")
    if first != begins:
        raise _refused(
            text,
            f"the start {begins:%A %Y-%m-%d} is not one of its dates; start on {first:%A %Y-%m-%d} or change the rule",
        )


def _stored_until(until: datetime, start: date) -> str:
    if not isinstance(start, datetime):
        return f"{until:%Y%m%d}"
    return f"{at_local(until, start.tzinfo or UTC)[0].astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _refused(text: str, why: str) -> InvalidInputError:
    return InvalidInputError(f"The recurrence {shown(text)} cannot be used: {why}.")
