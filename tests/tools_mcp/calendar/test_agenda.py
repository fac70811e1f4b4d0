from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.tools_mcp.calendar.conftest import agenda_over
from tools_mcp.calendar.agenda import Agenda
from tools_mcp.calendar.model import Event, EventFields, Outcome
from tools_mcp.calendar.store import CalendarFolder
from tools_mcp.errors import ConflictError, InvalidInputError, NotFoundError, StoreError

BERLIN = ZoneInfo("Europe/Berlin")
OVERRIDDEN = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:other
BEGIN:VEVENT
UID:s1
DTSTAMP:20260101T000000Z
DTSTART;TZID=Europe/Berlin:20261201T090000
DURATION:PT1H
RRULE:FREQ=DAILY;COUNT=3
SUMMARY:Course
END:VEVENT
BEGIN:VEVENT
UID:s1
DTSTAMP:20260101T000000Z
RECURRENCE-ID;TZID=Europe/Berlin:20261202T090000
DTSTART;TZID=Europe/Berlin:20261202T140000
DURATION:PT1H
SUMMARY:Course, afternoon
END:VEVENT
END:VCALENDAR
"""


@pytest.fixture
def agenda(tmp_path: Path) -> Agenda:
    return agenda_over(CalendarFolder(tmp_path, BERLIN))


def create(agenda: Agenda, title: str = "Lunch", start: str = "2026-12-01T12:00", **more: Any) -> Outcome:
    options = {name: more.pop(name) for name in ("key", "allow_duplicate") if name in more}
    return agenda.create(EventFields(title=title, start=start, **more), **options)


def listed(agenda: Agenda, start: str | None = None, end: str | None = None, query: str | None = None) -> list[Event]:
    window, _ = agenda.window(start, end)
    return agenda.between(window, query, None, 1000)[0]


def test_a_new_event_is_stored_and_read_back(agenda: Agenda) -> None:
    made = create(agenda, notes="bring cake", attendees=("Ann",))

    assert made.status == "created"
    assert agenda.get("e1") == made.event
    assert agenda.get("e1").notes == "bring cake"


@pytest.mark.parametrize(
    "again",
    [
        {"title": "LUNCH"},
        {"title": "  lunch "},
        {"start": "2026-12-01T11:00:00Z"},
        {"start": "2026-12-01T06:00", "timezone": "America/New_York"},
        {"duration": "15", "location": "elsewhere"},
    ],
)
def test_the_same_title_at_the_same_instant_is_reported_as_existing(agenda: Agenda, again: dict[str, Any]) -> None:
    create(agenda)
    second = create(agenda, **again)

    assert (second.status, second.event.id) == ("exists", "e1")
    assert len(listed(agenda)) == 1


def test_a_duplicate_is_stored_when_it_is_wanted(agenda: Agenda) -> None:
    create(agenda)

    assert create(agenda, allow_duplicate=True).status == "created"
    assert len(listed(agenda)) == 2


def test_another_time_or_title_or_kind_is_no_duplicate(agenda: Agenda) -> None:
    create(agenda, start="2026-12-01T00:00")

    assert create(agenda, start="2026-12-01T00:01").status == "created"
    assert create(agenda, title="Dinner", start="2026-12-01T00:00").status == "created"
    assert create(agenda, start="2026-12-01").status == "created"


def test_an_occurrence_that_was_renamed_counts_by_its_own_title(agenda: Agenda, tmp_path: Path) -> None:
    (tmp_path / "course.ics").write_text(OVERRIDDEN)

    assert create(agenda, "course, AFTERNOON", "2026-12-02T14:00").status == "exists"
    assert create(agenda, "Course", "2026-12-02T14:00").status == "created"


def test_an_occurrence_of_a_series_counts_as_existing(agenda: Agenda) -> None:
    create(agenda, "Standup", "2026-12-07T09:00", recurrence="FREQ=WEEKLY")

    assert create(agenda, "standup", "2026-12-21T09:00").status == "exists"
    assert create(agenda, "standup", "2026-12-22T09:00").status == "created"


def test_the_same_key_gives_the_same_event_once(agenda: Agenda) -> None:
    first = create(agenda, key="k1")
    second = create(agenda, key="k1")

    assert (second.status, second.event) == (first.status, first.event)
    assert len(listed(agenda)) == 1
    assert create(agenda, key="k2", allow_duplicate=True).event.id != first.event.id


def test_a_key_is_not_given_to_another_event(agenda: Agenda) -> None:
    create(agenda, key="k1")

    with pytest.raises(ConflictError, match="made another event, 'Lunch'"):
        create(agenda, title="Dinner", key="k1")


def test_a_retry_does_not_bring_a_deleted_event_back(agenda: Agenda) -> None:
    agenda.delete(create(agenda, key="k1").event.id)

    with pytest.raises(ConflictError, match="deleted since"):
        create(agenda, key="k1")


def test_a_refused_event_leaves_nothing_behind(agenda: Agenda, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError):
        create(agenda, end="2026-12-01T11:00")

    assert list(tmp_path.iterdir()) == []


def test_an_update_changes_what_was_given_and_counts(agenda: Agenda, tmp_path: Path) -> None:
    create(agenda, notes="bring cake", location="Room 1")
    changed = agenda.update("e1", EventFields(start="2026-12-02T12:00", location=""))

    assert changed.status == "updated"
    assert (changed.event.start.isoformat(), changed.event.location) == ("2026-12-02T12:00:00+01:00", "")
    assert agenda.get("e1") == changed.event
    assert changed.event.notes == "bring cake"
    assert b"SEQUENCE:1" in (tmp_path / "e1.ics").read_bytes()


def test_an_update_without_a_difference_writes_nothing(agenda: Agenda, tmp_path: Path) -> None:
    create(agenda)
    before = (tmp_path / "e1.ics").read_bytes()

    assert agenda.update("e1", EventFields(title="Lunch", start="2026-12-01T12:00")).status == "unchanged"
    assert agenda.update("e1", EventFields()).status == "unchanged"
    assert (tmp_path / "e1.ics").read_bytes() == before


def test_a_zone_alone_may_change_with_its_start(agenda: Agenda) -> None:
    create(agenda)
    moved = agenda.update("e1", EventFields(start="2026-12-01T06:00", timezone="America/New_York")).event

    assert moved.zone == "America/New_York"
    assert moved.start == datetime(2026, 12, 1, 11, tzinfo=UTC)


def test_a_change_of_words_leaves_what_was_changed_in_an_occurrence(agenda: Agenda, tmp_path: Path) -> None:
    (tmp_path / "course.ics").write_text(OVERRIDDEN)

    assert agenda.update("s1", EventFields(notes="Room 2")).status == "updated"
    assert [event.title for event in listed(agenda)] == ["Course", "Course, afternoon", "Course"]


def test_deleting_twice_is_the_same_as_once_and_unknown_is_an_error(agenda: Agenda, tmp_path: Path) -> None:
    create(agenda)

    assert agenda.delete("e1").status == "deleted"
    assert agenda.delete("e1").remarks == ("It was in the trash already.",)
    assert (tmp_path / ".trash" / "e1.ics").exists()
    for act in (agenda.delete, agenda.get, lambda uid: agenda.update(uid, EventFields(title="x"))):
        with pytest.raises(NotFoundError, match="'e7'"):
            act("e7")


def test_a_list_runs_from_today_for_a_year_and_includes_the_last_day(agenda: Agenda) -> None:
    for start in ("2026-11-29T12:00", "2026-11-30T00:00", "2026-12-24T23:00", "2027-11-30T12:00", "2028-01-01T12:00"):
        create(agenda, title=start, start=start)

    assert [event.title for event in listed(agenda)] == ["2026-11-30T00:00", "2026-12-24T23:00", "2027-11-30T12:00"]
    assert [event.title for event in listed(agenda, "2026-12-24", "2026-12-24")] == ["2026-12-24T23:00"]
    assert listed(agenda, "2026-12-24T00:00", "2026-12-24T23:00") == []


def test_a_window_that_ends_before_it_starts_is_refused(agenda: Agenda) -> None:
    with pytest.raises(InvalidInputError, match="swap them"):
        agenda.window("2026-12-24", "2026-12-23")
    with pytest.raises(InvalidInputError, match="no time that can be read"):
        agenda.window("christmas", None)


@pytest.mark.parametrize(
    ("query", "found"),
    [("LUNCH", 1), ("cake room", 1), ("ann@", 1), ("lunch dinner", 0), ("(", 0), ("%", 0), ("", 2), ("用户", 1)],
)
def test_a_query_wants_every_word_somewhere(agenda: Agenda, query: str, found: int) -> None:
    create(agenda, notes="bring cake", location="Room 1", attendees=("Ann <ann@example.org>",))
    create(agenda, "用户会议", "2026-12-02T12:00")

    assert len(listed(agenda, query=query)) == found


def test_pages_of_an_endless_series_meet_without_gap_or_repeat(agenda: Agenda) -> None:
    create(agenda, "Standup", "2026-12-01T09:00", recurrence="FREQ=DAILY")
    create(agenda, "Also at nine", "2026-12-05T09:00")
    create(agenda, "Long", "2026-12-01T08:00", duration="P30D")
    window, _ = agenda.window("2026-12-01", "2027-06-30")
    seen: list[Event] = []
    after = None
    while True:
        page, _, _ = agenda.between(window, None, after, 7)
        seen += page[:7]
        if len(page) <= 7:
            break
        after = agenda.position(seen[-1])

    assert len(seen) == 212 + 2
    assert [agenda.position(event) for event in seen] == sorted({agenda.position(event) for event in seen})


def test_a_forged_position_is_no_crash(agenda: Agenda) -> None:
    create(agenda)
    window, _ = agenda.window(None, None)

    assert agenda.between(window, None, (2**52, ""), 5) == ([], 0, None)
    assert len(agenda.between(window, None, (-(2**52), ""), 5)[0]) == 1


def test_a_series_that_cannot_be_expanded_is_counted_and_hides_nothing(agenda: Agenda, tmp_path: Path) -> None:
    create(agenda)
    (tmp_path / "bad.ics").write_text(OVERRIDDEN.replace("FREQ=DAILY;COUNT=3", "FREQ=SECONDLY"))
    window, _ = agenda.window(None, None)
    events, skipped, _ = agenda.between(window, None, None, 10)

    assert ([event.title for event in events], skipped) == (["Lunch"], 1)


def test_free_time_leaves_out_what_takes_time_and_names_whole_days(agenda: Agenda, tmp_path: Path) -> None:
    create(agenda, "Lunch", "2026-12-01T12:00")
    create(agenda, "Birthday", "2026-12-01")
    (tmp_path / "off.ics").write_text(OVERRIDDEN.replace("SUMMARY:Course", "TRANSP:TRANSPARENT\nSUMMARY:Course"))
    window, _ = agenda.window("2026-12-01", "2026-12-01")
    free, whole_days = agenda.free(window, timedelta(hours=1), (540, 1020), BERLIN)

    assert [f"{start.astimezone(BERLIN):%H:%M}-{end.astimezone(BERLIN):%H:%M}" for start, end in free] == [
        "09:00-12:00",
        "13:00-17:00",
    ]
    assert [event.title for event in whole_days] == ["Birthday"]


def test_free_time_is_looked_for_in_at_most_two_months(agenda: Agenda) -> None:
    window, _ = agenda.window("2026-12-01", "2027-12-01")

    with pytest.raises(InvalidInputError, match="62 days"):
        agenda.free(window, timedelta(hours=1), (540, 1020), BERLIN)


def test_dates_of_a_free_window_are_days_in_the_zone_that_was_named(agenda: Agenda) -> None:
    window, _ = agenda.window("2026-12-01", "2026-12-01", ZoneInfo("America/New_York"))

    assert window.start == datetime(2026, 12, 1, 5, tzinfo=UTC)


def test_a_folder_that_cannot_be_written_stores_nothing(agenda: Agenda, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tools_mcp.calendar.store.secure_write", no_space)
    with pytest.raises(StoreError, match=r"cannot be written: no space left on device; nothing was changed\."):
        create(agenda)
    assert listed(agenda) == []


def test_an_event_that_cannot_be_read_hides_and_loses_nothing_beside_it(agenda: Agenda, tmp_path: Path) -> None:
    broken = OVERRIDDEN.replace("UID:s1", "UID:bad").replace("FREQ=DAILY;COUNT=3", "FREQ=DAILY;BYDAY=")
    body = broken[broken.index("BEGIN:VEVENT") :]
    (tmp_path / "both.ics").write_text(OVERRIDDEN.replace("END:VCALENDAR\n", body))
    window, _ = agenda.window(None, None)
    found = agenda.between(window, None, None, 10)

    assert ([event.title for event in found.events], found.unreadable) == (["Course", "Course, afternoon", "Course"], 1)
    agenda.update("s1", EventFields(location="Room 2"))
    agenda.delete("s1")
    kept = (tmp_path / "both.ics").read_text()
    assert "RRULE:FREQ=DAILY;BYDAY=" in kept
    assert kept.count("UID:bad") == 2
    with pytest.raises(NotFoundError):
        agenda.get("bad")


def test_what_cannot_be_written_again_is_refused_in_a_sentence_and_stays(
    agenda: Agenda, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(agenda)
    before = (tmp_path / "e1.ics").read_bytes()

    def asserting(*_: object) -> bytes:
        raise AssertionError("Content line can not contain unescaped new line characters.")  # as the library does

    monkeypatch.setattr("icalendar.Calendar.to_ical", asserting)
    with pytest.raises(ConflictError, match="cannot be read, so nothing was changed"):
        agenda.update("e1", EventFields(title="x"))
    assert (tmp_path / "e1.ics").read_bytes() == before


def test_a_deleted_event_comes_back_when_its_file_is_moved_up(agenda: Agenda, tmp_path: Path) -> None:
    create(agenda)
    agenda.delete("e1")
    (tmp_path / ".trash" / "e1.ics").rename(tmp_path / "e1.ics")

    assert [event.title for event in listed(agenda)] == ["Lunch"]
