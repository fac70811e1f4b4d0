import pytest

from agent_host.providers.offline.times.clock import Clock
from agent_host.providers.offline.times.days import Day
from agent_host.providers.offline.times.pieces import find_time_words


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a catch-up with the design team on Friday at 9am for 30 minutes", "a catch-up with the design team"),
        ("a table for two at Luigi's on Saturday at 8pm", "a table for two at Luigi's"),
        ("a flight from Lisbon to Porto on 3 December at 6:45 in the morning", "a flight from Lisbon to Porto"),
        ("the Monday review on Tuesday at 10", "the Monday review"),
        ("focus time tomorrow morning at 9 o'clock sharp", "focus time"),
        ("gym sessions Monday, Wednesday and Friday at 7am", "gym sessions"),
        ("a call with Ana at 3pm New York time on Friday", "a call with Ana"),
        ("a team sync every other week on Wednesday at 11", "a team sync"),
        ('"Friday retro" on Thursday at 4pm', '"Friday retro"'),
        ("Python 3.11 party tonight at 8", "Python 3.11 party"),
        ("a visit at 5 Main Street", "a visit at 5 Main Street"),
        ("chapter 2-3 of the book", "chapter 2-3 of the book"),
        ("may I march to the sun", "may I march to the sun"),
        ("Room 12 and 40 people", "Room 12 and 40 people"),
        ("", ""),
    ],
)
def test_what_is_left_of_a_sentence_is_what_is_not_about_time(text: str, rest: str) -> None:
    assert find_time_words(text).rest() == rest


def test_pieces_are_found_by_kind() -> None:
    words = find_time_words("Monday and Friday at 9am")
    assert [day.words for day in words.all(Day)] == ["monday", "friday"]
    assert words.first(Clock) == Clock(9, 0, "am")
    assert find_time_words("nothing").first(Day) is None


def test_places_are_kept_with_the_pieces() -> None:
    text = "lunch on Friday at noon"
    assert [text[item.start : item.end] for item in find_time_words(text).found] == ["on Friday", "at noon"]
