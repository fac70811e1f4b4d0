import pytest

from agent_host.providers.offline.times.tokens import read_digits, read_number, tokenize, word_at, words_at


def test_words_numbers_and_signs_are_parted_and_keep_their_places() -> None:
    text = "At 9:30, l\u2019été"
    tokens = tokenize(text)
    assert [token.text for token in tokens] == ["at", "9", ":", "30", ",", "l'été"]
    assert [text[token.start : token.end] for token in tokens] == [token.raw for token in tokens]
    assert [token.joined for token in tokens] == [False, False, True, True, True, False]


def test_what_stands_in_quotes_is_marked() -> None:
    assert [token.quoted for token in tokenize('a "b c" d')] == [False, True, True, True, True, False]


def test_phrases_are_found_at_a_place() -> None:
    tokens = tokenize("the day after tomorrow")
    assert words_at(tokens, 0, "day", "the day") == 2
    assert words_at(tokens, 0, "the night") is None
    assert words_at(tokens, 3, "tomorrow morning") is None
    assert word_at(tokens, 9) == ""
    assert word_at(tokens, -1) == ""


@pytest.mark.parametrize(
    ("text", "value", "used"),
    [
        ("12", 12, 1),
        ("twelve", 12, 1),
        ("forty-five", 45, 3),
        ("forty five", 45, 2),
        ("thirty", 30, 1),
        ("twenty", 20, 1),
    ],
)
def test_numbers_are_read_in_digits_and_words(text: str, value: int, used: int) -> None:
    assert read_number(tokenize(text), 0) == (used, value)


@pytest.mark.parametrize("text", ["many", "12345", "\u0663", "\u00b2", ""])
def test_other_digits_and_long_numbers_are_none(text: str) -> None:
    assert read_digits(tokenize(text), 0) is None
