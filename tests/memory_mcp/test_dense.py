from __future__ import annotations

import pytest

from memory_mcp.dense import Near, Nearness, closeness
from memory_mcp.ranking import Candidate, Corpus, candidates, total
from memory_mcp.terms import QueryTerms
from memory_mcp.weights import Weights

WEIGHTS = Weights()
FAR, NEAR = WEIGHTS.dense_floor - 0.1, WEIGHTS.dense_floor + 0.1


def found(
    query: QueryTerms, known: Corpus, nearness: Nearness, allowed: set[int] | None = None
) -> dict[int, Candidate]:
    """The candidates of a query by number, with a dense part."""
    ranked = candidates(query, known, WEIGHTS, lambda _, __: {}, allowed=allowed, look_around=lambda _: nearness)
    return {candidate.number: candidate for candidate in ranked}


NOTHING = Corpus(memories=1000, words=9000, episodes={}, frequencies={}, postings={})
DOG = Corpus(memories=1000, words=9000, episodes={}, frequencies={"dog": 1}, postings={"dog": [(1, 1, 9, None, None)]})


def test_the_dense_part_is_the_share_of_the_best_above_the_mean() -> None:
    close = closeness(Nearness(0.1, [Near(1, 0.5, None, None), Near(2, 0.3, None, None), Near(3, 0.05, None, None)]))

    assert close.shares == {1: 1.0, 2: pytest.approx(0.5), 3: 0.0}
    assert close.cosines == {1: 0.5, 2: 0.3, 3: 0.05}


@pytest.mark.parametrize(
    ("near", "shares"),
    [
        ([], {}),
        ([Near(1, 0.6, None, None)], {1: 1.0}),
        ([Near(1, 0.6, None, None), Near(2, 0.6, None, None)], {1: 1.0, 2: 1.0}),
        ([Near(1, -0.2, None, None)], {1: 0.0}),
    ],
)
def test_where_none_stands_out_each_has_its_share_of_the_best_cosine(
    near: list[Near], shares: dict[int, float]
) -> None:
    mean = near[0].cosine if near else 0.0

    assert closeness(Nearness(mean, near)).shares == shares


def test_a_memory_near_in_meaning_answers_a_query_that_it_shares_no_word_with() -> None:
    query = QueryTerms(("canine",))

    assert set(found(query, NOTHING, Nearness(0.0, [Near(7, NEAR, None, None), Near(8, FAR, None, None)]))) == {7}
    assert found(query, NOTHING, Nearness(0.0, [Near(8, FAR, None, None)])) == {}


def test_words_and_meaning_add_up_and_the_parts_are_shown() -> None:
    ranked = found(QueryTerms(("dog",)), DOG, Nearness(0.0, [Near(1, NEAR, None, None), Near(2, NEAR, None, None)]))

    score, parts = total(ranked[1], WEIGHTS, subject_named=False)
    assert parts == {"lexical": 1.0, "neighbours": 0.0, "episode": 0.0, "subject": 0.0, "dense": WEIGHTS.dense}
    assert score == pytest.approx(1 + WEIGHTS.dense)
    assert total(ranked[2], WEIGHTS, subject_named=False)[1]["lexical"] == 0.0


def test_the_less_the_words_say_the_more_the_meaning_counts() -> None:
    weak = QueryTerms(("dog", "harness", "walk", "morning"))
    near = Nearness(0.0, [Near(1, FAR, None, None), Near(2, NEAR, None, None)])

    sure, unsure = (found(query, DOG, near)[2] for query in (QueryTerms(("dog",)), weak))

    assert sure.doubt == pytest.approx(0.0)
    assert 0.5 < unsure.doubt < 1.0
    gained = [total(candidate, WEIGHTS, subject_named=False)[1]["dense"] for candidate in (sure, unsure)]
    assert gained == pytest.approx([WEIGHTS.dense, WEIGHTS.dense + WEIGHTS.dense_in_doubt * unsure.doubt**2])


def test_without_vectors_there_is_no_dense_part_to_show() -> None:
    (ranked,) = candidates(QueryTerms(("dog",)), DOG, WEIGHTS, lambda _, __: {})

    assert "dense" not in total(ranked, WEIGHTS, subject_named=False)[1]


def test_a_memory_near_in_meaning_has_the_neighbours_of_its_place() -> None:
    known = Corpus(1000, 9000, {5: 100}, {"dog": 1}, {"dog": [(1, 1, 9, 5, 3)]})

    ranked = found(QueryTerms(("dog",)), known, Nearness(0.0, [Near(2, NEAR, 5, 4)]))

    assert (ranked[2].lexical, ranked[2].neighbour, ranked[2].episode) == (0.0, 1.0, 1.0)


def test_a_memory_gains_from_the_one_beside_it_that_is_near_in_meaning() -> None:
    near = [Near(1, NEAR, 5, 3), Near(2, NEAR - 0.1, 5, 4), Near(3, NEAR - 0.1, 5, 9)]

    ranked = found(QueryTerms(("canine",)), NOTHING, Nearness(0.0, near))

    assert ranked[2].dense == pytest.approx((ranked[3].dense or 0) + WEIGHTS.dense_neighbour)
