"""Which occurrences of a series fall into a window. Pure; the expansion itself is `recurring-ical-events`."""

from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from typing import Any

from tools_mcp.calendar.ics import Series, UnreadableError, moment
from tools_mcp.calendar.model import Event
from tools_mcp.calendar.recurrence import first_date
from tools_mcp.calendar.times import instant

_MARGIN = timedelta(days=2)  # dates and floating times lie at most a day off, whatever the zones
_TOO_FINE = ("SECONDLY", "MINUTELY", "HOURLY")


def occurrences(series: Series, start: datetime, end: datetime) -> list[Event]:
    """Return the occurrences that overlap `[start, end)`; each keeps its local time across clock changes.

    Raises:
        UnreadableError: Its recurrence rule is broken, or finer than a day.
    """
    if not series.repeats:
        return [series.event] if _overlap(*series.span, start, end) else []
    events = [series.occurrence(component) for component in _expand(series, start, end)]
    spans = [(instant(event.start, series.zone), instant(event.end, series.zone)) for event in events]
    return [event for event, span in zip(events, spans, strict=True) if _overlap(*span, start, end)]


def _overlap(begins: datetime, ends: datetime, start: datetime, end: datetime) -> bool:
    """Whether an event has time in `[start, end)`; one without length counts at its start."""
    return begins < end and (ends > start or begins == ends >= start)


def _expand(series: Series, start: datetime, end: datetime) -> list[Any]:
    try:
        _check_rules(series)
        return list(series.query.between(start.astimezone(UTC) - _MARGIN, end.astimezone(UTC) + _MARGIN))
    except (ValueError, TypeError, KeyError, OverflowError) as error:  # broken rules surface as any of these
        raise UnreadableError(str(error)) from error


def _check_rules(series: Series) -> None:
    """Refuse rules that would take the expansion very long: finer than a day, or without any date."""
    start = moment(series.master, "DTSTART")
    wall = start.replace(tzinfo=None) if isinstance(start, datetime) else datetime.combine(start, time())
    rules = series.master.get("RRULE", [])
    for rule in rules if isinstance(rules, list) else [rules]:
        if str(rule.get("FREQ", [""])[0]).upper() in _TOO_FINE:
            raise UnreadableError("repeats more often than daily")
        if _first_date(rule.to_ical().decode(), wall) is None:
            raise UnreadableError("repeats on no date")


_first_date = lru_cache(maxsize=1000)(first_date)
