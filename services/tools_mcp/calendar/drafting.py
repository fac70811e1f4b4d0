"""From a caller's words to an event that can be stored, or the one sentence that says why not. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
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
class Span:
    """When something takes place, and how it was said."""

    start: date
    end: date
    lasts: timedelta | None
    """The length of something with times, when it was not its end that was told."""
    told_length: bool
    """Whether an end or a length was told, and not kept or assumed."""
    zoned: bool
    """Whether the times are in a zone, and not only at an offset from UTC."""
    remarks: tuple[str, ...]


def draft_event(fields: EventFields, configured: ZoneInfo) -> EventDraft:
    """Check a new event; an end left out is one hour after the start, or the start's own day.

    Raises:
        InvalidInputError: One of the fields cannot be used.
    """
    title = one_line(fields.title or "", "title", TITLE_CHARACTERS)
    if not title:
        raise InvalidInputError("title is empty; send a few words that name the event.")
    if not fields.start:
        raise InvalidInputError("start is missing; send a date such as 2026-12-01 or a time such as 2026-12-01T10:00.")
    zone = zone_named(fields.timezone) if fields.timezone else None
    start = _read_start(fields.start, zone, configured)
    span = _span(fields, start, zone, configured, None)
    words = {name: value for name, value in new_words(fields).items() if name != "title"}
    return EventDraft(
        title=title,
        start=span.start,
        end=span.end,
        recurrence=new_rule(fields.recurrence or "", span.start, span, zone),
        lasts=span.lasts,
        remarks=span.remarks,
        **words,
    )


def new_words(fields: EventFields) -> dict[str, Any]:
    """Return the words that were given, checked, by their names in `Event`; an empty text or list clears.

    Raises:
        InvalidInputError: One of them cannot be used.
    """
    words: dict[str, Any] = {}
    if fields.title is not None:
        words["title"] = one_line(fields.title, "title", TITLE_CHARACTERS)
        if not words["title"]:
            raise InvalidInputError("title is empty; leave it out to keep the title as it is.")
    if fields.location is not None:
        _refuse_null(fields.location, "location")
        words["location"] = one_line(fields.location, "location", LOCATION_CHARACTERS)
    if fields.notes is not None:
        _refuse_null(fields.notes, "notes")
        words["notes"] = many_lines(fields.notes, "notes", NOTES_CHARACTERS).strip()
    if fields.attendees is not None:
        words["attendees"] = _attendees(fields.attendees)
    if fields.reminders is not None:
        words["reminders"] = _reminders(fields.reminders)
    return words


def _refuse_null(text: str, what: str) -> None:
    if text.strip().lower() == "null":
        raise InvalidInputError(f'{what} is the text "null"; leave it out, or send an empty text to clear it.')


def new_span(event: Event, fields: EventFields, configured: ZoneInfo) -> Span | None:
    """Return when an event takes place after a change; none when no time was given. A moved start keeps the length.

    Raises:
        InvalidInputError: A time cannot be used, or the end would be before the start.
    """
    if all(getattr(fields, name) is None for name in ("start", "end", "duration", "timezone", "all_day")):
        return None
    if fields.timezone is not None and fields.start is None:
        raise InvalidInputError("timezone alone would leave the time open; send start together with it.")
    zone = zone_named(fields.timezone) if fields.timezone else own_zone(event, fields, configured)
    if fields.start is None:
        start = _Start(ReadTime(event.start), event.all_day or zone is not None)
    elif fields.timezone is None and zone is not None and has_offset(fields.start):
        start = _Start(ReadTime(_in_zone(fields.start, zone)), zoned=True)
    else:
        start = _read_start(fields.start, zone, configured)
    all_day = event.all_day if fields.all_day is None and fields.start is None else fields.all_day
    return _span(replace(fields, all_day=all_day), start, zone, configured, event)


def new_rule(rule: str, start: date, span: Span | None, zone: tzinfo | None) -> str:
    """Return a rule that was given, as it is stored with this start; empty for none.

    Raises:
        InvalidInputError: It is no rule we keep, or the start has no zone to keep its local time in.
    """
    if not rule.strip():
        return ""
    if span is not None:
        check_zoned(span)
        if isinstance(start, datetime) and start.tzinfo is UTC and zone is not None and not _is_utc(zone):
            raise InvalidInputError(
                "start is the second such time of that day, after the clock was set back, which a repeating event "
                "cannot keep; send it without its offset for the first one, or start on another day."
            )
    return checked_rule(rule, start)


def check_zoned(span: Span) -> None:
    """Refuse times that only have an offset for something that repeats.

    Raises:
        InvalidInputError: It is so.
    """
    if not span.zoned and isinstance(span.start, datetime):
        raise InvalidInputError(
            "A recurring event needs a zone to keep its local time across clock changes; send timezone with an IANA "
            "name such as Europe/Berlin besides the offset."
        )


def own_zone(event: Event, fields: EventFields, configured: ZoneInfo) -> tzinfo | None:
    """Return the zone an event stays in; none when it was kept in UTC only because nobody named a zone."""
    if not isinstance(event.start, datetime) or event.zone != "UTC":
        return getattr(event.start, "tzinfo", None)
    meant = event.repeats or bool(event.recurrence) or configured.key in _UTC_NAMES
    return event.start.tzinfo if meant and fields.start is None else None


def _is_utc(zone: tzinfo) -> bool:
    return getattr(zone, "key", "UTC") in _UTC_NAMES


def _in_zone(start: str, zone: tzinfo) -> datetime:
    """Return a time that was given with an offset in the event's own zone; in UTC where its local time comes twice."""
    at = cast("datetime", read_time(start, "start", None, ZoneInfo("UTC")).value)
    local = at.astimezone(zone)
    return at if local.fold else local


@dataclass(frozen=True)
class _Start:
    read: ReadTime
    zoned: bool


def _read_start(text: str, zone: tzinfo | None, configured: ZoneInfo) -> _Start:
    return _Start(read_time(text, "start", zone, configured), zone is not None or not has_offset(text))


def _span(fields: EventFields, start: _Start, zone: tzinfo | None, configured: ZoneInfo, was: Event | None) -> Span:
    """Return the times in fields; `was` is the event that had another start and keeps its length."""
    if fields.end is not None and fields.duration is not None:
        raise InvalidInputError("end and duration were both given; send one of them.")
    dated = not isinstance(start.read.value, datetime)
    if dated and fields.all_day is False:
        raise InvalidInputError("start is a date without a time of day; send a time too, or all_day true.")
    if dated or fields.all_day:
        return _days(fields, start.read.value, was if was and was.all_day else None, told=fields.start is not None)
    return _hours(fields, start, zone, configured, was if was and not was.all_day else None)


def _days(fields: EventFields, start: date, was: Event | None, *, told: bool) -> Span:
    """Dates as they were written: no zone ever moves an all-day event."""
    first = date.fromisoformat((fields.start or start.isoformat()).strip()[:10])
    remarks = []
    if isinstance(start, datetime) and told:
        remarks.append("all_day is true, so the time of day of start was left out.")
    elif not fields.all_day and told:
        remarks.append("start has no time of day, so the event is all day.")
    last = first + ((was.end - was.start) if was else _DAY)
    if fields.duration is not None:
        length = read_duration(fields.duration, "duration")
        if length % _DAY:
            raise InvalidInputError(
                f"duration {shown(fields.duration)} is not in whole days, but the event is all day; "
                "send one such as P2D, or a start with a time of day."
            )
        last = first + length
    elif fields.end is not None:
        if isinstance(read_time(fields.end, "end", None, ZoneInfo("UTC")).value, datetime):
            remarks.append("The event is all day, so the time of day of end was left out.")
        last = date.fromisoformat(fields.end.strip()[:10]) + _DAY
        if last <= first:
            raise InvalidInputError(
                f"end {last - _DAY} is before start {first}; send the last day of the event as end."
            )
    told_length = fields.duration is not None or fields.end is not None
    return Span(first, last, None, told_length, zoned=True, remarks=tuple(remarks))


def _hours(fields: EventFields, start: _Start, zone: tzinfo | None, configured: ZoneInfo, was: Event | None) -> Span:
    begins = cast("datetime", start.read.value)
    if fields.end is None:
        length = _exact(was) if was else _ONE_HOUR
        if fields.duration is not None:
            length = read_duration(fields.duration, "duration")
        ends = (begins.astimezone(UTC) + length).astimezone(begins.tzinfo)
        return Span(begins, ends, length, fields.duration is not None, start.zoned, _remarks([start.read]))
    end = read_time(fields.end, "end", zone, configured)
    if not isinstance(end.value, datetime):
        raise InvalidInputError("end is a date without a time of day, but start has one; send a time for both.")
    if end.value.astimezone(UTC) <= begins.astimezone(UTC):
        raise InvalidInputError(
            f"end {end.value.isoformat()} is not after start {begins.isoformat()}; send a later end, or a duration."
        )
    ends = end.value.astimezone(begins.tzinfo)
    lasts = ends.astimezone(UTC) - begins.astimezone(UTC) if ends.fold else None  # iCalendar has no word for that end
    return Span(begins, ends, lasts, told_length=True, zoned=start.zoned, remarks=_remarks([start.read, end]))


def _exact(event: Event) -> timedelta:
    start, end = cast("datetime", event.start), cast("datetime", event.end)
    return end.astimezone(UTC) - start.astimezone(UTC)


def _remarks(times: Iterable[ReadTime]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(time.remark for time in times if time.remark))


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
