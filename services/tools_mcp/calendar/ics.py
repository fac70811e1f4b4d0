"""The iCalendar codec (RFC 5545): bytes to events and back. Pure: no disk, no clock.

Escaping and folding of text are the library's; what this module adds is what a series is, which properties we set,
and that everything another program wrote stays as it was.
"""

import contextlib
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import icalendar

from tools_mcp.calendar.alarms import reminders_of, set_reminders
from tools_mcp.calendar.identity import occurrence_id
from tools_mcp.calendar.lengths import Length, end_of, length_of, set_end, set_times
from tools_mcp.calendar.model import Event, EventDraft
from tools_mcp.calendar.properties import moment, rule_text, sequence_of, several
from tools_mcp.calendar.times import instant, settled
from tools_mcp.calendar.zones import complete, told_apart, without_known

if TYPE_CHECKING:
    from recurring_ical_events import CalendarQuery

PRODUCT = "-//prometheus-agent//calendar//EN"
REQUEST_KEY = "X-PROMETHEUS-REQUEST"
"""Holds the idempotency key of the call that created the event, and the hash of its arguments."""

_FOLD = re.compile(rb"\r?\n[ \t]")
WORDS = ("title", "location", "notes", "attendees", "reminders")
"""What an event says besides its times, by the names in `Event`; the title first, because reminders repeat it."""
_PROPERTIES = {"title": "SUMMARY", "location": "LOCATION", "notes": "DESCRIPTION"}
_NO_ADDRESS = "invalid:nomail"  # what Apple's calendar writes for a person without an address
_ADDRESS = re.compile(r"(?:(?P<name>.*?)\s*<)?(?P<address>[^\s<>@,;]+@[^\s<>@,;]+)>?")


BROKEN = (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, AssertionError)
"""What the library raises, at some later time, over properties that hold no value."""


class _Raw(str):
    """A value that is written as it was read; the library would escape what it cannot parse once more each time."""

    __slots__ = ("params",)
    params: Any

    def to_ical(self) -> bytes:
        """Return the value as it stands in the file."""
        return self.encode()


class UnreadableError(Exception):
    """These bytes are no calendar we can read; the folder counts them and goes on."""


@dataclass(frozen=True, eq=False)
class Series:
    """All components of one UID: the event itself and the occurrences that were changed."""

    uid: str
    master: icalendar.Event
    overrides: tuple[icalendar.Event, ...]
    source: str
    """Who wrote it when it was not us (`Event.source`)."""
    zone: ZoneInfo
    """The configured zone, in which times without one are read."""
    queries: "dict[date, CalendarQuery]" = field(default_factory=dict, repr=False)
    """What expands the series, by the start it counts from; kept because it remembers the dates it found."""

    @cached_property
    def event(self) -> Event:
        """What the series says, as it starts."""
        return self.occurrence(self.master)

    @cached_property
    def span(self) -> tuple[datetime, datetime]:
        """The instants in UTC between which the event takes place, as it starts."""
        return instant(self.event.start, self.zone), instant(self.event.end, self.zone)

    def occurrence(self, component: icalendar.Component) -> Event:
        """Return what a component of the series says, its own or one that `query` made."""
        due = moment(component, "DTSTART")
        start = settled(due, self.zone)
        cancelled = str(component.get("STATUS", "")).upper() == "CANCELLED"
        usual = "OPAQUE" if isinstance(start, datetime) else "TRANSPARENT"
        at = None if component is self.master or not self.repeats else moment(component, "RECURRENCE-ID")
        return Event(
            id=self.uid if at is None else occurrence_id(self.uid, at, self.zone),
            series_id="" if at is None else self.uid,
            title=" ".join(str(component.get("SUMMARY", "")).split()) or "(no title)",
            start=start,
            end=end_of(due, length_of(component, self.zone), self.zone),
            zone=zone_name(start),
            location=str(component.get("LOCATION", "")),
            notes=str(component.get("DESCRIPTION", "")),
            attendees=tuple(_attendee_text(value) for value in several(component.get("ATTENDEE"))),
            recurrence=";".join(rule_text(rule) for rule in several(component.get("RRULE"))),
            reminders=reminders_of(component),
            repeats=self.repeats,
            cancelled=cancelled,
            takes_time=not cancelled and str(component.get("TRANSP", usual)).upper() == "OPAQUE",
            changed=component is not self.master and self._is_changed(component),
            source=self.source,
        )

    @property
    def place_of_start(self) -> date:
        """The place (see `place`) of the series' own start."""
        return settled_place(moment(self.master, "DTSTART"), self.zone)

    def _is_changed(self, component: icalendar.Component) -> bool:
        told = self.place(component)
        return told is not None and any(self.place(override) == told for override in self.overrides)

    def place(self, component: icalendar.Component) -> date | None:
        """Return which occurrence a component is (its RECURRENCE-ID): a UTC instant, or the date of an all-day one."""
        at = moment(component, "RECURRENCE-ID")
        return None if not isinstance(at, date) else settled_place(at, self.zone)

    @property
    def repeats(self) -> bool:
        """Whether it can have more than one occurrence."""
        return bool(self.overrides) or any(name in self.master for name in ("RRULE", "RDATE"))


def decode(data: bytes, *, zones: bool = True) -> icalendar.Calendar:
    """Read a calendar; `zones=False` leaves out zone definitions we have anyway, which is four times as fast.

    Raises:
        UnreadableError: It is no calendar.
    """
    try:
        text = _text(data)
        text = told_apart(text if zones else without_known(text))
        parts = icalendar.Calendar.from_ical(text.encode(), multiple=True)
    except BROKEN as error:
        raise UnreadableError(str(error)) from error
    if not parts or not all(isinstance(part, icalendar.Calendar) for part in parts):
        raise UnreadableError("not a VCALENDAR")
    calendar, *more = parts
    for other in more:  # RFC 5545 section 3.4 allows several in one stream
        calendar.subcomponents += other.subcomponents
    for event in calendar.walk("VEVENT"):
        if not str(event.get("UID", "")).strip():
            event["UID"] = icalendar.vText(f"{hashlib.sha256(event.to_ical()).hexdigest()[:32]}@no-uid")
    return calendar


def encode(calendar: icalendar.Calendar) -> bytes:
    """Return the calendar as a file, with a VTIMEZONE for each zone its events use.

    Raises:
        UnreadableError: A property of another program cannot be written again.
    """
    try:
        return _encoded(calendar)
    except BROKEN as error:
        raise UnreadableError("cannot be written") from error


def _encoded(calendar: icalendar.Calendar) -> bytes:
    for component in calendar.walk():
        for name, value in list(component.items()):
            if any(isinstance(one, icalendar.vBroken) for one in several(value)):
                values = [_raw(one) for one in several(value)]
                component[name] = values if isinstance(value, list) else values[0]
    return bytes(complete(calendar).to_ical())


def series_of(calendar: icalendar.Calendar, zone: ZoneInfo) -> list[Series]:
    """Return the series in a calendar; components without a usable start are left out."""
    product = str(calendar.get("PRODID", ""))
    source = "" if product == PRODUCT else product.strip() or "another program"
    groups: dict[str, list[icalendar.Event]] = {}
    for component in calendar.walk("VEVENT"):
        if isinstance(component, icalendar.Event) and _usable(component):
            groups.setdefault(str(component.get("UID", "")), []).append(component)
    return [_series(components, zone, source) for uid, components in groups.items() if uid]


def _series(components: list[icalendar.Event], zone: ZoneInfo, source: str) -> Series:
    masters = [component for component in components if "RECURRENCE-ID" not in component]
    master = masters[-1] if masters else components[0]
    overrides = tuple(component for component in components if "RECURRENCE-ID" in component and component is not master)
    if "ORGANIZER" in master:
        source = _attendee_text(next(iter(several(master["ORGANIZER"])))) or source or "an organizer"
    return Series(str(master["UID"]), master, overrides, source, zone)


def _usable(component: icalendar.Component) -> bool:
    return isinstance(moment(component, "DTSTART"), date)


def new_calendar(uid: str, draft: EventDraft, now: datetime, request: str | None, zone: ZoneInfo) -> icalendar.Calendar:
    """Return a calendar with one event; `request` is the idempotency key and hash to keep with it."""
    calendar = icalendar.Calendar()
    calendar.add("PRODID", PRODUCT)
    calendar.add("VERSION", "2.0")
    component = icalendar.Event()
    component.add("UID", uid)
    component.add("CREATED", now)
    if request:
        component.add(REQUEST_KEY, request)
    if draft.lasts is None:
        set_end(component, draft.start, draft.end)
    else:
        set_times(component, draft.start, Length(exact=draft.lasts), zone)
    write_words(component, {name: value for name in WORDS if (value := getattr(draft, name))})
    if draft.recurrence:
        component.add("RRULE", icalendar.vRecur.from_ical(draft.recurrence))
    stamp(component, now)
    calendar.add_component(component)
    return calendar


def stamp(component: icalendar.Event, now: datetime, *, changed: bool = False) -> None:
    """Set when a component was written, and count a change of it.

    SEQUENCE and DTSTAMP of an event with an organizer are the organizer's: they tell which of the organizer's versions
    it is (RFC 5545 sections 3.8.7.2 and 3.8.7.4, RFC 5546 section 2.1.5).
    """
    theirs = "ORGANIZER" in component
    if changed and not theirs:
        component["SEQUENCE"] = icalendar.vInt(sequence_of(component) + 1)
    for name in ("LAST-MODIFIED",) if theirs and "DTSTAMP" in component else ("DTSTAMP", "LAST-MODIFIED"):
        component.pop(name, None)
        component.add(name, now.astimezone(UTC).replace(microsecond=0))


def write_words(component: icalendar.Event, words: Mapping[str, Any]) -> None:
    """Set these of an event's words, by their names in `Event`; every other property stays as it is."""
    for name, value in words.items():
        if name == "attendees":
            _set_attendees(component, value)
        elif name == "reminders":
            set_reminders(component, value, str(component.get("SUMMARY", "")))
        else:
            set_property(component, _PROPERTIES[name], value or None)


def set_property(component: icalendar.Event, name: str, value: Any) -> None:
    """Set a property to one value, or take it out."""
    component.pop(name, None)
    if value is not None:
        component.add(name, value)


def _set_attendees(component: icalendar.Event, texts: Iterable[str]) -> None:
    """Set who attends; of those who stay, what else is known stays too: their answer, their role."""
    known = {_address(str(value)): value for value in several(component.get("ATTENDEE")) if _address(str(value))}
    named = {_attendee_text(value): value for value in several(component.get("ATTENDEE"))}
    component.pop("ATTENDEE", None)
    for text in texts:
        new = _attendee(text)
        old = named.get(text) or known.get(_address(str(new)))
        if old is not None and text not in named and "CN" in new.params:
            old.params["CN"] = new.params["CN"]
        component.add("ATTENDEE", new if old is None else old, encode=False)


def _address(value: str) -> str:
    address = value.lower().removeprefix("mailto:")
    return "" if f"mailto:{address}" == f"mailto:{_NO_ADDRESS}" or address == _NO_ADDRESS else address


def _attendee(text: str) -> icalendar.vCalAddress:
    match = _ADDRESS.fullmatch(text)
    value = icalendar.vCalAddress(f"mailto:{match['address']}" if match else _NO_ADDRESS)
    name = (match["name"] or "").strip() if match else text
    if name:
        value.params["CN"] = icalendar.vText(name)
    return value


def series_in(calendar: icalendar.Calendar, uid: str, zone: ZoneInfo) -> Series:
    """Return the series of a calendar with this UID; it must be there."""
    return next(series for series in series_of(calendar, zone) if series.uid == uid)


def request_of(series: Series) -> str:
    """Return the idempotency key and hash a series was created with; empty when there is none."""
    return str(series.master.get(REQUEST_KEY, ""))


def settled_place(at: date, zone: ZoneInfo) -> date:
    """Return a RECURRENCE-ID in the form in which equal ones are equal: a UTC instant, or a date."""
    return instant(settled(at, zone), zone) if isinstance(at, datetime) else at


def zone_name(value: date) -> str | None:
    """Return the IANA name of the zone of a time; none for dates and for zones without a name."""
    zone = value.tzinfo if isinstance(value, datetime) else None
    if zone is UTC:
        return "UTC"
    return getattr(zone, "key", None) if zone else None


def _attendee_text(value: Any) -> str:
    address = str(value)
    address = address[len("mailto:") :] if address.lower().startswith("mailto:") else address
    name = str(getattr(value, "params", {}).get("CN", ""))
    if not name or name == address:
        return address
    return name if address == _NO_ADDRESS else f"{name} <{address}>"


def _raw(value: Any) -> Any:
    if not isinstance(value, icalendar.vBroken):
        return value
    raw = _Raw(value)
    raw.params = value.params
    return raw


def _text(data: bytes) -> str:
    """Return the text of a file; a line that is not in UTF-8 is read as old Windows programs write."""
    with contextlib.suppress(UnicodeDecodeError):
        return data.decode("utf-8-sig")
    return "\r\n".join(_line(line) for line in _FOLD.sub(b"", data).splitlines()) + "\r\n"


def _line(line: bytes) -> str:
    for encoding in ("utf-8-sig", "cp1252"):
        with contextlib.suppress(UnicodeDecodeError):
            return line.decode(encoding)
    return line.decode("latin-1")
