from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_mcp.terms import MAX_QUERY_TERMS, content_terms, fold, indexed, query_terms, tokens


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("What do you know about the design team?", ("design", "team")),
        ("Tell me everything you remember about Oslo", ("oslo",)),
        ("Müller\u2019s café", ("muller", "cafe")),
        ("cafe\u0301", ("cafe",)),
        ("\uff26\uff35\uff2c\uff2c width", ("full", "width")),
        ("I'll meet Dana's team", ("meet", "dana", "team")),
        ("on the 8th of March", ("8", "march")),
        ("$2,300 and 1,5", ("2300", "1", "5")),
        ("Привет, мир", ("привет", "мир")),
        ("हिन्दी भाषा", ("हिन्दी", "भाषा")),
        ("Straße", ("strass",)),
    ],
)
def test_a_query_is_its_content_words(query: str, parts: tuple[str, ...]) -> None:
    assert query_terms(query).parts == parts


@pytest.mark.parametrize(
    ("written", "parts", "wholes"),
    [
        ("POL-358", ("pol", "358"), ("pol-358", "pol358")),
        ("38.101", ("38", "101"), ("38.101",)),
        ("multi-agent", ("multi", "agent"), ("multi-agent", "multiag")),
        ("user_name", ("user", "name"), ("user_name", "usernam")),
        ("services/memory", ("servic", "memori"), ("services/memory",)),
        ("dana@example.org", ("dana", "exampl", "org"), ("dana@example.org",)),
        ("node.js", ("node", "js"), ("node.js", "nodej")),
        ("long-established-words", ("long", "establish", "word"), ("long-established-words",)),
        ("C++", ("c++",), ()),
        ("C#", ("c#",), ()),
        ("l'avion", ("l", "avion"), ("l'avion",)),
    ],
)
def test_a_joined_word_is_filed_as_its_parts_and_as_the_whole(
    written: str, parts: tuple[str, ...], wholes: tuple[str, ...]
) -> None:
    terms = query_terms(written)

    assert (terms.parts, terms.compounds) == (parts, wholes)
    assert {*parts, *wholes} <= set(indexed([written]).counts)


def test_a_stop_word_inside_a_joined_word_is_not_looked_for_by_itself() -> None:
    assert query_terms('"--error-on-warnings"').parts == ("error", "warn")


def test_a_very_long_joined_word_is_filed_as_its_parts_only() -> None:
    path = "/".join(["part"] * 20)

    assert indexed([path]).counts == {"part": 20}


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("用户", ("用户",)),
        ("サンド", ("サン", "ンド")),
        ("결제", ("결제",)),
        ("户", ("户",)),
        ("ภาษาไทย", ("ภา", "าษ", "ษา", "าไ", "ไท", "ทย")),
    ],
)
def test_a_run_without_spaces_is_looked_for_in_pairs(query: str, parts: tuple[str, ...]) -> None:
    assert query_terms(query).parts == parts


def test_a_run_without_spaces_is_filed_as_characters_and_pairs() -> None:
    assert indexed(["用户身"]).counts == {"用": 1, "户": 1, "身": 1, "用户": 1, "户身": 1}


@pytest.mark.parametrize("query", ["", "  ", "*", "🎉", '"', "()", "--", "…", "\u0300"])
def test_a_query_without_a_word_has_no_terms(query: str) -> None:
    assert query_terms(query).all == ()


@pytest.mark.parametrize("query", ["who am I", "don't", "to be or not to be", "it"])
def test_a_query_of_stop_words_looks_for_them(query: str) -> None:
    terms = query_terms(query)

    assert terms.only_stop_words
    assert terms.parts


def test_a_capital_inside_a_sentence_makes_a_name() -> None:
    terms = query_terms("What does Will like? In May, Dana said so. Where is it?")

    assert terms.names == {"will", "mai", "dana"}
    assert {"will", "mai"} <= set(terms.parts)


def test_nothing_is_a_name_when_all_is_written_in_capitals() -> None:
    terms = query_terms("WHAT DOES THE TEAM PREFER")

    assert (terms.parts, terms.names) == (("team", "prefer"), frozenset())


def test_no_word_of_a_query_is_an_operator() -> None:
    assert query_terms("Alex AND Bob NOT near NEAR(3)").parts == ("alex", "and", "bob", "not", "near", "3")


def test_a_query_has_a_bounded_number_of_terms_each_once() -> None:
    terms = query_terms(" ".join(f"word{number}-x again" for number in range(100)))

    assert len(terms.all) == MAX_QUERY_TERMS
    assert len(set(terms.all)) == MAX_QUERY_TERMS


def test_content_terms_leave_out_what_says_nothing() -> None:
    assert content_terms("The team is in Oslo, isn't it?") == {"team", "oslo"}


def test_an_indexed_text_counts_terms_and_words_over_all_its_pieces() -> None:
    text = indexed(["Monday 8 May", "Dana", "Dana met Bo-Lin on Monday"])

    assert text.counts["dana"] == 2
    assert text.counts["mondai"] == 2
    assert text.counts["bo-lin"] == 1
    assert text.words == 3 + 1 + 6


@given(st.text(max_size=200))
def test_every_text_can_be_indexed_and_found_by_itself(text: str) -> None:
    terms = query_terms(text)
    counts = indexed([text]).counts

    assert set(terms.all) <= set(counts)
    assert all(text[token.start : token.end] for token in tokens(text))
    assert all(term for term in counts)


def test_folding_takes_case_width_and_accents_away_but_keeps_what_is_no_accent() -> None:
    assert [fold(word) for word in ("MÜLLER", "ﬁn", "ガス", "Ёлка", "É")] == ["muller", "fin", "ガス", "елка", "e"]
