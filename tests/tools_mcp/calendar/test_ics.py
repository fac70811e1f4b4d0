from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import icalendar
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools_mcp.calendar.drafting import draft_event
from tools_mcp.calendar.ics import Series, UnreadableError, decode, encode, new_calendar, series_of, stamp, write_words
from tools_mcp.calendar.lengths import Length, set_times
from tools_mcp.calendar.model import Event, EventDraft, EventFields

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
FOREIGN = b"""BEGIN:VCALENDAR
PRODID:-//Somebody else//EN
VERSION:2.0
BEGIN:VTIMEZONE
TZID:Office Time
BEGIN:STANDARD
DTSTART:19700101T000000
TZOFFSETFROM:+0300
TZOFFSETTO:+0300
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
UID:one@example.org
DTSTAMP:20260101T000000Z
DTSTART;TZID=Office Time:20261201T120000
DURATION:PT45M
SUMMARY:Pay\\, the \\nrent
ORGANIZER:mailto:boss@example.org
X-COLOUR:red
BEGIN:VALARM
ACTION:DISPLAY
DESCRIPTION:soon
TRIGGER:-PT15M
END:VALARM
END:VEVENT
END:VCALENDAR
"""


def made(draft: EventDraft) -> tuple[bytes, Event]:
    """A draft as a file, and as it is read back from that file."""
    data = encode(new_calendar("uid-1", draft, NOW, None, BERLIN))
    return data, only(data).event


def only(data: bytes, zone: ZoneInfo = BERLIN) -> Series:
    [series] = series_of(decode(data), zone)
    return series


def timed(title: str = "Lunch", **fields: Any) -> EventDraft:
    start = datetime(2026, 12, 1, 12, tzinfo=BERLIN)
    return EventDraft(**{"title": title, "start": start, "end": start + timedelta(hours=1), **fields})


def test_a_file_has_what_other_programs_need() -> None:
    data, _ = made(timed())
    calendar = icalendar.Calendar.from_ical(data)

    assert calendar["VERSION"] == "2.0"
    assert [zone["TZID"] for zone in calendar.walk("VTIMEZONE")] == ["Europe/Berlin"]
    assert {"UID", "DTSTAMP", "DTSTART", "DTEND", "SUMMARY"} <= set(calendar.events[0])
    assert all(len(line) <= 75 for line in data.split(b"\r\n"))


@pytest.mark.parametrize(
    "title",
    [
        "a\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nSUMMARY:injected",
        "a\nATTACH:file:///etc/passwd",
        'comma, semicolon; colon: backslash\\n \\, quote"',
        "x" * 300,
        "用" * 300,
        "🎉" * 100,
    ],
)
def test_a_title_cannot_become_a_component_or_a_property(title: str) -> None:
    draft = draft_event(
        EventFields(title=title, start="2026-12-01T12:00", location=title, notes=title, attendees=(title[:200],)),
        BERLIN,
    )
    data, event = made(draft)
    calendar = icalendar.Calendar.from_ical(data)

    assert len(calendar.walk("VEVENT")) == 1
    assert "ATTACH" not in calendar.events[0]
    assert (event.title, event.location, event.notes) == (draft.title, draft.location, draft.notes)


moments = st.datetimes(datetime.fromisoformat("1971-01-01"), datetime.fromisoformat("2090-01-01"))
zones = st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC"])
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


fields_of_events = st.builds(
    EventFields,
    title=words.map(lambda text: f"t{text}"),
    start=moments.map(lambda value: value.replace(microsecond=0).isoformat()),
    duration=st.integers(1, 5000).map(str),
    timezone=zones,
    attendees=st.lists(words, max_size=3).map(tuple),
    location=words,
    notes=words,
)


@settings(deadline=None)
@given(fields_of_events)
def test_every_event_that_can_be_drafted_is_read_back_as_it_was(fields: EventFields) -> None:
    draft = draft_event(fields, BERLIN)
    _, event = made(draft)

    assert (event.title, event.location, event.notes) == (draft.title, draft.location, draft.notes)
    assert len(event.attendees) == len(draft.attendees)
    assert isinstance(event.start, datetime)
    assert isinstance(event.end, datetime)
    assert (event.start, event.end) == (draft.start, draft.end)
    assert event.start.utcoffset() == draft.start.utcoffset()  # type: ignore[attr-defined] # a time was drafted
    assert event.zone == fields.timezone


@settings(deadline=None)
@given(st.dates(date(1950, 1, 1), date(2150, 1, 1)), st.integers(1, 40))
def test_an_all_day_event_is_its_dates_wherever_it_is_read(first: date, days: int) -> None:
    draft = EventDraft("Holiday", first, first + timedelta(days=days))
    data, event = made(draft)

    assert b"VTIMEZONE" not in data
    assert f"DTEND;VALUE=DATE:{draft.end:%Y%m%d}".encode() in data
    for zone in ("Pacific/Kiritimati", "America/Denver"):
        assert only(data, ZoneInfo(zone)).event == event


def test_another_programs_event_is_read_with_its_own_zone_and_marked() -> None:
    event = only(FOREIGN).event

    assert isinstance(event.start, datetime)
    assert isinstance(event.end, datetime)
    assert event.start.astimezone(UTC) == datetime(2026, 12, 1, 9, tzinfo=UTC)
    assert event.end - event.start == timedelta(minutes=45)
    assert event.title == "Pay, the rent"
    assert event.foreign


@pytest.mark.parametrize("zones_kept", [True, False])
def test_leaving_out_known_zones_changes_no_time(zones_kept: bool) -> None:
    for data in (FOREIGN, made(timed())[0]):
        [series] = series_of(decode(data, zones=zones_kept), BERLIN)
        assert series.event == only(data).event


def test_a_change_leaves_what_it_does_not_name_as_it_was() -> None:
    calendar = decode(FOREIGN)
    [series] = series_of(calendar, BERLIN)
    start = datetime(2026, 12, 2, 10, tzinfo=BERLIN)
    set_times(series.master, start, Length(exact=timedelta(hours=1)), BERLIN)
    write_words(series.master, {"notes": "new"})
    stamp(series.master, NOW, changed=True)
    after = encode(calendar)

    assert b"X-COLOUR:red" in after
    assert b"BEGIN:VALARM" in after
    assert b"SUMMARY:Pay\\, the \\nrent" in after
    assert b"DURATION" not in after
    assert b"SEQUENCE" not in after, "it is the organizer's to count"
    assert b"DTSTAMP:20260101T000000Z" in after
    assert only(after).event.notes == "new"


def test_reminders_are_alarms_and_other_alarms_stay() -> None:
    data, event = made(timed(reminders=(1440, 15, 0)))
    assert data.count(b"BEGIN:VALARM") == 3
    assert b"TRIGGER:-P1D\r\n" in data
    assert event.reminders == (1440, 15, 0)

    calendar = decode(
        FOREIGN.replace(b"END:VALARM", b"END:VALARM\nBEGIN:VALARM\nACTION:EMAIL\nTRIGGER:-PT1H\nEND:VALARM")
    )
    [series] = series_of(calendar, BERLIN)
    before = series.event
    assert before.reminders == (15,)
    write_words(series.master, {"reminders": (5,)})
    after = encode(calendar)

    assert only(after).event.reminders == (5,)
    assert b"ACTION:EMAIL" in after
    assert b"X-COLOUR:red" in after


def test_attendees_come_back_as_they_were_written() -> None:
    names = ("Ann <ann@example.org>", "bob@example.org", "the design team", "Bõb; the: 'builder', Jr <b@example.org>")

    assert made(timed(attendees=names))[1].attendees == names


@pytest.mark.parametrize(
    ("lines", "takes_time", "cancelled"),
    [
        (b"DTSTART:20261201T120000Z\r\nDURATION:PT1H", True, False),
        (b"DTSTART:20261201T120000Z\r\nDURATION:PT1H\r\nTRANSP:TRANSPARENT", False, False),
        (b"DTSTART:20261201T120000Z\r\nDURATION:PT1H\r\nSTATUS:CANCELLED", False, True),
        (b"DTSTART;VALUE=DATE:20261201", False, False),
        (b"DTSTART;VALUE=DATE:20261201\r\nTRANSP:OPAQUE", True, False),
    ],
)
def test_an_event_takes_time_when_its_file_says_so(lines: bytes, takes_time: bool, cancelled: bool) -> None:
    event = only(_calendar(lines)).event

    assert (event.takes_time, event.cancelled) == (takes_time, cancelled)


@pytest.mark.parametrize(
    ("lines", "start", "end"),
    [
        (b"DTSTART:20261201T120000", "2026-12-01T12:00:00+01:00", "2026-12-01T12:00:00+01:00"),
        (b"DTSTART:20261201T120000\r\nDTEND:20261201T110000", "2026-12-01T12:00:00+01:00", "2026-12-01T12:00:00+01:00"),
        (b"DTSTART;VALUE=DATE:20261201\r\nDURATION:P3D", "2026-12-01", "2026-12-04"),
        (b"DTSTART;VALUE=DATE:20261201\r\nDTEND:20261201T110000Z", "2026-12-01", "2026-12-02"),
        (
            b"DTSTART;TZID=Europe/Berlin:20260329T023000\r\nDURATION:PT1H",
            "2026-03-29T03:30:00+02:00",
            "2026-03-29T04:30:00+02:00",
        ),
    ],
)
def test_missing_and_odd_ends_are_read_the_way_rfc_5545_reads_them(lines: bytes, start: str, end: str) -> None:
    event = only(_calendar(lines)).event

    assert (event.start.isoformat(), event.end.isoformat()) == (start, end)


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"BEGIN:VCALENDAR\r\n", b"\xff\xfe\x00", b"BEGIN:VEVENT\r\nEND:VEVENT\r\n"]
)
def test_what_is_no_calendar_is_unreadable(data: bytes) -> None:
    with pytest.raises(UnreadableError):
        decode(data)


@settings(deadline=None)
@given(st.binary(max_size=300), st.integers(0, 900))
def test_damaged_files_are_either_read_or_unreadable(noise: bytes, at: int) -> None:
    data = bytearray(FOREIGN)
    data[at : at + len(noise)] = noise
    try:
        for series in series_of(decode(bytes(data), zones=False), BERLIN):
            assert series.event.id == series.uid
    except UnreadableError:
        return


def _calendar(lines: bytes) -> bytes:
    head = b"BEGIN:VCALENDAR\r\nPRODID:x\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:u\r\nDTSTAMP:20260101T000000Z\r\n"
    return head + lines + b"\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
