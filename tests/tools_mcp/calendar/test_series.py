"""Changes of a series: one occurrence, from one on, or all."""

from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import icalendar
import pytest

from tests.tools_mcp.calendar.conftest import agenda_over
from tools_mcp.calendar.agenda import Agenda
from tools_mcp.calendar.ics import decode
from tools_mcp.calendar.identity import split_uid
from tools_mcp.calendar.model import Event, EventFields, Outcome, Scope
from tools_mcp.calendar.store import CalendarFolder
from tools_mcp.errors import ConflictError, InvalidInputError, NotFoundError

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def agenda(tmp_path: Path) -> Agenda:
    return agenda_over(CalendarFolder(tmp_path, BERLIN))


def weekly(agenda: Agenda, rule: str = "FREQ=WEEKLY;COUNT=5", start: str = "2026-12-01T09:00") -> Outcome:
    """A stand-up, on Tuesdays at nine unless told."""
    length = "30" if "T" in start else None
    return agenda.create(EventFields("Stand-up", start, duration=length, recurrence=rule, location="Room 1"))


def listed(agenda: Agenda, start: str = "2026-11-01", end: str = "2027-12-31") -> list[Event]:
    window, _ = agenda.window(start, end)
    return agenda.between(window, None, None, 1000).events


def starts(agenda: Agenda, **window: str) -> list[str]:
    return [event.start.isoformat()[5:16] for event in listed(agenda, **window)]


def change(agenda: Agenda, event_id: str, scope: Scope | None = None, **fields: Any) -> Outcome:
    return agenda.update(event_id, EventFields(**fields), scope)


def components(folder: Path, uid: str) -> list[icalendar.Event]:
    return decode((folder / f"{uid}.ics").read_bytes()).events


def test_an_occurrence_has_an_id_of_its_own_that_leads_to_it(agenda: Agenda) -> None:
    weekly(agenda)
    rows = listed(agenda)

    assert [row.id for row in rows[:2]] == ["e1/20261201T080000Z", "e1/20261208T080000Z"]
    assert {row.series_id for row in rows} == {"e1"}
    second = agenda.get(rows[1].id)
    assert (second.start, second.recurrence) == (rows[1].start, "FREQ=WEEKLY;COUNT=5")
    assert agenda.get("e1").id == "e1"


def test_one_occurrence_changes_alone_and_keeps_its_id(agenda: Agenda, tmp_path: Path) -> None:
    weekly(agenda)
    made = change(agenda, "e1/20261208T080000Z", start="2026-12-08T14:00", title="Stand-up, later")

    assert (made.status, made.event.id, made.event.changed) == ("updated", "e1/20261208T080000Z", True)
    assert starts(agenda) == ["12-01T09:00", "12-08T14:00", "12-15T09:00", "12-22T09:00", "12-29T09:00"]
    master, override = components(tmp_path, "e1")
    assert override["RECURRENCE-ID"].to_ical() == b"20261208T090000"
    assert override["RECURRENCE-ID"].params["TZID"] == "Europe/Berlin"
    assert override["LOCATION"] == "Room 1"
    assert not {"RRULE", "EXDATE", "RDATE"} & set(override)
    assert override["SEQUENCE"] == master.get("SEQUENCE", 0) + 1

    again = change(agenda, "e1/20261208T080000Z", start="2026-12-08T15:00")
    assert (again.event.title, again.event.end.isoformat()[11:16]) == ("Stand-up, later", "15:30")
    assert len(components(tmp_path, "e1")) == 2
    assert change(agenda, "e1/20261208T080000Z", title="Stand-up, later").status == "unchanged"


def test_one_occurrence_is_deleted_alone_once_and_kept_in_the_trash(agenda: Agenda, tmp_path: Path) -> None:
    weekly(agenda)
    gone = agenda.delete("e1/20261208T080000Z")

    assert (gone.event.start.isoformat()[5:16], gone.remarks) == ("12-08T09:00", ("Only this occurrence was deleted.",))
    assert starts(agenda) == ["12-01T09:00", "12-15T09:00", "12-22T09:00", "12-29T09:00"]
    assert b"EXDATE;TZID=Europe/Berlin:20261208T090000" in (tmp_path / "e1.ics").read_bytes()
    [path] = (tmp_path / ".trash").iterdir()
    [kept] = decode(path.read_bytes()).events
    assert kept["SUMMARY"] == "Stand-up"
    assert agenda.delete("e1/20261208T080000Z").remarks == ("This occurrence of the series was deleted already.",)
    with pytest.raises(NotFoundError, match="no occurrence with the id"):
        change(agenda, "e1/20261208T080000Z", title="x")


def test_a_changed_occurrence_that_is_deleted_leaves_no_override(agenda: Agenda, tmp_path: Path) -> None:
    weekly(agenda)
    change(agenda, "e1/20261208T080000Z", start="2026-12-09T14:00")
    agenda.delete("e1/20261208T080000Z")

    assert starts(agenda) == ["12-01T09:00", "12-15T09:00", "12-22T09:00", "12-29T09:00"]
    assert len(components(tmp_path, "e1")) == 1


def test_a_series_whose_last_occurrence_is_deleted_is_gone_whole(agenda: Agenda, tmp_path: Path) -> None:
    weekly(agenda, "FREQ=WEEKLY;COUNT=2")
    agenda.delete("e1/20261208T080000Z")
    agenda.delete("e1/20261201T080000Z")

    assert listed(agenda) == []
    assert not (tmp_path / "e1.ics").exists()
    assert agenda.delete("e1").remarks == ("It was in the trash already.",)


def test_following_splits_the_series_in_two(agenda: Agenda, tmp_path: Path) -> None:
    weekly(agenda)
    change(agenda, "e1/20261222T080000Z", title="The last but one")
    made = change(agenda, "e1/20261215T080000Z", "following", start="2026-12-15T10:00", location="Room 2")

    assert starts(agenda) == ["12-01T09:00", "12-08T09:00", "12-15T10:00", "12-22T10:00", "12-29T10:00"]
    assert [event.location for event in listed(agenda)] == ["Room 1"] * 2 + ["Room 2"] * 3
    assert [event.title for event in listed(agenda)][3] == "The last but one"
    assert made.event.id != "e1"
    assert agenda.get("e1").recurrence == "FREQ=WEEKLY;UNTIL=20261215T075959Z"
    assert agenda.get(made.event.id).recurrence == "FREQ=WEEKLY;COUNT=3"
    assert len(components(tmp_path, "e1")) == 1


def test_a_split_that_was_cut_off_or_repeated_ends_as_one_split(agenda: Agenda, tmp_path: Path) -> None:
    weekly(agenda)
    before = (tmp_path / "e1.ics").read_bytes()
    first = change(agenda, "e1/20261215T080000Z", "following", title="New")
    (tmp_path / "e1.ics").write_bytes(before)  # a crash between the two writes
    again = change(agenda, "e1/20261215T080000Z", "following", title="New")
    repeated = change(agenda, "e1/20261215T080000Z", "following", title="New")

    assert first.event.id == again.event.id == repeated.event.id
    assert repeated.status == "unchanged"
    assert starts(agenda) == ["12-01T09:00", "12-08T09:00", "12-15T09:00", "12-22T09:00", "12-29T09:00"]


def test_following_from_the_first_is_the_whole_series(agenda: Agenda) -> None:
    weekly(agenda)
    made = change(agenda, "e1/20261201T080000Z", "following", title="Renamed")

    assert made.event.id == "e1"
    assert {event.title for event in listed(agenda)} == {"Renamed"}


def test_deleting_what_follows_ends_the_series_and_keeps_the_rest_in_the_trash(agenda: Agenda, tmp_path: Path) -> None:
    weekly(agenda, "FREQ=WEEKLY")
    agenda.delete("e1/20261215T080000Z", "following")

    assert starts(agenda) == ["12-01T09:00", "12-08T09:00"]
    [path] = (tmp_path / ".trash").glob("*.ics")
    [kept] = decode(path.read_bytes()).events
    assert kept["RRULE"].to_ical() == b"FREQ=WEEKLY"
    assert kept.start.isoformat() == "2026-12-15T09:00:00+01:00"


def test_exceptions_and_changed_occurrences_stay_on_their_side_of_a_split(agenda: Agenda) -> None:
    weekly(agenda, "FREQ=DAILY;COUNT=10")
    agenda.delete("e1/20261202T080000Z")
    agenda.delete("e1/20261208T080000Z")
    change(agenda, "e1/20261203T080000Z", title="third")
    change(agenda, "e1/20261209T080000Z", title="ninth", start="2026-12-09T18:00")
    change(agenda, "e1/20261205T080000Z", "following", start="2026-12-05T08:00")

    assert starts(agenda) == [
        *("12-01T09:00", "12-03T09:00", "12-04T09:00"),
        *("12-05T08:00", "12-06T08:00", "12-07T08:00", "12-09T18:00", "12-10T08:00"),
    ]
    assert [event.title for event in listed(agenda) if event.changed] == ["third", "ninth"]


def test_a_whole_series_moves_by_what_one_occurrence_is_moved(agenda: Agenda) -> None:
    weekly(agenda, "FREQ=WEEKLY;UNTIL=20261229")
    agenda.delete("e1/20261208T080000Z")
    change(agenda, "e1/20261215T080000Z", title="on time, renamed")
    change(agenda, "e1/20261222T080000Z", start="2026-12-22T16:00")
    change(agenda, "e1/20261215T080000Z", "all", start="2026-12-15T11:00", duration="60")

    assert starts(agenda) == ["12-01T11:00", "12-15T11:00", "12-22T16:00", "12-29T11:00"]
    assert [event.title for event in listed(agenda) if event.changed] == ["on time, renamed", "Stand-up"]
    assert listed(agenda)[1].end.isoformat()[11:16] == "12:00"


def test_a_series_that_moves_earlier_gains_no_occurrence(agenda: Agenda) -> None:
    weekly(agenda)
    change(agenda, "e1/20261215T080000Z", "following", title="Other")
    change(agenda, "e1", start="2026-12-01T08:00")

    assert starts(agenda) == ["12-01T08:00", "12-08T08:00", "12-15T09:00", "12-22T09:00", "12-29T09:00"]


def test_a_series_moves_to_another_zone_and_keeps_local_time_there(agenda: Agenda) -> None:
    weekly(agenda, "FREQ=WEEKLY", "2026-03-03T09:00")
    agenda.delete("e1/20260310T080000Z")
    change(agenda, "e1", start="2026-03-03T09:00", timezone="America/New_York")
    window, _ = agenda.window("2026-03-01", "2026-03-31")

    assert [event.start.isoformat() for event in agenda.between(window, None, None, 10).events] == [
        "2026-03-03T09:00:00-05:00",
        "2026-03-17T09:00:00-04:00",
        "2026-03-24T09:00:00-04:00",
        "2026-03-31T09:00:00-04:00",
    ]


def test_an_all_day_series_is_changed_by_its_dates(agenda: Agenda) -> None:
    weekly(agenda, "FREQ=WEEKLY;COUNT=4", "2026-12-01")
    second = listed(agenda)[1]
    assert second.id == "e1/20261208"
    change(agenda, second.id, start="2026-12-09")
    agenda.delete("e1/20261215")

    assert [event.start for event in listed(agenda)] == [date(2026, 12, 1), date(2026, 12, 9), date(2026, 12, 22)]


def test_an_all_day_series_becomes_a_timed_one_and_loses_nothing(agenda: Agenda) -> None:
    weekly(agenda, "FREQ=WEEKLY;COUNT=3", "2026-12-01")
    agenda.delete("e1/20261208")
    change(agenda, "e1", start="2026-12-01T10:00")

    assert starts(agenda) == ["12-01T10:00", "12-15T10:00"]


def test_a_rule_that_leaves_a_changed_occurrence_without_a_date_is_refused(agenda: Agenda) -> None:
    weekly(agenda)
    change(agenda, "e1/20261208T080000Z", title="Changed")

    with pytest.raises(ConflictError, match="would lose their place"):
        change(agenda, "e1", recurrence="FREQ=MONTHLY")
    assert len(listed(agenda)) == 5


def test_a_rule_that_is_cleared_leaves_one_event(agenda: Agenda) -> None:
    weekly(agenda)
    agenda.delete("e1/20261208T080000Z")
    change(agenda, "e1", recurrence="")

    assert starts(agenda) == ["12-01T09:00"]
    assert listed(agenda)[0].id == "e1"


@pytest.mark.parametrize("scope", ["this", "following"])
def test_a_part_of_a_series_needs_the_id_of_an_occurrence(agenda: Agenda, scope: Scope) -> None:
    weekly(agenda)

    with pytest.raises(InvalidInputError, match="needs the id of one occurrence"):
        change(agenda, "e1", scope, title="x")
    with pytest.raises(InvalidInputError, match="needs the id of one occurrence"):
        agenda.delete("e1", scope)


def test_a_rule_is_not_for_one_occurrence(agenda: Agenda) -> None:
    weekly(agenda)

    with pytest.raises(InvalidInputError, match="scope following or all"):
        change(agenda, "e1/20261208T080000Z", recurrence="FREQ=DAILY")


def test_a_scope_makes_no_difference_for_a_single_event(agenda: Agenda) -> None:
    agenda.create(EventFields("Lunch", "2026-12-01T12:00"))

    for scope in ("this", "following", "all"):
        assert change(agenda, "e1", scope, title=f"Lunch {scope}").status == "updated"
    assert agenda.delete("e1", "this").status == "deleted"


@pytest.mark.parametrize("missing", ["e1/20261209T080000Z", "e1/20261208", "e1/20269999", "e1/", "e9/20261208T080000Z"])
def test_an_occurrence_that_is_none_is_an_error(agenda: Agenda, missing: str) -> None:
    weekly(agenda)

    with pytest.raises(NotFoundError, match="take the id from calendar_list_events"):
        agenda.get(missing)
    with pytest.raises(NotFoundError):
        agenda.delete(missing)
    with pytest.raises(NotFoundError):
        change(agenda, missing, title="x")


def test_an_id_that_looks_like_an_occurrence_may_be_a_series(agenda: Agenda, tmp_path: Path) -> None:
    weekly(agenda)
    text = (tmp_path / "e1.ics").read_text().replace("UID:e1", "UID:a/20261208")
    (tmp_path / "e1.ics").write_text(text)

    assert agenda.get("a/20261208").id == "a/20261208"
    assert agenda.get("a/20261208/20261208T080000Z").title == "Stand-up"


def test_across_a_clock_change_an_occurrence_is_found_and_moved_in_local_time(agenda: Agenda) -> None:
    weekly(agenda, "FREQ=WEEKLY", "2026-03-24T09:00")
    change(agenda, "e1/20260331T070000Z", "following", start="2026-03-31T08:30")

    assert starts(agenda, start="2026-03-01", end="2026-04-10") == ["03-24T09:00", "03-31T08:30", "04-07T08:30"]


def test_the_split_series_always_has_the_same_id() -> None:
    assert split_uid("e1", date(2026, 12, 1)) == split_uid("e1", date(2026, 12, 1))
    assert split_uid("e1", date(2026, 12, 1)) != split_uid("e1", date(2026, 12, 2))
