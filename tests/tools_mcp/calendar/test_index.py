"""The index of parsed files: nothing is parsed twice, and nothing it says outlives its file."""

import os
import sqlite3
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools_mcp.calendar.samples import ALL
from tools_mcp.calendar import store as store_module
from tools_mcp.calendar.facts import Facts, as_json, facts_of, from_json, series_from
from tools_mcp.calendar.ics import decode, new_calendar, series_in, series_of
from tools_mcp.calendar.index import Index
from tools_mcp.calendar.model import EventDraft
from tools_mcp.calendar.store import CalendarFolder
from tools_mcp.calendar.wording import detail

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 30, tzinfo=UTC)


def write(path: Path, data: bytes, age_s: float = 100) -> None:
    """Write a file that was last changed a while ago."""
    path.write_bytes(data)
    then = time.time() - age_s
    os.utime(path, (then, then))


def look(folder: Path, zone: ZoneInfo = BERLIN) -> dict[str, Facts]:
    """What a new process finds."""
    return {stored.uid: stored.facts for stored in CalendarFolder(folder, zone).snapshot().series}


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the files that were parsed."""
    sizes: list[int] = []

    def counted(data: bytes, *, zones: bool = True) -> object:
        sizes.append(len(data))
        return decode(data, zones=zones)

    monkeypatch.setattr(store_module, "decode", counted)
    return sizes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, data in enumerate(ALL):
        write(tmp_path / f"{number}.ics", data)
    write(tmp_path / "broken.ics", b"BEGIN:VCALENDAR")
    return tmp_path


def test_the_next_process_parses_nothing_and_finds_the_same(folder: Path, parsed: list[int]) -> None:
    first = look(folder)
    assert len(parsed) == 4
    parsed.clear()

    assert look(folder) == first
    assert CalendarFolder(folder, BERLIN).snapshot().unreadable == 1
    assert parsed == []


def test_a_file_that_changed_or_went_is_not_taken_from_the_index(folder: Path, parsed: list[int]) -> None:
    look(folder)
    write(folder / "2.ics", ALL[2].replace(b"SUMMARY:Run", b"SUMMARY:Sit"), age_s=50)
    (folder / "1.ics").unlink()
    parsed.clear()
    found = look(folder)

    assert len(parsed) == 1
    assert found["floating@phone.example"].event.title == "Sit"
    assert "040000008200E00074C5B7101A82E00800000000" not in found
    assert "1.ics" not in Index(folder / ".index", "x").load()


def test_a_file_that_was_just_written_is_parsed_again_by_the_next_process(tmp_path: Path, parsed: list[int]) -> None:
    write(tmp_path / "a.ics", ALL[0], age_s=0)
    look(tmp_path)
    parsed.clear()
    look(tmp_path)

    assert len(parsed) == 1


def test_another_zone_reads_floating_times_anew(folder: Path) -> None:
    berlin, seoul = look(folder), look(folder, ZoneInfo("Asia/Seoul"))

    uid = "floating@phone.example"
    assert berlin[uid].first - seoul[uid].first == timedelta(hours=8)
    assert look(folder) == berlin


@pytest.mark.parametrize("damage", [b"", b"not a database", b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_index_is_made_anew(folder: Path, damage: bytes, parsed: list[int]) -> None:
    expected = look(folder)
    for path in folder.glob(".index*"):
        path.unlink()
    (folder / ".index").write_bytes(damage)

    assert look(folder) == expected
    look(folder)
    parsed.clear()
    look(folder)
    assert parsed == []


def test_rows_that_are_none_of_ours_are_dropped(folder: Path) -> None:
    expected = look(folder)
    with sqlite3.connect(folder / ".index") as connection:
        connection.execute("UPDATE files SET series = ?", ('{"series": [{}]}',))
    connection.close()

    assert look(folder) == expected


def test_an_index_that_cannot_be_written_is_done_without(folder: Path) -> None:
    (folder / ".index").mkdir()

    assert len(look(folder)) == 5


def test_the_index_is_private(folder: Path) -> None:
    look(folder)

    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.glob(".index*"))


@pytest.mark.parametrize("data", ALL)
def test_facts_come_back_from_json_as_they_were(data: bytes) -> None:
    calendar = decode(data)
    for series in series_of(calendar, BERLIN):
        facts = facts_of(series, calendar)
        again = from_json(as_json(facts))

        assert again == facts
        assert detail(again.event, BERLIN) == detail(facts.event, BERLIN)
        if facts.source is not None:
            assert series_from(facts, BERLIN).event == series.event


@settings(deadline=None, max_examples=60)
@given(
    st.datetimes(datetime.fromisoformat("1971-01-01"), datetime.fromisoformat("2090-01-01")),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"]),
    st.integers(1, 5000),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
)
def test_facts_of_any_event_survive_json(start: datetime, zone: str, minutes: int, title: str) -> None:
    begins = start.replace(microsecond=0, tzinfo=ZoneInfo(zone))
    ends = (begins.astimezone(UTC) + timedelta(minutes=minutes)).astimezone(begins.tzinfo)
    calendar = new_calendar("u", EventDraft(title, begins, ends, reminders=(minutes,)), NOW, None, BERLIN)
    facts = facts_of(series_in(calendar, "u", BERLIN), calendar)

    assert from_json(as_json(facts)) == facts
