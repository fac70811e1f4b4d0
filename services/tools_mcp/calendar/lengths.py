"""How long an event is: the one rule for the end of every occurrence. Pure.

RFC 5545 section 3.8.5.3. A length by the clock (DTEND in the zone of DTSTART, a DURATION of whole days) ends at the
same local time every day; an exact one (a DURATION in hours) lasts the same time every day. Where a clock change skips
the start, the clock's length counts from where the start went.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import icalendar

from tools_mcp.calendar.properties import moment
from tools_mcp.calendar.times import settled, wall

_NOTHING = timedelta(0)
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Length:
    """What lies between start and end: so much on the wall clock, then so much time."""

    clock: timedelta = _NOTHING
    exact: timedelta = _NOTHING

    @property
    def total(self) -> timedelta:
        """Both together, as long as no clock changes meanwhile."""
        return self.clock + self.exact


def length_of(component: icalendar.Component, configured: ZoneInfo) -> Length:
    """Return the length in a component's properties; never less than nothing, a date without an end is one day."""
    start, end, told = (moment(component, name) for name in ("DTSTART", "DTEND", "DURATION"))
    timed = isinstance(start, datetime)
    if end is not None and isinstance(end, datetime) == timed:
        return _between(start, end, configured)
    if not isinstance(told, timedelta):
        return Length() if timed else Length(clock=_DAY)
    told = max(told, _NOTHING)
    if not timed:
        return Length(clock=max(_DAY, told - told % _DAY))
    return Length(exact=told) if told % _DAY else Length(clock=told)


def _between(start: date, end: date, configured: ZoneInfo) -> Length:
    begins, ends = settled(start, configured), settled(end, configured)
    if not isinstance(begins, datetime) or not isinstance(ends, datetime):
        return Length(clock=max(end - start, _NOTHING))
    together = getattr(start, "tzinfo", None) == getattr(end, "tzinfo", None)
    if together and not _is_skipped(start, configured) and ends > begins:
        return Length(clock=max(wall(end) - wall(start), _NOTHING))
    return Length(exact=max(ends.astimezone(UTC) - begins.astimezone(UTC), _NOTHING))


def end_of(start: date, length: Length, configured: ZoneInfo) -> date:
    """Return when something of this length ends that is due at `start`, as its file or its rule says it."""
    begins = settled(start, configured)
    if not isinstance(start, datetime) or not isinstance(begins, datetime):
        return start + length.clock
    ends = settled(start + length.clock, configured)
    if _is_skipped(start, configured) or _instant(ends) <= _instant(begins):
        ends = later(begins, length.clock)
    return later(ends, length.exact)


def later(at: date, by: timedelta) -> date:
    """Return the moment that is so much elapsed time later."""
    return (at.astimezone(UTC) + by).astimezone(at.tzinfo) if isinstance(at, datetime) and by else at


def _instant(value: date) -> datetime:
    at: datetime = value.astimezone(UTC)  # type: ignore[attr-defined] # what `settled` made of a time
    return at


def set_times(component: icalendar.Event, start: date, length: Length, configured: ZoneInfo) -> None:
    """Write when a component starts and how long it is, so that every program reads this length from it.

    That is DTEND, unless a clock change lies between: RFC 5545 takes the time that passes until DTEND for the length of
    every occurrence, so DURATION says it then.
    """
    clear_times(component)
    component.add("DTSTART", start)
    if not isinstance(start, datetime):
        component.add("DTEND", start + length.clock)
        return
    ends = start + length.total
    begun, ended = settled(start, configured), settled(ends, configured)
    if _instant(ended) - _instant(begun) != length.total:
        component.add("DURATION", length.total)
    elif length.total:
        component.add("DTEND", ends)


def move(component: icalendar.Event, start: date, configured: ZoneInfo) -> None:
    """Write another start of the same kind; the length stays, and how it is written too where that is possible."""
    if "DTEND" in component:
        set_times(component, start, length_of(component, configured), configured)
    else:
        component.pop("DTSTART", None)
        component.add("DTSTART", start)


def set_end(component: icalendar.Event, start: date, end: date) -> None:
    """Write both ends as they are."""
    clear_times(component)
    component.add("DTSTART", start)
    component.add("DTEND", end)


def clear_times(component: icalendar.Component) -> None:
    """Take out when a component starts and ends."""
    for name in ("DTSTART", "DTEND", "DURATION"):
        component.pop(name, None)


def _is_skipped(start: date, configured: ZoneInfo) -> bool:
    """Whether a clock change skips this local time."""
    return wall(settled(start, configured)) != wall(start)
