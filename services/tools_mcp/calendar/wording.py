"""The calendar's answers: domain values to models and short texts. Pure."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tools_mcp.calendar.free import Stretch
from tools_mcp.calendar.model import (
    Event,
    EventAnswer,
    EventDetail,
    EventList,
    EventRow,
    FreeSlots,
    ImportAnswer,
    Outcome,
    Slot,
    WholeDay,
)
from tools_mcp.calendar.times import local_text, utc_text
from tools_mcp.texts import cut

_ROW_BYTES = 400  # of a title or place in a list
_TEXT_BYTES = 120
_NOTES_BYTES = 16_000
_ATTENDEE_BYTES = 300
_ATTENDEES = 50
_CLASHES = 3
_WHOLE_DAYS = 20
_REMINDERS = 20
_MORE = "There are more; ask again with next_cursor."
_STATUS = {
    "created": "Created",
    "exists": "Already there, nothing new was stored",
    "updated": "Updated",
    "unchanged": "Nothing to change",
    "deleted": "Moved to the trash",
    "found": "Found",
}


def row(event: Event, configured: ZoneInfo) -> EventRow:
    """Return an event as a list shows it."""
    times = _times(event, configured)
    return EventRow(
        id=event.id,
        title=_cut(event.title, _ROW_BYTES),
        location=_cut(event.location, _ROW_BYTES) or None,
        recurring=event.repeats,
        series_id=event.series_id or None,
        changed=event.changed or None,
        cancelled=event.cancelled or None,
        untrusted=event.foreign or None,
        source=_cut(event.source, _TEXT_BYTES) or None,
        **times,
    )


def detail(event: Event, configured: ZoneInfo) -> EventDetail:
    """Return an event whole; notes that another program made very long are cut."""
    attendees = [_cut(attendee, _ATTENDEE_BYTES) for attendee in event.attendees[:_ATTENDEES]]
    return EventDetail(
        **row(event, configured).model_dump(),
        notes=_cut(event.notes, _NOTES_BYTES) or None,
        attendees=attendees,
        recurrence=event.recurrence or None,
        reminders=list(event.reminders[:_REMINDERS]) or None,
    )


def line(event: Event, configured: ZoneInfo) -> str:
    """Return an event on one line of plain text, with its id."""
    extra = " (repeats)" if event.repeats else ""
    extra += " (cancelled)" if event.cancelled else ""
    return f"{when(event, configured)}: {cut(event.title, _TEXT_BYTES)}{extra} [{event.id}]"


def when(event: Event, configured: ZoneInfo) -> str:
    """Return the time of an event in words: local with its zone, then UTC."""
    start, end = event.start, event.end
    if not isinstance(start, datetime) or not isinstance(end, datetime):
        last = end - timedelta(days=1)
        return (
            f"{start:%a %Y-%m-%d}, all day" if last <= start else f"{start:%a %Y-%m-%d} to {last:%a %Y-%m-%d}, all day"
        )
    start, end = _shown(start, configured), _shown(end, configured)
    until = f"{end:%H:%M}" if end.date() == start.date() else f"{end:%a %Y-%m-%d %H:%M}"
    return f"{start:%a %Y-%m-%d %H:%M}-{until} {_zone(start)} ({start.astimezone(UTC):%Y-%m-%d %H:%M} UTC)"


def outcome_answer(outcome: Outcome, configured: ZoneInfo) -> tuple[EventAnswer, str]:
    """Return what became of an event, as a model and as text."""
    model = EventAnswer(status=outcome.status, event=detail(outcome.event, configured), remarks=list(outcome.remarks))
    text = f"{_STATUS[outcome.status]}: {line(outcome.event, configured)}"
    return model, "\n".join((text, *outcome.remarks))


def list_answer(model: EventList, events: Sequence[Event], configured: ZoneInfo) -> str:
    """Return the text that goes with a page of events."""
    lines = [line(event, configured) for event in events] or ["No events."]
    if model.next_cursor:
        lines.append(_MORE)
    if model.unreadable:
        lines.append(f"{model.unreadable} calendar files could not be read.")
    return "\n".join([*lines, *model.remarks])


def import_text(model: ImportAnswer) -> str:
    """Return what became of an import in words."""
    verbs = ("would be added", "would be updated") if model.dry_run else ("added", "updated")
    counts = ", ".join(
        f"{count} {verb}"
        for count, verb in zip((model.added, model.updated, model.unchanged), (*verbs, "there already"), strict=True)
    )
    return "\n".join([counts, *(f"left out: {one.title} {one.reason}" for one in model.skipped)])


def clash_remark(events: Sequence[Event], configured: ZoneInfo, too_much: bool) -> tuple[str, ...]:
    """Return the sentence that names what an event overlaps; none when there is nothing to say."""
    if not events:
        return ("Too much repeats to look for everything it overlaps.",) if too_much else ()
    named = [f"{_named(event)} ({when(event, configured)})" for event in events[:_CLASHES]]
    more = f" and {len(events) - len(named)} more" if len(events) > len(named) else ""
    return (f"It overlaps {', '.join(named)}{more}.",)


def _named(event: Event) -> str:
    """Return how a sentence of ours names an event: never by words that may be somebody else's."""
    return f"an event from elsewhere, {_cut(event.id, _TEXT_BYTES)}" if event.foreign else cut(event.title, _TEXT_BYTES)


def whole_days(events: Sequence[Event]) -> tuple[list[str], list[WholeDay]]:
    """Return how all-day events are named beside free time, and what those that are not ours say."""
    shown = events[:_WHOLE_DAYS]
    named = [f"{'one from elsewhere' if event.foreign else event.title[:100]} ({event.start})" for event in shown]
    others = [
        WholeDay(
            title=_cut(event.title, _TEXT_BYTES),
            start=local_text(event.start),
            untrusted=True,
            source=_cut(event.source, _TEXT_BYTES),
        )
        for event in shown
        if event.foreign
    ]
    return named, others


def json_bytes(text: str) -> int:
    """Return what a text takes in an answer: quotes, line breaks and backslashes take more than one byte there."""
    return len(json.dumps(text, ensure_ascii=False).encode())


def _cut(text: str, most_bytes: int) -> str:
    """Return the text, or its beginning with an ellipsis, so that it takes at most so many bytes in an answer."""
    if json_bytes(text) <= most_bytes:
        return text
    fits, too_long = 0, len(text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        fits, too_long = (middle, too_long) if json_bytes(text[:middle]) <= most_bytes - 3 else (fits, middle)
    return text[:fits].rstrip() + "…"


def slot(stretch: Stretch, zone: ZoneInfo) -> Slot:
    """Return a free stretch in a zone and in UTC."""
    start, end = (moment.astimezone(zone) for moment in stretch)
    return Slot(
        start=local_text(start),
        end=local_text(end),
        start_utc=utc_text(start),
        end_utc=utc_text(end),
        minutes=(stretch[1] - stretch[0]) // timedelta(minutes=1),
    )


def slots_answer(model: FreeSlots) -> str:
    """Return the text that goes with a page of free stretches."""
    lines = [f"{one.start} to {one.end} ({one.minutes} minutes)" for one in model.slots] or ["No free time that long."]
    if model.all_day_events:
        lines.append(f"All-day events then: {', '.join(model.all_day_events)}.")
    if model.next_cursor:
        lines.append(_MORE)
    return "\n".join([*lines, *model.remarks])


def _times(event: Event, configured: ZoneInfo) -> dict[str, Any]:
    start, end = event.start, event.end
    if not isinstance(start, datetime) or not isinstance(end, datetime):
        return {"start": local_text(start), "end": local_text(max(start, end - timedelta(days=1))), "all_day": True}
    start, end = _shown(start, configured), _shown(end, configured)
    return {
        "start": local_text(start),
        "end": local_text(end),
        "start_utc": utc_text(start),
        "end_utc": utc_text(end),
        "timezone": _zone(start),
    }


def _shown(value: datetime, configured: ZoneInfo) -> datetime:
    """Return a time in its own zone; what is kept in UTC is shown in the configured one."""
    return value.astimezone(configured) if value.utcoffset() == timedelta(0) and _zone(value) == "UTC" else value


def _zone(value: datetime) -> str:
    return getattr(value.tzinfo, "key", None) or value.tzname() or f"UTC{value.isoformat()[-6:]}"
