"""A change of a series changes what it names, of every occurrence it is for, and nothing else."""

from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.tools_mcp.calendar.conftest import agenda_over
from tools_mcp.calendar.agenda import Agenda
from tools_mcp.calendar.model import Event, EventFields, Outcome, Scope
from tools_mcp.calendar.store import CalendarFolder
from tools_mcp.errors import ConflictError, InvalidInputError

BERLIN = ZoneInfo("Europe/Berlin")
OFFICE_ZONE = """BEGIN:VTIMEZONE
TZID:W. Europe Standard Time
BEGIN:STANDARD
DTSTART:16010101T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010101T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3
END:DAYLIGHT
END:VTIMEZONE
"""


@pytest.fixture
def agenda(tmp_path: Path) -> Agenda:
    return agenda_over(CalendarFolder(tmp_path, BERLIN))


def foreign(folder: Path, *lines: str, more: str = "", zones: str = "") -> None:
    """A file of another program with one series, u; `more` is the lines of a changed occurrence."""
    events = "".join(
        f"BEGIN:VEVENT\nUID:u\nDTSTAMP:20260101T000000Z\n{body}\nEND:VEVENT\n"
        for body in ("\n".join(("SUMMARY:Run", *lines)), more.replace("|", "\n"))
        if body
    )
    (folder / "u.ics").write_text(f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:other\n{zones}{events}END:VCALENDAR\n")


def listed(agenda: Agenda, start: str = "2026-01-01", end: str = "2027-12-31") -> list[Event]:
    window, _ = agenda.window(start, end)
    return agenda.between(window, None, None, 1000).events


def times(agenda: Agenda) -> list[str]:
    return [f"{one.start:%m-%dT%H:%M}-{one.end:%H:%M}" for one in listed(agenda)]


def change(agenda: Agenda, event_id: str, scope: Scope | None = None, **fields: Any) -> Outcome:
    return agenda.update(event_id, EventFields(**fields), scope)


def daily(agenda: Agenda, start: str, count: int = 6, **fields: Any) -> None:
    agenda.create(EventFields("Run", start, recurrence=f"FREQ=DAILY;COUNT={count}", **fields))


@pytest.mark.parametrize(
    ("series", "split_at", "at_change", "later"),
    [
        (("2027-03-26T02:30", "Europe/Berlin", "20"), "20270328T013000Z", "03:30-03:50", "02:30-02:50"),
        (("2026-10-23T02:30", "Europe/Berlin", "60"), "20261025T003000Z", "02:30-02:30", "02:30-03:30"),
        (("2027-03-12T02:30", "America/New_York", "20"), "20270314T073000Z", "03:30-03:50", "02:30-02:50"),
        (("2026-10-02T02:15", "Australia/Lord_Howe", "20"), "20261003T154500Z", "02:45-03:05", "02:15-02:35"),
    ],
)
def test_a_split_on_the_day_of_a_clock_change_leaves_the_length_of_later_ones(
    agenda: Agenda, series: tuple[str, str, str], split_at: str, at_change: str, later: str
) -> None:
    start, zone, minutes = series
    daily(agenda, start, timezone=zone, duration=minutes)
    change(agenda, f"e1/{split_at}", "following", title="From here")

    assert [time[6:] for time in times(agenda)] == [later] * 2 + [at_change] + [later] * 3
    assert [one.title for one in listed(agenda)] == ["Run"] * 2 + ["From here"] * 4


def test_a_time_that_a_clock_change_skips_takes_time_all_the_same(agenda: Agenda) -> None:
    daily(agenda, "2026-10-03T02:15", timezone="Australia/Lord_Howe", duration="20")

    assert times(agenda)[:3] == ["10-03T02:15-02:35", "10-04T02:45-03:05", "10-05T02:15-02:35"]


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (
            [
                "DTSTART;TZID=W. Europe Standard Time:20270601T090000",
                "DURATION:PT1H",
                "RRULE:FREQ=DAILY;UNTIL=20270603",
            ],
            ["06-01T09:00-10:00", "06-02T09:00-10:00", "06-03T09:00-10:00"],
        ),
        (
            ["DTSTART:20270303T080000Z", "RRULE:FREQ=WEEKLY;UNTIL=20270313T000000Z;BYDAY=FR"],
            ["03-03T08:00-08:00", "03-05T08:00-08:00", "03-12T08:00-08:00"],
        ),
        (
            ["DTSTART:20270303T080000Z", "RRULE:FREQ=DAILY;UNTIL=20270304T080000Z;BYHOUR=8"],
            ["03-03T08:00-08:00", "03-04T08:00-08:00"],
        ),
        (
            ["DTSTART:20270301T090000", "DURATION:PT1H", "RRULE:FREQ=DAILY;UNTIL=20270304T090000"],
            ["03-01T09:00-10:00", "03-02T09:00-10:00", "03-03T09:00-10:00", "03-04T09:00-10:00"],
        ),
        (
            ["DTSTART:20270301T090000", "DURATION:PT1H", "RRULE:FREQ=DAILY;UNTIL=20270303T080000Z"],
            ["03-01T09:00-10:00", "03-02T09:00-10:00", "03-03T09:00-10:00"],
        ),
        (
            ["DTSTART;TZID=America/New_York:20260323T190000", "RRULE:FREQ=DAILY;UNTIL=20260326T190000"],
            ["03-23T19:00-19:00", "03-24T19:00-19:00", "03-25T19:00-19:00", "03-26T19:00-19:00"],
        ),
        (
            ["DTSTART;TZID=America/New_York:20260323T190000", "RRULE:FREQ=DAILY;UNTIL=20260325"],
            ["03-23T19:00-19:00", "03-24T19:00-19:00", "03-25T19:00-19:00"],
        ),
    ],
)
def test_a_change_of_words_leaves_times_and_rule_as_another_program_wrote_them(
    agenda: Agenda, tmp_path: Path, lines: list[str], shown: list[str]
) -> None:
    foreign(tmp_path, *lines, zones=OFFICE_ZONE if "W. Europe" in lines[0] else "")
    assert times(agenda) == shown
    assert change(agenda, "u", title="Jog").status == "updated"
    assert times(agenda) == shown
    assert change(agenda, listed(agenda)[1].id, "all", notes="slowly").status == "updated"
    assert times(agenda) == shown

    text = (tmp_path / "u.ics").read_text()
    assert all(line in text for line in lines)
    assert {(one.title, one.notes) for one in listed(agenda)} == {("Jog", "slowly")}


def test_a_series_without_a_zone_splits_and_moves_without_losing_a_date(agenda: Agenda, tmp_path: Path) -> None:
    foreign(tmp_path, "DTSTART:20270301T090000", "DURATION:PT1H", "RRULE:FREQ=DAILY;UNTIL=20270304T090000")
    change(agenda, "u/20270303T080000Z", "following", title="Jog")
    assert [time[:11] for time in times(agenda)] == ["03-01T09:00", "03-02T09:00", "03-03T09:00", "03-04T09:00"]

    change(agenda, "u", start="2027-03-01T10:00")
    assert [time[:11] for time in times(agenda)] == ["03-01T10:00", "03-02T10:00", "03-03T09:00", "03-04T09:00"]
    assert "DTSTART:20270301T100000\n" in (tmp_path / "u.ics").read_text().replace("\r", "")


def test_a_series_in_a_zone_of_another_program_moves_within_it(agenda: Agenda, tmp_path: Path) -> None:
    lines = ("DTSTART;TZID=W. Europe Standard Time:20270324T090000", "DURATION:PT1H", "RRULE:FREQ=WEEKLY;COUNT=3")
    foreign(tmp_path, *lines, zones=OFFICE_ZONE)
    change(agenda, "u", start="2027-03-24T11:00")

    assert [one.start.isoformat() for one in listed(agenda)] == [
        *("2027-03-24T11:00:00+01:00", "2027-03-31T11:00:00+02:00", "2027-04-07T11:00:00+02:00")
    ]


def test_what_is_given_holds_for_changed_occurrences_too_but_not_over_what_was_changed_there(agenda: Agenda) -> None:
    daily(agenda, "2027-03-11T09:00")
    change(agenda, "e1/20270312T080000Z", start="2027-03-12T12:00")
    change(agenda, "e1/20270313T080000Z", title="Sprint")
    made = change(agenda, "e1", title="Jog", location="Park")

    assert [one.title for one in listed(agenda)] == ["Jog", "Jog", "Sprint", "Jog", "Jog", "Jog"]
    assert {one.location for one in listed(agenda)} == {"Park"}
    assert made.remarks[0] == "1 occurrence keeps what was changed there before; send its own id to change it."


@pytest.mark.parametrize("scope", ["following", "all"])
def test_the_occurrence_that_was_named_takes_what_was_given_in_any_case(agenda: Agenda, scope: Scope) -> None:
    daily(agenda, "2027-03-11T09:00")
    change(agenda, "e1/20270313T080000Z", title="Sprint")
    change(agenda, "e1/20270313T080000Z", scope, title="Jog")

    assert {one.title for one in listed(agenda)} == ({"Jog"} if scope == "all" else {"Run", "Jog"})
    assert listed(agenda)[2].title == "Jog"


def test_the_occurrence_that_was_named_moves_where_it_was_told(agenda: Agenda) -> None:
    daily(agenda, "2027-03-11T09:00")
    change(agenda, "e1/20270313T080000Z", start="2027-03-13T15:00")
    change(agenda, "e1/20270313T080000Z", "following", start="2027-03-13T16:00")

    assert [time[6:11] for time in times(agenda)] == ["09:00"] * 2 + ["16:00"] * 4


def test_a_series_that_moves_leaves_an_occurrence_its_own_length(agenda: Agenda) -> None:
    daily(agenda, "2027-03-11T09:00", count=3)
    change(agenda, "e1/20270312T080000Z", end="2027-03-12T12:00")
    change(agenda, "e1", start="2027-03-11T10:00")
    assert times(agenda) == ["03-11T10:00-11:00", "03-12T10:00-13:00", "03-13T10:00-11:00"]

    change(agenda, "e1", duration="30")
    assert times(agenda) == ["03-11T10:00-10:30", "03-12T10:00-13:00", "03-13T10:00-10:30"]


def test_a_length_alone_moves_nothing(agenda: Agenda) -> None:
    daily(agenda, "2027-03-11T09:00", count=3)
    change(agenda, "e1/20270312T080000Z", start="2027-03-12T15:00")
    change(agenda, "e1/20270312T080000Z", "following", duration="30")

    assert times(agenda) == ["03-11T09:00-10:00", "03-12T15:00-15:30", "03-13T09:00-09:30"]


def test_a_split_is_told_without_overlapping_itself(agenda: Agenda) -> None:
    daily(agenda, "2027-03-11T09:00")
    made = change(agenda, "e1/20270313T080000Z", "following", title="Jog")

    assert made.remarks == ()
    assert agenda.get(made.event.id).title == "Jog"


def test_following_without_a_difference_changes_nothing_and_names_what_is_there(agenda: Agenda) -> None:
    daily(agenda, "2027-03-11T09:00")
    same = change(agenda, "e1/20270313T080000Z", "following", title="Run")

    assert same.status == "unchanged"
    assert agenda.get(same.event.id) == same.event or agenda.get(same.event.id).start == same.event.start


def test_a_deleted_occurrence_that_is_moved_up_again_takes_nothing_with_it(agenda: Agenda, tmp_path: Path) -> None:
    daily(agenda, "2027-03-11T09:00", count=5)
    before = [(one.start, one.title) for one in listed(agenda)]
    agenda.delete("e1/20270313T080000Z")
    [path] = (tmp_path / ".trash").iterdir()
    path.rename(tmp_path / path.name)

    assert [(one.start, one.title) for one in listed(agenda)] == before
    assert agenda.get("e1/20270313T080000Z").title == "Run"
    change(agenda, "e1", "all", title="Jog")
    assert [one.title for one in listed(agenda)] == ["Jog", "Jog", "Run", "Jog", "Jog"]


HOLDS_ON = (
    "RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20270403T090000|"
    "DTSTART;TZID=Europe/Berlin:20270403T110000|DURATION:PT30M|SUMMARY:Jog"
)


def test_what_follows_a_change_that_holds_on_has_ids_of_its_own(agenda: Agenda, tmp_path: Path) -> None:
    foreign(
        *(tmp_path, "DTSTART;TZID=Europe/Berlin:20270401T090000", "DURATION:PT1H", "RRULE:FREQ=DAILY;COUNT=5"),
        more=HOLDS_ON,
    )
    shown = ["04-01T09:00-10:00", "04-02T09:00-10:00", "04-03T11:00-11:30", "04-04T11:00-11:30", "04-05T11:00-11:30"]

    assert times(agenda) == shown
    assert [one.id for one in listed(agenda)] == [f"u/2027040{day}T070000Z" for day in range(1, 6)]
    agenda.delete("u/20270405T070000Z")
    assert times(agenda) == shown[:4]
    change(agenda, "u/20270404T070000Z", title="Walk")
    assert [(one.title, time) for one, time in zip(listed(agenda), times(agenda), strict=True)][2:] == [
        ("Jog", shown[2]),
        ("Walk", shown[3]),
    ]
    with pytest.raises(ConflictError, match="together with all later ones"):
        agenda.delete("u/20270403T070000Z")
    with pytest.raises(ConflictError, match="cannot be split"):
        change(agenda, "u/20270404T070000Z", "following", title="x")


def test_a_start_off_its_rule_is_refused_with_the_date_that_would_do(agenda: Agenda) -> None:
    agenda.create(EventFields("Run", "2026-12-07T09:00", recurrence="FREQ=WEEKLY;BYDAY=MO"))

    with pytest.raises(InvalidInputError, match="Tuesday 2026-12-08 is not one of its dates"):
        change(agenda, "e1", start="2026-12-08T09:00")
    assert change(agenda, "e1", start="2026-12-08T09:00", recurrence="FREQ=WEEKLY;BYDAY=TU").status == "updated"


def test_an_event_that_only_had_an_offset_needs_a_zone_before_it_repeats(agenda: Agenda) -> None:
    agenda.create(EventFields("Run", "2026-12-07T08:00:00Z"))

    with pytest.raises(InvalidInputError, match="send timezone with an IANA"):
        change(agenda, "e1", recurrence="FREQ=WEEKLY")
    change(agenda, "e1", start="2026-12-07T09:00", timezone="Europe/Berlin", recurrence="FREQ=WEEKLY;COUNT=2")
    assert times(agenda) == ["12-07T09:00-10:00", "12-14T09:00-10:00"]


@pytest.mark.parametrize("broken", ["EXDATE:someday", "EXRULE:FREQ=DAILY;BYDAY=MO to x"])
def test_dates_that_cannot_be_read_are_not_moved_but_words_may_change(
    agenda: Agenda, tmp_path: Path, broken: str
) -> None:
    (tmp_path / "u.ics").write_text(
        "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:other\nBEGIN:VEVENT\nUID:u\nDTSTAMP:20260101T000000Z\nSUMMARY:Run\n"
        f"DTSTART:20270301T090000Z\nRRULE:FREQ=DAILY\n{broken}\nEND:VEVENT\nEND:VCALENDAR\n"
    )

    with pytest.raises(ConflictError, match="cannot be read, so nothing was changed"):
        change(agenda, "u", start="2027-03-02T10:00")
    assert change(agenda, "u", title="Jog").event.title == "Jog"
    assert broken in (tmp_path / "u.ics").read_text().replace("\r", "")


NIGHT: dict[str, Any] = {"start": "2026-10-24T22:00", "end": "2026-10-25T06:00"}


def test_an_end_that_is_told_is_the_end_whatever_the_clock_does_meanwhile(agenda: Agenda) -> None:
    agenda.create(EventFields("Night", **NIGHT))
    assert times(agenda) == ["10-24T22:00-06:00"]
    assert change(agenda, "e1", **NIGHT).status == "unchanged"
    change(agenda, "e1", end="2026-10-25T05:00")
    assert times(agenda) == ["10-24T22:00-05:00"]
    change(agenda, "e1", duration="PT9H")
    assert times(agenda) == ["10-24T22:00-06:00"]
    assert change(agenda, "e1", end="2026-10-25T06:00").status == "unchanged"


def test_a_night_shift_ends_at_its_local_time_every_night(agenda: Agenda) -> None:
    agenda.create(EventFields("Night", **NIGHT, recurrence="FREQ=DAILY;COUNT=3"))
    assert [time[6:] for time in times(agenda)] == ["22:00-06:00"] * 3
    change(agenda, "e1", end="2026-10-25T05:00")
    assert [time[6:] for time in times(agenda)] == ["22:00-05:00"] * 3
    change(agenda, "e1", duration="PT8H")
    assert [time[6:] for time in times(agenda)] == ["22:00-05:00", "22:00-06:00", "22:00-06:00"]
