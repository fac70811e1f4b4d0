"""Times as callers write them and as answers show them. Pure: the configured zone is passed in.

RFC 3339 and ISO 8601 in, aware `datetime` or `date` out; RFC 5545 section 3.3.5 decides local times that a clock change
skips (they move forward) or repeats (the first one is meant).
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tools_mcp.errors import InvalidInputError
from tools_mcp.texts import shown

_TIME = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[Tt ](?P<time>\d{2}:\d{2}(?::\d{2})?)(?:[.,]\d{1,9})?\s*(?P<offset>[Zz]|[+-]\d{2}:?\d{2})?)?"
)
_ISO_DURATION = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:\d+S)?)?")
_PLAIN_DURATION = re.compile(r"(?:(\d+) ?d(?:ays?)?)? ?(?:(\d+) ?h(?:ours?|rs?)?)? ?(?:(\d+) ?m(?:in(?:ute)?s?)?)?")
_HOURS = re.compile(r"(\d{1,2}):(\d{2})\s*[-–]\s*(\d{1,2}):(\d{2})")  # noqa: RUF001 - people write ranges with en dashes
_NO_ZONE = re.compile(r"(?:localtime|posixrules|factory)$|(?:right|posix)/", re.IGNORECASE)
"""Files beside the zones in many systems' database; no other program knows them by these names."""
_FIRST_YEAR, _LAST_YEAR = 1900, 2199
_LONGEST = timedelta(days=366)
_DAY_MINUTES = 24 * 60


@dataclass(frozen=True)
class ReadTime:
    """A time argument, understood: an aware `datetime` in whole seconds, or a `date` when no time of day was given."""

    value: date
    remark: str | None = None
    """What had to be assumed, for the answer to say."""


def zone_named(name: str) -> ZoneInfo:
    """Return the IANA zone of this name.

    Raises:
        InvalidInputError: The time zone database has no such zone.
    """
    try:
        return ZoneInfo("" if _NO_ZONE.match(name) else name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidInputError(
            f"The time zone {shown(name)} is unknown; send an IANA name such as Europe/Berlin or America/New_York."
        ) from error


def read_time(text: str, what: str, zone: tzinfo | None, configured: ZoneInfo) -> ReadTime:
    """Read a time argument called `what`; `zone` is the caller's own, `configured` counts when there is none.

    With an offset and no zone the result is that instant, in the configured zone when the offset fits it, else in UTC.

    Raises:
        InvalidInputError: It is no time, or its offset contradicts the zone.
    """
    match = _TIME.fullmatch(text.strip())
    if not match:
        raise InvalidInputError(
            f"{what} {shown(text)} is no time that can be read; send a date such as 2026-12-01, a local time such as "
            "2026-12-01T10:00:00, or one with its offset such as 2026-12-01T10:00:00+01:00."
        )
    day, clock, offset = match["date"], match["time"], match["offset"]
    try:
        value = datetime.fromisoformat(f"{day}T{clock or '00:00'}{(offset or '').upper()}")
    except ValueError as error:
        raise InvalidInputError(f"{what} {shown(text)} does not exist in the calendar; check day and time.") from error
    if not _FIRST_YEAR <= value.year <= _LAST_YEAR:
        raise InvalidInputError(f"{what} {shown(text)} is outside the years {_FIRST_YEAR} to {_LAST_YEAR}.")
    if not clock:
        return ReadTime(value.date())
    if value.tzinfo is not None:
        return ReadTime(_instant(value, what, zone, configured))
    aware, remark = at_local(value, zone or configured)
    assumed = None if zone else f"{what} had no zone and was read as {configured.key} time."
    return ReadTime(aware, " ".join(filter(None, (assumed, remark))) or None)


def _instant(value: datetime, what: str, zone: tzinfo | None, configured: ZoneInfo) -> datetime:
    local = value.astimezone(zone or configured)
    fits = local.utcoffset() == value.utcoffset()
    if zone and not fits:
        raise InvalidInputError(
            f"{what} has the offset {_offset(value)}, but {_name(zone)} is at {_offset(local)} then; send "
            f"{value.replace(tzinfo=None).isoformat()} for that time in {_name(zone)}, "
            f"or {local.isoformat()} for that instant."
        )
    return local if fits and not local.fold else value.astimezone(UTC)  # iCalendar has no word for a repeated 02:30


def _name(zone: tzinfo) -> str:
    return getattr(zone, "key", None) or "the event's own zone"


def has_offset(text: str) -> bool:
    """Whether a time argument names its offset from UTC."""
    match = _TIME.fullmatch(text.strip())
    return bool(match and match["offset"])


def _offset(value: datetime) -> str:
    return value.isoformat()[-6:]


def at_local(naive: datetime, zone: tzinfo) -> tuple[datetime, str | None]:
    """Return the instant of a wall clock time, and a remark when a clock change skips or repeats it."""
    first = naive.replace(tzinfo=zone)
    settled = first.astimezone(UTC).astimezone(zone)
    if settled.replace(tzinfo=None) != naive:
        return settled, f"{naive:%H:%M} is skipped in {_name(zone)} that day, so {settled:%H:%M} was taken."
    if first.utcoffset() != first.replace(fold=1).utcoffset():
        return first, f"{naive:%H:%M} happens twice in {_name(zone)} that day, the first was taken."
    return first, None


def read_duration(text: str, what: str) -> timedelta:
    """Read a duration: ISO 8601 (`PT1H30M`), minutes (`90`) or words (`1h 30m`); one minute to 366 days.

    Raises:
        InvalidInputError: It is none of these.
    """
    plain = text.strip()
    if plain.isdecimal() and len(plain) < 8:  # noqa: PLR2004 - more digits are out of bounds whatever they say
        length = timedelta(minutes=int(plain))
    elif match := _ISO_DURATION.fullmatch(plain.upper()):
        weeks, days, hours, minutes = (int((part or "0")[:7]) for part in match.groups())
        length = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes)
    elif match := _PLAIN_DURATION.fullmatch(plain.lower()):
        days, hours, minutes = (int((part or "0")[:7]) for part in match.groups())
        length = timedelta(days=days, hours=hours, minutes=minutes)
    else:
        length = timedelta(0)
    if not timedelta(0) < length <= _LONGEST:
        raise InvalidInputError(
            f"{what} {shown(text)} is no length of one minute to 366 days; send minutes such as 30, or PT1H30M."
        )
    return length


def read_hours(text: str) -> tuple[int, int]:
    """Read `09:00-17:00` as minutes of the day; an end at or before the start is on the next day.

    Raises:
        InvalidInputError: It is no such range.
    """
    match = _HOURS.fullmatch(text.strip())
    hours = [int(part) for part in match.groups()] if match else [99] * 4
    start, end = hours[0] * 60 + hours[1], hours[2] * 60 + hours[3]
    if max(hours[1], hours[3]) >= 60 or start >= _DAY_MINUTES or end > _DAY_MINUTES:  # noqa: PLR2004 - an hour's minutes
        raise InvalidInputError(f"working_hours {shown(text)} is no range of times; send one such as 09:00-17:00.")
    return start, end if end > start else end + _DAY_MINUTES


def day_start(day: date, zone: ZoneInfo) -> datetime:
    """Return the first instant of a day in a zone (midnight, or what a clock change made of it)."""
    return at_local(datetime.combine(day, time()), zone)[0]


def settled(value: date, configured: ZoneInfo) -> date:
    """Return a moment of a file as it takes place: a time without a zone is in `configured`, a skipped one moves on."""
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        value = value.replace(tzinfo=configured)
    return value.astimezone(UTC).astimezone(value.tzinfo)


def wall(value: date) -> datetime:
    """Return the wall clock time of a moment; midnight for a date."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else datetime.combine(value, time())


def instant(value: date, zone: ZoneInfo) -> datetime:
    """Return the UTC instant of a moment; a date begins when it begins in `zone`."""
    return (value if isinstance(value, datetime) else day_start(value, zone)).astimezone(UTC)


def local_text(value: date) -> str:
    """Return a moment as answers show it: `2026-12-01T10:00:00+01:00`, or `2026-12-01` for a date."""
    return value.isoformat()


def utc_text(value: datetime) -> str:
    """Return an instant in UTC: `2026-12-01T09:00:00Z`."""
    return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
