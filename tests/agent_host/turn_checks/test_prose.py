"""What of a reply counts as words that claim something."""

from __future__ import annotations

import pytest

from agent_host.turn_checks.prose import names, plain, sentences


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("**$5** and _six_ and ~~seven~~", "$5 and six and seven"),
        ("`$5` is code, ``$6`` too", "  is code,   too"),
        ("before\n```sh\ncost $5\n```\nafter", "before\n \nafter"),
        ("an open fence\n~~~\ncost $5", "an open fence\n "),
        ("[the bill](https://e.org/$5) of ![a](b.png)", "the bill of a"),
        ("see https://e.org/cost-$5 and <https://e.org/6>.", "see   and  ."),
        ("1. one\n 22) two", "one\ntwo"),
        ("It\u2019s search_web", "It's search_web"),
    ],
)
def test_code_addresses_and_marks_are_gone_and_words_stay(text: str, left: str) -> None:
    assert plain(text) == left


def test_sentences_end_at_marks_and_lines_but_not_inside_numbers() -> None:
    told = list(sentences("It cost $0.05. That is all! (Really?) Yes\n- a line\nv1.2 e.g. this"))

    assert told == ["It cost $0.05.", "That is all!", "(Really?) Yes", "- a line", "v1.2 e.g. this"]


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ("I asked search web", "search_web", True),
        ("SEARCH_WEB failed", "search_web", True),
        ("researchers on the web", "search_web", False),
        ("Acme Data.", "Acme Data", True),
        ("Acme Database", "Acme Data", False),
        ("anything", "", False),
        ("anything", "::", False),
    ],
)
def test_a_name_is_found_as_whole_words(text: str, name: str, found: bool) -> None:
    assert names(text, name) is found


@pytest.mark.parametrize(
    "bad", ["a" + "_" * 99_999 + "b", "[a" * 50_000, "[a](" * 25_000, "` `` " * 20_000, " \n" * 50_000, "?! " * 9_000]
)
def test_marks_without_an_end_take_no_longer_than_other_text(bad: str) -> None:
    assert (
        list(sentences(plain(bad))) is not None
    )  # what grows with the square of its length would hit the suite's time limit
