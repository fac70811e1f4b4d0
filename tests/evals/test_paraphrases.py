"""The paraphrase set is what it says: no question shares a content word with its fact, by our stems or by others'."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from evals.bench.memory_paraphrases import Pair, outcomes, pairs, unrelated
from memory_mcp.embedding.packaged import load_packaged
from memory_mcp.stop_words import STOP_WORDS
from memory_mcp.terms import content_terms
from tests.fakes.embedder import WordsEmbedder


def test_there_are_at_least_two_hundred_pairs_and_each_is_said_once() -> None:
    known = pairs()

    assert len(known) >= 200
    assert len({pair.fact for pair in known}) == len({pair.question for pair in known}) == len(known)
    assert not {pair.question for pair in known} & set(unrelated())
    assert len(unrelated()) >= 40


@pytest.mark.parametrize("pair", pairs(), ids=lambda pair: pair.question)
def test_a_question_shares_no_stem_with_its_fact(pair: Pair) -> None:
    assert content_terms(pair.fact) & content_terms(pair.question) == set()
    assert content_terms(pair.question)


def test_full_text_search_with_its_own_stems_finds_no_fact_either() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE fact USING fts5(body, tokenize = 'porter unicode61')")
        for pair in pairs():
            connection.execute("DELETE FROM fact")
            connection.execute("INSERT INTO fact VALUES (?)", (pair.fact,))
            words = [word for word in re.findall(r"\w+", pair.question.lower()) if word not in STOP_WORDS]
            asked = " OR ".join(f'"{word}"' for word in words if len(word) > 1)
            assert connection.execute("SELECT count(*) FROM fact WHERE fact MATCH ?", (asked,)).fetchone() == (0,), pair


@pytest.mark.slow  # searches for each of 420 texts
def test_words_alone_find_almost_nothing_and_vectors_of_words_add_little(tmp_path: Path) -> None:
    words, both = outcomes(WordsEmbedder, tmp_path)

    assert words.hit[10] < 0.02
    assert words.silent_when_unrelated > 0.8
    assert both.hit[10] < 0.2  # by chance: a real model reaches four times that


@pytest.mark.slow  # the packaged model reads 420 texts
def test_the_packaged_model_finds_most_facts_and_stays_silent_on_most_unrelated_questions(tmp_path: Path) -> None:
    words, both = outcomes(load_packaged, tmp_path)

    assert words.hit[10] < 0.02
    assert both.hit[1] > 0.55  # measured: 0.614
    assert both.hit[10] > 0.8  # measured: 0.867
    assert both.silent_when_unrelated > 0.7  # measured: 0.750
