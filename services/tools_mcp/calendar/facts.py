"""What is known of a series without reading its file again: enough to list, to search and to skip it. Pure."""

import contextlib
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import icalendar

from tools_mcp.calendar.ics import BROKEN, PRODUCT, Series, UnreadableError, decode, request_of, series_of
from tools_mcp.calendar.model import Event
from tools_mcp.calendar.properties import changed_at, moment, sequence_of, several
from tools_mcp.calendar.recurrence import last_wall
from tools_mcp.calendar.times import at_local, instant, settled, wall

FORMAT = 2
"""Goes up whenever a fact changes its meaning, so that old indexes are dropped."""

_MARGIN = timedelta(days=2)


@dataclass(frozen=True)
class Facts:
    """What a listing needs of a series: itself as it starts, between which instants it lies, and its words.

    `source` is the series alone as a calendar, kept for what repeats: expanding it then needs no file.
    """

    event: Event
    first: datetime
    last: datetime | None
    """After this nothing of the series takes place; none when that is not known."""
    words: str
    request: str
    source: bytes | None
    age: tuple[bool, int, float] = (True, 0, 0.0)
    """Which of several versions counts: one that is whole, the later SEQUENCE, the later change."""

    def may_touch(self, start: datetime, end: datetime) -> bool:
        """Whether an occurrence can lie in `[start, end)`."""
        return self.first < end and (self.last is None or self.last >= start)


def facts_in(calendar: icalendar.Calendar, zone: ZoneInfo) -> tuple[tuple[Facts, ...], int]:
    """Return the facts of every series in a calendar, and how many series cannot be read."""
    facts: list[Facts] = []
    series = series_of(calendar, zone)
    for one in series:
        with contextlib.suppress(UnreadableError):
            facts.append(facts_of(one, calendar))
    return tuple(facts), len(series) - len(facts)


def facts_of(series: Series, calendar: icalendar.Calendar) -> Facts:
    """Return the facts of a series in a calendar.

    Raises:
        UnreadableError: One of its properties holds no value.
    """
    try:
        return _facts_of(series, calendar)
    except BROKEN as error:
        raise UnreadableError("cannot be read") from error


def _facts_of(series: Series, calendar: icalendar.Calendar) -> Facts:
    event = series.event
    if not series.repeats:
        return Facts(event, *series.span, words_of(event), request_of(series), None, _age(series))
    events = [event, *(series.occurrence(override) for override in series.overrides)]
    first, last = _extent(series, events)
    words = "\n".join(dict.fromkeys(words_of(one) for one in events))
    return Facts(event, first, last, words, request_of(series), _alone(series, calendar), _age(series))


def _age(series: Series) -> tuple[bool, int, float]:
    whole = "RECURRENCE-ID" not in series.master
    return whole, sequence_of(series.master), changed_at(series.master).timestamp()


def words_of(event: Event) -> str:
    """Return the text of an event that a query looks through."""
    return " ".join((event.title, event.location, event.notes, *event.attendees)).casefold()


def series_from(facts: Facts, zone: ZoneInfo) -> Series:
    """Return the series that was kept as `source`.

    Raises:
        UnreadableError: It cannot be read.
    """
    found = series_of(decode(facts.source or b""), zone)
    if len(found) != 1:
        raise UnreadableError("the series is not whole")
    return found[0]


def _extent(series: Series, events: list[Event]) -> tuple[datetime, datetime | None]:
    zone = series.zone
    extra = [one.dt for listed in several(series.master.get("RDATE")) for one in getattr(listed, "dts", ())]
    begins = [instant(settled(_first(value), zone), zone) for value in extra]
    starts = [*(instant(event.start, zone) for event in events), *begins]
    ends = [instant(event.end, zone) for event in events]
    longest = max(ends[0] - instant(events[0].start, zone), *(_length(value) for value in extra), timedelta(0))
    limits = [rule.get("UNTIL", [None])[0] for rule in several(series.master.get("RRULE"))]
    if not all(isinstance(limit, date) for limit in limits):
        return min(starts) - _MARGIN, None
    start = moment(series.master, "DTSTART")
    untils = [at_local(last_wall(limit, start, zone), getattr(start, "tzinfo", None) or zone)[0] for limit in limits]
    last = max(*ends, *((begun + longest) for begun in (*untils, *begins)))
    return min(starts) - _MARGIN, last.astimezone(UTC) + _MARGIN


def _first(value: Any) -> date:
    first: date = value[0] if isinstance(value, tuple) else value
    return first


def _length(value: Any) -> timedelta:
    """Return how long an extra date is by itself; nothing when it is as long as its series."""
    if not isinstance(value, tuple):
        return timedelta(0)
    start, end = value
    return end if isinstance(end, timedelta) else max(wall(end) - wall(start), timedelta(0))


def _alone(series: Series, calendar: icalendar.Calendar) -> bytes:
    alone = icalendar.Calendar()
    alone["PRODID"] = icalendar.vText(series.source or PRODUCT)
    zones = [part for part in calendar.subcomponents if part.name == "VTIMEZONE"]
    alone.subcomponents = [*zones, series.master, *series.overrides]
    return bytes(alone.to_ical())


def as_json(facts: Facts) -> dict[str, Any]:
    """Return the facts as JSON values."""
    event = asdict(facts.event) | {"start": _packed(facts.event.start), "end": _packed(facts.event.end)}
    return {
        "event": event,
        "first": facts.first.isoformat(),
        "last": facts.last.isoformat() if facts.last else None,
        "words": facts.words,
        "request": facts.request,
        "source": facts.source.decode() if facts.source is not None else None,
        "age": facts.age,
    }


def from_json(value: Any) -> Facts:
    """Return the facts in JSON values of ours.

    Raises:
        ValueError, KeyError, TypeError: They are not ours.
    """
    told = dict(value["event"])
    told |= {"start": _unpacked(told["start"]), "end": _unpacked(told["end"]), "attendees": tuple(told["attendees"])}
    told["reminders"] = tuple(told["reminders"])
    return Facts(
        event=Event(**told),
        first=datetime.fromisoformat(value["first"]),
        last=datetime.fromisoformat(value["last"]) if value["last"] else None,
        words=str(value["words"]),
        request=str(value["request"]),
        source=value["source"].encode() if value["source"] is not None else None,
        age=(bool(value["age"][0]), int(value["age"][1]), float(value["age"][2])),
    )


def _packed(value: date) -> list[Any]:
    if not isinstance(value, datetime):
        return [value.isoformat()]
    offset = value.utcoffset() or timedelta(0)
    key = "UTC" if value.tzinfo is UTC else getattr(value.tzinfo, "key", None)
    return [value.replace(tzinfo=None).isoformat(), value.fold, key, offset.total_seconds(), value.tzname()]


def _unpacked(value: list[Any]) -> date:
    if len(value) == 1:
        return date.fromisoformat(value[0])
    text, fold, key, offset, name = value
    fixed = timezone(timedelta(seconds=offset), *([name] if name else []))
    zone = UTC if key == "UTC" else ZoneInfo(key) if key else fixed
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold)
