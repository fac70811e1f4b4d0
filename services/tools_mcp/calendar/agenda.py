"""The calendar service: what each tool does, over the store of events. Clock and ids are passed in."""

import contextlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo

import icalendar

from service_runtime.settings import Settings
from tools_mcp.calendar.account import Account, account_of
from tools_mcp.calendar.changing import Change, change_occurrence, change_series, refuse_holding_on, split_series
from tools_mcp.calendar.drafting import draft_event
from tools_mcp.calendar.editing import alone, apart, exclude, is_excluded, overrides_from
from tools_mcp.calendar.expansion import has_occurrences
from tools_mcp.calendar.facts import facts_of
from tools_mcp.calendar.finding import Opened, find, occurrence, opened, scope_of
from tools_mcp.calendar.free import Stretch, free_stretches
from tools_mcp.calendar.ics import REQUEST_KEY, Series, UnreadableError, new_calendar, series_in
from tools_mcp.calendar.identity import split_uid
from tools_mcp.calendar.looking import Found, Work, after_day, clashes, listed, overlapping, position_in, touches
from tools_mcp.calendar.model import Event, EventDraft, EventFields, ImportAnswer, Outcome, Scope, Window
from tools_mcp.calendar.protocol import CalendarStore, Snapshot, StoredSeries
from tools_mcp.calendar.requests import keyed_uid, made_by, request_for
from tools_mcp.calendar.store import MOST_BYTES, CalendarFolder
from tools_mcp.calendar.times import ReadTime, instant, read_time
from tools_mcp.calendar.transfer import packed, take_in, unpack
from tools_mcp.calendar.trash import with_events
from tools_mcp.calendar.wording import clash_remark
from tools_mcp.errors import ChangedError, ConflictError, InvalidInputError, NotFoundError
from tools_mcp.texts import folded, same, shown

_A_YEAR = timedelta(days=366)
_FREE_WINDOW = timedelta(days=62)
_CLASH_WINDOW = timedelta(days=62)
_CLASH_WORK = 1_000
_TEN_YEARS = timedelta(days=3653)
_TRIES = 4
Result = TypeVar("Result")


@dataclass(frozen=True)
class Agenda:
    """The events of one person."""

    store: CalendarStore
    zone: ZoneInfo
    now: Callable[[], datetime]
    new_id: Callable[[], str]

    def create(self, fields: EventFields, *, allow_duplicate: bool = False, key: str | None = None) -> Outcome:
        """Store a new event, unless the same title is there at the same instant, or the key was used before.

        Raises:
            InvalidInputError: A field cannot be used.
            ConflictError: The key belongs to another event.
            StoreError: The store cannot be used.
        """
        draft = draft_event(fields, self.zone)
        request = request_for(key, fields) if key else None
        return _again(lambda: self._create(draft, request, allow_duplicate=allow_duplicate))

    def _create(self, draft: EventDraft, request: str | None, *, allow_duplicate: bool) -> Outcome:
        with self.store.writing() as snapshot:
            if request and (done := self._done_before(snapshot, request)):
                return Outcome("created", done, draft.remarks)
            if not allow_duplicate and (existing := self._same(snapshot, draft)):
                return Outcome("exists", existing, draft.remarks)
            uid = keyed_uid(request) if request else self.new_id()
            calendar = new_calendar(uid, draft, self.now(), request, self.zone)
            self.store.add(uid, calendar)
        series = series_in(calendar, uid, self.zone)
        return Outcome("created", series.event, (*draft.remarks, *self._clashes(snapshot, series)))

    def get(self, event_id: str) -> Event:
        """Return the event of this id, a series as it starts; of one occurrence with the rule of its series.

        Raises:
            NotFoundError: There is none.
        """
        place = find(self.store.snapshot(), event_id)
        whole = place.stored.facts.event
        if place.at is None:
            return whole
        with _readable():
            series = place.stored.series
            return replace(series.occurrence(occurrence(series, place)), recurrence=whole.recurrence)

    def update(self, event_id: str, fields: EventFields, scope: Scope | None = None) -> Outcome:
        """Change the given fields of an event, of one occurrence, of all from one on, or of a whole series.

        The scope of an occurrence's id is `this` unless told, of a series' own id `all`.

        Raises:
            NotFoundError: There is no such event.
            InvalidInputError: A field cannot be used, or the scope needs an occurrence.
            ConflictError: The change would tear off occurrences that were changed one by one.
        """
        return _again(lambda: self._update(event_id, Change(fields, self.zone, self.now()), scope))

    def _update(self, event_id: str, change: Change, scope: Scope | None) -> Outcome:
        with self.store.writing() as snapshot:
            found = opened(self.store, find(snapshot, event_id), self.zone)
            series, component = found.series, found.component()
            scope = scope_of(scope, series, found.place.at)
            if component is not None and scope == "following":
                return self._update_following(snapshot, found, component, change)
            if component is not None and scope == "this":
                outcome = change_occurrence(found.calendar, series, component, change)
            else:
                outcome = change_series(series, component, change, relative=True)
            if outcome.status == "unchanged":
                return outcome
            self.store.save(found.place.stored, found.calendar)
            series = series_in(found.calendar, series.uid, self.zone)
        return replace(outcome, remarks=(*outcome.remarks, *self._clashes(snapshot, series, outcome.event)))

    def _update_following(
        self, snapshot: Snapshot, found: Opened, component: icalendar.Component, change: Change
    ) -> Outcome:
        before, uid = found.series.occurrence(component), found.series.uid
        place = found.series.place(component)
        later = split_series(found.series, component, change.now)
        first = next((override for override in later.overrides if later.place(override) == place), None)
        outcome = change_series(later, first, change, relative=False)
        if outcome.status == "unchanged":
            return replace(outcome, event=before)
        self._save_split(snapshot, found, later, component)
        clashes = self._clashes(snapshot, later, outcome.event, besides=uid)
        return replace(outcome, remarks=(*outcome.remarks, *clashes))

    def _save_split(self, snapshot: Snapshot, found: Opened, later: Series, component: icalendar.Component) -> None:
        """Write the new series, then end the old one. A crash between leaves both, and trying again repairs it."""
        new = with_events(found.calendar, (later.master, *later.overrides))
        halfway = snapshot.find(later.uid)
        _remove(found.calendar, overrides_from(found.series, component))
        if halfway is None:
            self.store.add(later.uid, new)
        else:
            self.store.save(halfway, new)
        self._save_or_trash(found)

    def delete(self, event_id: str, scope: Scope | None = None) -> Outcome:
        """Move an event, an occurrence, all from one on, or a whole series to the trash; again changes nothing.

        Raises:
            NotFoundError: There is and was no such event.
            InvalidInputError: The scope needs an occurrence.
            ConflictError: The series cannot be split there.
        """
        return _again(lambda: self._delete(event_id, scope))

    def _delete(self, event_id: str, scope: Scope | None) -> Outcome:
        with self.store.writing() as snapshot:
            try:
                place = find(snapshot, event_id)
            except NotFoundError:
                gone = next((series for series in self.store.trashed() if series.uid == event_id), None)
                if gone is None:
                    raise
                return Outcome("deleted", gone.event, ("It was in the trash already.",))
            found = opened(self.store, place, self.zone)
            series = found.series
            if place.at is not None and is_excluded(series, place.at):
                return Outcome("deleted", series.event, ("This occurrence of the series was deleted already.",))
            component = found.component()
            scope = scope_of(scope, series, place.at)
            if component is None or scope == "all":
                for copy in (*snapshot.copies(place.stored), place.stored):
                    self.store.trash(copy)
                return Outcome("deleted", series.event, ("The whole series was deleted.",) if series.repeats else ())
            event = series.occurrence(component)
            self._take_out(found, component, scope)
        remark = "Only this occurrence was deleted." if scope == "this" else "This and all later ones were deleted."
        return Outcome("deleted", event, (remark,))

    def _take_out(self, found: Opened, component: icalendar.Component, scope: Scope) -> None:
        """Take one occurrence, or all from one on, out of a series; what is taken out is in the trash first."""
        now, series = self.now(), found.series
        if scope == "this":
            refuse_holding_on(component)
            overrides = [override for override in series.overrides if override is component]
            place = series.place(component)
            uid = split_uid(series.uid, place) if place else series.uid
            taken = [alone(override, uid) for override in overrides or (apart(series, component),)]
            exclude(series, component, now)
        else:
            overrides = overrides_from(series, component)
            later = split_series(series, component, now)
            taken = [later.master, *later.overrides]
        _remove(found.calendar, overrides)
        self.store.keep(str(taken[0]["UID"]), with_events(found.calendar, taken))
        self._save_or_trash(found)

    def _save_or_trash(self, found: Opened) -> None:
        """Write a series that became shorter; one without any occurrence goes to the trash as it was."""
        stored = found.place.stored
        if has_occurrences(series_in(found.calendar, stored.uid, self.zone)):
            self.store.save(stored, found.calendar)
        else:
            self.store.trash(stored)

    def take_in(self, data: bytes, *, dry_run: bool = False) -> ImportAnswer:
        """Import iCalendar text of another program (`transfer.take_in`); a dry run only says what would be done.

        Raises:
            InvalidInputError: It is no iCalendar text, or too long.
            StoreError: The store cannot be written.
        """
        if len(data) > MOST_BYTES:
            raise InvalidInputError(f"This calendar is over {MOST_BYTES // 1_000_000} MB; import it in parts.")
        parcel = unpack(data, self.zone)
        return _again(lambda: take_in(self.store, parcel, dry_run=dry_run))

    def packed(self, wanted: str | Window | None) -> tuple[bytes, list[Event]]:
        """Return the event of this id, what lies in a window, or everything as one calendar file, and what is in it.

        Nothing is locked: a disk that cannot be written can still be read.

        Raises:
            NotFoundError: There is no event of this id.
        """
        return _again(lambda: self._packed(wanted))

    def _packed(self, wanted: str | Window | None) -> tuple[bytes, list[Event]]:
        snapshot = self.store.snapshot()
        if isinstance(wanted, str):
            chosen: Sequence[StoredSeries] = [find(snapshot, wanted).stored]
        elif wanted is None:
            chosen = snapshot.series
        else:
            chosen = [stored for stored in snapshot.series if touches(stored, wanted)]
        return packed(self.store, chosen), [stored.facts.event for stored in chosen]

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
        ends = begins + _A_YEAR if last is None else instant(after_day(last.value), days_in)
        if ends <= begins:
            raise InvalidInputError(f"end {shown(end or '')} is before start {shown(start or 'today')}; swap them.")
        remarks = tuple(time.remark for time in (first, last) if time and time.remark)
        return Window(begins, min(ends, begins + _TEN_YEARS)), remarks

    def between(
        self, window: Window, query: str | None, after: tuple[int, str] | None, wanted: int, *, expand: bool = True
    ) -> Found:
        """Return the occurrences in a window that match every word of the query, earliest first (`looking.listed`).

        The words are looked for in title, location, notes and attendees, letter case aside.
        """
        return listed(
            self.store.snapshot(), window, query=query, after=after, wanted=wanted, zone=self.zone, expand=expand
        )

    def position(self, event: Event) -> tuple[int, str]:
        """Return an event's place in a list: its instant in seconds, then its id."""
        return position_in(self.zone)(event)

    def free(
        self, window: Window, shortest: timedelta, hours: tuple[int, int], zone: ZoneInfo
    ) -> tuple[list[Stretch], list[Event]]:
        """Return the free stretches of a window, and the all-day events in it, which do not take up time.

        Raises:
            InvalidInputError: The window is longer than 62 days, or too much repeats in it.
        """
        if window.end - window.start > _FREE_WINDOW:
            raise InvalidInputError("The window is longer than 62 days; send an end that is closer to the start.")
        busy: list[Stretch] = []
        whole_days: list[Event] = []
        work = Work()
        for event in overlapping(self.store.snapshot().series, window, work):
            if event.takes_time:
                busy.append((instant(event.start, self.zone), instant(event.end, self.zone)))
            elif event.all_day and not event.cancelled:
                whole_days.append(event)
        if work.too_much:
            raise InvalidInputError("Too much repeats in this window to look through; send an end closer to the start.")
        stretch = (window.start, window.end)
        return free_stretches(busy, stretch, shortest, hours, zone), sorted(whole_days, key=self.position)

    def _clashes(
        self, snapshot: Snapshot, series: Series, event: Event | None = None, besides: str = ""
    ) -> tuple[str, ...]:
        """Return the sentence that names what else takes place then, for the first two months of a series."""
        work = Work(_CLASH_WORK)
        if event is None or not event.series_id:
            begins = series.span[0]
            events = list(_expanded(series, Window(begins, begins + _CLASH_WINDOW)))
        else:
            events = [event]
        return clash_remark(clashes(snapshot, events, {series.uid, besides}, self.zone, work), self.zone, work.too_much)

    def _done_before(self, snapshot: Snapshot, request: str) -> Event | None:
        """Return the event that a call with this key made.

        Raises:
            ConflictError: The key came with other arguments, or its event was deleted since.
        """
        if made := made_by(request, ((one.facts.request, one.facts.event) for one in snapshot.series)):
            return made
        trashed = ((str(series.master.get(REQUEST_KEY, "")), series.event) for series in self.store.trashed())
        if gone := made_by(request, trashed):
            raise ConflictError(
                f"The event {shown(gone.title)} that this idempotency_key made was deleted since; send a new key to "
                "make it again."
            )
        return None

    def _same(self, snapshot: Snapshot, draft: EventDraft) -> Event | None:
        """Return an event with the draft's title at the draft's start, also when it is one occurrence of a series."""
        begins = instant(draft.start, self.zone)
        window = Window(begins, begins + timedelta(minutes=1))
        for stored in snapshot.series:
            if folded(draft.title) not in folded(stored.facts.words):
                continue
            for event in overlapping((stored,), window, Work()):
                if event.start == draft.start and not event.cancelled and same(event.title, draft.title):
                    return event
        return None


def _again(act: Callable[[], Result]) -> Result:
    """Do something that another program may get in the way of, a few times."""
    with _readable():
        for _ in range(_TRIES - 1):
            with contextlib.suppress(ChangedError):
                return act()
        return act()


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    """Say in a sentence that something of another program cannot be understood well enough to be changed.

    Raises:
        ConflictError: It is so.
    """
    try:
        yield
    except UnreadableError as error:
        raise ConflictError(
            "This event holds something that cannot be read, so nothing was changed; change it where it comes from."
        ) from error


def _remove(calendar: icalendar.Calendar, components: Iterable[icalendar.Component]) -> None:
    gone = {id(component) for component in components}
    calendar.subcomponents = [part for part in calendar.subcomponents if id(part) not in gone]


def _expanded(series: Series, window: Window) -> Iterable[Event]:
    stored = StoredSeries("", "", facts_of(series, icalendar.Calendar()), lambda: series)
    return overlapping((stored,), window, Work())


def open_agenda(folder: Path, zone: ZoneInfo, account: Account | None = None) -> Agenda:
    """Return the calendar in a folder, or of a CalDAV account, with the real clock and random ids; nothing is read."""
    store: CalendarStore = CalendarFolder(folder, zone)
    if account is not None:
        from tools_mcp.calendar.remote import RemoteCalendar

        store = RemoteCalendar(account, zone, folder / ".trash")
    return Agenda(store, zone, now=lambda: datetime.now(UTC), new_id=lambda: str(uuid.uuid4()))


def check(settings: Settings) -> str:
    """Read every event and say in one sentence what is there.

    Raises:
        SetupError: The home cannot be written or a setting cannot be used.
        StoreError: The store cannot be read.
    """
    agenda = open_agenda(settings.home.folder("calendar", for_reading=True), settings.zone(), account_of(settings))
    snapshot = agenda.store.snapshot()
    broken = f"; {snapshot.unreadable} files cannot be read" if snapshot.unreadable else ""
    return f"calendar: {len(snapshot.series)} events and series{broken}"
