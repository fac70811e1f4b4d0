from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools_mcp.calendar.times import (
    at_local,
    day_start,
    instant,
    read_duration,
    read_hours,
    read_time,
    utc_text,
    zone_named,
)
from tools_mcp.errors import InvalidInputError

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("text", "zone", "local", "utc"),
    [
        ("2026-12-01T10:00:00", None, "2026-12-01T10:00:00+01:00", "2026-12-01T09:00:00Z"),
        ("2026-07-01 10:00", None, "2026-07-01T10:00:00+02:00", "2026-07-01T08:00:00Z"),
        ("2026-12-01T10:00", NEW_YORK, "2026-12-01T10:00:00-05:00", "2026-12-01T15:00:00Z"),
        ("2026-08-20T15:00:00+02:00", BERLIN, "2026-08-20T15:00:00+02:00", "2026-08-20T13:00:00Z"),
        ("2026-08-20T15:00:00+0200", None, "2026-08-20T15:00:00+02:00", "2026-08-20T13:00:00Z"),
        ("2026-08-20T13:00:00Z", None, "2026-08-20T13:00:00+00:00", "2026-08-20T13:00:00Z"),
        ("2026-08-20t13:00:00.123456789z", None, "2026-08-20T13:00:00+00:00", "2026-08-20T13:00:00Z"),
        ("2026-12-01T10:00:00-05:00", None, "2026-12-01T15:00:00+00:00", "2026-12-01T15:00:00Z"),
    ],
)
def test_a_time_keeps_its_instant_and_its_zone(text: str, zone: ZoneInfo | None, local: str, utc: str) -> None:
    value = read_time(text, "start", zone, BERLIN).value

    assert isinstance(value, datetime)
    assert (value.isoformat(), utc_text(value)) == (local, utc)


def test_a_naive_time_takes_the_configured_zone_and_says_so() -> None:
    read = read_time("2026-12-01T10:00", "start", None, BERLIN)

    assert read.remark == "start had no zone and was read as Europe/Berlin time."
    assert read_time("2026-12-01T10:00", "start", BERLIN, BERLIN).remark is None


def test_a_date_alone_stays_a_date() -> None:
    assert read_time(" 2026-12-01 ", "start", BERLIN, BERLIN).value == date(2026, 12, 1)


@pytest.mark.parametrize(
    "text",
    [
        *("", "next tuesday", "2026-12", "12/01/2026", "2026-12-01T", "2026-12-01T10", "2026-W49-2", "20261201"),
        *("2026-12-01T10:00+1", "2026-12-01T10:00:00Zjunk", "1764576000", "2026-12-01T10:00\n", "\x00"),
        *("2026-13-01", "2026-02-30T10:00", "2026-12-01T25:00", "2026-12-01T10:61", "2026-12-01T10:00:60Z"),
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1899-12-31", "2026-12-01T10:00+25:00"),
    ],
)
def test_what_is_no_time_is_refused_in_a_sentence(text: str) -> None:
    if text.strip() == "2026-12-01T10:00":
        assert isinstance(read_time(text, "start", None, BERLIN).value, datetime)
        return
    with pytest.raises(InvalidInputError, match=r"^start .*\.$"):
        read_time(text, "start", None, BERLIN)


def test_an_offset_that_contradicts_the_zone_is_refused_with_both_ways_out() -> None:
    with pytest.raises(InvalidInputError) as refusal:
        read_time("2026-08-20T15:00:00+01:00", "start", BERLIN, NEW_YORK)

    assert "2026-08-20T15:00:00 for that time in Europe/Berlin" in str(refusal.value)
    assert "2026-08-20T16:00:00+02:00 for that instant" in str(refusal.value)


@pytest.mark.parametrize(
    ("zone", "naive", "settled", "remark"),
    [
        ("Europe/Berlin", "2026-03-29T02:30", "2026-03-29T03:30:00+02:00", "skipped"),
        ("Europe/Berlin", "2026-10-25T02:30", "2026-10-25T02:30:00+02:00", "twice"),
        ("America/New_York", "2026-03-08T02:00", "2026-03-08T03:00:00-04:00", "skipped"),
        ("America/New_York", "2026-11-01T01:59", "2026-11-01T01:59:00-04:00", "twice"),
        ("Australia/Lord_Howe", "2026-10-04T02:15", "2026-10-04T02:45:00+11:00", "skipped"),
        ("Asia/Kathmandu", "2026-03-29T02:30", "2026-03-29T02:30:00+05:45", None),
        ("Europe/Berlin", "2026-03-29T01:59", "2026-03-29T01:59:00+01:00", None),
        ("Europe/Berlin", "2026-10-25T03:00", "2026-10-25T03:00:00+01:00", None),
    ],
)
def test_clock_changes_are_settled_as_rfc_5545_says(zone: str, naive: str, settled: str, remark: str | None) -> None:
    aware, said = at_local(datetime.fromisoformat(naive), ZoneInfo(zone))

    assert aware.isoformat() == settled
    assert (remark in said) if remark and said else said is remark


def test_the_second_of_two_equal_wall_clock_times_keeps_its_instant() -> None:
    value = read_time("2026-10-25T02:30:00+01:00", "start", BERLIN, BERLIN).value

    assert value == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize("name", ["Mars/Base", "", "../../etc/passwd", "Europe", "CEST+2", "/etc/localtime", "a\x00b"])
def test_an_unknown_zone_is_refused_with_an_example(name: str) -> None:
    with pytest.raises(InvalidInputError, match="Europe/Berlin"):
        zone_named(name)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        *(("30", 30), ("PT30M", 30), ("pt1h30m", 90), ("P1D", 1440), ("P1DT1H", 1500), ("P1W", 10080)),
        *(("1h 30m", 90), ("90 min", 90), ("2 hours", 120), ("1 day", 1440), ("45 minutes", 45), ("1hr", 60)),
    ],
)
def test_durations_are_read_in_three_spellings(text: str, minutes: int) -> None:
    assert read_duration(text, "duration") == timedelta(minutes=minutes)


@pytest.mark.parametrize(
    "text", ["", "0", "PT0M", "-30", "P", "PT", "soon", "1.5h", "9" * 30, "P9999999999D", "P400D", "½ hour"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"^duration .*PT1H30M\.$"):
        read_duration(text, "duration")


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("09:00-17:00", (540, 1020)),
        ("0:00 - 24:00", (0, 1440)),
        ("22:00\u201306:00", (1320, 1800)),
        ("8:00-8:00", (480, 1920)),
    ],
)
def test_working_hours_are_minutes_of_the_day(text: str, minutes: tuple[int, int]) -> None:
    assert read_hours(text) == minutes


@pytest.mark.parametrize("text", ["", "9-5", "09:00", "25:00-26:00", "09:60-10:00", "24:00-25:00", "nine to five"])
def test_what_is_no_range_of_hours_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="09:00-17:00"):
        read_hours(text)


def test_a_day_begins_when_it_begins_there() -> None:
    assert day_start(date(2026, 9, 6), ZoneInfo("America/Santiago")).isoformat() == "2026-09-06T01:00:00-03:00"
    assert instant(date(2026, 12, 1), BERLIN) == datetime(2026, 11, 30, 23, tzinfo=UTC)


@settings(deadline=None)
@given(
    st.datetimes(datetime.fromisoformat("1950-01-01"), datetime.fromisoformat("2150-01-01")),
    st.sampled_from(["Europe/Berlin", "America/St_Johns", "Pacific/Apia", "Africa/Monrovia", "UTC", "Asia/Tehran"]),
)
def test_every_instant_written_with_offset_and_zone_is_read_back(moment: datetime, name: str) -> None:
    zone = ZoneInfo(name)
    local = moment.replace(microsecond=0, tzinfo=UTC).astimezone(zone)
    offset = local.utcoffset() or timedelta()
    if offset % timedelta(minutes=1):
        return  # RFC 3339 has no seconds in an offset

    assert read_time(local.isoformat(), "start", zone, BERLIN).value == local


@pytest.mark.parametrize("name", ["localtime", "posixrules", "right/Europe/Berlin", "posix/Europe/Berlin", "Factory"])
def test_files_beside_the_zones_are_no_zones(name: str) -> None:
    with pytest.raises(InvalidInputError, match="send an IANA name"):
        zone_named(name)


def test_the_first_and_the_last_year_can_be_used() -> None:
    for year in (1900, 2199):
        assert read_time(f"{year}-06-01", "start", None, BERLIN).value == date(year, 6, 1)
    for year in (1899, 2200):
        with pytest.raises(InvalidInputError, match="outside the years 1900 to 2199"):
            read_time(f"{year}-06-01", "start", None, BERLIN)
