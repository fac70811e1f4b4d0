from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_mcp.snippets import SNIPPET_CHARACTERS, clip, snippet
from memory_mcp.terms import query_terms


def test_matching_words_are_marked_as_they_were_written() -> None:
    assert snippet("Müller\u2019s team prefers mornings.", query_terms("muller preferred morning")) == (
        "<<Müller\u2019s>> team <<prefers>> <<mornings>>."
    )


def test_a_joined_word_is_marked_whole() -> None:
    assert snippet("See POL-358.", query_terms("pol-358")) == "See <<POL-358>>."


def test_of_a_run_without_spaces_only_the_match_is_marked() -> None:
    assert snippet("用户身份已确认", query_terms("身份")) == "用户<<身份>>已确认"
    assert snippet("用户身份", query_terms("身份")) == "用户<<身份>>"
    assert snippet("用户身份", query_terms("用户身份")) == "<<用户身份>>"


def test_a_long_body_is_shown_where_most_words_match() -> None:
    body = "filler dog " * 100 + "the dog of Dana is called Rex and barks. " + "filler " * 200

    piece = snippet(body, query_terms("dog Dana called"))

    assert "<<dog>> of <<Dana>> is <<called>>" in piece
    assert piece.startswith("…")
    assert piece.endswith("…")
    assert len(piece.replace("<<", "").replace(">>", "")) <= SNIPPET_CHARACTERS + 2


def test_without_a_match_the_beginning_is_shown() -> None:
    assert snippet("word " * 100, query_terms("other")).startswith("word word")
    assert snippet("short", query_terms("")) == "short"


def test_a_snippet_is_one_line() -> None:
    assert snippet("one\n\n  two\tthree", query_terms("two")) == "one <<two>> three"


@given(st.text(max_size=400), st.text(max_size=30))
def test_a_snippet_never_breaks_whatever_the_text(body: str, query: str) -> None:
    piece = snippet(body, query_terms(query))

    assert "\n" not in piece
    assert len(piece) <= 6 * SNIPPET_CHARACTERS


def test_clipping_cuts_long_lines_with_an_ellipsis() -> None:
    assert clip("a\n b", 10) == "a b"
    assert clip("abcdef", 4) == "abc…"
    assert clip("abcd", 4) == "abcd"
