from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import icalendar
import pytest
import recurring_ical_events
from hypothesis import given, settings
from hypothesis import strategies as st

from tools_mcp.calendar.expansion import occurrences
from tools_mcp.calendar.ics import Series, UnreadableError, decode, series_of
from tools_mcp.calendar.model import Event

BERLIN = ZoneInfo("Europe/Berlin")


def series(*lines: str, overrides: tuple[str, ...] = (), zone: ZoneInfo = BERLIN) -> Series:
    """A series from the property lines of its event, and those of its changed occurrences."""
    events = [("SUMMARY:Standup", *lines), *(override.split("|") for override in overrides)]
    text = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n"
    for event in events:
        text += "\r\n".join(("BEGIN:VEVENT", "UID:u", "DTSTAMP:20260101T000000Z", *event, "END:VEVENT", ""))
    [found] = series_of(decode(f"{text}END:VCALENDAR\r\n".encode()), zone)
    return found


def shown(found: Series, start: str, end: str) -> list[str]:
    events = occurrences(found, moment(start), moment(end))
    return sorted(event.start.isoformat() for event in events)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN)


WEEKLY = series("DTSTART;TZID=Europe/Berlin:20260105T090000", "DURATION:PT30M", "RRULE:FREQ=WEEKLY;BYDAY=MO")


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (
            "2026-03-20",
            "2026-04-07",
            ["2026-03-23T09:00:00+01:00", "2026-03-30T09:00:00+02:00", "2026-04-06T09:00:00+02:00"],
        ),
        (
            "2026-10-19",
            "2026-11-03",
            ["2026-10-19T09:00:00+02:00", "2026-10-26T09:00:00+01:00", "2026-11-02T09:00:00+01:00"],
        ),
    ],
)
def test_a_weekly_event_stays_at_nine_across_a_clock_change(start: str, end: str, expected: list[str]) -> None:
    assert shown(WEEKLY, start, end) == expected


@pytest.mark.parametrize(
    ("zone", "rule_start", "window", "expected"),
    [
        (
            "Europe/Berlin",
            "20260327T023000",
            ("2026-03-28", "2026-03-31"),
            ["28T02:30:00+01:00", "29T03:30:00+02:00", "30T02:30:00+02:00"],
        ),
        (
            "Europe/Berlin",
            "20261023T023000",
            ("2026-10-24", "2026-10-27"),
            ["24T02:30:00+02:00", "25T02:30:00+02:00", "26T02:30:00+01:00"],
        ),
        (
            "America/New_York",
            "20260306T120000",
            ("2026-03-07", "2026-03-10"),
            ["07T12:00:00-05:00", "08T12:00:00-04:00", "09T12:00:00-04:00"],
        ),
        (
            "Australia/Lord_Howe",
            "20260402T120000",
            ("2026-04-04", "2026-04-06T12:00"),
            ["04T12:00:00+11:00", "05T12:00:00+10:30", "06T12:00:00+10:30"],
        ),
        (
            "Asia/Kolkata",
            "20260327T090000",
            ("2026-03-28", "2026-03-30T12:00"),
            ["28T09:00:00+05:30", "29T09:00:00+05:30", "30T09:00:00+05:30"],
        ),
    ],
)
def test_a_daily_event_keeps_its_local_time(
    zone: str, rule_start: str, window: tuple[str, str], expected: list[str]
) -> None:
    daily = series(f"DTSTART;TZID={zone}:{rule_start}", "DURATION:PT15M", "RRULE:FREQ=DAILY")

    assert [text[8:] for text in shown(daily, *window)] == expected


@pytest.mark.parametrize("zone", ["Asia/Seoul", "America/Denver", "Pacific/Kiritimati", "UTC"])
def test_an_all_day_event_stays_on_its_day(zone: str) -> None:
    yearly = series("DTSTART;VALUE=DATE:20260930", "RRULE:FREQ=YEARLY", zone=ZoneInfo(zone))
    [event] = occurrences(yearly, moment("2027-09-15"), moment("2027-10-15"))

    assert (event.start, event.end) == (date(2027, 9, 30), date(2027, 10, 1))


def test_overrides_exceptions_and_extra_dates_are_shown_as_they_are() -> None:
    changed = series(
        "DTSTART;TZID=Europe/Berlin:20261201T090000",
        "DURATION:PT1H",
        "RRULE:FREQ=DAILY;COUNT=5",
        "EXDATE;TZID=Europe/Berlin:20261203T090000",
        "RDATE;TZID=Europe/Berlin:20261210T090000",
        overrides=("SUMMARY:Standup, later|DURATION:PT1H|RECURRENCE-ID:20261202T080000Z|DTSTART:20261202T100000Z",),
    )
    found = occurrences(changed, moment("2026-12-01"), moment("2026-12-31"))
    by_start = {event.start.isoformat()[8:16]: event for event in found}

    assert sorted(by_start) == ["01T09:00", "02T10:00", "04T09:00", "05T09:00", "10T09:00"]
    assert by_start["02T10:00"].title == "Standup, later"
    assert [start for start, event in sorted(by_start.items()) if event.changed] == ["02T10:00"]
    assert all(event.repeats for event in found)


@pytest.mark.parametrize(
    ("start", "end", "seen"),
    [
        ("2026-12-01T08:00", "2026-12-01T09:00", False),
        ("2026-12-01T08:00", "2026-12-01T09:01", True),
        ("2026-12-01T09:30", "2026-12-01T09:31", True),
        ("2026-12-01T10:00", "2026-12-01T11:00", False),
        ("2026-12-01T00:00", "2026-12-02T00:00", True),
    ],
)
def test_only_what_overlaps_the_window_is_listed(start: str, end: str, seen: bool) -> None:
    for lines in ([], ["RRULE:FREQ=YEARLY"]):
        one = series("DTSTART;TZID=Europe/Berlin:20261201T090000", "DURATION:PT1H", *lines)
        assert bool(shown(one, start, end)) is seen


def test_an_event_without_length_is_listed_at_its_start() -> None:
    reminder = series("DTSTART:20261201T080000Z")

    assert shown(reminder, "2026-12-01T09:00", "2026-12-01T10:00") == ["2026-12-01T08:00:00+00:00"]
    assert shown(reminder, "2026-12-01T08:00", "2026-12-01T09:00") == []


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;INTERVAL=-1",
        "FREQ=HOURLY;COUNT=3",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;UNTIL=2026",
        "COUNT=3",
    ],
)
def test_a_rule_that_would_run_away_or_is_broken_is_unreadable(rule: str) -> None:
    with pytest.raises(UnreadableError):
        shown(series("DTSTART:20261201T080000Z", f"RRULE:{rule}"), "2026-12-01", "2026-12-31")


def test_an_old_endless_series_is_expanded_only_where_it_is_looked_at() -> None:
    old = series("DTSTART;TZID=Europe/Berlin:19700101T090000", "DURATION:PT1H", "RRULE:FREQ=DAILY")

    assert shown(old, "2026-12-01", "2026-12-02") == ["2026-12-01T09:00:00+01:00"]


def test_a_single_event_is_itself() -> None:
    once = series("DTSTART:20261201T080000Z", "DURATION:PT1H")
    [event] = occurrences(once, moment("2026-12-01"), moment("2026-12-02"))

    assert isinstance(event, Event)
    assert event.start == datetime(2026, 12, 1, 8, tzinfo=UTC)
    assert not event.repeats


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(["Europe/Berlin", "America/New_York", "UTC"]),
    st.datetimes(datetime.fromisoformat("1970-01-01"), datetime.fromisoformat("2024-01-01")),
    st.sampled_from(
        ["", ";BYMONTH=3,10", ";BYDAY=MO,SU", ";BYMONTHDAY=-1", ";WKST=SU;BYDAY=TU,SU", ";UNTIL=20270101T000000Z"]
    ),
    st.tuples(st.sampled_from(["DAILY", "WEEKLY"]), st.integers(1, 40)),
    st.integers(0, 1000),
)
def test_counting_from_a_later_start_leads_to_the_same_dates(
    zone: str, start: datetime, more: str, pace: tuple[str, int], days: int
) -> None:
    begins = start.replace(microsecond=0, second=0)
    lines = (
        f"DTSTART;TZID={zone}:{begins:%Y%m%dT%H%M%S}",
        "DURATION:PT90M",
        f"RRULE:FREQ={pace[0]};INTERVAL={pace[1]}{more}",
    )
    old = series(*lines, overrides=("RECURRENCE-ID:20241231T000000Z|DTSTART:20260501T100000Z|DURATION:PT1H",))
    window = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(days=days)
    until = window + timedelta(days=60)
    try:
        found = {event.start: event.id for event in occurrences(old, window, until)}
    except UnreadableError as error:
        assert str(error) == "repeats on no date"  # noqa: PT017 - as with 35 days from a Saturday on a Monday
        return
    everything = recurring_ical_events.of(_calendar_of(old)).between(
        window - timedelta(days=2), until + timedelta(days=2)
    )
    slowly = {event.start: event.id for event in map(old.occurrence, everything)}
    inside = {at: told for at, told in slowly.items() if at < until and at + timedelta(minutes=90) > window}

    assert found.items() <= slowly.items()
    assert inside.keys() - found.keys() <= {datetime(2026, 5, 1, 10, tzinfo=UTC)}  # of one hour


def _calendar_of(found: Series) -> icalendar.Calendar:
    calendar = icalendar.Calendar()
    calendar.subcomponents = [found.master, *found.overrides]
    return calendar


@pytest.mark.parametrize(
    "rule", ["FREQ=DAILY;BYHOUR=1,2,3,4,5;BYMINUTE=1,2,3,4,5", "FREQ=YEARLY;BYSECOND=" + ",".join(map(str, range(60)))]
)
def test_a_rule_with_too_many_times_a_day_is_unreadable(rule: str) -> None:
    with pytest.raises(UnreadableError, match="too often"):
        shown(series("DTSTART:20261201T080000Z", f"RRULE:{rule}"), "2026-12-01", "2026-12-31")


def test_more_dates_than_anybody_writes_are_unreadable() -> None:
    dates = ",".join(f"{date(2000, 1, 1) + timedelta(days=day):%Y%m%dT000000}" for day in range(10_001))
    with pytest.raises(UnreadableError, match="too many dates"):
        shown(series("DTSTART:20000101T000000", f"RDATE:{dates}"), "2026-12-01", "2026-12-31")
    rules = [f"RRULE:FREQ=DAILY;INTERVAL={number}" for number in range(1, 13)]
    with pytest.raises(UnreadableError, match="too many rules"):
        shown(series("DTSTART:20000101T000000", *rules), "2026-12-01", "2026-12-31")


@pytest.mark.parametrize(
    ("lines", "override"),
    [
        (["DTSTART:20261201T080000Z", "DTEND:99981201T080000Z"], None),
        (["DTSTART:20261201T080000Z", "DTEND:02611201T080000Z"], None),
        (["DTSTART:20261201T080000Z", "DURATION:P9999D"], None),
        (["DTSTART:20261201T080000Z"], "RECURRENCE-ID:20261202T080000Z|DTSTART:98261202T080000Z"),
        (["DTSTART:20261201T080000Z"], "RECURRENCE-ID:00011202T080000Z|DTSTART:20261202T080000Z"),
    ],
)
def test_spans_of_many_years_are_unreadable_instead_of_slow(lines: list[str], override: str | None) -> None:
    odd = series(*lines, "RRULE:FREQ=DAILY", overrides=(override,) if override else ())

    with pytest.raises(UnreadableError, match=r"too long|by years"):
        shown(odd, "2026-12-01", "2026-12-31")
