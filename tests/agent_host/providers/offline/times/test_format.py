from datetime import date, datetime, timedelta

import pytest

from agent_host.providers.offline.times.format import show_day, show_days, show_minutes, show_moment, show_span

TODAY = date(2026, 12, 1)
NINE = datetime(2026, 12, 4, 9)  # noqa: DTZ001 - wall clock time
DAY = datetime(2026, 12, 4)  # noqa: DTZ001 - wall clock time


def test_the_year_is_shown_when_it_is_another_one() -> None:
    assert show_day(date(2026, 12, 4), TODAY) == "Friday 4 December"
    assert show_day(date(2027, 1, 15), TODAY) == "Friday 15 January 2027"


def test_a_moment_has_its_day_and_clock_time() -> None:
    assert show_moment(NINE, TODAY) == "Friday 4 December, 09:00"


def test_a_span_names_the_second_day_only_when_it_is_another_one() -> None:
    assert show_span(NINE, NINE + timedelta(hours=1), TODAY) == "Friday 4 December, 09:00\u201310:00"
    assert (
        show_span(NINE, NINE + timedelta(days=1), TODAY) == "Friday 4 December, 09:00 \u2013 Saturday 5 December, 09:00"
    )


def test_whole_days_are_shown_without_clock_times() -> None:
    assert show_days(DAY, DAY + timedelta(days=1), TODAY) == "Friday 4 December"
    assert show_days(DAY, DAY + timedelta(days=3), TODAY) == "Friday 4 December to Sunday 6 December"
    assert show_days(NINE, NINE + timedelta(hours=1), TODAY) == "Friday 4 December, 09:00\u201310:00"


@pytest.mark.parametrize(
    ("minutes", "text"),
    [
        (30, "30 minutes"),
        (60, "1 hour"),
        (90, "1 hour 30 minutes"),
        (2880, "2 days"),
        (1, "1 minute"),
        (1501, "1 day 1 hour 1 minute"),
    ],
)
def test_a_length_is_shown_in_words(minutes: int, text: str) -> None:
    assert show_minutes(minutes) == text
