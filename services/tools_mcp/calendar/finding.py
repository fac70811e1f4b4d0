"""Where an id leads: to an event, a series or one occurrence, and for what part of a series a change is meant."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import icalendar

from tools_mcp.calendar.expansion import occurrence_at
from tools_mcp.calendar.ics import Series, UnreadableError, series_in
from tools_mcp.calendar.identity import parted_id, split_uid
from tools_mcp.calendar.model import Event, Scope
from tools_mcp.calendar.protocol import CalendarStore, Snapshot, StoredSeries
from tools_mcp.errors import ChangedError, InvalidInputError, NotFoundError
from tools_mcp.texts import shown


@dataclass(frozen=True)
class Place:
    """A series, and when one of its occurrences is due (as `Series.place` tells it), if the id names one."""

    id: str
    stored: StoredSeries
    at: date | None


@dataclass(frozen=True)
class Opened:
    """A place with all that is kept there, for changing."""

    place: Place
    calendar: icalendar.Calendar
    series: Series

    def component(self) -> icalendar.Component | None:
        """Return the occurrence that the id names; none when it names the whole series.

        Raises:
            NotFoundError: The series has no such occurrence.
        """
        return None if self.place.at is None else occurrence(self.series, self.place)


def find(snapshot: Snapshot, event_id: str) -> Place:
    """Return where an id leads; an occurrence from which its series was split off leads to the new series.

    Raises:
        NotFoundError: There is no such event.
    """
    parts = parted_id(event_id)
    stored = snapshot.find(event_id)
    if stored is not None or parts is None:
        return Place(event_id, stored or snapshot.get(event_id), None)
    uid, at = parts
    stored = snapshot.find(uid)
    if stored is None:
        return Place(event_id, snapshot.get(event_id), None)
    if not stored.facts.event.repeats:
        return Place(event_id, stored if _is_due(stored.facts.event, at) else snapshot.get(event_id), None)
    later = snapshot.find(split_uid(uid, at))
    if later is not None and _has(stored, at) is False:
        return Place(event_id, later, at if later.facts.event.repeats else None)
    return Place(event_id, stored, at)


def opened(store: CalendarStore, place: Place, zone: ZoneInfo) -> Opened:
    """Return a place with all that is kept there; call it while the store is `writing`.

    Raises:
        ChangedError: Another program changed it since it was seen.
    """
    calendar = store.open(place.stored)
    try:
        return Opened(place, calendar, series_in(calendar, place.stored.uid, zone))
    except StopIteration as error:
        raise ChangedError("Another program changed this event at this moment; nothing was written.") from error


def occurrence(series: Series, place: Place) -> icalendar.Component:
    """Return the component of the occurrence that a place names.

    Raises:
        NotFoundError: The series has no such occurrence.
    """
    try:
        component = occurrence_at(series, place.at) if place.at else None
    except UnreadableError:
        component = None
    if component is None:
        raise NotFoundError(
            f"The series {shown(series.event.title)} has no occurrence with the id {shown(place.id)}; take the id from "
            "calendar_list_events."
        )
    return component


def scope_of(told: Scope | None, series: Series, at: date | None) -> Scope:
    """Return what a change is for: one occurrence when its id was given, else the whole series, unless told.

    Raises:
        InvalidInputError: `this` or `following` came with the id of the whole series.
    """
    if at is None:
        if series.repeats and told in {"this", "following"}:
            raise InvalidInputError(
                f"scope {told} needs the id of one occurrence; take it from calendar_list_events, or send scope all."
            )
        return "all"
    if told == "following" and series.place_of_start == at:
        return "all"
    return told or "this"


def _has(stored: StoredSeries, at: date) -> bool:
    try:
        return occurrence_at(stored.series, at) is not None
    except UnreadableError:
        return False


def _is_due(event: Event, at: date) -> bool:
    start = event.start
    return (start.astimezone(UTC) if isinstance(start, datetime) else start) == at
