"""Points in time as people and programs write them: RFC 3339, a date, or a time without offset. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from memory_mcp.errors import InvalidArgumentError

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATE_CHARACTERS = 10
FIRST_MS = -62_135_510_400_000
LAST_MS = 253_402_214_399_999
"""From the second day of the year 1 to the last but one of the year 9999, UTC: times that every zone can show."""


@dataclass(frozen=True)
class Moment:
    """A point in time: when it is (ms since 1970 UTC), as it is shown, and whether the zone had to be assumed.

    A date without a time starts at midnight of the configured zone and is shown as the date it was.
    """

    at_ms: int
    text: str
    zone_assumed: bool = field(default=False, compare=False)


def parse_moment(name: str, text: str | None, zone: ZoneInfo) -> Moment | None:
    """Reads a time argument; none or blank gives None, a time without offset is taken in `zone`.

    Raises:
        InvalidArgumentError: The text is no time; the sentence names the argument and shows one that works.
    """
    if text is None or not text.strip():
        return None
    text = text.strip()
    try:
        moment = datetime.fromisoformat(text)
        is_date = len(text) <= _DATE_CHARACTERS
        zoned = moment if moment.tzinfo else moment.replace(tzinfo=zone)
        at_ms = (zoned - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError) as error:
        raise InvalidArgumentError(
            f"The {name} {text[:40]!r} is no time; send an RFC 3339 time such as '2026-05-08T13:56:00+02:00' "
            "or a date such as '2026-05-08'.",
        ) from error
    if is_date:
        return Moment(at_ms, moment.date().isoformat())
    return Moment(at_ms, zoned.isoformat(timespec="seconds"), zone_assumed=moment.tzinfo is None)


def shown(at_ms: int, zone: ZoneInfo) -> str:
    """Returns a time in the configured zone as RFC 3339 with its offset, to the second.

    One before `FIRST_MS` or after `LAST_MS`, which an older store may hold, is shown as that.
    """
    return (
        (_EPOCH + timedelta(milliseconds=max(FIRST_MS, min(at_ms, LAST_MS))))
        .astimezone(zone)
        .isoformat(timespec="seconds")
    )


def date_words(text: str) -> str:
    """Returns the words under which a shown time is found: weekday, day, month, year and the ISO date."""
    day = datetime.fromisoformat(text)
    return f"{_DAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]} {day.year} {day.date().isoformat()}"
