from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from memory_mcp.ranking import Candidate, Corpus, Posting, candidates, rarity, terms_to_read, total
from memory_mcp.terms import QueryTerms
from memory_mcp.weights import Weights

PLAIN = Weights(floor=0.0, hit_floor=0.0)
NO_EPISODES: dict[int, int] = {}


def corpus(
    postings: Mapping[str, Sequence[Posting]],
    memories: int = 100,
    episodes: Mapping[int, int] = NO_EPISODES,
    frequencies: Mapping[str, int] | None = None,
) -> Corpus:
    """A corpus of memories of ten words."""
    counted = {term: len(rows) for term, rows in postings.items()}
    return Corpus(memories, memories * 10, episodes, counted | dict(frequencies or {}), postings)


def alone(number: int, count: int = 1, words: int = 10) -> Posting:
    """A posting of a memory outside any conversation."""
    return (number, count, words, None, None)


def no_look_up(terms: Sequence[str], numbers: Sequence[int]) -> Mapping[str, Sequence[Posting]]:
    """No term is frequent."""
    raise AssertionError((terms, numbers))


def ranked(query: QueryTerms, known: Corpus, weights: Weights = PLAIN) -> dict[int, Candidate]:
    """The candidates by number."""
    return {candidate.number: candidate for candidate in candidates(query, known, weights, no_look_up)}


def test_a_rare_word_weighs_more_than_a_frequent_one() -> None:
    known = corpus({"team": [alone(number) for number in range(1, 40)], "oslo": [alone(50)]})

    found = ranked(QueryTerms(("team", "oslo")), known)

    assert found[50].lexical == 1.0
    assert 0 < found[1].lexical < 0.5


def test_rarity_falls_with_frequency_and_never_reaches_zero() -> None:
    rarities = [rarity(100, frequency) for frequency in (0, 1, 10, 50, 100)]

    assert rarities == sorted(rarities, reverse=True)
    assert rarities[-1] > 0


def test_the_score_is_bm25_with_the_weights_given() -> None:
    known = corpus({"oslo": [alone(1, count=2, words=20), alone(2, count=1, words=10)]})
    weights = replace(PLAIN, saturation=1.5, length_penalty=0.5)

    found = ranked(QueryTerms(("oslo",)), known, weights)

    first = 2 / (2 + 1.5 * (0.5 + 0.5 * 20 / 10))
    second = 1 / (1 + 1.5 * (0.5 + 0.5 * 10 / 10))
    assert found[1].lexical == 1.0
    assert math.isclose(found[2].lexical, second / first)


def test_a_neighbour_in_the_conversation_lends_its_score() -> None:
    episode = 7
    rows: list[Posting] = [(10 + place, 1, 10, episode, place) for place in (0, 1, 3, 9)]
    known = corpus({"dog": rows[:1], "name": rows[1:]}, episodes={episode: 100})

    found = ranked(QueryTerms(("dog", "name")), known)

    assert found[11].neighbour == 1.0
    assert found[13].neighbour == 0.0
    assert found[13].next_neighbour == found[11].lexical
    assert (found[19].neighbour, found[19].next_neighbour) == (0.0, 0.0)


def test_the_same_place_in_another_conversation_is_no_neighbour() -> None:
    known = corpus({"dog": [(1, 1, 10, 7, 0), (2, 1, 10, 8, 1)]}, episodes={7: 10, 8: 10})

    assert ranked(QueryTerms(("dog",)), known)[1].neighbour == 0.0


def test_a_conversation_that_speaks_of_the_query_lifts_all_its_memories() -> None:
    rows: list[Posting] = [(1, 1, 10, 7, 0), (2, 1, 10, 7, 5), (3, 1, 10, 8, 0), alone(4)]
    known = corpus({"dog": rows}, episodes={7: 20, 8: 400, 9: 50})

    found = ranked(QueryTerms(("dog",)), known)

    assert found[1].episode == found[2].episode == 1.0
    assert 0 < found[3].episode < 1.0
    assert found[4].episode == 0.0


def test_conversations_with_nothing_but_superseded_memories_still_count_for_them() -> None:
    rows: list[Posting] = [(number, 1, 10, number, 0) for number in range(1, 5)]

    found = ranked(QueryTerms(("dog",)), corpus({"dog": rows}, memories=4))

    assert {candidate.episode for candidate in found.values()} == {1.0}


def test_the_total_is_the_weighted_sum_and_says_its_parts() -> None:
    candidate = Candidate(1, lexical=1.0, neighbour=0.5, next_neighbour=0.2, episode=0.5, coverage=1.0)

    score, parts = total(candidate, Weights(), subject_named=True)

    assert parts == pytest.approx({"lexical": 1.0, "neighbours": 0.36, "episode": 0.3, "subject": 0.3})
    assert score == pytest.approx(sum(parts.values()))
    assert total(candidate, Weights(), subject_named=False)[0] == pytest.approx(score - 0.3)


def test_a_query_that_nothing_covers_enough_gets_no_answer() -> None:
    query = QueryTerms(("capital", "franc", "king", "war", "treati"))
    known = corpus({"capital": [alone(1)]})

    assert ranked(query, known, Weights()) == {}
    assert set(ranked(query, known, PLAIN)) == {1}


def test_a_name_decides_more_than_another_word() -> None:
    known = corpus({"capital": [alone(1)], "franc": []})
    asked = QueryTerms(("capital", "franc"))

    plain = ranked(asked, known)[1].coverage
    named = ranked(replace(asked, names=frozenset({"franc"})), known)[1].coverage

    assert 0.4 < plain < 0.5
    assert 0.2 < named < 0.3


def test_a_small_store_does_not_make_every_word_evidence() -> None:
    known = corpus({"live": [alone(1)]}, memories=1)

    coverage = ranked(QueryTerms(("citi", "user", "live")), known)[1].coverage

    assert 0.25 < coverage < 0.34


def test_a_direct_neighbour_helps_to_cover_the_query() -> None:
    known = corpus({"dog": [(1, 1, 10, 7, 0)], "name": [(2, 1, 10, 7, 1)]}, episodes={7: 20})

    found = ranked(QueryTerms(("dog", "name")), known)

    assert found[1].coverage == found[2].coverage == 1.0


def test_a_hit_that_covers_next_to_nothing_is_left_out() -> None:
    words = tuple(f"w{number}" for number in range(12))
    known = corpus({word: [alone(1)] for word in words} | {"w0": [alone(1), alone(2)]})

    assert set(ranked(QueryTerms(words), known, Weights())) == {1}


def test_compounds_add_to_a_score_but_are_not_needed() -> None:
    query = QueryTerms(("pol", "358"), ("pol-358",))
    known = corpus({"pol": [alone(1), alone(2)], "358": [alone(1), alone(2)], "pol-358": [alone(1)]})

    found = ranked(query, known)

    assert found[1].lexical > found[2].lexical
    assert found[2].coverage == 1.0


def test_stop_words_alone_match_only_what_has_all_of_them() -> None:
    query = QueryTerms(("who", "am", "i"), only_stop_words=True)
    known = corpus({"who": [alone(1)], "am": [alone(1), alone(2)], "i": [alone(1), alone(2), alone(3)]})

    assert set(ranked(query, known, Weights())) == {1}


def test_no_known_term_means_no_candidate() -> None:
    assert ranked(QueryTerms(("oslo",)), corpus({}, memories=0)) == {}
    assert ranked(QueryTerms(()), corpus({})) == {}


def test_only_allowed_memories_are_returned_though_others_are_evidence() -> None:
    known = corpus({"dog": [(1, 1, 10, 7, 0), (2, 1, 10, 7, 1)]}, episodes={7: 20})

    found = candidates(QueryTerms(("dog",)), known, PLAIN, no_look_up, allowed={2})

    assert [(candidate.number, candidate.neighbour) for candidate in found] == [(2, 1.0)]


def test_the_pool_keeps_the_best_and_newer_ones_of_equals() -> None:
    known = corpus({"dog": [alone(number) for number in range(1, 11)]})

    assert set(ranked(QueryTerms(("dog",)), known, replace(PLAIN, pool=3))) == {8, 9, 10}


def test_the_rarest_terms_are_read_and_two_in_any_case() -> None:
    weights = Weights(read_least=100, read_share=0.1)
    frequencies = {"a": 90, "b": 5, "c": 20, "d": 300}

    assert terms_to_read(frequencies, 500, weights) == ("b", "c")
    assert terms_to_read(frequencies, 2000, weights) == ("b", "c", "a")
    assert terms_to_read({"d": 300, "e": 400}, 500, weights) == ("d", "e")
    assert terms_to_read({}, 500, weights) == ()


def test_a_frequent_term_is_looked_up_only_where_rarer_ones_lead() -> None:
    query = QueryTerms(("dog", "team"))
    known = corpus({"dog": [alone(1), alone(2)]}, frequencies={"team": 60})
    asked: list[tuple[list[str], list[int]]] = []

    def look_up(terms: Sequence[str], numbers: Sequence[int]) -> Mapping[str, Sequence[Posting]]:
        asked.append((list(terms), list(numbers)))
        return {"team": [alone(2)]}

    found = {candidate.number: candidate for candidate in candidates(query, known, PLAIN, look_up)}

    assert asked == [(["team"], [1, 2])]
    assert found[2].lexical == 1.0 > found[1].lexical
    assert found[2].coverage == 1.0 > found[1].coverage
