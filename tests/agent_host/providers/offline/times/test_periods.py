from datetime import datetime

import pytest

from agent_host.providers.offline.times.periods import read_moment, read_period
from agent_host.providers.offline.times.pieces import find_time_words
from tests.agent_host.providers.offline.scenes import NOW, ZONE


@pytest.mark.parametrize(
    ("words", "start", "end"),
    [
        ("today", "12-01 00:00", "12-02 00:00"),
        ("tomorrow", "12-02 00:00", "12-03 00:00"),
        ("on Friday", "12-04 00:00", "12-05 00:00"),
        ("yesterday", "11-30 00:00", "12-01 00:00"),
        ("last Friday", "11-27 00:00", "11-28 00:00"),
        ("3 December", "12-03 00:00", "12-04 00:00"),
        ("this week", "11-30 00:00", "12-07 00:00"),
        ("my week", "11-30 00:00", "12-07 00:00"),
        ("next week", "12-07 00:00", "12-14 00:00"),
        ("this week's", "11-30 00:00", "12-07 00:00"),
        ("next month\u2019s", "01-01 00:00", "02-01 00:00"),
        ("last week", "11-23 00:00", "11-30 00:00"),
        ("this weekend", "12-05 00:00", "12-07 00:00"),
        ("next weekend", "12-12 00:00", "12-14 00:00"),
        ("the rest of the week", "12-01 00:00", "12-07 00:00"),
        ("the next 3 days", "12-01 00:00", "12-04 00:00"),
        ("the next few days", "12-01 00:00", "12-04 00:00"),
        ("the next two weeks", "12-01 00:00", "12-15 00:00"),
        ("this month", "12-01 00:00", "01-01 00:00"),
        ("next month", "01-01 00:00", "02-01 00:00"),
        ("last month", "11-01 00:00", "12-01 00:00"),
        ("tomorrow morning", "12-02 06:00", "12-02 12:00"),
        ("Friday afternoon", "12-04 12:00", "12-04 18:00"),
        ("this evening", "12-01 18:00", "12-01 23:00"),
        ("tonight", "12-01 18:00", "12-01 23:00"),
        ("tomorrow night", "12-02 20:00", "12-03 00:00"),
        ("on Friday between 2 and 4pm", "12-04 14:00", "12-04 16:00"),
        ("Friday from 9 to 5", "12-04 09:00", "12-04 17:00"),
        ("from Wednesday to Friday", "12-02 00:00", "12-05 00:00"),
        ("on Thursday and Friday", "12-03 00:00", "12-05 00:00"),
        ("from 10 to 12 December", "12-10 00:00", "12-13 00:00"),
    ],
)
def test_words_name_a_period(words: str, start: str, end: str) -> None:
    period = read_period(find_time_words(words), NOW, ZONE)
    assert period is not None
    assert (f"{period.start:%m-%d %H:%M}", f"{period.end:%m-%d %H:%M}") == (start, end)


@pytest.mark.parametrize("words", ["", "soon", "in the morning", "at 3pm", "30 February", "from 12 to 10 December"])
def test_words_that_name_no_period_are_none(words: str) -> None:
    assert read_period(find_time_words(words), NOW, ZONE) is None


def test_a_day_that_a_clock_change_makes_longer_has_its_own_midnights() -> None:
    before = datetime(2026, 10, 24, 12, tzinfo=ZONE)
    period = read_period(find_time_words("tomorrow"), before, ZONE)
    assert period is not None
    assert (period.end.utcoffset(), period.start.utcoffset()) == (NOW.utcoffset(), before.utcoffset())


@pytest.mark.parametrize(
    ("words", "moment"),
    [
        ("tomorrow at 3pm", "12-02 15:00"),
        ("at 5", "12-01 17:00"),
        ("Friday morning at 9", "12-04 09:00"),
        ("tomorrow at 9am EST", "12-02 15:00"),
        ("at 9am Tokyo time tomorrow", "12-02 01:00"),
        ("Friday", None),
    ],
)
def test_words_name_a_moment(words: str, moment: str | None) -> None:
    found = read_moment(find_time_words(words), NOW, ZONE)
    assert (f"{found:%m-%d %H:%M}" if found else None) == moment


def test_a_range_of_another_zone_is_shown_in_the_person_s() -> None:
    period = read_period(find_time_words("tomorrow from 9 to 11 EST"), NOW, ZONE)
    assert period is not None
    assert (f"{period.start:%d %H:%M}", f"{period.end:%d %H:%M}") == ("02 15:00", "02 17:00")
