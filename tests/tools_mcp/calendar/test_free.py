from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools_mcp.calendar.free import Stretch, free_stretches, merged

BERLIN = ZoneInfo("Europe/Berlin")
ALL_DAY = (0, 1440)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).astimezone(UTC)


def between(start: str, end: str) -> Stretch:
    return at(start), at(end)


def free(busy: list[Stretch], start: str, end: str, minutes: int, hours: tuple[int, int]) -> list[tuple[str, str]]:
    found = free_stretches(busy, between(start, end), timedelta(minutes=minutes), hours, BERLIN)
    return [(f"{one.astimezone(BERLIN):%d %H:%M}", f"{other.astimezone(BERLIN):%d %H:%M}") for one, other in found]


def test_what_is_left_of_the_working_day_is_free() -> None:
    busy = [between("2026-12-01T10:00", "2026-12-01T11:00"), between("2026-12-01T10:30", "2026-12-01T12:00")]

    assert free(busy, "2026-12-01T00:00", "2026-12-02T00:00", 30, (540, 1020)) == [
        ("01 09:00", "01 10:00"),
        ("01 12:00", "01 17:00"),
    ]


def test_a_gap_that_is_too_short_is_not_free() -> None:
    busy = [between("2026-12-01T09:00", "2026-12-01T12:00"), between("2026-12-01T12:29", "2026-12-01T17:00")]

    assert free(busy, "2026-12-01T00:00", "2026-12-02T00:00", 30, (540, 1020)) == []


def test_the_window_cuts_the_working_day() -> None:
    assert free([], "2026-12-01T16:00", "2026-12-02T09:30", 30, (540, 1020)) == [
        ("01 16:00", "01 17:00"),
        ("02 09:00", "02 09:30"),
    ]


def test_whole_days_join_into_one_stretch() -> None:
    assert free([], "2026-12-01T08:00", "2026-12-03T08:00", 60, ALL_DAY) == [("01 08:00", "03 08:00")]


def test_night_hours_run_past_midnight() -> None:
    assert free([], "2026-12-01T00:00", "2026-12-02T00:00", 60, (1320, 1800)) == [
        ("01 00:00", "01 06:00"),
        ("01 22:00", "02 00:00"),
    ]


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_working_hours_keep_local_time_across_a_clock_change(day: str) -> None:
    number = day[-2:]

    assert free([], f"{day}T00:00", f"{day}T23:59", 60, (540, 1020)) == [(f"{number} 09:00", f"{number} 17:00")]


stretches = st.lists(
    st.tuples(st.integers(0, 2000), st.integers(1, 300)).map(
        lambda pair: (
            (at("2026-12-01T00:00") + timedelta(minutes=pair[0]),) * 1
            + (at("2026-12-01T00:00") + timedelta(minutes=pair[0] + pair[1]),)
        )
    ),
    max_size=12,
)


@settings(deadline=None)
@given(stretches)
def test_free_time_and_busy_time_make_up_the_window_and_never_overlap(busy: list[Stretch]) -> None:
    window = between("2026-12-01T00:00", "2026-12-02T00:00")
    found = free_stretches(busy, window, timedelta(minutes=1), ALL_DAY, BERLIN)
    inside = [(max(start, window[0]), min(end, window[1])) for start, end in merged(busy) if start < window[1]]

    assert sum((end - start for start, end in [*found, *inside]), timedelta()) == timedelta(days=1)
    assert all(end <= start or other <= one for one, end in found for start, other in inside)
