"""Recurrence rules (RFC 5545 section 3.3.10): what is accepted, checked before anything is stored. Pure."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from tools_mcp.calendar.times import at_local
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
    wall = start.replace(tzinfo=None) if isinstance(start, datetime) else datetime.combine(start, time())
    until = _until(parts, start, text)
    if until is not None and until < wall:
        raise InvalidInputError(f"The recurrence {shown(text)} ends before the event starts; send a later UNTIL.")
    _check_first(parts, wall, until, text)
    if until is not None:
        parts["UNTIL"] = _stored_until(until, start)
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
    """Return the last wall clock time UNTIL allows, in the zone of the start."""
    if "UNTIL" not in parts:
        return None
    match = _UNTIL.fullmatch(parts["UNTIL"])
    if match is None:
        raise _refused(text, "UNTIL takes 20261231 or 20261231T235959Z")
    day, clock, utc = match.groups()
    try:
        wall = datetime.strptime(day + (clock or "235959"), "%Y%m%d%H%M%S")  # noqa: DTZ007 - wall clock time on purpose
    except ValueError as error:
        raise _refused(text, "UNTIL is no date of the calendar") from error
    if utc and isinstance(start, datetime):
        return wall.replace(tzinfo=UTC).astimezone(start.tzinfo).replace(tzinfo=None)
    return wall


def first_date(rule: str, wall: datetime) -> datetime | None:
    """Return the first date of a rule at or after a wall clock time, UNTIL and COUNT aside; none when it has no date.

    `dateutil` looks for a date up to the year 9999, which takes ten seconds for a 30 February. The Gregorian calendar
    repeats every 400 years, so the question is moved to the last of those years.

    Raises:
        ValueError: It is no rule.
    """
    from dateutil.rrule import rrulestr  # imported late: most events do not repeat

    years = (_LAST_YEAR - wall.year) // 400 * 400
    endless = ";".join(part for part in rule.split(";") if not part.upper().startswith(("UNTIL=", "COUNT=")))
    first: datetime | None = next(iter(rrulestr(endless, dtstart=wall.replace(year=wall.year + years))), None)
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


def moved_rule(rule: str, start: date, delta: timedelta) -> str:
    """Return a stored rule for a start that moves by `delta` of wall clock time: its UNTIL moves along."""
    parts = dict(part.partition("=")[::2] for part in rule.split(";"))
    until = _until(parts, start, rule) if "UNTIL" in parts else None
    if until is None or not delta:
        return rule
    parts["UNTIL"] = f"{until + delta:%Y%m%dT%H%M%S}"
    return ";".join(f"{name}={value}" for name, value in parts.items())


def _check_first(parts: Mapping[str, str], wall: datetime, until: datetime | None, text: str) -> None:
    """Programs disagree on a start that is not a date of its rule, so such a pair is not stored."""
    first = first_date(";".join(f"{name}={value}" for name, value in parts.items()), wall)
    if first is None or (until and first > until):
        raise _refused(text, "it has no date at or after the start")
    if first != wall:
        raise _refused(
            text,
            f"the start {wall:%A %Y-%m-%d} is not one of its dates; start on {first:%A %Y-%m-%d} or change the rule",
        )


def _stored_until(until: datetime, start: date) -> str:
    if not isinstance(start, datetime):
        return f"{until:%Y%m%d}"
    zone = start.tzinfo if isinstance(start.tzinfo, ZoneInfo) else ZoneInfo("UTC")
    return f"{at_local(until, zone)[0].astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _refused(text: str, why: str) -> InvalidInputError:
    return InvalidInputError(f"The recurrence {shown(text)} cannot be used: {why}.")
