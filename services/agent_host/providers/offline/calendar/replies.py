"""Events and free times as the calendar server returned them, in words: local time, zone, length."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from agent_host.providers.offline.results import as_list, moment_of, rows_of, text_of
from agent_host.providers.offline.routine import Outcome, Scene
from agent_host.providers.offline.times.format import show_day, show_days, show_minutes, show_span
from agent_host.providers.offline.wording import clip, joined
from agent_host.providers.protocol import JsonValue

_LONGEST_TITLE = 120
_DAYS = {
    "MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday", "SA": "Saturday",
    "SU": "Sunday",
}  # fmt: skip
_UNITS = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_PLACES = {"1": "first", "2": "second", "3": "third", "4": "fourth", "-1": "last"}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class Event:
    """One event or occurrence. `start` and `end` are local; an all-day event has midnights, its end exclusive."""

    id: str
    title: str
    start: datetime
    end: datetime
    all_day: bool
    zone_name: str
    repeats: bool
    rule: str
    location: str
    series_id: str = ""

    @property
    def series(self) -> str:
        """The id of the whole series; the event's own id when it does not say one."""
        return self.series_id or self.id

    @property
    def minutes(self) -> int:
        """How long it takes."""
        return round((self.end - self.start).total_seconds() / 60)


def read_event_row(row: Mapping[str, JsonValue], scene: Scene) -> Event | None:
    """Reads one event; None when it has no readable start."""
    start = moment_of(row.get("start"), scene.zone)
    if start is None:
        return None
    plain_date = _DATE.fullmatch(text_of(row, "start")) is not None
    all_day = row.get("all_day") is True or plain_date
    end = moment_of(row.get("end"), scene.zone) or start + timedelta(hours=1)
    if all_day:
        end = max(end, start) + timedelta(days=1)  # the calendar names the last day
    title = clip(text_of(row, "title", "summary"), _LONGEST_TITLE) or "(no title)"
    identifier = row.get("id")
    return Event(
        id=str(identifier or ""),
        title=title,
        start=start,
        end=end,
        all_day=all_day,
        zone_name=text_of(row, "timezone"),
        repeats=row.get("recurring") is True or bool(text_of(row, "recurrence")),
        rule=text_of(row, "recurrence"),
        location=clip(text_of(row, "location"), _LONGEST_TITLE),
        series_id=text_of(row, "series_id"),
    )


def read_events(outcome: Outcome, scene: Scene) -> tuple[Event, ...]:
    """Reads a list of events, cancelled ones left out."""
    rows = [row for row in rows_of(outcome, "events", "items") if row.get("cancelled") is not True]
    events = (read_event_row(row, scene) for row in rows)
    return tuple(event for event in events if event is not None)


def show_event(event: Event, scene: Scene) -> str:
    """Returns "Catch-up: Friday 4 December, 09:00 to 09:30 (30 minutes, Europe/Berlin)"."""
    if event.all_day:
        return f"{event.title}: {show_days(event.start, event.end, scene.today)}, all day"
    zones = scene.zone.key
    if event.zone_name and event.zone_name != scene.zone.key:
        there = moment_in(event.start, event.zone_name)
        zones = f"{zones}; {there} in {event.zone_name}" if there else zones
    place = f", {event.location}" if event.location else ""
    span = show_span(event.start, event.end, scene.today)
    return f"{event.title}: {span} ({show_minutes(event.minutes)}, {zones}){place}"


def moment_in(moment: datetime, zone_name: str) -> str:
    """Returns the clock time in another zone, or "" when the zone is unknown."""
    try:
        return f"{moment.astimezone(ZoneInfo(zone_name)):%H:%M}"
    except (ZoneInfoNotFoundError, ValueError):
        return ""


def show_rule(rule: str, scene: Scene) -> str:
    """Returns an RRULE in words, such as "every Monday"; the rule itself when it says more than this knows."""
    parts = dict(part.split("=", 1) for part in rule.removeprefix("RRULE:").split(";") if "=" in part)
    unit, interval = _UNITS.get(parts.get("FREQ", "")), parts.get("INTERVAL", "1")
    if unit is None or parts.keys() - {"FREQ", "INTERVAL", "BYDAY", "COUNT", "UNTIL", "WKST"}:
        return clip(rule, _LONGEST_TITLE)
    codes = parts["BYDAY"].split(",") if "BYDAY" in parts else []
    place = _PLACES.get(codes[0][:-2], "") if codes else ""
    days = joined([_DAYS.get(code[-2:], code) for code in codes])
    each = f"every {unit}" if interval == "1" else f"every {interval} {unit}s"
    if place:
        each = f"the {place} {days} of {each}"
    elif codes and interval == "1":
        each = "every weekday" if codes == list(_DAYS)[:5] else f"every {days}"
    elif codes:
        each = f"{each} on {days}"
    count = f", {parts['COUNT']} times" if "COUNT" in parts else ""
    return f"{each}{count}{_until(parts.get('UNTIL', ''), scene)}"


def _until(value: str, scene: Scene) -> str:
    """Says the last day of a rule; UNTIL is a date, or a time in UTC (RFC 5545 section 3.3.10)."""
    last = moment_of(value, scene.zone)
    return f", until {show_day(last.date(), scene.today)}" if last is not None else ""


def agenda(events: Iterable[Event], scene: Scene) -> str:
    """Returns events under their days, earliest first."""
    lines: list[str] = []
    day: date | None = None
    for event in sorted(events, key=lambda each: (each.start.date(), not each.all_day, each.start)):
        if event.start.date() != day:
            day = event.start.date()
            lines.append(f"{show_day(day, scene.today)}:")
        if event.all_day:
            last = (event.end - timedelta(days=1)).date()
            until = f" (until {show_day(last, scene.today)})" if last > day else ""
            lines.append(f"- all day: {event.title}{until}")
            continue
        place = f", {event.location}" if event.location else ""
        lines.append(f"- {event.start:%H:%M} to {event.end:%H:%M}: {event.title}{place}")
    return "\n".join(lines)


def remarks(outcome: Outcome) -> str:
    """Returns what the calendar itself had to say, on lines of its own."""
    data = outcome.data
    said = as_list(data.get("remarks")) if isinstance(data, Mapping) else ()
    return "\n".join(clip(remark, 300) for remark in said if isinstance(remark, str))
