from datetime import date

import pytest

from agent_host.providers.offline.times.days import (
    Day,
    DayRange,
    parse_date,
    read_day,
    read_day_range,
    resolve_day,
    resolve_range,
)
from agent_host.providers.offline.times.tokens import tokenize

TODAY = date(2026, 12, 1)


def day_of(text: str, today: date = TODAY) -> date | None:
    tokens = tokenize(text)
    found = read_day(tokens, 0)
    assert found is not None, text
    assert found[0] == len(tokens), text
    return resolve_day(found[1], today)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("today", (2026, 12, 1)),
        ("tomorrow", (2026, 12, 2)),
        ("the day after tomorrow", (2026, 12, 3)),
        ("yesterday", (2026, 11, 30)),
        ("Friday", (2026, 12, 4)),
        ("this Friday", (2026, 12, 4)),
        ("next Friday", (2026, 12, 11)),
        ("next Tuesday", (2026, 12, 8)),
        ("Tuesday", (2026, 12, 1)),
        ("last Friday", (2026, 11, 27)),
        ("a week from Friday", (2026, 12, 11)),
        ("Friday week", (2026, 12, 11)),
        ("Friday next week", (2026, 12, 11)),
        ("thurs", (2026, 12, 3)),
        ("3 December", (2026, 12, 3)),
        ("1 December", (2026, 12, 1)),
        ("30 November", (2027, 11, 30)),
        ("the 3rd of December", (2026, 12, 3)),
        ("December 3rd, 2027", (2027, 12, 3)),
        ("Dec 24", (2026, 12, 24)),
        ("December the 5th", (2026, 12, 5)),
        ("the 15th", (2026, 12, 15)),
        ("2026-12-10", (2026, 12, 10)),
        ("10/12/2026", (2026, 12, 10)),
        ("10.12.2026", (2026, 12, 10)),
        ("10/12", (2026, 12, 10)),
        ("in 3 days", (2026, 12, 4)),
        ("in a week", (2026, 12, 8)),
        ("in a fortnight", (2026, 12, 15)),
        ("in two months", (2027, 2, 1)),
        ("three days from now", (2026, 12, 4)),
        ("two weeks ago", (2026, 11, 17)),
        ("Christmas", (2026, 12, 25)),
        ("New Year's Eve", (2026, 12, 31)),
        ("29 February", (2028, 2, 29)),
    ],
)
def test_words_for_a_day_give_its_date(text: str, day: tuple[int, int, int]) -> None:
    assert day_of(text) == date(*day)


@pytest.mark.parametrize("text", ["30 February", "in 1000 years", "31/31/2026", "5000 years ago"])
def test_a_day_that_does_not_exist_or_is_centuries_away_has_no_date(text: str) -> None:
    assert day_of(text) is None


@pytest.mark.parametrize("text", ["soon", "mon ami", "may I", "12", "3.11", "32 December", "", "week", "1/2/x"])
def test_words_that_name_no_day_are_none(text: str) -> None:
    found = read_day(tokenize(text), 0)
    assert found is None or found[1].words == "1/2"


def test_next_week_begins_on_monday_wherever_today_is() -> None:
    sunday, monday = date(2026, 12, 6), date(2026, 12, 7)
    assert day_of("next Tuesday", sunday) == date(2026, 12, 8)
    assert day_of("next Tuesday", monday) == date(2026, 12, 15)
    assert day_of("next Sunday", sunday) == date(2026, 12, 13)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("from 10 to 12 December", date(2026, 12, 10), date(2026, 12, 12)),
        ("10-12 December", date(2026, 12, 10), date(2026, 12, 12)),
        ("December 10-12", date(2026, 12, 10), date(2026, 12, 12)),
        ("from Monday to Wednesday", date(2026, 12, 7), date(2026, 12, 9)),
        ("from Thursday through Monday", date(2026, 12, 3), date(2026, 12, 7)),
        ("from 28 December to 3 January", date(2026, 12, 28), date(2027, 1, 3)),
        ("between 10 and 12 December", date(2026, 12, 10), date(2026, 12, 12)),
        ("tomorrow until Friday", date(2026, 12, 2), date(2026, 12, 4)),
    ],
)
def test_days_in_a_row_have_a_first_and_a_last_one(text: str, first: date, last: date) -> None:
    found = read_day_range(tokenize(text), 0)
    assert found is not None
    assert resolve_range(found[1], TODAY) == (first, last)


@pytest.mark.parametrize("text", ["Monday and Friday", "from 2 to 3pm", "10 to 12", "Monday", "3 December to"])
def test_what_is_no_row_of_days_is_none(text: str) -> None:
    assert read_day_range(tokenize(text), 0) is None


def test_a_row_of_days_that_ends_before_it_begins_has_no_dates() -> None:
    assert resolve_range(DayRange(Day("12 december"), Day("10 december")), TODAY) is None
    assert resolve_range(DayRange(Day("30 february"), Day("10 december")), TODAY) is None


def test_dates_are_english_and_day_first_whatever_the_machine_is_set_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    assert parse_date("3 december", TODAY) == date(2026, 12, 3)
    assert parse_date("3 dezember", TODAY) is None
