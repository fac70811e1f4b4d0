"""One rule for how long an occurrence is, on days when a clock changes too."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import icalendar
import pytest

from tools_mcp.calendar.lengths import Length, end_of, length_of, move, set_times
from tools_mcp.calendar.properties import moment
from tools_mcp.calendar.times import instant

BERLIN = ZoneInfo("Europe/Berlin")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
NEW_YORK = ZoneInfo("America/New_York")
MINUTES = timedelta(minutes=1)
NAIVE = datetime.fromisoformat("2026-12-01T12:00")


def event(start: date, **properties: date | timedelta) -> icalendar.Event:
    component = icalendar.Event()
    component.add("DTSTART", start)
    for name, value in properties.items():
        component.add(name, value)
    return component


@pytest.mark.parametrize(
    ("start", "length", "ends"),
    [
        (datetime(2026, 12, 1, 22, tzinfo=BERLIN), Length(clock=timedelta(hours=8)), "02T06:00:00+01:00"),
        (datetime(2026, 3, 28, 22, tzinfo=BERLIN), Length(clock=timedelta(hours=8)), "29T06:00:00+02:00"),
        (datetime(2026, 3, 28, 22, tzinfo=BERLIN), Length(exact=timedelta(hours=8)), "29T07:00:00+02:00"),
        (datetime(2027, 3, 28, 2, 30, tzinfo=BERLIN), Length(clock=20 * MINUTES), "28T03:50:00+02:00"),
        (datetime(2027, 3, 28, 2, 30, tzinfo=BERLIN), Length(clock=45 * MINUTES), "28T04:15:00+02:00"),
        (datetime(2026, 10, 4, 2, 15, tzinfo=LORD_HOWE), Length(clock=20 * MINUTES), "04T03:05:00+11:00"),
        (datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN), Length(exact=60 * MINUTES), "25T02:30:00+01:00"),
        (NAIVE, Length(exact=60 * MINUTES), "01T13:00:00+01:00"),
        (date(2026, 12, 1), Length(clock=timedelta(days=3)), "04"),
    ],
)
def test_an_occurrence_ends_by_the_clock_or_after_a_time(start: date, length: Length, ends: str) -> None:
    assert end_of(start, length, BERLIN).isoformat()[8:] == ends


@pytest.mark.parametrize(
    ("component", "length"),
    [
        (event(datetime(2026, 12, 1, 12, tzinfo=BERLIN)), Length()),
        (event(date(2026, 12, 1)), Length(clock=timedelta(days=1))),
        (event(datetime(2026, 12, 1, 12, tzinfo=BERLIN), DURATION=90 * MINUTES), Length(exact=90 * MINUTES)),
        (event(datetime(2026, 12, 1, 12, tzinfo=BERLIN), DURATION=timedelta(days=2)), Length(clock=timedelta(days=2))),
        (event(datetime(2026, 12, 1, 12, tzinfo=BERLIN), DURATION=-MINUTES), Length()),
        (
            event(datetime(2026, 12, 1, 12, tzinfo=BERLIN), DTEND=datetime(2026, 12, 1, 7, tzinfo=NEW_YORK)),
            Length(exact=60 * MINUTES),
        ),
        (
            event(datetime(2027, 3, 28, 2, 30, tzinfo=BERLIN), DTEND=datetime(2027, 3, 28, 3, 50, tzinfo=BERLIN)),
            Length(exact=20 * MINUTES),
        ),
        (event(NAIVE, DTEND=NAIVE - MINUTES), Length()),
    ],
)
def test_a_length_is_read_from_either_property(component: icalendar.Event, length: Length) -> None:
    assert length_of(component, BERLIN) == length


@pytest.mark.parametrize(
    ("start", "property_name"),
    [
        (datetime(2026, 12, 1, 2, 30, tzinfo=BERLIN), "DTEND"),
        (datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN), "DURATION"),
        (datetime(2027, 3, 28, 2, 30, tzinfo=BERLIN), "DURATION"),
        (datetime(2026, 10, 4, 2, 15, tzinfo=LORD_HOWE), "DURATION"),
    ],
)
def test_what_is_written_says_the_same_length_to_every_program(start: datetime, property_name: str) -> None:
    component = event(start)
    set_times(component, start, Length(clock=60 * MINUTES), BERLIN)
    ends = end_of(start, length_of(component, BERLIN), BERLIN)

    assert property_name in component
    assert instant(ends, BERLIN) - instant(start, BERLIN) == 60 * MINUTES
    assert length_of(component, BERLIN).total == 60 * MINUTES


def test_what_moves_keeps_how_its_length_is_written() -> None:
    there = datetime(2026, 12, 2, 12, tzinfo=BERLIN)
    lasting = event(datetime(2026, 12, 1, 12, tzinfo=BERLIN), DURATION=90 * MINUTES)
    without = event(datetime(2026, 12, 1, 12, tzinfo=BERLIN))
    for component in (lasting, without):
        move(component, there, BERLIN)

    assert moment(lasting, "DURATION") == 90 * MINUTES
    assert not {"DTEND", "DURATION"} & set(without)
    assert moment(lasting, "DTSTART") == moment(without, "DTSTART") == there
