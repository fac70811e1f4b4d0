import sqlite3
from contextlib import closing

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tools_mcp.notes.queries import indexed, passage, read_query


def matches(text: str, query: str) -> bool:
    """Whether FTS5 finds the text, the way the index asks it."""
    words = read_query(query)
    if words is None:
        return False
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            "CREATE VIRTUAL TABLE texts USING fts5 (body, tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        connection.execute("INSERT INTO texts VALUES (?)", (indexed(text),))
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
        ("we dont know", "don't"),
        ("Anna\u2019s garden", "Anna"),
        ("ask Anna", "Anna's"),
        ("it was 1,000 euros", "1000"),
        ("on the 3rd floor", "3"),
        ("Stra\u00dfe", "STRASSE"),
        ("\uff21\uff22\uff23 corporation", "abc"),
        ("\uff8b\uff9f\uff76\uff81\uff6d\uff73", "\u30d4\u30ab\u30c1\u30e5\u30a6"),
        ("สวัสดีชาวโลก", "ชาว"),
        ("meetings about db", "what about the db"),
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
    assert words.any_word == '"capital" OR "france"'


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("multi-agent", {"multi-agent", "multi", "agent"}),
        ("38.101", {"38.101", "38", "101"}),
        ("用户是", {"用户 户是", "用户", "户是"}),
        ('"the design"', {"the design", "design"}),
    ],
)
def test_a_joined_term_is_looked_for_by_its_parts_when_it_is_not_there(query: str, parts: set[str]) -> None:
    words = read_query(query)

    assert words
    assert {term.strip('" ') for term in words.any_word.split(" OR ")} == parts


def test_a_common_word_with_a_capital_inside_a_sentence_is_a_name() -> None:
    for query, all_words in (("what does Will like", '"will" AND "like"'), ("Will it rain", '"rain"')):
        words = read_query(query)
        assert words
        assert words.all_words == all_words


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


@pytest.mark.parametrize(
    ("body", "word", "shown"),
    [
        ("M\u00fcller met \u0141ukasz", "muller", "<<M\u00fcller>> met \u0141ukasz"),
        ("one meeting", "meetings", "one <<meeting>>"),
        ("\u0130stanbul is far", "far", "\u0130stanbul is <<far>>"),
        ("a [x] (y)", "x", "a [<<x>>] (y)"),
    ],
)
def test_a_passage_marks_what_the_index_found(body: str, word: str, shown: str) -> None:
    assert passage(body, (word,)) == shown


def test_a_passage_without_the_word_is_the_beginning() -> None:
    assert passage("Müller\nwas here", ("nothing",)) == "Müller was here"
    assert passage("", ("x",)) == ""
