"""Free time: what is left of a window when the busy stretches are taken out. Pure."""

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from tools_mcp.calendar.times import at_local

Stretch = tuple[datetime, datetime]


def free_stretches(
    busy: Iterable[Stretch], window: Stretch, shortest: timedelta, hours: tuple[int, int], zone: ZoneInfo
) -> list[Stretch]:
    """Return the free stretches of at least `shortest`, in UTC and in order.

    `hours` are minutes of each local day, the end possibly on the next one; they keep local time across clock changes.
    """
    taken = merged(busy)
    days = merged(_day_hours(day, hours, zone) for day in _days(window, zone))
    open_stretches = (_clipped(day, window) for day in days)
    free = [piece for stretch in open_stretches for piece in _without(stretch, taken)]
    return [(start, end) for start, end in free if end - start >= shortest]


def merged(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Return the same time as stretches that are in order and do not touch."""
    result: list[Stretch] = []
    for start, end in sorted(stretches):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def _without(stretch: Stretch, taken: Sequence[Stretch]) -> Iterable[Stretch]:
    at, end = stretch
    for busy_start, busy_end in taken:
        if busy_end <= at:
            continue
        if busy_start >= end:
            break
        if busy_start > at:
            yield at, busy_start
        at = busy_end
    if at < end:
        yield at, end


def _clipped(stretch: Stretch, window: Stretch) -> Stretch:
    return max(stretch[0], window[0]), min(stretch[1], window[1])


def _days(window: Stretch, zone: ZoneInfo) -> Iterable[date]:
    day = window[0].astimezone(zone).date() - timedelta(days=1)  # yesterday's hours may run past midnight
    last = window[1].astimezone(zone).date()
    while day <= last:
        yield day
        day += timedelta(days=1)


def _day_hours(day: date, hours: tuple[int, int], zone: ZoneInfo) -> Stretch:
    midnight = datetime.combine(day, time())
    start, end = (at_local(midnight + timedelta(minutes=minutes), zone)[0].astimezone(UTC) for minutes in hours)
    return start, end
