from datetime import UTC, datetime

import pytest

from agent_host.providers.offline.times.recurrence import Count, Recurrence, read_count, read_recurrence
from agent_host.providers.offline.times.tokens import tokenize


@pytest.mark.parametrize(
    ("text", "recurrence"),
    [
        ("every Monday", Recurrence("WEEKLY", weekdays=(0,))),
        ("each Friday", Recurrence("WEEKLY", weekdays=(4,))),
        ("every Wed and Mon", Recurrence("WEEKLY", weekdays=(0, 2))),
        ("every Mon, Wed & Fri", Recurrence("WEEKLY", weekdays=(0, 2, 4))),
        ("on Mondays and Fridays", Recurrence("WEEKLY", weekdays=(0, 4))),
        ("weekly on Friday", Recurrence("WEEKLY", weekdays=(4,))),
        ("every weekday", Recurrence("WEEKLY", weekdays=(0, 1, 2, 3, 4))),
        ("every day", Recurrence("DAILY")),
        ("daily", Recurrence("DAILY")),
        ("every 3 days", Recurrence("DAILY", 3)),
        ("every other month", Recurrence("MONTHLY", 2)),
        ("every second Tuesday", Recurrence("WEEKLY", 2, (1,))),
        ("annually", Recurrence("YEARLY")),
        ("the first Monday of every month", Recurrence("MONTHLY", weekdays=(0,), position=1)),
        ("every last Friday of the month", Recurrence("MONTHLY", weekdays=(4,), position=-1)),
    ],
)
def test_a_repetition_is_read(text: str, recurrence: Recurrence) -> None:
    tokens = tokenize(text)
    assert read_recurrence(tokens, 0) == (len(tokens), recurrence)


@pytest.mark.parametrize(
    "text", ["Monday", "on Monday", "everyone", "every", "every book", "every 100 days", "the first Monday"]
)
def test_what_is_no_repetition_is_none(text: str) -> None:
    assert read_recurrence(tokenize(text), 0) is None


def test_a_rule_is_written_as_rfc_5545_says() -> None:
    until = datetime(2026, 12, 20, 22, 59, 59, tzinfo=UTC)
    assert Recurrence("DAILY").rule(until=None, count=None) == "FREQ=DAILY"
    assert Recurrence("WEEKLY", 2, (0, 2)).rule(until=None, count=5) == "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;COUNT=5"
    assert Recurrence("WEEKLY").rule(until=until, count=5) == "FREQ=WEEKLY;UNTIL=20261220T225959Z"
    assert Recurrence("MONTHLY", weekdays=(4,), position=-1).rule(until=None, count=None) == "FREQ=MONTHLY;BYDAY=-1FR"


def test_the_first_day_of_a_repetition_is_at_or_after_the_earliest() -> None:
    start = datetime(2026, 12, 1, 10)  # noqa: DTZ001 - wall clock time, a Tuesday
    mondays = Recurrence("WEEKLY", weekdays=(0,))
    assert mondays.first(start, start) == datetime(2026, 12, 7, 10)  # noqa: DTZ001 - wall clock time
    tuesdays = Recurrence("WEEKLY", weekdays=(1,))
    assert tuesdays.first(start, start) == start


@pytest.mark.parametrize(("text", "times"), [("5 times", 5), ("for 10 sessions", 10), ("twelve times", 12)])
def test_a_number_of_times_is_read(text: str, times: int) -> None:
    tokens = tokenize(text)
    assert read_count(tokens, 0) == (len(tokens), Count(times))


@pytest.mark.parametrize("text", ["1 times", "many times", "100 times", "times", "for 3"])
def test_what_is_no_number_of_times_is_none(text: str) -> None:
    assert read_count(tokenize(text), 0) is None
