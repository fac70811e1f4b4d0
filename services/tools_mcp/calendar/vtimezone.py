"""A VTIMEZONE for a zone of the time zone database (RFC 5545 section 3.6.5), as rules where the zone has them. Pure.

DTSTART of each part is the local time before the change. A change that recurs is one part with an RRULE, without an end
when it still holds; every other change is a part of its own, because programs lose long lists of RDATE.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import icalendar

_WEEK = timedelta(days=7)
_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)
_LOOK_AHEAD = 60  # years; every date that a rule can lead to comes up within 28
_SHORTEST_RULE = 4  # years; fewer are written one by one
_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


@dataclass(frozen=True)
class _Offset:
    seconds: int
    name: str
    summer: bool


@dataclass(frozen=True)
class _Change:
    """A change of the clock: the instant, and what the clock says right before and how it goes on."""

    at: datetime
    before: _Offset
    after: _Offset

    @property
    def local(self) -> datetime:
        """The local time before the change, without a zone."""
        return (self.at + timedelta(seconds=self.before.seconds)).replace(tzinfo=None)


@lru_cache(maxsize=64)
def parts_of(name: str, first: int, last: int) -> bytes:
    """Return the VTIMEZONE of a zone for events of the years `first` to `last`, as a file has it.

    Raises:
        zoneinfo.ZoneInfoNotFoundError: There is no such zone.
    """
    zone = ZoneInfo(name)
    changes = list(_changes(zone, first - 1, max(first, last) + _LOOK_AHEAD))
    definition = icalendar.Timezone()
    definition.add("TZID", name)
    begins = datetime(first - 1, 1, 1, tzinfo=UTC)
    if not changes or changes[0].at.year >= first:
        offset = _offset(zone, begins)
        definition.add_component(_part(_Change(begins, offset, offset), None))
    runs = sorted(_runs(changes), key=lambda run: run[0].at)
    for run in runs:
        if run[0].at.year <= last:
            for part in _written(run, endless=run[-1].at.year >= changes[-1].at.year - 1, last=last):
                definition.add_component(part)
    return bytes(definition.to_ical())


def _changes(zone: ZoneInfo, first: int, last: int) -> Iterator[_Change]:
    at, end = datetime(first, 1, 1, tzinfo=UTC), datetime(last + 1, 1, 1, tzinfo=UTC)
    before = _offset(zone, at)
    while at < end:
        after = _offset(zone, at + _WEEK)
        if after != before:
            low, high = at, at + _WEEK
            while high - low > _SECOND:
                middle = low + (high - low) // 2
                middle = middle.replace(microsecond=0)
                low, high = (middle, high) if _offset(zone, middle) == before else (low, middle)
            yield _Change(high, before, after)
        at, before = at + _WEEK, after


def _offset(zone: ZoneInfo, at: datetime) -> _Offset:
    local = at.astimezone(zone)
    offset, summer = local.utcoffset() or timedelta(0), local.dst() or timedelta(0)
    return _Offset(int(offset.total_seconds()), local.tzname() or "", bool(summer))


def _runs(changes: Sequence[_Change]) -> Iterator[list[_Change]]:
    """Yield the changes that recur at the same time of consecutive years, each as long as one rule says them."""
    alike: dict[object, list[_Change]] = defaultdict(list)
    for change in changes:
        local = change.local
        alike[change.before, change.after, local.month, local.weekday(), local.time()].append(change)
    for group in alike.values():
        run: list[_Change] = []
        for change in group:
            if run and (change.local.year != run[-1].local.year + 1 or _days(run, change) is None):
                yield run
                run = []
            run.append(change)
        yield run


def _days(run: Sequence[_Change], *more: _Change) -> str | None:
    """Return what BYDAY and BYMONTHDAY say of these changes; none when no rule says it."""
    dates = [change.local for change in (*run, *more)]
    day = _DAYS[dates[0].weekday()]
    if all((date + _WEEK).month != date.month for date in dates):
        return f"BYDAY=-1{day}"
    weeks = {(date.day - 1) // 7 + 1 for date in dates}
    if len(weeks) == 1:
        return f"BYDAY={weeks.pop()}{day}"
    earliest, latest = min(date.day for date in dates), max(date.day for date in dates)
    if latest - earliest < 7:  # noqa: PLR2004 - days of a week
        window = range(earliest, earliest + 7) if latest - earliest == 6 else range(latest - 6, latest + 1)  # noqa: PLR2004
        return f"BYDAY={day};BYMONTHDAY={','.join(map(str, window))}"
    return None


def _written(run: Sequence[_Change], *, endless: bool, last: int) -> Iterator[icalendar.Component]:
    if len(run) < _SHORTEST_RULE:
        for change in run:
            if change.at.year <= last:
                yield _part(change, None)
        return
    until = "" if endless else f";UNTIL={run[-1].at + _DAY:%Y%m%dT%H%M%SZ}"  # programs compare it with local time
    yield _part(run[0], f"FREQ=YEARLY;BYMONTH={run[0].local.month};{_days(run)}{until}")


def _part(change: _Change, rule: str | None) -> icalendar.Component:
    part = icalendar.TimezoneDaylight() if change.after.summer else icalendar.TimezoneStandard()
    part.add("DTSTART", change.local)
    part.add("TZOFFSETFROM", timedelta(seconds=change.before.seconds))
    part.add("TZOFFSETTO", timedelta(seconds=change.after.seconds))
    part.add("TZNAME", change.after.name)
    if rule:
        part.add("RRULE", icalendar.vRecur.from_ical(rule))
    return part
