"""What a change of a series comes to: for one occurrence, from one on, or as a whole. Pure.

The components are changed in place; whoever calls writes the calendar they are in.
"""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import icalendar

from tools_mcp.calendar.drafting import change_event
from tools_mcp.calendar.editing import apart, follow, split
from tools_mcp.calendar.expansion import occurrence_at
from tools_mcp.calendar.ics import Series, changes, rewrite, zone_name
from tools_mcp.calendar.identity import split_uid
from tools_mcp.calendar.model import Event, EventFields, Outcome
from tools_mcp.calendar.properties import moment
from tools_mcp.calendar.recurrence import moved_rule
from tools_mcp.calendar.times import wall
from tools_mcp.errors import ConflictError, InvalidInputError
from tools_mcp.texts import shown


@dataclass(frozen=True)
class Change:
    """The fields to set, where local times are read, and when it happens."""

    fields: EventFields
    configured: ZoneInfo
    now: datetime


def change_occurrence(
    calendar: icalendar.Calendar, series: Series, component: icalendar.Component, change: Change
) -> Outcome:
    """Change one occurrence: it becomes an override of its own (RECURRENCE-ID), or its override is changed.

    Raises:
        InvalidInputError: A field cannot be used.
    """
    current = series.occurrence(component)
    if change.fields.recurrence:
        raise InvalidInputError("recurrence belongs to the series; send it with scope following or all.")
    draft = change_event(current, replace(change.fields, recurrence=None), change.configured)
    if not changes(current, draft):
        return Outcome("unchanged", current, draft.remarks)
    own = next((override for override in series.overrides if override is component), None)
    if own is None:
        own = apart(series, component)
        calendar.add_component(own)
    rewrite(own, current, draft, change.now)
    return Outcome("updated", replace(series.occurrence(own), changed=True), draft.remarks)


def change_series(series: Series, occurrence: Event | None, change: Change) -> Outcome:
    """Change a series as a whole; times that were given for one occurrence move every one by as much.

    Exceptions and occurrences that were changed one by one move along.

    Raises:
        InvalidInputError: A field cannot be used.
        ConflictError: An occurrence that was changed one by one is no date of the series any more.
    """
    event, fields = series.event, change.fields
    if occurrence is not None and (fields.start is not None or fields.end is not None):
        fields = _of_the_series(event, occurrence, change)
    if fields.recurrence is None and "UNTIL=" in event.recurrence:
        fields = replace(fields, recurrence=_rule_moved(event, fields, change.configured))
    draft = change_event(event, fields, change.configured)
    changed = changes(event, draft)
    if not changed:
        return Outcome("unchanged", event, draft.remarks)
    was = moment(series.master, "DTSTART")
    rewrite(series.master, event, draft, change.now)
    if "recurrence" in changed and not draft.recurrence:
        for name in ("EXDATE", "RDATE", "EXRULE"):
            series.master.pop(name, None)
    if "times" in changed:
        follow(series, was, change.now)
    if changed & {"times", "recurrence"}:
        _check_overrides(series, event)
    return Outcome("updated", replace(series, uid=series.uid).event, draft.remarks)


def split_series(series: Series, component: icalendar.Component, now: datetime) -> Series:
    """End a series before an occurrence and return the rest as a series of its own, whose UID is always the same.

    Raises:
        ConflictError: The occurrence is an extra date, or the rule cannot be followed.
    """
    place = series.place(component)
    uid = split_uid(series.uid, place) if place else series.uid
    try:
        tail = split(series, component, uid, now)
    except (ValueError, TypeError, KeyError) as error:
        raise _no_split(series) from error
    if tail is None:
        raise _no_split(series)
    master, *overrides = tail.components
    return Series(uid, master, tuple(overrides), series.foreign, series.zone)


def _no_split(series: Series) -> ConflictError:
    return ConflictError(
        f"The series {shown(series.event.title)} cannot be split there, because its rule does not lead to this date; "
        "use scope this or all."
    )


def _of_the_series(event: Event, occurrence: Event, change: Change) -> EventFields:
    """Return the fields with the times meant for the series' first occurrence."""
    one = change_event(replace(occurrence, recurrence=""), replace(change.fields, recurrence=None), change.configured)
    first = wall(event.start) + (wall(one.start) - wall(occurrence.start))
    if not isinstance(one.start, datetime) or not isinstance(one.end, datetime):
        days = (one.end - one.start).days
        start, length, zone = first.date().isoformat(), f"P{days}D", None
    else:
        minutes = (one.end.astimezone(UTC) - one.start.astimezone(UTC)) // timedelta(minutes=1)
        start, length, zone = first.isoformat(), str(max(1, minutes)), zone_name(one.start)
    return replace(
        change.fields, start=start, end=None, duration=length, timezone=zone, all_day=True if zone is None else None
    )


def _rule_moved(event: Event, fields: EventFields, configured: ZoneInfo) -> str:
    """Return the series' rule, its UNTIL moved by what the start moves, so that it has as many dates as before."""
    endless = ";".join(part for part in event.recurrence.split(";") if not part.startswith("UNTIL="))
    if all(getattr(fields, name) is None for name in ("start", "end", "duration", "timezone", "all_day")):
        return event.recurrence
    draft = change_event(replace(event, recurrence=endless), replace(fields, recurrence=None), configured)
    return moved_rule(event.recurrence, event.start, wall(draft.start) - wall(event.start))


def _check_overrides(series: Series, event: Event) -> None:
    alone = replace(series, overrides=())
    for override in series.overrides:
        place: date | None = series.place(override)
        if place is None or not alone.repeats or occurrence_at(alone, place) is None:
            raise ConflictError(
                f"Some occurrences of {shown(event.title)} were changed one by one and would lose their place; "
                "change them first, or use scope following from a later one."
            )
