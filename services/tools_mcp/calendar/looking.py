"""Looking through a snapshot: what lies in a window, in order, with bounded work however much repeats. Pure."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from tools_mcp.calendar.expansion import occurrences, overlap
from tools_mcp.calendar.facts import words_of
from tools_mcp.calendar.ics import UnreadableError
from tools_mcp.calendar.model import Event, Window
from tools_mcp.calendar.protocol import Snapshot, StoredSeries
from tools_mcp.calendar.times import instant

MOST_WORK = 10_000
"""Series looked into and occurrences found in one call; beyond it a listing stops and says how far it came."""

_STRETCH_DAYS = 62
_SERIES_DAYS = 4000  # a stretch gets shorter the more series repeat, so that one stretch is little work too


class Found(NamedTuple):
    """The events of a window, how many series could not be read, and where the looking ended, when it was too much."""

    events: list[Event]
    unreadable: int
    until: datetime | None


@dataclass
class Work:
    """How much was done of what may be done."""

    most: int = MOST_WORK
    done: int = 0
    broken: set[str] = field(default_factory=set)
    """The ids of series that cannot be expanded."""

    @property
    def too_much(self) -> bool:
        """Whether no more should be done."""
        return self.done > self.most


def overlapping(series: Iterable[StoredSeries], window: Window, work: Work, *, stop: bool = True) -> Iterator[Event]:
    """Yield the occurrences that overlap a window; with `stop`, what repeats is left out once it is too much work."""
    for stored in series:
        facts = stored.facts
        if not facts.event.repeats:
            if overlap(facts.first, facts.last or facts.first, window.start, window.end):
                yield facts.event
            continue
        if not facts.may_touch(window.start, window.end) or (stop and work.too_much):
            continue
        try:
            found = occurrences(stored.series, window.start, window.end)
        except UnreadableError:
            work.broken.add(stored.uid)
            continue
        work.done += 1 + len(found)
        yield from found


def listed(
    snapshot: Snapshot,
    window: Window,
    *,
    query: str | None,
    after: tuple[int, str] | None,
    wanted: int,
    zone: ZoneInfo,
    expand: bool = True,
    most_work: int = MOST_WORK,
) -> Found:
    """Return the occurrences in a window that match every word of the query, earliest first.

    With `expand` false a series is one row, itself as it starts, when it has an occurrence in the window.

    Only those after the position `after`, and no more than it takes to know `wanted` of them and whether there are
    others: what repeats is expanded a stretch at a time, so an endless series costs what is shown of it.
    """
    words = (query or "").casefold().split()
    at = position_in(zone)

    def wanted_event(event: Event) -> bool:
        text = words_of(event)
        return all(word in text for word in words) and (not after or at(event) > after)

    candidates = [one for one in snapshot.series if all(word in one.facts.words for word in words)]
    if not expand:
        whole = sorted((one.facts.event for one in candidates if touches(one, window)), key=at)
        return Found([event for event in whole if not after or at(event) > after], snapshot.unreadable, None)
    start = _begin(window, after)
    single = [one for one in candidates if not one.facts.event.repeats]
    series = [one for one in candidates if one.facts.event.repeats and one.facts.may_touch(start, window.end)]
    work = Work(most_work)
    waiting = sorted(filter(wanted_event, overlapping(single, Window(start, window.end), work)), key=at, reverse=True)
    events: list[Event] = []
    days = timedelta(days=min(_STRETCH_DAYS, max(1, _SERIES_DAYS // (len(series) + 1))))
    first = True
    while start < window.end and len(events) <= wanted and not work.too_much:
        end = min(start + days, window.end) if series else window.end
        found = overlapping(series, Window(start, end), work, stop=False)
        chunk = [one for one in found if (first or instant(one.start, zone) >= start) and wanted_event(one)]
        while waiting and instant(waiting[-1].start, zone) < end:
            chunk.append(waiting.pop())
        events += sorted(chunk, key=at)
        start, first = end, False
    until = start if work.too_much and start < window.end and len(events) <= wanted else None
    return Found(events, snapshot.unreadable + len(work.broken), until)


def touches(stored: StoredSeries, window: Window) -> bool:
    """Whether a series has time in a window; looked for a stretch at a time, because most have it soon."""
    start = window.start
    while start < window.end:
        end = min(start + timedelta(days=_STRETCH_DAYS), window.end) if stored.facts.event.repeats else window.end
        if next(overlapping((stored,), Window(start, end), Work()), None) is not None:
            return True
        start = end
    return False


def position_in(zone: ZoneInfo) -> Callable[[Event], tuple[int, str]]:
    """Return what tells an event's place in a list: its instant in seconds, then its id."""

    def position(event: Event) -> tuple[int, str]:
        return int(instant(event.start, zone).timestamp()), event.id

    return position


def clashes(
    snapshot: Snapshot, events: Sequence[Event], uids: Container[str], zone: ZoneInfo, work: Work
) -> list[Event]:
    """Return what takes up time at the same time as one of these events of the series `uids`."""
    spans = [(instant(event.start, zone), instant(event.end, zone)) for event in events if event.takes_time]
    if not spans:
        return []
    window = Window(min(start for start, _ in spans), max(end for _, end in spans))
    others = [stored for stored in snapshot.series if stored.uid not in uids]
    busy = [event for event in overlapping(others, window, work) if event.takes_time]
    return [event for event in busy if any(_overlap(event, span, zone) for span in spans)]


def after_day(value: date) -> date:
    """Return the end of a bound that may be a whole day."""
    return value if isinstance(value, datetime) else value + timedelta(days=1)


def _overlap(event: Event, span: tuple[datetime, datetime], zone: ZoneInfo) -> bool:
    return instant(event.start, zone) < span[1] and instant(event.end, zone) > span[0]


def _begin(window: Window, after: tuple[int, str] | None) -> datetime:
    if after is None or after[0] <= window.start.timestamp():
        return window.start
    return datetime.fromtimestamp(min(after[0], window.end.timestamp()), UTC)
