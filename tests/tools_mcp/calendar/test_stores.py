"""The conformance suite of the store seam: a folder of files and a CalDAV calendar keep events the same way."""

import contextlib
import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import icalendar
import pytest

from tests.tools_mcp.calendar.conftest import agenda_over
from tools_mcp.calendar.ics import decode, new_calendar, series_in
from tools_mcp.calendar.model import EventDraft, EventFields
from tools_mcp.calendar.protocol import CalendarStore
from tools_mcp.calendar.store import CalendarFolder
from tools_mcp.errors import ChangedError, ConflictError, NotFoundError

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 30, tzinfo=UTC)


def calendar_of(uid: str, title: str = "Lunch", **fields: Any) -> icalendar.Calendar:
    start = datetime(2026, 12, 1, 12, tzinfo=BERLIN)
    return new_calendar(uid, EventDraft(title, start, start + timedelta(hours=1), **fields), NOW, None, BERLIN)


def titles(store: CalendarStore) -> list[str]:
    return sorted(stored.facts.event.title for stored in store.snapshot().series)


def test_what_is_added_is_there_whole(store: CalendarStore) -> None:
    with store.writing() as before:
        store.add("e1", calendar_of("e1", "Lunch, with Ann; & Bob", notes="a\nb", recurrence="FREQ=DAILY;COUNT=3"))
    stored = store.snapshot().get("e1")

    assert before.series == ()
    assert (stored.facts.event.title, stored.facts.event.notes) == ("Lunch, with Ann; & Bob", "a\nb")
    assert stored.series.event == stored.facts.event
    assert stored.facts.event.repeats
    assert not stored.facts.event.foreign


@pytest.mark.parametrize("uid", ["a b/c", "x" * 200, "ünï@example.org", "..", "CON", "%41", "a;b:c?d#e"])
def test_any_uid_can_be_kept_changed_and_deleted(store: CalendarStore, uid: str) -> None:
    with store.writing():
        store.add(uid, calendar_of(uid))
    with store.writing() as snapshot:
        store.save(snapshot.get(uid), calendar_of(uid, "Dinner"))
    assert titles(store) == ["Dinner"]
    with store.writing() as snapshot:
        store.trash(snapshot.get(uid))

    assert titles(store) == []
    assert [series.uid for series in store.trashed()] == [uid]


def test_a_version_that_was_not_seen_is_never_overwritten_or_deleted(store: CalendarStore) -> None:
    with store.writing():
        store.add("e1", calendar_of("e1"))
    old = store.snapshot().get("e1")
    with store.writing() as snapshot:
        store.save(snapshot.get("e1"), calendar_of("e1", "Dinner of another"))

    with pytest.raises(ChangedError, match="nothing was written"), store.writing():
        store.save(old, calendar_of("e1", "Mine"))
    with pytest.raises(ChangedError), store.writing():
        store.open(old)
    with pytest.raises(ChangedError), store.writing():
        store.trash(old)
    assert titles(store) == ["Dinner of another"]


def test_an_open_calendar_can_be_changed_and_saved(store: CalendarStore) -> None:
    with store.writing():
        store.add("e1", calendar_of("e1"))
    with store.writing() as snapshot:
        calendar = store.open(snapshot.get("e1"))
        series_in(calendar, "e1", BERLIN).master["X-COLOUR"] = icalendar.vText("red")
        store.save(snapshot.get("e1"), calendar)

    assert store.snapshot().get("e1").series.master["X-COLOUR"] == "red"


def test_a_kept_copy_is_in_the_trash_and_not_in_the_calendar(store: CalendarStore) -> None:
    with store.writing():
        store.keep("e1", calendar_of("e1"))
        store.keep("e1", calendar_of("e1", "Another"))

    assert titles(store) == []
    assert sorted(series.event.title for series in store.trashed()) == ["Another", "Lunch"]


def test_only_what_changed_is_read_again(store: CalendarStore) -> None:
    with store.writing():
        store.add("e1", calendar_of("e1"))
        store.add("e2", calendar_of("e2"))
    first = store.snapshot()
    with store.writing() as snapshot:
        store.save(snapshot.get("e2"), calendar_of("e2", "Changed"))
    second = store.snapshot()

    assert second.get("e1") is first.get("e1")
    assert second.get("e2") is not first.get("e2")


def test_an_event_lives_through_everything_the_agenda_does(store: CalendarStore) -> None:
    agenda = agenda_over(store)
    made = agenda.create(EventFields("Stand-up", "2026-12-01T09:00", recurrence="FREQ=DAILY;COUNT=6"), key="k1")
    again = agenda.create(EventFields("Stand-up", "2026-12-01T09:00", recurrence="FREQ=DAILY;COUNT=6"), key="k1")
    uid = made.event.id
    agenda.update(f"{uid}/20261202T080000Z", EventFields(start="2026-12-02T10:00"))
    agenda.delete(f"{uid}/20261203T080000Z")
    tail = agenda.update(f"{uid}/20261205T080000Z", EventFields(title="Late stand-up"), "following").event
    agenda.update(uid, EventFields(location="Room 1"))
    window, _ = agenda.window("2026-12-01", "2026-12-31")
    events = agenda.between(window, None, None, 50).events

    assert made.event == again.event
    assert [event.start.isoformat()[8:16] for event in events] == [
        *("01T09:00", "02T10:00", "04T09:00", "05T09:00", "06T09:00"),
    ]
    assert [event.title for event in events] == ["Stand-up"] * 3 + ["Late stand-up"] * 2
    agenda.delete(tail.series_id or tail.id)
    agenda.delete(uid)
    assert titles(store) == []
    with pytest.raises(ConflictError, match="deleted since"):
        agenda.create(EventFields("Stand-up", "2026-12-01T09:00", recurrence="FREQ=DAILY;COUNT=6"), key="k1")
    with pytest.raises(NotFoundError):
        agenda.get(uid)


def test_many_writers_at_once_lose_nothing(store: CalendarStore) -> None:
    agenda = agenda_over(store)
    agenda.create(EventFields("Stand-up", "2026-12-01T09:00"))
    fields = [EventFields(title="New title"), EventFields(notes="new notes"), EventFields(location="Room 2")]
    threads = [threading.Thread(target=agenda.update, args=("e1", one)) for one in fields]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    event = agenda.get("e1")

    assert (event.title, event.notes, event.location) == ("New title", "new notes", "Room 2")


def test_what_another_program_wrote_in_between_stays(store: CalendarStore, monkeypatch: pytest.MonkeyPatch) -> None:
    agenda = agenda_over(store)
    agenda.create(EventFields("Stand-up", "2026-12-01T09:00"))
    opened = type(store).open
    rounds = iter([True])

    def interrupted(self: CalendarStore, stored: object) -> icalendar.Calendar:
        calendar = opened(self, stored)  # type: ignore[arg-type] # whatever the agenda passes
        if next(rounds, False):
            other = opened(self, stored)  # type: ignore[arg-type] # same
            series_in(other, "e1", BERLIN).master["X-COLOUR"] = icalendar.vText("red")
            self.save(stored, other)  # type: ignore[arg-type] # same
        return calendar

    monkeypatch.setattr(type(store), "open", interrupted)
    assert agenda.update("e1", EventFields(title="Mine")).status == "updated"
    series = store.snapshot().get("e1").series

    assert (series.event.title, series.master["X-COLOUR"]) == ("Mine", "red")


def test_what_is_kept_is_plain_icalendar(store: CalendarStore, tmp_path: Path) -> None:
    with store.writing():
        store.keep("e1", calendar_of("e1"))
    [path] = (tmp_path / ".trash").iterdir()

    assert [event["UID"] for event in decode(path.read_bytes()).events] == ["e1"]


def test_two_servers_that_do_one_call_keep_one_event(store: CalendarStore, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = agenda_over(store), agenda_over(store)
    fields = EventFields("Stand-up", "2026-12-01T09:00")
    added = type(store).add
    rounds = iter([True])

    def overtaken(self: CalendarStore, uid: str, calendar: icalendar.Calendar) -> None:
        if next(rounds, False):  # the other server stores it after this one has looked
            second.create(fields, key="k1")
        added(self, uid, calendar)

    monkeypatch.setattr(type(store), "writing", lambda self: contextlib.nullcontext(self.snapshot()))
    monkeypatch.setattr(type(store), "add", overtaken)
    made = first.create(fields, key="k1")

    assert titles(store) == ["Stand-up"]
    assert made.event == second.create(fields, key="k1").event


def test_an_edit_that_comes_while_the_disk_is_slow_stays(
    store: CalendarStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not isinstance(store, CalendarFolder):
        pytest.skip("a server checks for itself (If-Match)")
    agenda = agenda_over(store)
    agenda.create(EventFields("Stand-up", "2026-12-01T09:00"))
    path, synced, rounds = tmp_path / "e1.ics", os.fsync, iter([True])

    def slow(descriptor: int) -> None:
        synced(descriptor)
        if next(rounds, False):
            path.write_bytes(path.read_bytes().replace(b"END:VEVENT", b"X-COLOUR:red\r\nEND:VEVENT"))

    monkeypatch.setattr("os.fsync", slow)
    agenda.update("e1", EventFields(title="Mine"))

    assert b"X-COLOUR:red" in path.read_bytes()
    assert agenda.get("e1").title == "Mine"
