from __future__ import annotations

from collections.abc import Iterator

import pytest

from memory_mcp.embedding.endpoint import MAX_CHARACTERS, EndpointEmbedder
from memory_mcp.errors import EmbeddingError
from tests.fakes import embeddings_server
from tests.fakes.embeddings_server import KEY, EmbeddingsServer


@pytest.fixture
def server() -> Iterator[EmbeddingsServer]:
    with embeddings_server.serving() as running:
        yield running


@pytest.fixture
def embedder(server: EmbeddingsServer) -> Iterator[EndpointEmbedder]:
    client = EndpointEmbedder(server.url, "small", KEY)
    yield client
    client.close()


def test_the_request_is_what_the_endpoint_reads(server: EmbeddingsServer, embedder: EndpointEmbedder) -> None:
    embedder.embed(["One.", ""])

    assert server.asked == [{"model": "small", "input": ["One.", " "], "encoding_format": "float"}]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert embedder.model == "endpoint:small"


def test_without_a_key_none_is_sent(server: EmbeddingsServer) -> None:
    client = EndpointEmbedder(f"{server.url}/embeddings", "small")
    client.embed(["One."])
    client.close()

    assert "Authorization" not in server.headers[0]


def test_a_long_text_is_cut_to_what_models_read(server: EmbeddingsServer, embedder: EndpointEmbedder) -> None:
    embedder.embed(["x" * (MAX_CHARACTERS + 1)])

    assert server.asked[0]["input"] == ["x" * MAX_CHARACTERS]


@pytest.mark.parametrize("status", [301, 400, 401, 404, 429, 500])
def test_a_refusal_is_said_with_its_status_and_without_the_key(
    server: EmbeddingsServer, embedder: EndpointEmbedder, status: int
) -> None:
    server.status = status
    with pytest.raises(EmbeddingError, match=f"refused with status {status}") as refusal:
        embedder.embed(["One."])
    assert KEY not in str(refusal.value)


@pytest.mark.parametrize(
    "answer",
    [
        "no json",
        "[]",
        "{}",
        '{"data": []}',
        '{"data": [{"index": 1, "embedding": [1.0]}]}',
        '{"data": [{"index": 0, "embedding": []}]}',
        '{"data": [{"index": 0, "embedding": "AAAA"}]}',
        '{"data": [{"index": 0, "embedding": [1.0, null]}]}',
        '{"data": [{"index": 0, "embedding": [1.0, NaN]}]}',
        '{"data": [{"index": 0}]}',
    ],
)
def test_an_answer_that_is_no_list_of_embeddings_is_refused(
    server: EmbeddingsServer, embedder: EndpointEmbedder, answer: str
) -> None:
    server.answer = answer
    with pytest.raises(EmbeddingError, match="no list of embeddings"):
        embedder.embed(["One."])


def test_embeddings_of_different_lengths_are_refused(server: EmbeddingsServer, embedder: EndpointEmbedder) -> None:
    server.answer = '{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]}'
    with pytest.raises(EmbeddingError, match="no list of embeddings"):
        embedder.embed(["One.", "Two."])


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "http://[bad", "gopher://x/v1"])
def test_an_endpoint_that_is_not_there_is_said_not_to_answer(url: str) -> None:
    client = EndpointEmbedder(url, "small")
    with pytest.raises(EmbeddingError, match="does not answer; searches go by words"):
        client.embed(["One."])
    client.close()
