import sqlite3
from contextlib import closing

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tools_mcp.notes.queries import passage, read_query, segmented


def matches(text: str, query: str) -> bool:
    """Whether FTS5 finds the text, the way the index asks it."""
    words = read_query(query)
    if words is None:
        return False
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            "CREATE VIRTUAL TABLE texts USING fts5 (body, tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        connection.execute("INSERT INTO texts VALUES (?)", (segmented(text),))
        asked = "SELECT count(*) FROM texts WHERE texts MATCH ?"
        return bool(connection.execute(asked, (words.all_words,)).fetchone()[0])


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("ticket POL-358 is open", "POL-358"),
        ("a multi-agent system", "multi-agent"),
        ("we don't know", "don't"),
        ('use "--error-on-warnings" here', '"--error-on-warnings"'),
        ("spec 38.101 says", "38.101"),
        ("Grade 4: Week 1 Update", "Grade 4 Week 1"),
        ("用户身份已确认", "用户"),
        ("用户身份已确认", "已确认"),
        ("用户身份已确认", "认"),
        ("サンドボックス修正テスト", "サンドボックス"),
        ("카드 결제 오류", "결제"),
        ("카드 결제를 했다", "결제"),
        ("db の接続", "db"),
        ("Müller met Łukasz", "muller"),
        ("the meetings of the team", "meeting"),
        ("read snake_case_name", "case"),
        ("Привет мир", "привет"),
        ("alpha AND beta NOT gamma", "AND NOT"),
        ("the design team", '"design team"'),
        ("NEAR the sea", "NEAR("),
    ],
)
def test_it_is_found(text: str, query: str) -> None:
    assert matches(text, query)


@pytest.mark.parametrize(
    ("text", "query"),
    [("the team of design", '"design team"'), ("用户身份", "户用"), ("alpha", "alpha beta"), ("38 and 101", "38.101")],
)
def test_it_is_not_found(text: str, query: str) -> None:
    assert not matches(text, query)


@pytest.mark.parametrize("query", ["", " ", "*", '"', "'", "-- ()", "🎉", "___", '""', "^:{}"])
def test_a_query_without_a_letter_or_digit_asks_nothing(query: str) -> None:
    assert read_query(query) is None


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=120))
@example('"unbalanced NEAR/2 * ^a : b {c} -d +e')
@example("a\x00b")
@example("AND OR NOT")
def test_no_query_is_an_error(query: str) -> None:
    matches("some text with words", query)
    words = read_query(query)
    if words:
        passage("some text with words", words.words)


def test_common_words_do_not_find_a_note_on_their_own() -> None:
    words = read_query("what is the capital of France")

    assert words
    assert words.any_word == '"capital" OR "France"'


def test_very_many_words_are_cut() -> None:
    words = read_query(" ".join(f"w{number}" for number in range(1000)))

    assert words
    assert words.all_words.count("AND") == 31


def test_a_passage_shows_the_match_in_its_place() -> None:
    body = "start " * 100 + "here the needle lies " + "end " * 100
    shown = passage(body, ("needle",))

    assert "here the <<needle>> lies" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) < 260


def test_a_passage_without_the_word_is_the_beginning() -> None:
    assert passage("Müller\nwas here", ("muller",)) == "Müller was here"
    assert passage("", ("x",)) == ""
