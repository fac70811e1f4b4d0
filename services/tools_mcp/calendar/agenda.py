"""The calendar service: what each tool does, over the folder of files. Clock and ids are passed in."""

import hashlib
import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from service_runtime.settings import Settings
from tools_mcp.calendar.drafting import change_event, draft_event
from tools_mcp.calendar.expansion import occurrences
from tools_mcp.calendar.free import Stretch, free_stretches
from tools_mcp.calendar.ics import (
    Series,
    UnreadableError,
    changes,
    new_calendar,
    request_of,
    rewrite,
    series_in,
)
from tools_mcp.calendar.model import Event, EventDraft, EventFields, Outcome, Window
from tools_mcp.calendar.store import CalendarFolder, Snapshot
from tools_mcp.calendar.times import ReadTime, instant, read_time
from tools_mcp.errors import ConflictError, InvalidInputError, NotFoundError
from tools_mcp.texts import same, shown

_A_YEAR = timedelta(days=366)
_FREE_WINDOW = timedelta(days=62)
_TEN_YEARS = timedelta(days=3653)
_STRETCH = timedelta(days=62)


@dataclass(frozen=True)
class Agenda:
    """The events of one person."""

    store: CalendarFolder
    zone: ZoneInfo
    now: Callable[[], datetime]
    new_id: Callable[[], str]

    def create(self, fields: EventFields, *, allow_duplicate: bool = False, key: str | None = None) -> Outcome:
        """Store a new event, unless the same title is there at the same instant, or the key was used before.

        Raises:
            InvalidInputError: A field cannot be used.
            ConflictError: The key belongs to another event.
            StoreError: The folder cannot be used.
        """
        draft = draft_event(fields, self.zone)
        request = f"{hashlib.sha256(key.encode()).hexdigest()} {_fingerprint(fields)}" if key else None
        with self.store.writing() as snapshot:
            if request and (done := self._done_before(snapshot, request)):
                return Outcome("created", done, draft.remarks)
            if not allow_duplicate and (existing := self._same(snapshot, draft)):
                return Outcome("exists", existing, draft.remarks)
            uid = self.new_id()
            calendar = new_calendar(uid, draft, self.now(), request)
            self.store.add(uid, calendar)
        return Outcome("created", series_in(calendar, uid, self.zone).event, draft.remarks)

    def get(self, uid: str) -> Event:
        """Return the event of this id, a series as it starts.

        Raises:
            NotFoundError: There is none.
        """
        return self.store.snapshot().get(uid).series.event

    def update(self, uid: str, fields: EventFields) -> Outcome:
        """Change the given fields of an event, of a series as a whole.

        Raises:
            NotFoundError: There is no such event.
            InvalidInputError: A field cannot be used.
            ConflictError: The change would tear off occurrences that were changed one by one.
        """
        with self.store.writing() as snapshot:
            stored = snapshot.get(uid)
            current = stored.series.event
            draft = change_event(current, fields, self.zone)
            changed = changes(current, draft)
            if not changed:
                return Outcome("unchanged", current, draft.remarks)
            if stored.series.overrides and changed & {"times", "recurrence"}:
                raise ConflictError(
                    f"Some occurrences of {shown(current.title)} were changed one by one and would lose their place; "
                    "change title, location, notes or attendees only, or create a new event."
                )
            calendar = self.store.open(stored)
            rewrite(series_in(calendar, uid, self.zone).master, current, draft, self.now())
            self.store.save(stored, calendar)
        return Outcome("updated", series_in(calendar, uid, self.zone).event, draft.remarks)

    def delete(self, uid: str) -> Outcome:
        """Move an event, a series as a whole, to the trash; deleting it again changes nothing.

        Raises:
            NotFoundError: There is and was no such event.
        """
        with self.store.writing() as snapshot:
            try:
                stored = snapshot.get(uid)
            except NotFoundError:
                gone = next((series for series in self.store.trashed() if series.uid == uid), None)
                if gone is None:
                    raise
                event = gone.event
                return Outcome("deleted", event, ("It was in the trash already.",))
            self.store.trash(stored)
        return Outcome("deleted", stored.series.event)

    def window(
        self, start: str | None, end: str | None, zone: ZoneInfo | None = None
    ) -> tuple[Window, tuple[str, ...]]:
        """Return the window to look at: from today for a year unless told, at most ten years.

        An end that is a date includes that day.
        Local times and dates are in `zone`, when the caller named one, else in the configured zone.

        Raises:
            InvalidInputError: A bound is no time, or the end is before the start.
        """
        days_in = zone or self.zone
        today = ReadTime(self.now().astimezone(days_in).date())
        first = read_time(start, "start", zone, self.zone) if start else today
        begins = instant(first.value, days_in)
        last = read_time(end, "end", zone, self.zone) if end else None
        ends = begins + _A_YEAR if last is None else instant(_after(last.value), days_in)
        if ends <= begins:
            raise InvalidInputError(f"end {shown(end or '')} is before start {shown(start or 'today')}; swap them.")
        remarks = tuple(time.remark for time in (first, last) if time and time.remark)
        return Window(begins, min(ends, begins + _TEN_YEARS)), remarks

    def between(
        self, window: Window, query: str | None, after: tuple[int, str] | None, wanted: int
    ) -> tuple[list[Event], int]:
        """Return the occurrences in a window that match every word of the query, earliest first, and what was skipped.

        The words are looked for in title, location, notes and attendees, letter case aside. Only those after the
        position `after`, and no more than it takes to know `wanted` of them and whether there are others: the window
        is expanded a stretch at a time, so an endless series costs what is shown of it.
        """
        snapshot = self.store.snapshot()
        words = (query or "").casefold().split()
        events: list[Event] = []
        broken: set[str] = set()
        start, first = _begin(window, after), True
        while start < window.end and len(events) <= wanted:
            end = min(start + _STRETCH, window.end)
            found = self._overlapping(snapshot, Window(start, end), broken)
            fresh = [event for event in found if first or instant(event.start, self.zone) >= start]
            matching = [event for event in fresh if _matches(event, words)]
            events += sorted(
                (event for event in matching if not after or self.position(event) > after), key=self.position
            )
            start, first = end, False
        return events, snapshot.unreadable + len(broken)

    def _overlapping(self, snapshot: Snapshot, window: Window, broken: set[str]) -> Iterator[Event]:
        """Yield the occurrences in a window; the series that cannot be expanded are put into `broken`."""
        for stored in snapshot.series:
            try:
                yield from occurrences(stored.series, window.start, window.end)
            except UnreadableError:
                broken.add(stored.series.uid)

    def position(self, event: Event) -> tuple[int, str]:
        """Return an event's place in a list: its instant in seconds, then its id."""
        return int(instant(event.start, self.zone).timestamp()), event.id

    def free(
        self, window: Window, shortest: timedelta, hours: tuple[int, int], zone: ZoneInfo
    ) -> tuple[list[Stretch], list[Event]]:
        """Return the free stretches of a window, and the all-day events in it, which do not take up time.

        Raises:
            InvalidInputError: The window is longer than 62 days.
        """
        if window.end - window.start > _FREE_WINDOW:
            raise InvalidInputError("The window is longer than 62 days; send an end that is closer to the start.")
        busy: list[Stretch] = []
        whole_days: list[Event] = []
        for event in self._overlapping(self.store.snapshot(), window, set()):
            if event.takes_time:
                busy.append((instant(event.start, self.zone), instant(event.end, self.zone)))
            elif event.all_day and not event.cancelled:
                whole_days.append(event)
        stretch = (window.start, window.end)
        return free_stretches(busy, stretch, shortest, hours, zone), sorted(whole_days, key=self.position)

    def _done_before(self, snapshot: Snapshot, request: str) -> Event | None:
        """Return the event that a call with this key made.

        Raises:
            ConflictError: The key came with other arguments, or its event was deleted since.
        """
        if made := _made_by(request, (stored.series for stored in snapshot.series)):
            return made.event
        if gone := _made_by(request, self.store.trashed()):
            title = shown(gone.event.title)
            raise ConflictError(
                f"The event {title} that this idempotency_key made was deleted since; send a new key to make it again."
            )
        return None

    def _same(self, snapshot: Snapshot, draft: EventDraft) -> Event | None:
        """Return an event with the draft's title at the draft's start, also when it is one occurrence of a series."""
        begins = instant(draft.start, self.zone)
        for stored in snapshot.series:
            if not same(stored.series.event.title, draft.title):
                continue
            alone = replace(snapshot, series=(stored,))
            for event in self._overlapping(alone, Window(begins, begins + timedelta(minutes=1)), set()):
                if event.start == draft.start and not event.cancelled:
                    return stored.series.event
        return None


def _made_by(request: str, candidates: Iterable[Series]) -> Series | None:
    key, _, arguments = request.partition(" ")
    for series in candidates:
        used, _, made_from = request_of(series).partition(" ")
        if used == key and made_from == arguments:
            return series
        if used == key:
            title = shown(series.event.title)
            raise ConflictError(f"This idempotency_key made another event, {title}; send a new key for a new event.")
    return None


def open_agenda(folder: Path, zone: ZoneInfo) -> Agenda:
    """Return the calendar in a folder, with the real clock and random ids; nothing is read yet."""
    return Agenda(CalendarFolder(folder, zone), zone, now=lambda: datetime.now(UTC), new_id=lambda: str(uuid.uuid4()))


def check(settings: Settings) -> str:
    """Read every calendar file and say in one sentence what is there.

    Raises:
        SetupError: The home cannot be written or the configured zone is unknown.
        StoreError: The folder cannot be read.
    """
    snapshot = open_agenda(settings.home.folder("calendar"), settings.zone()).store.snapshot()
    broken = f"; {snapshot.unreadable} files cannot be read" if snapshot.unreadable else ""
    return f"calendar: {len(snapshot.series)} events and series{broken}"


def _begin(window: Window, after: tuple[int, str] | None) -> datetime:
    if after is None or after[0] <= window.start.timestamp():
        return window.start
    return datetime.fromtimestamp(min(after[0], window.end.timestamp()), UTC)


def _after(value: date) -> date:
    """Return the end of a bound that may be a whole day."""
    return value if isinstance(value, datetime) else value + timedelta(days=1)


def _matches(event: Event, words: list[str]) -> bool:
    text = " ".join((event.title, event.location, event.notes, *event.attendees)).casefold()
    return all(word in text for word in words)


def _fingerprint(fields: EventFields) -> str:
    return hashlib.sha256(json.dumps(asdict(fields), sort_keys=True).encode()).hexdigest()
