"""Surgery on the components of a series: one occurrence apart, one taken out, the series split or moved. Pure.

RFC 5545: RECURRENCE-ID has the value type and zone of the series' DTSTART (section 3.8.4.4), EXDATE too (3.8.5.1), and
UNTIL is in UTC when DTSTART has a zone (3.3.10).
"""

import copy
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, cast

import icalendar

from tools_mcp.calendar.ics import REQUEST_KEY, Series, UnreadableError, settled_place, stamp
from tools_mcp.calendar.lengths import length_of, move, set_times
from tools_mcp.calendar.properties import moment, put, rule_text, several
from tools_mcp.calendar.recurrence import dates_before, moved_rule, plain_rule
from tools_mcp.calendar.times import wall

_OF_THE_SERIES = ("RRULE", "RDATE", "EXDATE", "EXRULE", REQUEST_KEY)
_DATES = ("DTSTART", "DTEND", "DURATION", "RECURRENCE-ID", "RRULE", "RDATE", "EXDATE", "EXRULE")
_SECOND = timedelta(seconds=1)


def apart(series: Series, component: icalendar.Component) -> icalendar.Event:
    """Return an occurrence that the expansion made as an event of its own, its other properties with it."""
    event = cast("icalendar.Event", copy.deepcopy(component))
    for name in (*_OF_THE_SERIES, "RECURRENCE-ID"):
        event.pop(name, None)
    event.add("RECURRENCE-ID", like_the_series(series, component))
    set_times(event, moment(component, "DTSTART"), length_of(component, series.zone), series.zone)
    return event


def alone(component: icalendar.Event, uid: str) -> icalendar.Event:
    """Return an occurrence as an event that belongs to no series, for keeping."""
    event = copy.deepcopy(component)
    event.pop("RECURRENCE-ID", None)
    event["UID"] = icalendar.vText(uid)
    return event


def check_dates(series: Series) -> None:
    """Refuse to change the dates of a series when some of them hold no value.

    Raises:
        UnreadableError: It is so.
    """
    for component in (series.master, *series.overrides):
        for name in _DATES:
            if any(isinstance(one, icalendar.vBroken) for one in several(component.get(name))):
                raise UnreadableError("has dates that cannot be read")


def is_excluded(series: Series, at: date) -> bool:
    """Whether the occurrence due at `at` was taken out before (EXDATE)."""
    check_dates(series)
    return any(settled_place(value, series.zone) == at for value in _values(series.master, "EXDATE"))


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


def split(series: Series, component: icalendar.Component, new_uid: str, now: datetime) -> Series | None:
    """End a series before an occurrence and return what is left as a series of its own; none when no rule has the date.

    Extra dates, exceptions and changed occurrences from there on go along. The changed components stay in place; the
    overrides that go along are the caller's to remove.
    """
    check_dates(series)
    at = like_the_series(series, component)
    place = settled_place(at, series.zone)
    edge = _comparable(place, series)
    master = copy.deepcopy(series.master)
    rules = [_later_rule(rule, series, at) for rule in several(series.master.get("RRULE"))]
    if not any(rule is not None for rule in rules):
        return None
    put(master, "RRULE", [rule for rule in rules if rule is not None])
    move(master, at, series.zone)
    put(series.master, "RRULE", [_ended(rule, series, at) for rule in several(series.master.get("RRULE"))])
    for name in ("RDATE", "EXDATE"):
        _keep(series.master, name, lambda value: _place(value, series) < edge)
        _keep(master, name, lambda value: _place(value, series) >= edge)
    master.pop(REQUEST_KEY, None)
    later = tuple(copy.deepcopy(override) for override in series.overrides if _is_from(series, override, place))
    for event in (master, *later):
        event["UID"] = icalendar.vText(new_uid)
        stamp(event, now, changed=True)
    stamp(series.master, now, changed=True)
    return Series(new_uid, master, later, series.source, series.zone)


def overrides_from(series: Series, component: icalendar.Component) -> list[icalendar.Event]:
    """Return the changed occurrences from a component's due time on."""
    place = settled_place(like_the_series(series, component), series.zone)
    return [override for override in series.overrides if _is_from(series, override, place)]


def follow(series: Series, was: date) -> None:
    """Move the exceptions, the extra dates and the rule of a series after its start moved from `was`.

    Wall clock time moves by what the start moved, in the series' zone before and after.
    """
    check_dates(series)
    start = moment(series.master, "DTSTART")
    for name in ("EXDATE", "RDATE"):
        if name in series.master:
            put(series.master, name, [moved(value, was, start) for value in _values(series.master, name)])
    for name in ("RRULE", "EXRULE"):
        if name in series.master:
            rules = several(series.master.get(name))
            put(series.master, name, [moved_rule(rule, was, start, series.zone) for rule in rules])


def moved(value: Any, was: date, start: date) -> Any:
    """Return where a due time or period of a series goes when its start goes from `was` to `start`."""
    if isinstance(value, tuple):
        first, last = value
        if not isinstance(start, datetime):
            return moved(first, was, start)
        return moved(first, was, start), last if isinstance(last, timedelta) else moved(last, was, start)
    aware = isinstance(value, datetime) and value.tzinfo and isinstance(was, datetime) and was.tzinfo
    there = wall(value.astimezone(was.tzinfo) if aware else value) + (wall(start) - wall(was))  # type: ignore[attr-defined] # both are times then
    return there.replace(tzinfo=start.tzinfo) if isinstance(start, datetime) else there.date()


def is_on_time(series: Series, override: icalendar.Event) -> bool:
    """Whether a changed occurrence starts when it is due."""
    due, begins = moment(override, "RECURRENCE-ID"), moment(override, "DTSTART")
    return settled_place(due, series.zone) == settled_place(begins, series.zone)


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
    ended = copy.deepcopy(plain_rule(rule, moment(series.master, "DTSTART"), series.zone))
    ended.pop("COUNT", None)
    if not isinstance(at, datetime):
        until: date = at - timedelta(days=1)
    elif at.tzinfo is None:
        until = at - _SECOND
    else:
        until = at.astimezone(UTC) - _SECOND
    ended["UNTIL"] = [min(until, rule_end) if (rule_end := ended.get("UNTIL", [None])[0]) else until]
    return ended


def _is_from(series: Series, override: icalendar.Event, place: date) -> bool:
    own = series.place(override)
    return own is not None and _comparable(own, series) >= _comparable(place, series)


def _place(value: Any, series: Series) -> datetime:
    """Return a date, time or period of the series as an instant to compare."""
    return _comparable(settled_place(value[0] if isinstance(value, tuple) else value, series.zone), series)


def _comparable(value: date, series: Series) -> datetime:
    return value if isinstance(value, datetime) else datetime.combine(value, time(), series.zone).astimezone(UTC)


def _values(component: icalendar.Component, name: str) -> list[Any]:
    """Return the dates, times and periods of a property."""
    return [one.dt for listed in several(component.get(name)) for one in getattr(listed, "dts", ())]


def _keep(component: icalendar.Event, name: str, wanted: Callable[[Any], bool]) -> None:
    values = _values(component, name)
    kept = [value for value in values if wanted(value)]
    if len(kept) < len(values):
        put(component, name, kept)
