"""Which occurrences of a series fall into a window. Pure; the expansion itself is `recurring-ical-events`."""

import copy
import math
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import icalendar

from tools_mcp.calendar.ics import BROKEN, Series, UnreadableError, settled_place
from tools_mcp.calendar.lengths import Length, clear_times, end_of, length_of
from tools_mcp.calendar.model import Event
from tools_mcp.calendar.properties import holds_on, moment, put, rule_text, several
from tools_mcp.calendar.recurrence import first_date, last_wall, plain_rule
from tools_mcp.calendar.times import instant, settled, wall

if TYPE_CHECKING:
    from recurring_ical_events import CalendarQuery

_MARGIN = timedelta(days=2)  # dates and floating times lie at most a day off, whatever the zones
_TOO_FINE = ("SECONDLY", "MINUTELY", "HOURLY")
_MOST_A_DAY = 24
_MOST_DATES = 10_000  # of a series' extra dates and exceptions; they are looked through one by one
_MOST_RULES = 10
_DAYS = {"DAILY": 1, "WEEKLY": 7}
_A_YEAR = 364  # days, and whole weeks
_QUERIES_KEPT = 4
_LONGEST = timedelta(days=366)
_FARTHEST = timedelta(days=2 * 366)
_BROKEN_DATES = "has dates that cannot be read"


def occurrences(series: Series, start: datetime, end: datetime) -> list[Event]:
    """Return the occurrences that overlap `[start, end)`; each keeps its local time across clock changes.

    Raises:
        UnreadableError: Its recurrence rule is broken, or finer than a day.
    """
    if not series.repeats:
        return [series.event] if overlap(*series.span, start, end) else []
    events = [series.occurrence(component) for component in expand(series, start, end)]
    spans = [(instant(event.start, series.zone), instant(event.end, series.zone)) for event in events]
    return [event for event, span in zip(events, spans, strict=True) if overlap(*span, start, end)]


def overlap(begins: datetime, ends: datetime, start: datetime, end: datetime) -> bool:
    """Whether an event has time in `[start, end)`; one without length counts at its start."""
    return begins < end and (ends > start or begins == ends >= start)


def expand(series: Series, start: datetime, end: datetime) -> list[Any]:
    """Return the components of the occurrences in a window, and a few days more on both sides.

    Raises:
        UnreadableError: Its recurrence rule is broken, or finer than a day.
    """
    try:
        _check_rules(series)
        begins, ends = start.astimezone(UTC) - _MARGIN, end.astimezone(UTC) + _MARGIN
        changed: dict[date | None, list[icalendar.Event]] = {}
        for override in series.overrides:
            changed.setdefault(series.place(override), []).append(override)
        left_out = _left_out(series, begins, ends)
        found = _query(series, _near(series, begins)).between(begins, ends)
        told = [_told(series, made, changed.get(series.place(made), []) if changed else []) for made in found]
        if not left_out:
            return told
        kept = {id(override) for override in series.overrides}
        return [one for one in told if id(one) in kept or series.place(one) not in left_out]
    except BROKEN as error:
        raise UnreadableError(_BROKEN_DATES) from error


def _told(series: Series, made: icalendar.Component, changed: Sequence[icalendar.Event]) -> icalendar.Component:
    """Return an occurrence with its end by our rule, and with a due time of its own.

    The library counts lengths on the wall clock only, and gives what follows an occurrence that was changed together
    with all later ones (RANGE=THISANDFUTURE) the due time of that one. `changed` are the changes with this due time.
    """
    start = moment(made, "DTSTART")
    for override in changed:
        if moment(override, "DTSTART") == start:
            return override
    source = next((override for override in changed if holds_on(override)), series.master)
    if source is not series.master:
        due = settled(moment(source, "RECURRENCE-ID"), series.zone)
        put(made, "RECURRENCE-ID", [start - (wall(settled(moment(source, "DTSTART"), series.zone)) - wall(due))])
    ends = moment(made, "DTEND")
    if _offset(start) == _offset(ends) is not None:
        return made  # no clock changes meanwhile, so every way to count is the same
    length, counted = length_of(source, series.zone), wall(ends) - wall(start)
    if counted != length.total:
        length = Length(clock=counted)  # an extra date may have a length of its own (VALUE=PERIOD)
    end = end_of(start, length, series.zone)
    made["DTEND"] = icalendar.vDDDTypes(end.astimezone(UTC) if isinstance(end, datetime) else end)
    return made


def _offset(value: date) -> timedelta | None:
    return value.utcoffset() if isinstance(value, datetime) else None


def _left_out(series: Series, begins: datetime, ends: datetime) -> set[date]:
    """Return the due times in a window that EXRULEs take out, which the library does not know (RFC 2445 4.8.5.2)."""
    if "EXRULE" not in series.master:
        return set()
    from dateutil.rrule import rrulestr  # imported late: most events do not repeat

    start = moment(series.master, "DTSTART")
    zone = getattr(start, "tzinfo", None) or series.zone
    window = (wall(begins.astimezone(zone)) - _MARGIN, wall(ends.astimezone(zone)) + _MARGIN)
    left_out: set[date] = set()
    for rule in several(series.master.get("EXRULE")):
        endless = copy.deepcopy(rule)
        told = endless.pop("UNTIL", [None])[0]
        last = last_wall(told, start, series.zone) if isinstance(told, date) else window[1]
        dates = rrulestr(rule_text(endless), dtstart=wall(start)).between(window[0], min(window[1], last), inc=True)
        timed = isinstance(start, datetime)
        left_out |= {settled_place(at.replace(tzinfo=zone) if timed else at.date(), series.zone) for at in dates}
    return left_out


def occurrence_at(series: Series, at: date) -> icalendar.Component | None:
    """Return the component of the occurrence that is due at `at` (as `Series.place` tells it), if there is one.

    Raises:
        UnreadableError: Its recurrence rule is broken, or finer than a day.
    """
    moved = next((override for override in series.overrides if series.place(override) == at), None)
    if moved is not None:
        return moved
    around = instant(at, series.zone)
    components: Iterable[icalendar.Component] = expand(series, around, around + timedelta(minutes=1))
    return next((component for component in components if series.place(component) == at), None)


def has_occurrences(series: Series) -> bool:
    """Whether a series still has an occurrence; an endless one has.

    Raises:
        UnreadableError: Its recurrence rule is broken, or finer than a day.
    """
    try:
        _check_rules(series)
        return next(iter(_query(series, None).after(_long_ago(series))), None) is not None
    except BROKEN as error:
        raise UnreadableError(_BROKEN_DATES) from error


def _query(series: Series, base: date | None) -> "CalendarQuery":
    """Return what expands a series, counting from `base`, a start as good as its own, or from its own."""
    key = base or moment(series.master, "DTSTART")
    if key not in series.queries:
        import recurring_ical_events  # imported late: most events do not repeat

        if len(series.queries) >= _QUERIES_KEPT:
            series.queries.clear()
        calendar = icalendar.Calendar()
        calendar.subcomponents = [_plain(series, base), *series.overrides]
        series.queries[key] = recurring_ical_events.of(calendar)
    return series.queries[key]


def _near(series: Series, begins: datetime) -> date | None:
    """Return a start shortly before a window that leads to the same dates in it; none when the own start is near.

    A daily or weekly rule without COUNT goes on the same from any start that is whole intervals later.
    """
    rules, start = list(several(series.master.get("RRULE"))), moment(series.master, "DTSTART")
    freq = str(rules[0].get("FREQ", [""])[0]).upper() if rules else ""
    if len(rules) != 1 or freq not in _DAYS or "COUNT" in rules[0]:
        return None
    period = _DAYS[freq] * max(1, int(rules[0].get("INTERVAL", [1])[0]))
    length = instant(series.event.end, series.zone) - series.span[0]
    steps = (begins - length - series.span[0]).days // period
    steps -= steps % max(1, _A_YEAR // period) + max(1, _A_YEAR // period)  # the same start for all windows of a year
    return start + timedelta(days=steps * period) if steps > 0 else None


def _plain(series: Series, base: date | None) -> icalendar.Component:
    """Return the series' own component as the library understands it: with another start, an end, and a usual UNTIL."""
    master, start = series.master.copy(), moment(series.master, "DTSTART")
    begins = base or start
    clear_times(master)
    master.add("DTSTART", begins)
    master.add("DTEND", begins + length_of(series.master, series.zone).total)
    if "RRULE" in master:
        put(master, "RRULE", [plain_rule(rule, start, series.zone) for rule in several(series.master.get("RRULE"))])
    master.subcomponents = series.master.subcomponents
    return master


def _long_ago(series: Series) -> datetime:
    events = [series.occurrence(component) for component in (series.master, *series.overrides)]
    return min(instant(event.start, series.zone) for event in events) - _MARGIN


def _check_rules(series: Series) -> None:
    """Refuse rules that would take the expansion very long: finer than a day, or without any date."""
    start = moment(series.master, "DTSTART")
    begins = wall(start)
    rules = [*several(series.master.get("RRULE")), *several(series.master.get("EXRULE"))]
    if len(rules) > _MOST_RULES:
        raise UnreadableError("has too many rules")
    for rule in rules:
        if str(rule.get("FREQ", [""])[0]).upper() in _TOO_FINE:
            raise UnreadableError("repeats more often than daily")
        if min(map(int, rule.get("INTERVAL", [1])), default=1) < 1:
            raise UnreadableError("repeats without an interval")  # the library would never come to an end
        if math.prod(len(rule.get(part, [0])) for part in ("BYHOUR", "BYMINUTE", "BYSECOND")) > _MOST_A_DAY:
            raise UnreadableError("repeats too often in a day")
        if _first_date(rule_text(rule), begins) is None:
            raise UnreadableError("repeats on no date")
    _check_spans(series)
    listed = [one for name in ("RDATE", "EXDATE") for one in several(series.master.get(name))]
    if sum(len(getattr(one, "dts", ())) for one in listed) > _MOST_DATES:
        raise UnreadableError("has too many dates")


def _check_spans(series: Series) -> None:
    """Refuse what makes the expansion look through years of occurrences for every window."""
    for component in (series.master, *series.overrides):
        start, end, length = (moment(component, name) for name in ("DTSTART", "DTEND", "DURATION"))
        if isinstance(end, date):
            length = wall(end) - wall(start)
        if isinstance(length, timedelta) and abs(length) > _LONGEST:
            raise UnreadableError("takes too long for something that repeats")
    for override in series.overrides:
        due = moment(override, "RECURRENCE-ID")
        if isinstance(due, date) and abs(wall(moment(override, "DTSTART")) - wall(due)) > _FARTHEST:
            raise UnreadableError("has an occurrence that was moved by years")


_first_date = lru_cache(maxsize=1000)(first_date)
