"""What a change of a series comes to: for one occurrence, from one on, or as a whole. Pure.

Words and times are two changes: nothing of the times or the rule is looked at when only words were given. The
components are changed in place; whoever calls writes the calendar they are in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import icalendar

from tools_mcp.calendar.drafting import Span, check_zoned, new_rule, new_span, new_words, own_zone
from tools_mcp.calendar.editing import apart, follow, is_on_time, moved, split
from tools_mcp.calendar.expansion import occurrence_at
from tools_mcp.calendar.ics import Series, set_property, stamp, write_words, zone_name
from tools_mcp.calendar.identity import split_uid
from tools_mcp.calendar.lengths import Length, length_of, move, set_end, set_times
from tools_mcp.calendar.model import Event, EventFields, Outcome
from tools_mcp.calendar.properties import holds_on, moment, put, rule_text, several
from tools_mcp.calendar.recurrence import check_start, starts_with
from tools_mcp.calendar.times import settled, wall
from tools_mcp.errors import ConflictError, InvalidInputError
from tools_mcp.texts import shown


@dataclass(frozen=True)
class Change:
    """The fields to set, where local times are read, and when it happens."""

    fields: EventFields
    configured: ZoneInfo
    now: datetime


@dataclass(frozen=True)
class _Move:
    """Where the start of a series goes, and the length its occurrences get; none when each keeps its own."""

    was: date
    start: date
    length: Length | None

    @property
    def changes_kind(self) -> bool:
        return isinstance(self.was, datetime) != isinstance(self.start, datetime)


def change_occurrence(
    calendar: icalendar.Calendar, series: Series, component: icalendar.Component, change: Change
) -> Outcome:
    """Change one occurrence: it becomes an override of its own (RECURRENCE-ID), or its override is changed.

    Raises:
        InvalidInputError: A field cannot be used.
        ConflictError: What was changed in this occurrence holds for all later ones too.
    """
    current = series.occurrence(component)
    if change.fields.recurrence:
        raise InvalidInputError("recurrence belongs to the series; send it with scope following or all.")
    words = _differing(current, new_words(change.fields))
    span = new_span(current, change.fields, change.configured)
    remarks = span.remarks if span else ()
    if span and not _moves(current, span):
        span = None
    if not words and span is None:
        return Outcome("unchanged", current, remarks)
    refuse_holding_on(component)
    own = next((override for override in series.overrides if override is component), None)
    if own is None:
        own = apart(series, component)
        calendar.add_component(own)
    write_words(own, words)
    if span:
        _write_span(own, span, change)
    stamp(own, change.now, changed=True)
    return Outcome("updated", replace(series.occurrence(own), changed=True), remarks)


def change_series(series: Series, component: icalendar.Component | None, change: Change, *, relative: bool) -> Outcome:
    """Change a series as a whole, its changed occurrences too, but not what was changed in them before.

    A start is the series' own; `relative` to one occurrence it moves every one by as much. That occurrence, if it was
    changed before, takes what was given in any case.

    Raises:
        InvalidInputError: A field cannot be used.
        ConflictError: An occurrence that was changed one by one is no date of the series any more.
    """
    event, fields = series.event, change.fields
    base = event if component is None else series.occurrence(component)
    words, span = new_words(fields), new_span(base, fields, change.configured)
    there = series.place(component) if component is not None else None
    going = _move_of(series, base if relative else event, span, change) if span else None
    rule = None if fields.recurrence is None else _new_rule(series, going, span, change)
    if going:
        _check_rule(series, going, rule, span)
    touched, remarks = _change_words(series, words, there)
    if going:
        touched += _change_times(series, going, span, there, change)
    if rule is not None and rule != event.recurrence:
        touched.append(series.master)
        _set_rule(series.master, rule)
    remarks = (*(span.remarks if span else ()), *remarks)
    if not touched:
        return Outcome("unchanged", event, remarks)
    for one in {id(one): one for one in touched}.values():
        stamp(one, change.now, changed=True)
    if going or rule is not None:
        _check_overrides(series, event)
    return Outcome("updated", replace(series, uid=series.uid).event, remarks)


def split_series(series: Series, component: icalendar.Component, now: datetime) -> Series:
    """End a series before an occurrence and return the rest as a series of its own, whose UID is always the same.

    Raises:
        ConflictError: The occurrence is an extra date, the rule cannot be followed, or an earlier change holds on.
    """
    place = series.place(component)
    uid = split_uid(series.uid, place) if place else series.uid
    for override in series.overrides:
        if holds_on(override) and override is not component:
            raise ConflictError(
                f"The series {shown(series.event.title)} cannot be split, because another program changed it from one "
                "occurrence on; use scope this or all."
            )
    try:
        later = split(series, component, uid, now)
    except (ValueError, TypeError, KeyError) as error:
        raise _no_split(series) from error
    if later is None:
        raise _no_split(series)
    return later


def refuse_holding_on(component: icalendar.Component) -> None:
    """Refuse to change one occurrence alone when what is changed in it holds for all later ones too.

    Raises:
        ConflictError: It is so.
    """
    if holds_on(component):
        raise ConflictError(
            "Another program changed this occurrence together with all later ones, so it cannot be changed alone; use "
            "scope following or all."
        )


def _no_split(series: Series) -> ConflictError:
    return ConflictError(
        f"The series {shown(series.event.title)} cannot be split there, because its rule does not lead to this date; "
        "use scope this or all."
    )


def _differing(event: Event, words: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in words.items() if getattr(event, name) != value}


def _moves(event: Event, span: Span) -> bool:
    return (event.start, event.end, event.zone) != (span.start, span.end, zone_name(span.start))


def _set_rule(master: icalendar.Event, rule: str) -> None:
    set_property(master, "RRULE", icalendar.vRecur.from_ical(rule) if rule else None)
    if not rule:
        for name in ("EXDATE", "RDATE", "EXRULE"):
            master.pop(name, None)


def _change_words(
    series: Series, words: Mapping[str, Any], there: date | None
) -> tuple[list[icalendar.Event], tuple[str, ...]]:
    """Write words into a series and its changed occurrences, but not over words that are an occurrence's own.

    Return the components that changed, and what there is to say about the others.
    """
    event, touched, kept = series.event, [], 0
    overrides = [(override, series.occurrence(override)) for override in series.overrides]
    for component, current in ((series.master, event), *overrides):
        given = component is series.master or series.place(component) == there
        new = {name: value for name, value in words.items() if given or getattr(current, name) == getattr(event, name)}
        kept += bool(_differing(current, {name: words[name] for name in words.keys() - new.keys()}))
        if own := _differing(current, new):
            write_words(component, own)
            touched.append(component)
    if not kept:
        return touched, ()
    told = "1 occurrence keeps what was" if kept == 1 else f"{kept} occurrences keep what was"
    return touched, (f"{told} changed there before; send its own id to change it.",)


def _move_of(series: Series, base: Event, span: Span, change: Change) -> _Move:
    """Return where a series goes when `base`, itself or one of its occurrences, goes to the span."""
    was = moment(series.master, "DTSTART")
    start = was
    if change.fields.start is None and not isinstance(span.start, datetime):
        start = wall(was).date()
    elif change.fields.start is not None and _starts_elsewhere(base, span):
        there = wall(was) + (wall(span.start) - wall(base.start))
        start = _like(was, there, span.start, change) if isinstance(span.start, datetime) else there.date()
    length = None
    if span.told_length or isinstance(was, datetime) != isinstance(start, datetime):
        length = Length(exact=span.lasts) if span.lasts is not None else Length(clock=wall(span.end) - wall(span.start))
    return _Move(was, start, length)


def _starts_elsewhere(base: Event, span: Span) -> bool:
    return (base.start, base.zone) != (span.start, zone_name(span.start)) or base.all_day != (
        not isinstance(span.start, datetime)
    )


def _like(was: date, there: datetime, start: datetime, change: Change) -> datetime:
    """Return a wall clock time in the zone of `start`; without any when there was none before and none was named."""
    floats = isinstance(was, datetime) and was.tzinfo is None and change.fields.timezone is None
    return there if floats and start.tzinfo == change.configured else there.replace(tzinfo=start.tzinfo)


def _new_rule(series: Series, going: _Move | None, span: Span | None, change: Change) -> str:
    """Return the rule that was given, as it is stored; empty for none."""
    start = settled(going.start if going else moment(series.master, "DTSTART"), series.zone)
    if span is None:
        zone = own_zone(series.event, change.fields, change.configured)
        zoned = not isinstance(start, datetime) or zone is not None
        span = Span(start, start, None, told_length=False, zoned=zoned, remarks=())
    return new_rule(change.fields.recurrence or "", start, span, None)


def _check_rule(series: Series, going: _Move, rule: str | None, span: Span | None) -> None:
    """Refuse a move that takes the start off its rule, when it was a date of it before."""
    if going.start == going.was and not going.changes_kind:
        return
    rules = [rule_text(one) for one in several(series.master.get("RRULE"))]
    if rules and rule is None and span:
        check_zoned(span)
    if rule is None and len(rules) == 1 and starts_with(rules[0], going.was):
        check_start(rules[0], going.start)


def _change_times(
    series: Series, going: _Move, span: Span | None, there: date | None, change: Change
) -> list[icalendar.Event]:
    """Move a series and what hangs on it, and return the components that changed."""
    if not series.repeats and span:
        if not _moves(series.event, span):
            return []
        _write_span(series.master, span, change)
        return [series.master]
    zone = series.zone
    before = length_of(series.master, zone)
    moves = (going.was, zone_name(going.was)) != (going.start, zone_name(going.start)) or going.changes_kind
    longer = going.length is not None and going.length.total != before.total
    due = [(override, series.place(override), is_on_time(series, override)) for override in series.overrides]
    touched: list[icalendar.Event] = []
    if moves or longer:
        if longer and going.length and span and span.told_length and span.lasts is None:
            set_end(series.master, going.start, going.start + going.length.clock)
        elif longer and going.length:
            set_times(series.master, going.start, going.length, zone)
        else:
            move(series.master, going.start, zone)
        follow(series, going.was)
        touched += [series.master, *series.overrides]
    for override, place, on_time in due:
        if moves or longer:
            _take_along(override, going, before, zone, on_time=on_time)
        if place == there and span and _moves(series.occurrence(override), span):
            _write_span(override, span, change)
            touched.append(override)
    return touched


def _take_along(override: icalendar.Event, going: _Move, before: Length, zone: ZoneInfo, *, on_time: bool) -> None:
    """Move a changed occurrence with its series; a time or a length of its own it keeps."""
    due = moved(moment(override, "RECURRENCE-ID"), going.was, going.start)
    own = length_of(override, zone)
    holds = holds_on(override)
    put(override, "RECURRENCE-ID", [due])
    if holds:
        override["RECURRENCE-ID"].params["RANGE"] = "THISANDFUTURE"
    start = due if on_time else moment(override, "DTSTART")
    if going.length is not None and (own.total == before.total or (going.changes_kind and on_time)):
        set_times(override, start, going.length, zone)
    elif on_time:
        move(override, start, zone)


def _write_span(component: icalendar.Event, span: Span, change: Change) -> None:
    was = moment(component, "DTSTART")
    if not isinstance(span.start, datetime) or not isinstance(span.end, datetime):
        set_end(component, span.start, span.end)
        return
    start = _like(was, wall(span.start), span.start, change)
    if span.lasts is not None:
        set_times(component, start, Length(exact=span.lasts), change.configured)
    else:
        set_end(component, start, _like(was, wall(span.end), span.end, change))


def _check_overrides(series: Series, event: Event) -> None:
    alone = replace(series, overrides=(), queries={})
    for override in series.overrides:
        place: date | None = series.place(override)
        if place is None or not alone.repeats or occurrence_at(alone, place) is None:
            raise ConflictError(
                f"Some occurrences of {shown(event.title)} were changed one by one and would lose their place; "
                "change them first, or use scope following from a later one."
            )
