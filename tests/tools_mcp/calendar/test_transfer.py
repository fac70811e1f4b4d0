"""Import and export: files of other programs come in whole and go out whole."""

from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
import vobject  # type: ignore[import-untyped]

from tests.tools_mcp.calendar.conftest import agenda_over
from tests.tools_mcp.calendar.samples import ALL, GOOGLE_LIKE, OFFICE_LIKE, PHONE_LIKE
from tools_mcp.calendar.agenda import Agenda
from tools_mcp.calendar.ics import decode
from tools_mcp.calendar.model import Event, EventFields
from tools_mcp.calendar.protocol import CalendarStore
from tools_mcp.calendar.store import CalendarFolder
from tools_mcp.errors import InvalidInputError, NotFoundError

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def agenda(store: CalendarStore) -> Agenda:
    return agenda_over(store)


@pytest.fixture
def folder(tmp_path: Path) -> Agenda:
    return agenda_over(CalendarFolder(tmp_path, BERLIN))


def listed(agenda: Agenda) -> list[Event]:
    window, _ = agenda.window("2026-11-01", "2027-01-31")
    return agenda.between(window, None, None, 100).events


def starts(agenda: Agenda, title: str) -> list[str]:
    return [event.start.isoformat()[5:16] for event in listed(agenda) if title in event.title]


def test_a_file_of_several_series_comes_in_whole(agenda: Agenda) -> None:
    answer = agenda.take_in(GOOGLE_LIKE)

    assert (answer.added, answer.updated, answer.unchanged) == (2, 0, 0)
    assert [(one.title, one.reason) for one in answer.skipped] == [("Buy milk", "is a task, no event")]
    assert starts(agenda, "Weekly") == ["12-01T09:00", "12-08T14:00", "12-22T09:00", "12-29T09:00"]
    assert starts(agenda, "Away") == ["12-24"]
    assert all(event.foreign for event in listed(agenda))


def test_importing_twice_changes_nothing(agenda: Agenda) -> None:
    for data in ALL:
        agenda.take_in(data)
    before = listed(agenda)
    answers = [agenda.take_in(data.replace(b"DTSTAMP:2026", b"DTSTAMP:2027")) for data in ALL]

    assert [(one.added, one.updated, one.unchanged) for one in answers] == [(0, 0, 2), (0, 0, 1), (0, 0, 2)]
    assert listed(agenda) == before


def test_a_newer_version_replaces_and_an_older_one_does_not(agenda: Agenda) -> None:
    agenda.take_in(OFFICE_LIKE)
    newer = OFFICE_LIKE.replace(b"SEQUENCE:0", b"SEQUENCE:1").replace(b"20261203T1", b"20261204T1")

    assert agenda.take_in(newer).updated == 1
    assert starts(agenda, "Quarterly") == ["12-04T10:00"]
    answer = agenda.take_in(OFFICE_LIKE)
    assert [one.reason for one in answer.skipped] == ["is older than what the calendar has"]
    assert starts(agenda, "Quarterly") == ["12-04T10:00"]
    assert [series.event.title for series in agenda.store.trashed()] == ["Quarterly review"]


def test_a_cancellation_cancels(agenda: Agenda) -> None:
    agenda.take_in(OFFICE_LIKE)
    agenda.take_in(OFFICE_LIKE.replace(b"METHOD:REQUEST", b"METHOD:CANCEL").replace(b"SEQUENCE:0", b"SEQUENCE:1"))

    assert [event.cancelled for event in listed(agenda)] == [True]


def test_one_changed_occurrence_is_put_into_its_series(agenda: Agenda) -> None:
    agenda.take_in(GOOGLE_LIKE)
    alone = b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:7kukuqrfedlm2f9t0vr42q4@web.example\r\n"
    alone += b"RECURRENCE-ID:20261222T080000Z\r\nDTSTART:20261222T150000Z\r\nDURATION:PT30M\r\nSUMMARY:Weekly\r\n"
    alone += b"DTSTAMP:20261120T101112Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"

    assert agenda.take_in(alone).updated == 1
    assert starts(agenda, "Weekly") == ["12-01T09:00", "12-08T14:00", "12-22T15:00", "12-29T09:00"]


def test_a_dry_run_tells_and_stores_nothing(agenda: Agenda) -> None:
    assert agenda.take_in(GOOGLE_LIKE, dry_run=True).added == 2
    assert listed(agenda) == []


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no iCalendar text"),
        (b"hello", "no iCalendar text"),
        (b"\xff\xfe\x00", "no iCalendar text"),
        (OFFICE_LIKE.replace(b"METHOD:REQUEST", b"METHOD:REPLY"), "REPLY to an invitation"),
        (b"x" * 20_000_001, "over 20 MB"),
    ],
)
def test_what_is_no_calendar_is_refused(folder: Agenda, data: bytes, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        folder.take_in(data)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"RRULE:FREQ=MONTHLY;BYDAY=1MO", b"RRULE:FREQ=SECONDLY", "repeats more often than daily"),
        (b"RRULE:FREQ=MONTHLY;BYDAY=1MO", b"RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "repeats on no date"),
        (b"DTSTART;TZID=America/New_York:20261102T160000", b"DTSTART:some day", "has no start that can be read"),
    ],
)
def test_an_event_that_cannot_be_kept_is_named_and_the_rest_comes_in(
    folder: Agenda, old: bytes, new: bytes, reason: str
) -> None:
    answer = folder.take_in(PHONE_LIKE.replace(old, new))

    assert [(one.title, one.reason) for one in answer.skipped] == [("Therapy", reason)]
    assert (answer.added, starts(folder, "Run")) == (1, ["12-05T07:00", "12-06T07:00", "12-07T07:00"])


def test_events_without_an_id_get_the_same_one_each_time(folder: Agenda) -> None:
    data = OFFICE_LIKE.replace(b"UID:040000008200E00074C5B7101A82E00800000000\r\n", b"")

    assert folder.take_in(data).added == 1
    assert folder.take_in(data).unchanged == 1


def test_several_calendars_in_one_text_are_all_read(folder: Agenda) -> None:
    assert folder.take_in(GOOGLE_LIKE + PHONE_LIKE).added == 4


def test_who_imports_cannot_pass_for_us_or_answer_for_a_key(folder: Agenda, tmp_path: Path) -> None:
    uid = folder.create(EventFields("Mine", "2026-12-01T12:00"), key="k1").event.id
    data = (tmp_path / f"{uid}.ics").read_bytes().replace(uid.encode(), b"forged").replace(b"Mine", b"Forged")
    folder.delete(uid)
    folder.take_in(data)

    assert folder.get("forged").foreign
    assert b"X-PROMETHEUS" not in (tmp_path / "forged.ics").read_bytes()


def test_what_an_edit_does_not_name_stays_as_the_other_program_wrote_it(folder: Agenda, tmp_path: Path) -> None:
    folder.take_in(GOOGLE_LIKE)
    uid = "7kukuqrfedlm2f9t0vr42q4@web.example"
    folder.update(f"{uid}/20261222T080000Z", EventFields(location="Room 3"))
    folder.update(uid, EventFields(start="2026-12-01T08:00"))
    text = (tmp_path / f"{uid}.ics").read_text()

    assert text.count("X-WEB-CONFERENCE:https://meet.example/abc") == 2
    assert text.count("BEGIN:VALARM") == 2
    assert "X-WR-CALNAME:ann@example.org" in text
    assert "DESCRIPTION:Agenda:\\n- yesterday\\, today\\; tomorrow\\n" in text
    assert "METHOD" not in text
    assert starts(folder, "Weekly") == ["12-01T08:00", "12-08T14:00", "12-22T08:00", "12-29T08:00"]


def test_everything_goes_out_and_comes_back_the_same(agenda: Agenda, tmp_path: Path) -> None:
    for data in ALL:
        agenda.take_in(data)
    made = agenda.create(EventFields("Mine", "2026-12-01T12:00", recurrence="FREQ=DAILY;COUNT=3"), key="k1").event
    agenda.update(f"{made.id}/20261202T110000Z", EventFields(title="Mine, changed"))
    data, events = agenda.packed(None)
    (tmp_path / "other").mkdir()
    other = agenda_over(CalendarFolder(tmp_path / "other", BERLIN))

    assert len(events) == 6
    assert b"X-PROMETHEUS" not in data
    assert other.take_in(data).added == 6
    assert [(one.title, one.start, one.end, one.id) for one in listed(other)] == [
        (one.title, one.start, one.end, one.id) for one in listed(agenda)
    ]


def test_a_part_goes_out_by_id_or_by_days(folder: Agenda) -> None:
    folder.take_in(GOOGLE_LIKE)
    folder.take_in(PHONE_LIKE)

    assert len(folder.packed("holiday@web.example")[1]) == 1
    assert folder.packed("7kukuqrfedlm2f9t0vr42q4@web.example/20261222T080000Z")[0].count(b"BEGIN:VEVENT") == 2
    data, events = folder.packed(folder.window("2026-12-24", "2026-12-24")[0])
    assert (len(events), b"Away" in data) == (1, True)
    assert len(folder.packed(folder.window("2031-01-06", "2031-01-06")[0])[1]) == 1
    with pytest.raises(NotFoundError):
        folder.packed("e9")


@pytest.mark.parametrize(
    "fields",
    [
        {"start": "2026-12-01T12:00", "recurrence": "FREQ=WEEKLY;BYDAY=TU"},
        {"start": "2026-12-01T12:00", "timezone": "America/New_York"},
        {"start": "2026-12-01", "end": "2026-12-03"},
        {"start": "2026-12-01T12:00", "title": "a\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nSUMMARY:injected, yes; \\ no"},
        {"start": "2026-12-01T12:00", "attendees": ('Eve "<x>" <eve@example.org>', "a;b:c"), "notes": "用\n🎉" * 99},
    ],
)
def test_another_parser_reads_what_we_write(folder: Agenda, tmp_path: Path, fields: dict[str, Any]) -> None:
    made = folder.create(EventFields(**{"title": "Lunch", "location": "Room 1; left, upstairs", **fields})).event
    calendar = vobject.readOne((tmp_path / "e1.ics").read_text(), validate=True)
    [event] = calendar.vevent_list

    assert (event.summary.value, event.location.value) == (made.title, made.location)
    assert (event.dtstart.value, event.dtend.value) == (made.start, made.end)
    assert event.uid.value == "e1"
    assert event.dtstamp.value
    assert made.all_day or [zone.tzid.value for zone in calendar.vtimezone_list] == [made.zone]


def test_another_parser_sees_the_occurrences_of_a_changed_series(folder: Agenda, tmp_path: Path) -> None:
    folder.create(EventFields("Stand-up", "2026-03-24T09:00", recurrence="FREQ=WEEKLY;COUNT=4"))
    folder.delete("e1/20260331T070000Z")
    folder.update("e1/20260407T070000Z", EventFields(start="2026-04-07T15:00"))
    calendar = vobject.readOne((tmp_path / "e1.ics").read_text(), validate=True)
    master, override = calendar.vevent_list

    assert [f"{one:%m-%dT%H:%M%z}" for one in master.getrruleset(addRDate=True)] == [
        *("03-24T09:00+0100", "04-07T09:00+0200", "04-14T09:00+0200"),
    ]
    assert f"{override.dtstart.value:%m-%dT%H:%M%z}" == "04-07T15:00+0200"
    assert override.recurrence_id.value == list(master.getrruleset(addRDate=True))[1]


def test_a_file_that_is_dropped_into_the_folder_is_simply_there(folder: Agenda, tmp_path: Path) -> None:
    (tmp_path / "export from the web.ics").write_bytes(GOOGLE_LIKE)
    folder.update("holiday@web.example", EventFields(title="Away, far"))
    folder.delete("7kukuqrfedlm2f9t0vr42q4@web.example/20261222T080000Z")
    calendar = decode((tmp_path / "export from the web.ics").read_bytes())

    assert [event.title for event in listed(folder)][-1] == "Weekly — ständ-up"
    assert {str(part.get("SUMMARY")) for part in calendar.walk("VTODO")} == {"Buy milk"}
    assert starts(folder, "Away, far") == ["12-24"]
    assert starts(folder, "Weekly") == ["12-01T09:00", "12-08T14:00", "12-29T09:00"]


EXTRA_DATES = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:other
BEGIN:VEVENT
UID:u
DTSTAMP:20260101T000000Z
SUMMARY:Run
DTSTART;TZID=Europe/Berlin:20261201T090000
DURATION:PT1H
{}
END:VEVENT
END:VCALENDAR
"""


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        ("RDATE;TZID=Europe/Berlin:20261205T090000", ["12-01T09:00", "12-05T09:00"]),
        (
            "RRULE:FREQ=DAILY;COUNT=2\nRDATE;TZID=Europe/Berlin:20261205T090000",
            ["12-01T09:00", "12-02T09:00", "12-05T09:00"],
        ),
        ("RDATE;TZID=Europe/Berlin;VALUE=PERIOD:20261205T090000/PT3H", ["12-01T09:00", "12-05T09:00"]),
        (
            "RRULE:FREQ=DAILY;COUNT=4\nEXRULE:FREQ=DAILY;INTERVAL=2;UNTIL=20261201T235959Z",
            ["12-02T09:00", "12-03T09:00", "12-04T09:00"],
        ),
        ("RRULE:FREQ=DAILY;COUNT=3\nEXRULE:FREQ=MONTHLY", ["12-02T09:00", "12-03T09:00"]),
    ],
)
def test_extra_dates_come_in_and_go_round(folder: Agenda, tmp_path: Path, lines: str, shown: list[str]) -> None:
    assert folder.take_in(EXTRA_DATES.format(lines).encode()).added == 1
    assert starts(folder, "Run") == shown
    data, _ = folder.packed(None)
    (tmp_path / "other").mkdir()
    other = agenda_over(CalendarFolder(tmp_path / "other", BERLIN))

    assert other.take_in(data).added == 1
    assert [(one.start, one.end) for one in listed(other)] == [(one.start, one.end) for one in listed(folder)]
    folder.update("u", EventFields(start="2026-12-01T10:00"))
    assert starts(folder, "Run") == [text.replace("09:00", "10:00") for text in shown]


def test_a_series_that_ends_before_its_extra_date_is_still_found_there(folder: Agenda) -> None:
    folder.take_in(EXTRA_DATES.format("RRULE:FREQ=DAILY;COUNT=2\nRDATE:20400105T090000").encode())
    window, _ = folder.window("2040-01-01", "2040-01-31")

    assert [one.start.isoformat()[:10] for one in folder.between(window, None, None, 9).events] == ["2040-01-05"]


def test_dates_that_cannot_be_read_are_told_in_our_words(folder: Agenda) -> None:
    answer = folder.take_in(EXTRA_DATES.format("RRULE:FREQ=DAILY;UNTIL=2026").encode())

    assert answer.skipped[0].reason in {"cannot be read", "has dates that cannot be read"}


def test_an_organizers_next_version_comes_in_after_edits_of_ours(folder: Agenda) -> None:
    folder.take_in(OFFICE_LIKE)
    uid = listed(folder)[0].id
    folder.update(uid, EventFields(reminders=("30",)))
    folder.update(uid, EventFields(location="Room 14"))
    newer = OFFICE_LIKE.replace(b"SEQUENCE:0", b"SEQUENCE:1").replace(b"20261203T1", b"20261204T1")

    assert folder.take_in(newer).updated == 1
    assert starts(folder, "Quarterly") == ["12-04T10:00"]


def test_who_stays_keeps_the_answer_and_the_role_they_have(folder: Agenda) -> None:
    folder.take_in(OFFICE_LIKE)
    event = listed(folder)[0]
    folder.update(event.id, EventFields(attendees=("Ann <ann@example.org>", "bob@example.org")))
    [series] = [stored.series for stored in folder.store.snapshot().series]
    ann, bob = cast("list[Any]", series.master["ATTENDEE"])

    assert (ann.params["PARTSTAT"], ann.params["ROLE"], ann.params["RSVP"]) == (
        "NEEDS-ACTION",
        "REQ-PARTICIPANT",
        "TRUE",
    )
    assert ann.params["CN"] == "Ann"
    assert str(bob) == "mailto:bob@example.org"


def test_who_wrote_an_event_is_told(folder: Agenda) -> None:
    folder.take_in(OFFICE_LIKE)
    folder.take_in(PHONE_LIKE)
    folder.create(EventFields("Mine", "2026-12-05T20:00"))

    assert {one.title: one.source for one in listed(folder)} == {
        "Quarterly review": "Boss <boss@example.org>",
        "Therapy": "-//Some Phone//iOS 27.1//EN",
        "Run": "-//Some Phone//iOS 27.1//EN",
        "Mine": "",
    }
