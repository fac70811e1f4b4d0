"""Listing with bounded work, whatever repeats."""

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.tools_mcp.calendar.conftest import agenda_over
from tools_mcp.calendar import agenda as agenda_module
from tools_mcp.calendar import looking
from tools_mcp.calendar.agenda import Agenda
from tools_mcp.calendar.model import Event, EventFields
from tools_mcp.calendar.store import CalendarFolder
from tools_mcp.errors import InvalidInputError

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def agenda(tmp_path: Path) -> Agenda:
    return agenda_over(CalendarFolder(tmp_path, BERLIN))


def create(agenda: Agenda, title: str, start: str, rule: str | None = None) -> Event:
    return agenda.create(EventFields(title, start, recurrence=rule)).event


def test_a_daily_series_of_fifty_years_costs_what_is_shown_of_it(agenda: Agenda) -> None:
    create(agenda, "Pill", "1976-01-01T09:00", "FREQ=DAILY")
    window, _ = agenda.window("2026-12-01", "2036-12-01")
    [stored] = agenda.store.snapshot().series
    found = agenda.between(window, "pill", None, 20)

    assert len(found.events) == 62
    assert found.until is None
    assert [key.year for key in stored.series.queries] == [2025]  # it counts from a year before, not from 1976


def test_too_much_that_repeats_is_looked_through_in_parts_that_meet(agenda: Agenda) -> None:
    create(agenda, "Stand-up", "2026-12-01T09:00", "FREQ=DAILY;COUNT=300")
    agenda.update("e1/20270601T070000Z", EventFields(title="The one"))
    window, _ = agenda.window("2026-12-01", "2036-12-01")
    seen: list[Event] = []
    untils: list[datetime] = []
    after = None
    while True:
        events, _, until = looking.listed(
            agenda.store.snapshot(), window, query="one", after=after, wanted=20, zone=BERLIN, most_work=100
        )
        seen += events
        if until is None:
            break
        untils.append(until)
        after = int(until.timestamp()), ""

    assert [event.title for event in seen] == ["The one"]
    assert 2 <= len(untils) < 100
    assert untils == sorted(untils)


def test_a_query_that_nothing_matches_expands_nothing(agenda: Agenda, monkeypatch: pytest.MonkeyPatch) -> None:
    create(agenda, "Stand-up", "2026-12-01T09:00", "FREQ=DAILY")
    window, _ = agenda.window("2026-12-01", "2036-12-01")
    monkeypatch.setattr(looking, "occurrences", lambda *_: pytest.fail("expanded"))

    assert agenda.between(window, "lunch", None, 20).events == []


def test_without_expansion_a_series_is_one_row(agenda: Agenda) -> None:
    create(agenda, "Stand-up", "2026-12-01T09:00", "FREQ=DAILY;COUNT=5")
    create(agenda, "Lunch", "2026-12-03T12:00")
    create(agenda, "Over", "2026-11-01T09:00", "FREQ=DAILY;COUNT=5")
    window, _ = agenda.window("2026-12-02", "2026-12-10")

    assert [event.id for event in agenda.between(window, None, None, 20, expand=False).events] == ["e1", "e2"]


def test_filters_come_before_the_limit(agenda: Agenda) -> None:
    create(agenda, "Stand-up", "2026-12-01T09:00", "FREQ=DAILY;COUNT=200")
    create(agenda, "Lunch", "2027-05-01T12:00")
    window, _ = agenda.window("2026-12-01", "2027-12-01")

    assert [event.title for event in agenda.between(window, "lunch", None, 1).events] == ["Lunch"]


def test_free_time_among_too_much_that_repeats_is_refused(agenda: Agenda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agenda_module, "Work", lambda *_: looking.Work(10))
    for number in range(3):
        create(agenda, f"Stand-up {number}", f"2026-12-01T0{number}:00", "FREQ=DAILY")
    window, _ = agenda.window("2026-12-01", "2027-01-20")

    with pytest.raises(InvalidInputError, match="Too much repeats"):
        agenda.free(window, timedelta(hours=1), (540, 1020), BERLIN)


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ("2026-12-08T09:15", "It overlaps Stand-up (Tue 2026-12-08 09:00-10:00 Europe/Berlin"),
        ("2026-12-08T10:00", None),
        ("2026-12-08T08:00", None),
        ("2026-12-08", None),
        ("2026-12-09T12:30", "It overlaps Lunch (Wed"),
    ],
)
def test_an_event_that_overlaps_another_is_stored_and_says_so(agenda: Agenda, start: str, said: str | None) -> None:
    create(agenda, "Stand-up", "2026-12-01T09:00", "FREQ=WEEKLY")
    create(agenda, "Lunch", "2026-12-09T12:00")
    made = agenda.create(EventFields("New", start, timezone="Europe/Berlin" if "T" in start else None))

    clashes = [remark for remark in made.remarks if remark.startswith("It overlaps")]
    assert made.status == "created"
    assert clashes[0].startswith(said) if said else not clashes, clashes


def test_a_clash_is_told_for_series_moves_and_single_occurrences(agenda: Agenda) -> None:
    create(agenda, "Dentist", "2026-12-15T09:30")
    series = agenda.create(EventFields("Stand-up", "2026-12-01T09:00", recurrence="FREQ=WEEKLY"))
    moved = agenda.update("e2/20261208T080000Z", EventFields(start="2026-12-15T10:15"))
    alone = agenda.update("e2/20261222T080000Z", EventFields(title="Other"))
    for number in range(4):
        create(agenda, f"Busy {number}", "2027-01-01T12:00")
    many = agenda.create(EventFields("New", "2027-01-01T12:00"))

    assert [remark for remark in series.remarks if "overlaps" in remark] == [
        "It overlaps Dentist (Tue 2026-12-15 09:30-10:30 Europe/Berlin (2026-12-15 08:30 UTC))."
    ]
    assert "Dentist" in moved.remarks[-1]
    assert not [remark for remark in alone.remarks if "overlaps" in remark]
    assert many.remarks[-1].endswith("and 1 more.")


def test_what_takes_no_time_clashes_with_nothing(agenda: Agenda, tmp_path: Path) -> None:
    create(agenda, "Lunch", "2026-12-09T12:00")
    text = (tmp_path / "e1.ics").read_text().replace("SUMMARY", "TRANSP:TRANSPARENT\r\nSUMMARY")
    (tmp_path / "e1.ics").write_text(text)

    assert not [one for one in agenda.create(EventFields("New", "2026-12-09T12:00")).remarks if "overlaps" in one]
