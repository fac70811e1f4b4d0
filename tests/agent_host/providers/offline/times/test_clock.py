from datetime import time

import pytest

from agent_host.providers.offline.times.clock import Clock, ClockRange, read_clock, read_range
from agent_host.providers.offline.times.tokens import tokenize


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("9am", Clock(9, 0, "am")),
        ("9 pm", Clock(9, 0, "pm")),
        ("12am", Clock(12, 0, "am")),
        ("9 a.m.", Clock(9, 0, "am")),
        ("9:30", Clock(9, 30, None)),
        ("09:30", Clock(9, 30, "am")),
        ("9h30", Clock(9, 30, None)),
        ("8.30pm", Clock(8, 30, "pm")),
        ("17:45", Clock(17, 45, None)),
        ("24:00", Clock(0, 0, "am")),
        ("noon", Clock(12, 0, "pm")),
        ("midnight", Clock(0, 0, "am")),
        ("half past three", Clock(3, 30, None)),
        ("a quarter to one", Clock(12, 45, None)),
        ("ten to twelve", Clock(11, 50, None)),
        ("twenty five past six pm", Clock(6, 25, "pm")),
        ("20 minutes to 5", Clock(4, 40, None)),
        ("nine o'clock", Clock(9, 0, None)),
        ("00:15", Clock(0, 15, None)),
        ("12:30", Clock(12, 30, None)),
    ],
)
def test_a_clock_time_is_read_as_typed(text: str, clock: Clock) -> None:
    tokens = tokenize(text)
    found = read_clock(tokens, 0, bare=False)
    assert found == (len(tokens), clock)


@pytest.mark.parametrize("text", ["9", "nine", "3.11", "25:00", "9:60", "9:5", "99am", "", "9 : 30", "10 to 12"])
def test_what_is_no_clock_time_is_none(text: str) -> None:
    assert read_clock(tokenize(text), 0, bare=False) is None


def test_a_plain_number_is_a_clock_time_only_after_a_word_that_says_so() -> None:
    assert read_clock(tokenize("9"), 0, bare=True) == (1, Clock(9, 0, None))
    assert read_clock(tokenize("25"), 0, bare=True) is None


@pytest.mark.parametrize(
    ("clock", "hint", "settled"),
    [
        (Clock(5, 0, None), None, time(17)),
        (Clock(9, 0, None), None, time(9)),
        (Clock(7, 0, None), "pm", time(19)),
        (Clock(12, 0, None), None, time(12)),
        (Clock(12, 0, "am"), None, time(0)),
        (Clock(12, 0, "pm"), None, time(12)),
        (Clock(17, 30, None), "am", time(17, 30)),
        (Clock(0, 15, None), None, time(0, 15)),
        (Clock(9, 0, "pm"), "am", time(21)),
    ],
)
def test_an_open_clock_time_takes_the_hint_or_working_hours(clock: Clock, hint: object, settled: time) -> None:
    assert clock.settle(hint) == settled  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("from 2 to 3pm", Clock(2, 0, "pm"), Clock(3, 0, "pm")),
        ("11 to 1pm", Clock(11, 0, "am"), Clock(1, 0, "pm")),
        ("between noon and 1", Clock(12, 0, "pm"), Clock(1, 0, None)),
        ("14:00-15:30", Clock(14, 0, None), Clock(15, 30, None)),
        ("9am until 5pm", Clock(9, 0, "am"), Clock(5, 0, "pm")),
        ("from 10 to 12", Clock(10, 0, None), Clock(12, 0, None)),
        ("9\u201310am", Clock(9, 0, "am"), Clock(10, 0, "am")),
        ("from 10 to 2am", Clock(10, 0, "pm"), Clock(2, 0, "am")),
    ],
)
def test_a_range_has_a_start_and_an_end(text: str, start: Clock, end: Clock) -> None:
    tokens = tokenize(text)
    assert read_range(tokens, 0) == (len(tokens), ClockRange(start, end))


@pytest.mark.parametrize("text", ["2-3", "from Lisbon to Porto", "2 and 3pm", "from 2", "2 to"])
def test_what_is_no_range_is_none(text: str) -> None:
    assert read_range(tokenize(text), 0) is None


def test_two_plain_numbers_after_a_day_are_a_range() -> None:
    assert read_range(tokenize("2-3"), 0, after_day=True) == (3, ClockRange(Clock(2, 0, None), Clock(3, 0, None)))
