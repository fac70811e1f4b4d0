"""Import and export of iCalendar text: what other programs wrote, into the calendar, and the calendar for them.

A series is one unit: its event and every changed occurrence (RFC 5545 section 3.8.4.4). Of two versions of it the one
with the higher SEQUENCE is newer, then the one that was changed later (RFC 5546 section 2.1.5).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias
from zoneinfo import ZoneInfo

import icalendar

from tools_mcp.calendar.expansion import has_occurrences
from tools_mcp.calendar.facts import facts_of
from tools_mcp.calendar.ics import PRODUCT, REQUEST_KEY, Series, UnreadableError, decode, encode, series_of
from tools_mcp.calendar.model import ImportAnswer, Skipped
from tools_mcp.calendar.properties import changed_at, sequence_of
from tools_mcp.calendar.protocol import CalendarStore, Snapshot, StoredSeries
from tools_mcp.calendar.trash import belongs, part_of
from tools_mcp.errors import InvalidInputError
from tools_mcp.texts import cut

_Fate: TypeAlias = Literal["added", "updated", "unchanged"]
_KINDS = {"VTODO": "a task", "VJOURNAL": "a journal entry", "VFREEBUSY": "a list of busy times"}
_OF_NO_EVENT = {"REPLY", "COUNTER", "DECLINECOUNTER", "REFRESH"}  # RFC 5546: what is said about somebody's event
_TITLE_BYTES = 120
_SKIPPED_SHOWN = 50


@dataclass(frozen=True)
class Parcel:
    """What an iCalendar text holds: its series, and what is left out with the reason."""

    calendar: icalendar.Calendar
    series: tuple[Series, ...]
    skipped: tuple[Skipped, ...]


def unpack(data: bytes, zone: ZoneInfo) -> Parcel:
    """Read iCalendar text of any program.

    Raises:
        InvalidInputError: It is none, or only speaks about an event of somebody else.
    """
    try:
        calendar = decode(data)
    except UnreadableError as error:
        raise InvalidInputError(
            "This is no iCalendar text; send what is in a .ics file, from BEGIN:VCALENDAR on."
        ) from error
    method = str(calendar.pop("METHOD", "")).upper()
    if method in _OF_NO_EVENT:
        raise InvalidInputError(
            f"This is a {method} to an invitation and holds no event of its own; nothing was imported."
        )
    if str(calendar.get("PRODID", "")) in {PRODUCT, ""}:
        calendar["PRODID"] = icalendar.vText(f"{PRODUCT} imported")  # whoever wrote it, it came from outside
    usable: list[Series] = []
    skipped = [
        Skipped(title=_title(part), reason=f"is {_KINDS[part.name]}, no event")
        for part in calendar.walk()
        if part.name in _KINDS
    ]
    found = series_of(calendar, zone)
    read = {id(one) for series in found for one in (series.master, *series.overrides)}
    for event in calendar.walk("VEVENT"):
        event.pop(REQUEST_KEY, None)
        if method == "CANCEL":
            event["STATUS"] = icalendar.vText("CANCELLED")
        if id(event) not in read:
            skipped.append(Skipped(title=_title(event), reason="has no start that can be read"))
    for series in found:
        reason = _unusable(series, calendar)
        if reason is None:
            usable.append(series)
        else:
            skipped.append(Skipped(title=_title(series.master), reason=reason))
    return Parcel(calendar, tuple(usable), tuple(skipped))


def take_in(store: CalendarStore, parcel: Parcel, *, dry_run: bool) -> ImportAnswer:
    """Put the series of a parcel into the store: a newer version replaces what is there, an older one is left out.

    What is replaced goes to the trash. Importing the same text again changes nothing.

    Raises:
        StoreError: The store cannot be written; what was taken in before stays.
    """
    counts: dict[_Fate, int] = {"added": 0, "updated": 0, "unchanged": 0}
    skipped = list(parcel.skipped)
    with store.writing() as snapshot:
        for series in parcel.series:
            fate = _take(store, snapshot, parcel, series, dry_run=dry_run)
            if fate is None:
                skipped.append(Skipped(title=_title(series.master), reason="is older than what the calendar has"))
            else:
                counts[fate] += 1
    more = len(skipped) - _SKIPPED_SHOWN
    shown = [
        *skipped[:_SKIPPED_SHOWN],
        *([Skipped(title=f"{more} more", reason="were left out too")] if more > 0 else []),
    ]
    return ImportAnswer(**counts, skipped=shown, dry_run=dry_run, untrusted=True if shown else None)


def packed(store: CalendarStore, wanted: Sequence[StoredSeries]) -> bytes:
    """Return these series, whole, as one iCalendar file with the time zones they use.

    Raises:
        ChangedError: One changed since it was seen.
        StoreError: The store cannot be read.
    """
    calendar = icalendar.Calendar()
    calendar.add("PRODID", PRODUCT)
    calendar.add("VERSION", "2.0")
    opened: dict[str, icalendar.Calendar] = {}
    zones: dict[str, icalendar.Component] = {}
    events: list[icalendar.Component] = []
    for stored in wanted:
        if stored.place not in opened:
            opened[stored.place] = store.open(stored)
        for part in opened[stored.place].subcomponents:
            if part.name == "VTIMEZONE":
                zones.setdefault(str(part.get("TZID", "")), part)
            elif belongs(part, stored.uid):
                part.pop(REQUEST_KEY, None)
                events.append(part)
    calendar.subcomponents = [*zones.values(), *events]
    return encode(calendar)


def _take(store: CalendarStore, snapshot: Snapshot, parcel: Parcel, series: Series, *, dry_run: bool) -> _Fate | None:
    """Take in one series; none when the calendar has a newer version."""
    there = snapshot.find(series.uid)
    new = [series.master, *series.overrides]
    if there is None:
        if not dry_run:
            store.add(series.uid, part_of(parcel.calendar, series.uid))
        return "added"
    calendar = store.open(there)
    old = [part for part in calendar.subcomponents if belongs(part, series.uid)]
    places = {series.place(component) for component in new}
    rest = [] if None in places else [part for part in old if series.place(part) not in places]
    replaced = [part for part in old if part not in rest]
    if _texts(replaced) == _texts(new):
        return "unchanged"
    if replaced and _age(new) < _age(replaced):
        return None
    if not dry_run:
        store.keep(series.uid, part_of(calendar, series.uid))
        others = [part for part in calendar.subcomponents if not belongs(part, series.uid)]
        zones = [part for part in parcel.calendar.subcomponents if part.name == "VTIMEZONE"]
        known = {str(part.get("TZID", "")) for part in others if part.name == "VTIMEZONE"}
        zones = [part for part in zones if str(part.get("TZID", "")) not in known]
        calendar.subcomponents = [*zones, *others, *rest, *new]
        calendar["PRODID"] = parcel.calendar["PRODID"]
        store.save(there, calendar)
    return "updated"


def _texts(components: Iterable[icalendar.Component]) -> list[bytes]:
    """Return components in a form in which equal ones are equal, whenever they were exported."""
    plain = []
    for component in components:
        copy = component.copy()
        copy.subcomponents = component.subcomponents
        for name in ("DTSTAMP", REQUEST_KEY):
            copy.pop(name, None)
        plain.append(bytes(copy.to_ical()))
    return sorted(plain)


def _age(components: Iterable[icalendar.Component]) -> tuple[int, datetime]:
    return max((sequence_of(component), changed_at(component)) for component in components)


def _unusable(series: Series, calendar: icalendar.Calendar) -> str | None:
    try:
        facts_of(series, calendar)
        empty = series.repeats and not has_occurrences(series)
    except UnreadableError as error:
        return str(error)
    return "repeats on no date" if empty else None


def _title(component: icalendar.Component) -> str:
    return cut(" ".join(str(component.get("SUMMARY", "")).split()), _TITLE_BYTES) or "(no title)"
