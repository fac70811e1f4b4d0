import pytest

from agent_host.providers.offline.times.durations import DAY, Duration, Offset, read_duration, read_offset
from agent_host.providers.offline.times.tokens import tokenize


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("for 30 minutes", 30),
        ("30-minute", 30),
        ("30 min", 30),
        ("for an hour", 60),
        ("for half an hour", 30),
        ("for an hour and a half", 90),
        ("for two and a half hours", 150),
        ("for 1.5 hours", 90),
        ("for 1h30", 90),
        ("for 1h", 60),
        ("90m", 90),
        ("for an hour and 15 minutes", 75),
        ("for 2 hours 10 minutes", 130),
        ("for a couple of hours", 120),
        ("for a quarter of an hour", 15),
        ("for forty-five minutes", 45),
        ("for 3 days", 3 * DAY),
        ("for two weeks", 14 * DAY),
        ("lasting 20 minutes", 20),
        ("2 hours long", 120),
    ],
)
def test_a_duration_is_read_in_minutes(text: str, minutes: int) -> None:
    tokens = tokenize(text)
    assert read_duration(tokens, 0) == (len(tokens), Duration(minutes))


@pytest.mark.parametrize(
    "text", ["for two", "for 30", "for 0 minutes", "30 m", "for 9999 weeks", "for Ana", "", "h", "5 h of"]
)
def test_what_is_no_duration_is_none(text: str) -> None:
    assert read_duration(tokenize(text), 0) is None


def test_the_length_of_another_time_word_is_no_duration() -> None:
    tokens = tokenize("in 2 hours")
    assert read_duration(tokens, 1) is None


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("in 2 hours", 120),
        ("in an hour", 60),
        ("in half an hour", 30),
        ("20 minutes from now", 20),
        ("in an hour's time", 60),
        ("in about 10 minutes", 10),
        ("in an hour and a half", 90),
    ],
)
def test_an_offset_is_read_in_minutes(text: str, minutes: int) -> None:
    tokens = tokenize(text)
    assert read_offset(tokens, 0) == (len(tokens), Offset(minutes))


@pytest.mark.parametrize("text", ["2 hours", "in 2 days", "in Room 5", "in"])
def test_what_is_no_offset_is_none(text: str) -> None:
    assert read_offset(tokenize(text), 0) is None
