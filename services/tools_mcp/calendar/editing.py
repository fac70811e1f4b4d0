"""Surgery on the components of a series: one occurrence apart, one taken out, the series split or moved. Pure.

RFC 5545: RECURRENCE-ID has the value type and zone of the series' DTSTART (section 3.8.4.4), EXDATE too (3.8.5.1), and
UNTIL is in UTC when DTSTART has a zone (3.3.10).
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import icalendar

from tools_mcp.calendar.ics import REQUEST_KEY, Series, settled_place, stamp
from tools_mcp.calendar.properties import moment, rule_text, several
from tools_mcp.calendar.recurrence import dates_before
from tools_mcp.calendar.times import wall

_OF_THE_SERIES = ("RRULE", "RDATE", "EXDATE", "EXRULE", REQUEST_KEY)
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class Tail:
    """What a split takes off a series: its own components, first the series itself."""

    components: tuple[icalendar.Event, ...]


def apart(series: Series, component: icalendar.Component) -> icalendar.Event:
    """Return the occurrence that the expansion made as an event of its own, the series' other properties with it."""
    event = copy.deepcopy(series.master)
    for name in (*_OF_THE_SERIES, "DTSTART", "DTEND", "DURATION"):
        event.pop(name, None)
    event.add("RECURRENCE-ID", moment(component, "RECURRENCE-ID"))
    event.add("DTSTART", moment(component, "DTSTART"))
    if (end := moment(component, "DTEND")) is not None:
        event.add("DTEND", end)
    return event


def is_excluded(series: Series, at: date) -> bool:
    """Whether the occurrence due at `at` was taken out before (EXDATE)."""
    return any(settled_place(value, series.zone) == at for value in _dates(series.master, "EXDATE"))


def exclude(series: Series, component: icalendar.Component, now: datetime) -> None:
    """Take an occurrence out of the series' own component; its override, if any, is the caller's to remove."""
    series.master.add("EXDATE", like_the_series(series, component))
    stamp(series.master, now, changed=True)


def like_the_series(series: Series, component: icalendar.Component) -> date:
    """Return a component's RECURRENCE-ID in the value type and zone of the series' start."""
    at: date = moment(component, "RECURRENCE-ID")
    start = moment(series.master, "DTSTART")
    if not isinstance(at, datetime) or not isinstance(start, datetime):
        return at
    aware = at if at.tzinfo else at.replace(tzinfo=series.zone)
    if start.tzinfo is None:
        return aware.astimezone(series.zone).replace(tzinfo=None)
    return aware if at.tzinfo == start.tzinfo else aware.astimezone(start.tzinfo)


def split(series: Series, component: icalendar.Component, new_uid: str, now: datetime) -> Tail | None:
    """End a series before an occurrence and return what is left as a series of its own; none when no rule has the date.

    Extra dates, exceptions and changed occurrences from there on go along. The changed components stay in place; the
    overrides that go along are the caller's to remove.
    """
    at = like_the_series(series, component)
    place = settled_place(at, series.zone)
    edge = _comparable(place, series)
    master = copy.deepcopy(series.master)
    rules = [_later_rule(rule, series, at) for rule in several(series.master.get("RRULE"))]
    if not any(rule is not None for rule in rules):
        return None
    _put(master, "RRULE", [rule for rule in rules if rule is not None])
    start, end = moment(series.master, "DTSTART"), moment(series.master, "DTEND")
    _put(master, "DTSTART", [at])
    if end is not None:
        _put(master, "DTEND", [_ends(at, start, end)])
    _put(series.master, "RRULE", [_ended(rule, series, at) for rule in several(series.master.get("RRULE"))])
    for name in ("RDATE", "EXDATE"):
        _keep(series.master, name, lambda value: _place(value, series) < edge)
        _keep(master, name, lambda value: _place(value, series) >= edge)
    master.pop(REQUEST_KEY, None)
    later = [copy.deepcopy(override) for override in series.overrides if _is_from(series, override, place)]
    for event in (master, *later):
        event["UID"] = icalendar.vText(new_uid)
        stamp(event, now, changed=True)
    stamp(series.master, now, changed=True)
    return Tail((master, *later))


def overrides_from(series: Series, component: icalendar.Component) -> list[icalendar.Event]:
    """Return the changed occurrences from a component's due time on."""
    place = settled_place(like_the_series(series, component), series.zone)
    return [override for override in series.overrides if _is_from(series, override, place)]


def follow(series: Series, was: date, now: datetime) -> None:
    """Move what hangs on a series' due times after its own start moved from `was`: exceptions, dates, changed ones.

    Wall clock time moves by what the start moved, in the series' zone before and after. A changed occurrence that was
    at its due time moves along; one that has a time of its own stays there.
    """
    start = moment(series.master, "DTSTART")
    delta = wall(start) - wall(was)

    def moved(value: date) -> date:
        aware = isinstance(value, datetime) and value.tzinfo and isinstance(was, datetime) and was.tzinfo
        there = wall(value.astimezone(was.tzinfo) if aware else value) + delta  # type: ignore[attr-defined]
        return there.replace(tzinfo=start.tzinfo) if isinstance(start, datetime) else there.date()

    for name in ("EXDATE", "RDATE"):
        if name in series.master:
            _put(series.master, name, [moved(value) for value in _dates(series.master, name)])
    end = moment(series.master, "DTEND")
    for override in series.overrides:
        due, begins = moment(override, "RECURRENCE-ID"), moment(override, "DTSTART")
        on_time = settled_place(due, series.zone) == settled_place(begins, series.zone)
        _put(override, "RECURRENCE-ID", [moved(due)])
        if on_time:
            _put(override, "DTSTART", [moved(due)])
            override.pop("DURATION", None)
            _put(override, "DTEND", [] if end is None else [_ends(moved(due), start, end)])
        stamp(override, now, changed=True)


def _later_rule(rule: icalendar.vRecur, series: Series, at: date) -> icalendar.vRecur | None:
    """Return the part of a rule from one of its dates on; none when that is no date of it."""
    before, hit = dates_before(rule_text(rule), wall(moment(series.master, "DTSTART")), wall(at))
    if not hit:
        return None
    later = copy.deepcopy(rule)
    if count := rule.get("COUNT"):
        later["COUNT"] = [int(count[0]) - before]
    return later


def _ended(rule: icalendar.vRecur, series: Series, at: date) -> icalendar.vRecur:
    """Return a rule that ends right before one of its dates."""
    ended = copy.deepcopy(rule)
    ended.pop("COUNT", None)
    if not isinstance(at, datetime):
        until: date = at - timedelta(days=1)
    elif at.tzinfo is None:
        until = at - _SECOND
    else:
        until = at.astimezone(UTC) - _SECOND
    told = rule.get("UNTIL", [until])[0]
    ended["UNTIL"] = [until if _place(until, series) <= _place(told, series) else told]
    return ended


def _ends(at: date, start: Any, end: Any) -> date:
    """Return the end of an occurrence: as long after its start as the series' end is after the series' start."""
    if isinstance(at, datetime) and at.tzinfo and isinstance(start, datetime) and start.tzinfo and end.tzinfo:
        length: timedelta = end.astimezone(UTC) - start.astimezone(UTC)
        return (at.astimezone(UTC) + length).astimezone(at.tzinfo)
    ends: date = at + (wall(end) - wall(start))
    return ends


def _is_from(series: Series, override: icalendar.Event, place: date) -> bool:
    own = series.place(override)
    return own is not None and _comparable(own, series) >= _comparable(place, series)


def _place(value: Any, series: Series) -> datetime:
    """Return a date, time or period of the series as an instant to compare."""
    return _comparable(settled_place(value[0] if isinstance(value, tuple) else value, series.zone), series)


def _comparable(value: date, series: Series) -> datetime:
    return value if isinstance(value, datetime) else datetime.combine(value, time(), series.zone).astimezone(UTC)


def _dates(component: icalendar.Component, name: str) -> list[Any]:
    """Return the dates and times of a property; the start of what is a period."""
    values = [one.dt for listed in several(component.get(name)) for one in getattr(listed, "dts", ())]
    return [value[0] if isinstance(value, tuple) else value for value in values]


def _keep(component: icalendar.Event, name: str, wanted: Callable[[Any], bool]) -> None:
    values = _dates(component, name)
    kept = [value for value in values if wanted(value)]
    if len(kept) < len(values):
        _put(component, name, kept)


def _put(component: icalendar.Event, name: str, values: Sequence[Any]) -> None:
    component.pop(name, None)
    for value in values:
        component.add(name, value)
