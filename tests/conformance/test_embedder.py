"""What every embedder has to do (`memory_mcp.embedding.protocol`); add a factory to try another one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from memory_mcp.embedding.endpoint import EndpointEmbedder
from memory_mcp.embedding.packaged import load_packaged
from memory_mcp.embedding.protocol import Embedder
from memory_mcp.embedding.vector import Vector
from tests.fakes import embeddings_server
from tests.fakes.embedder import WordsEmbedder

TEXTS = ["The cat sleeps on the radiator.", "A release slipped to March.", "会议在北京举行。", "", "x" * 20_000]


@pytest.fixture(params=["packaged", "endpoint", "fake"])
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    """A model that is ready."""
    if request.param == "endpoint":
        with embeddings_server.serving() as server:
            remote = EndpointEmbedder(server.url, "any")
            yield remote
            remote.close()
        return
    local: Embedder = load_packaged() if request.param == "packaged" else WordsEmbedder()
    yield local
    local.close()


def cosine(one: Vector, other: Vector) -> float:
    """How near two vectors are."""
    products = sum(a * b for a, b in zip(one.parts, other.parts, strict=True))
    lengths = math.sqrt(sum(a * a for a in one.parts) * sum(b * b for b in other.parts))
    return products / lengths


def test_every_text_has_a_vector_of_one_length_under_the_models_name(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)

    assert len(vectors) == len(TEXTS)
    assert {vector.model for vector in vectors} == {embedder.model}
    assert len({len(vector.codes) for vector in vectors}) == 1


def test_no_text_has_no_vector(embedder: Embedder) -> None:
    assert embedder.embed([]) == []


def test_a_text_has_the_same_vector_alone_and_among_others(embedder: Embedder) -> None:
    assert embedder.embed(TEXTS) == [embedder.embed([text])[0] for text in TEXTS]


def test_the_same_is_nearer_than_something_else(embedder: Embedder) -> None:
    said, again, other = embedder.embed(["The cat sleeps.", "Here the cat sleeps.", "A release slipped to March."])

    assert cosine(said, again) > cosine(said, other)


def test_several_threads_may_ask_at_once(embedder: Embedder) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: embedder.embed(TEXTS[:2]), range(8)))

    assert answers == [answers[0]] * 8


def test_closing_twice_is_no_error(embedder: Embedder) -> None:
    embedder.close()
    embedder.close()
