import errno
import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.tools_mcp.running import call, here, refused
from tools_mcp.calendar.agenda import Agenda
from tools_mcp.calendar.ics import decode, new_calendar, series_of
from tools_mcp.calendar.model import EventDraft
from tools_mcp.calendar.store import CalendarFolder
from tools_mcp.errors import NotFoundError, StoreBusyError, StoreError
from tools_mcp.locking import FolderLock

UTC_ZONE = ZoneInfo("UTC")
NOW = datetime(2026, 11, 30, tzinfo=UTC)
SEVERAL = b"".join(
    [
        b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n",
        *(
            b"BEGIN:VEVENT\r\nUID:%s\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:20261201T100000Z\r\nSUMMARY:%s\r\nEND:VEVENT\r\n"
            % (uid, uid)
            for uid in (b"one", b"two")
        ),
        b"END:VCALENDAR\r\n",
    ]
)


def add(store: CalendarFolder, uid: str, title: str = "Lunch") -> None:
    start = datetime(2026, 12, 1, 12, tzinfo=UTC)
    with store.writing():
        store.add(uid, new_calendar(uid, EventDraft(title, start, start + timedelta(hours=1)), NOW, None, UTC_ZONE))


def uids(store: CalendarFolder) -> list[str]:
    return sorted(stored.series.uid for stored in store.snapshot().series)


def test_what_is_added_is_found_again_and_private(tmp_path: Path) -> None:
    store = CalendarFolder(tmp_path, UTC_ZONE)
    add(store, "e1")

    assert uids(store) == ["e1"]
    assert uids(CalendarFolder(tmp_path, UTC_ZONE)) == ["e1"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())


def test_files_of_other_programs_appear_change_and_go_while_we_look(tmp_path: Path) -> None:
    store = CalendarFolder(tmp_path, UTC_ZONE)
    assert uids(store) == []

    (tmp_path / "other.ICS").write_bytes(SEVERAL)
    assert uids(store) == ["one", "two"]

    (tmp_path / "other.ICS").write_bytes(SEVERAL.replace(b"UID:two", b"UID:six"))
    assert uids(store) == ["one", "six"]

    (tmp_path / "other.ICS").unlink()
    assert uids(store) == []


def test_unreadable_files_are_counted_and_hide_nothing(tmp_path: Path) -> None:
    store = CalendarFolder(tmp_path, UTC_ZONE)
    add(store, "e1")
    (tmp_path / "broken.ics").write_bytes(b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:x")
    (tmp_path / ".hidden.ics").write_bytes(SEVERAL)
    (tmp_path / "folder.ics").mkdir()
    (tmp_path / "link.ics").symlink_to("/etc/passwd")
    snapshot = store.snapshot()

    assert [stored.series.uid for stored in snapshot.series] == ["e1"]
    assert snapshot.unreadable == 1


def test_only_changed_files_are_read_again(tmp_path: Path) -> None:
    store = CalendarFolder(tmp_path, UTC_ZONE)
    add(store, "e1")
    add(store, "e2")
    first = {stored.series.uid: stored.series for stored in store.snapshot().series}
    (tmp_path / "e2.ics").unlink()
    add(store, "e2", "Changed")
    second = {stored.series.uid: stored.series for stored in store.snapshot().series}

    assert second["e1"] is first["e1"]
    assert second["e2"] is not first["e2"]


def test_a_deleted_series_is_in_the_trash_whole(tmp_path: Path) -> None:
    store = CalendarFolder(tmp_path, UTC_ZONE)
    for title in ("first", "second"):
        add(store, "e1", title)
        with store.writing() as snapshot:
            store.trash(snapshot.get("e1"))

    assert uids(store) == []
    assert sorted(path.name for path in (tmp_path / ".trash").iterdir()) == ["e1 2.ics", "e1.ics"]
    assert sorted(str(series.master["SUMMARY"]) for series in store.trashed()) == ["first", "second"]


def test_one_series_of_a_shared_file_goes_alone(tmp_path: Path) -> None:
    (tmp_path / "other.ics").write_bytes(SEVERAL)
    store = CalendarFolder(tmp_path, UTC_ZONE)
    with store.writing() as snapshot:
        store.trash(snapshot.get("one"))

    assert uids(store) == ["two"]
    [gone] = series_of(decode((tmp_path / ".trash" / "other.ics").read_bytes()), UTC_ZONE)
    assert gone.uid == "one"


def test_an_unknown_id_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"'e9'.*calendar_list_events"):
        CalendarFolder(tmp_path, UTC_ZONE).snapshot().get("e9")


def test_a_folder_that_went_away_is_a_store_error(tmp_path: Path) -> None:
    store = CalendarFolder(tmp_path / "gone", UTC_ZONE)

    with pytest.raises(StoreError, match="nothing was changed"), store.writing():
        pass


def test_a_locked_folder_is_refused_after_the_wait(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path / ".lock", "calendar", wait_s=0.05)

    with lock.held(), pytest.raises(StoreBusyError, match="try again"), lock.held():
        pass
    with lock.held():
        pass


def test_a_failed_write_frees_the_folder(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path / ".lock", "calendar", wait_s=0.05)

    with pytest.raises(RuntimeError), lock.held():
        raise RuntimeError
    with lock.held():
        pass


def test_the_lock_lets_one_thread_in_at_a_time(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path / ".lock", "calendar")
    counter = tmp_path / "counter"
    counter.write_text("0")

    def count() -> None:
        for _ in range(10):
            with lock.held():
                counter.write_text(str(int(counter.read_text()) + 1))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counter.read_text() == "40"


def test_an_event_is_read_from_disk_as_it_was_written(tmp_path: Path) -> None:
    store = CalendarFolder(tmp_path, UTC_ZONE)
    add(store, "e1", "Lunch, with Ann; & Bob")
    [stored] = store.snapshot().series

    assert stored.series.event.title == "Lunch, with Ann; & Bob"


def test_a_lock_that_cannot_be_had_is_not_called_busy(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()

    with (
        pytest.raises(StoreError, match="cannot be written") as refusal,
        FolderLock(tmp_path / ".lock", "calendar").held(),
    ):
        pass
    assert not isinstance(refusal.value, StoreBusyError)


def test_an_edit_that_keeps_time_and_size_is_seen(tmp_path: Path) -> None:
    store = CalendarFolder(tmp_path, UTC_ZONE)
    add(store, "e1", "Lunch")
    store.snapshot()
    path, before = tmp_path / "e1.ics", (tmp_path / "e1.ics").stat()
    path.write_bytes(path.read_bytes().replace(b"SUMMARY:Lunch", b"SUMMARY:Drink"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert [stored.facts.event.title for stored in store.snapshot().series] == ["Drink"]


def test_of_two_files_with_one_id_the_newer_counts_and_both_are_deleted(tmp_path: Path) -> None:
    store = CalendarFolder(tmp_path, UTC_ZONE)
    add(store, "e1", "Old")
    newer = (tmp_path / "e1.ics").read_bytes().replace(b"SUMMARY:Old", b"SEQUENCE:3\r\nSUMMARY:New")
    (tmp_path / "a copy.ics").write_bytes(newer)
    agenda = Agenda(store, UTC_ZONE, now=lambda: NOW, new_id=lambda: "e2")

    assert [stored.facts.event.title for stored in store.snapshot().series] == ["New"]
    agenda.delete("e1")
    assert store.snapshot().series == ()
    assert sorted(series.event.title for series in store.trashed()) == ["New", "Old"]


def test_what_a_killed_process_left_half_written_goes_at_the_next_write(tmp_path: Path) -> None:
    (tmp_path / ".trash").mkdir()
    for folder in (tmp_path, tmp_path / ".trash"):
        (folder / ".e1.ics.x1y2z3_4.tmp").write_bytes(b"BEGIN")
    add(CalendarFolder(tmp_path, UTC_ZONE), "e1")

    assert list(tmp_path.rglob("*.tmp")) == []
    assert (tmp_path / "e1.ics").exists()


def test_reading_and_exporting_need_no_lock(tmp_path: Path) -> None:
    store = CalendarFolder(tmp_path, UTC_ZONE)
    add(store, "e1")
    agenda = Agenda(CalendarFolder(tmp_path, UTC_ZONE), UTC_ZONE, now=lambda: NOW, new_id=lambda: "e2")
    with store.writing():
        data, events = agenda.packed("e1")

    assert (len(events), data.count(b"BEGIN:VEVENT")) == (1, 1)


async def test_a_calendar_on_a_disk_that_takes_nothing_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with here("calendar", tmp_path) as client:
        await call(client, "calendar_create_event", title="Lunch", start="2026-12-01T12:00")

    def read_only(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    for name in ("chmod", "touch"):
        monkeypatch.setattr(Path, name, read_only)
    async with here("calendar", tmp_path) as client:
        listed = await call(client, "calendar_list_events", start="2026-12-01", end="2026-12-01")
        exported = await call(client, "calendar_export", start="2026-12-01", end="2026-12-01")
        said = await refused(client, "calendar_create_event", title="x", start="2026-12-01T13:00", idempotency_key="k")

    assert [event["title"] for event in listed["events"]] == ["Lunch"]
    assert exported["events"] == 1
    assert said == "The calendar folder cannot be written: read-only file system; nothing was changed."
