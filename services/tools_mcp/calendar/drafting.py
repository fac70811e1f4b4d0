"""From a caller's words to an event that can be stored, or the one sentence that says why not. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo

from tools_mcp.calendar.model import Event, EventDraft, EventFields
from tools_mcp.calendar.recurrence import checked_rule
from tools_mcp.calendar.times import ReadTime, has_offset, read_duration, read_time, zone_named
from tools_mcp.errors import InvalidInputError
from tools_mcp.texts import many_lines, one_line, shown

TITLE_CHARACTERS = 300
LOCATION_CHARACTERS = 500
NOTES_CHARACTERS = 4000
ATTENDEE_CHARACTERS = 200
_MOST_REMINDERS = 5
_EARLIEST_REMINDER = 4 * 7 * 24 * 60  # minutes
_DAY = timedelta(days=1)
_UTC_NAMES = {"UTC", "Etc/UTC", "Zulu", "Etc/Zulu", "UCT", "Etc/UCT", "Universal", "Etc/Universal"}
_ONE_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class _Span:
    start: date
    end: date
    remarks: tuple[str, ...]


def draft_event(fields: EventFields, configured: ZoneInfo) -> EventDraft:
    """Check a new event; an end left out is one hour after the start, or the start's own day.

    Raises:
        InvalidInputError: One of the fields cannot be used.
    """
    title = one_line(fields.title or "", "title", TITLE_CHARACTERS)
    if not title:
        raise InvalidInputError("title is empty; send a few words that name the event.")
    span = _span(fields, configured)
    recurrence = _recurrence(fields, span.start)
    return EventDraft(
        title=title,
        start=span.start,
        end=span.end,
        location=one_line(fields.location or "", "location", LOCATION_CHARACTERS),
        notes=many_lines(fields.notes or "", "notes", NOTES_CHARACTERS).strip(),
        attendees=_attendees(fields.attendees or ()),
        recurrence=recurrence,
        reminders=_reminders(fields.reminders or ()),
        remarks=span.remarks,
    )


def change_event(event: Event, fields: EventFields, configured: ZoneInfo) -> EventDraft:
    """Check a change of an event; what is not given stays, an empty text clears, a moved start keeps the length.

    Raises:
        InvalidInputError: One of the fields cannot be used, or the result would be no event.
    """
    timed = {"start", "end", "duration", "timezone", "all_day", "recurrence"}
    current = EventDraft(
        title=event.title,
        start=event.start,
        end=event.end,
        location=event.location,
        notes=event.notes,
        attendees=event.attendees,
        recurrence=event.recurrence,
        reminders=event.reminders,
    )
    draft = replace(current, **_changed_words(fields))
    if not any(getattr(fields, name) is not None for name in timed):
        return draft
    if fields.timezone is not None and fields.start is None:
        raise InvalidInputError("timezone alone would leave the time open; send start together with it.")
    merged = _merged_times(event, fields, configured)
    span = _span(merged, configured)
    return replace(
        draft, start=span.start, end=span.end, recurrence=_recurrence(merged, span.start), remarks=span.remarks
    )


def _changed_words(fields: EventFields) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    if fields.title is not None:
        changed["title"] = one_line(fields.title, "title", TITLE_CHARACTERS)
        if not changed["title"]:
            raise InvalidInputError("title is empty; leave it out to keep the title as it is.")
    if fields.location is not None:
        changed["location"] = one_line(fields.location, "location", LOCATION_CHARACTERS)
    if fields.notes is not None:
        changed["notes"] = many_lines(fields.notes, "notes", NOTES_CHARACTERS).strip()
    if fields.attendees is not None:
        changed["attendees"] = _attendees(fields.attendees)
    if fields.reminders is not None:
        changed["reminders"] = _reminders(fields.reminders)
    return changed


def _merged_times(event: Event, fields: EventFields, configured: ZoneInfo) -> EventFields:
    """Fill the times that were not given with the event's own, written the way a caller writes them."""
    start = fields.start if fields.start is not None else event.start.isoformat()
    timezone = fields.timezone if fields.timezone is not None else _own_zone(event, fields, configured)
    if fields.timezone is None and timezone is not None and has_offset(start):
        instant = read_time(start, "start", None, ZoneInfo("UTC")).value
        start = cast("datetime", instant).astimezone(zone_named(timezone)).isoformat()
    all_day = event.all_day if fields.all_day is None and fields.start is None else fields.all_day
    duration = fields.duration
    if fields.end is None and duration is None and _is_day(start, all_day=all_day) == event.all_day:
        duration = str(_minutes(event))
    recurrence = event.recurrence if fields.recurrence is None else fields.recurrence
    return EventFields(None, start, fields.end, duration, timezone, all_day, recurrence=recurrence)


def _own_zone(event: Event, fields: EventFields, configured: ZoneInfo) -> str | None:
    """Return the zone an event stays in; none when it was kept in UTC only because nobody named a zone."""
    if event.zone != "UTC":
        return event.zone
    meant = bool(event.recurrence) or configured.key in _UTC_NAMES
    return "UTC" if meant and fields.start is None else None


def _is_day(start: str, *, all_day: bool | None) -> bool:
    return len(start.strip()) == len("2026-12-01") if all_day is None else all_day


def _minutes(event: Event) -> int:
    if isinstance(event.start, datetime) and isinstance(event.end, datetime):
        length = event.end.astimezone(UTC) - event.start.astimezone(UTC)
    else:
        length = event.end - event.start
    return max(1, length // timedelta(minutes=1))


def _span(fields: EventFields, configured: ZoneInfo) -> _Span:
    if not fields.start:
        raise InvalidInputError("start is missing; send a date such as 2026-12-01 or a time such as 2026-12-01T10:00.")
    if fields.end is not None and fields.duration is not None:
        raise InvalidInputError("end and duration were both given; send one of them.")
    zone = zone_named(fields.timezone) if fields.timezone else None
    start = read_time(fields.start, "start", zone, configured)
    dated = not isinstance(start.value, datetime)
    if dated and fields.all_day is False:
        raise InvalidInputError("start is a date without a time of day; send a time too, or all_day true.")
    return _days(fields, dated=dated) if dated or fields.all_day else _hours(fields, start, zone, configured)


def _days(fields: EventFields, *, dated: bool) -> _Span:
    """Dates as they were written: no zone ever moves an all-day event."""
    first = date.fromisoformat((fields.start or "").strip()[:10])
    remarks = () if fields.all_day or not dated else ("start has no time of day, so the event is all day.",)
    if fields.duration is not None:
        length = read_duration(fields.duration, "duration")
        if length % _DAY:
            raise InvalidInputError(
                f"duration {shown(fields.duration)} is not in whole days, but the event is all day; "
                "send one such as P2D, or a start with a time of day."
            )
        return _Span(first, first + length, remarks)
    if fields.end is None:
        return _Span(first, first + _DAY, remarks)
    read_time(fields.end, "end", None, ZoneInfo("UTC"))
    last = date.fromisoformat(fields.end.strip()[:10])
    if last < first:
        raise InvalidInputError(f"end {last} is before start {first}; send the last day of the event as end.")
    return _Span(first, last + _DAY, remarks)


def _hours(fields: EventFields, start: ReadTime, zone: ZoneInfo | None, configured: ZoneInfo) -> _Span:
    begins = start.value
    if not isinstance(begins, datetime):
        raise InvalidInputError("start has no time of day; send one such as 2026-12-01T10:00.")
    if fields.end is None:
        length = read_duration(fields.duration, "duration") if fields.duration is not None else _ONE_HOUR
        ends = (begins.astimezone(UTC) + length).astimezone(begins.tzinfo)
        return _Span(begins, ends, _remarks([start]))
    end = read_time(fields.end, "end", zone, configured)
    if not isinstance(end.value, datetime):
        raise InvalidInputError("end is a date without a time of day, but start has one; send a time for both.")
    if end.value <= begins:
        raise InvalidInputError(
            f"end {end.value.isoformat()} is not after start {begins.isoformat()}; send a later end, or a duration."
        )
    return _Span(begins, end.value.astimezone(begins.tzinfo), _remarks([start, end]))


def _remarks(times: Iterable[ReadTime]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(time.remark for time in times if time.remark))


def _recurrence(fields: EventFields, start: date) -> str:
    if not fields.recurrence or not fields.recurrence.strip():
        return ""
    if isinstance(start, datetime) and not fields.timezone and has_offset(fields.start or ""):
        raise InvalidInputError(
            "A recurring event needs a zone to keep its local time across clock changes; send timezone with an IANA "
            "name such as Europe/Berlin besides the offset."
        )
    return checked_rule(fields.recurrence, start)


def _attendees(names: Iterable[str]) -> tuple[str, ...]:
    cleaned = (one_line(name, "attendees", ATTENDEE_CHARACTERS).replace('"', "") for name in names)
    return tuple(dict.fromkeys(name for name in cleaned if name))


def _reminders(texts: Sequence[str]) -> tuple[int, ...]:
    """Return the minutes before the start, the earliest reminder first."""
    zero = {"0", "PT0M", "PT0S"}
    minutes = {0 if text.strip().upper() in zero else _minutes_of(text) for text in texts if text.strip()}
    if len(minutes) > _MOST_REMINDERS:
        raise InvalidInputError(f"There are {len(minutes)} reminders; send at most {_MOST_REMINDERS}.")
    return tuple(sorted(minutes, reverse=True))


def _minutes_of(text: str) -> int:
    minutes = read_duration(text, "reminders") // timedelta(minutes=1)
    if minutes > _EARLIEST_REMINDER:
        raise InvalidInputError(f"The reminder {shown(text)} is more than four weeks before; send a shorter time.")
    return minutes
