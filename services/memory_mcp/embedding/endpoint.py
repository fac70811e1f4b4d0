"""Any OpenAI-compatible endpoint for embeddings: `POST <url>/embeddings` with a model and texts.

The address is the base that such programs print, for example `http://127.0.0.1:11434/v1`; one that ends in
`/embeddings` is taken as it is. What is remembered is sent there, so it is off unless it is set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx

from memory_mcp.embedding.vector import Vector, rounded
from memory_mcp.errors import EmbeddingError

TIMEOUT_S = 10.0
MAX_CHARACTERS = 8_000
"""Longer texts are cut: the usual models read 8,192 pieces at most."""
_MAX_DIMENSIONS = 16_000  # what pgvector keeps


class EndpointEmbedder:
    """An `Embedder` behind HTTP; a key is sent as a bearer token and never shown."""

    def __init__(self, url: str, model: str, key: str | None = None, timeout_s: float = TIMEOUT_S) -> None:
        self._url = url if url.rstrip("/").endswith("/embeddings") else f"{url.rstrip('/')}/embeddings"
        self._asked = model
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(timeout=timeout_s, headers=headers, follow_redirects=False, trust_env=False)

    @property
    def model(self) -> str:
        """Names the model as it was asked for."""
        return f"endpoint:{self._asked}"

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Returns one vector a text, in order.

        Raises:
            EmbeddingError: The endpoint is not there, refused, or answered something else.
        """
        if not texts:
            return []
        body = {
            "model": self._asked,
            "input": [text[:MAX_CHARACTERS] or " " for text in texts],
            "encoding_format": "float",
        }
        try:
            answer = self._client.post(self._url, json=body)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise EmbeddingError(
                "The embeddings endpoint does not answer; searches go by words until it does."
            ) from error
        if answer.status_code != httpx.codes.OK:
            raise EmbeddingError(
                f"The embeddings endpoint refused with status {answer.status_code}; check PROMETHEUS_EMBEDDINGS_URL, "
                "_MODEL and _KEY.",
            )
        try:
            return self._read(answer.json(), len(texts))
        except (ValueError, TypeError, KeyError) as error:
            raise EmbeddingError(
                "The embeddings endpoint answered something that is no list of embeddings; check its address.",
            ) from error

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def _read(self, answer: Any, count: int) -> list[Vector]:
        """Returns the vectors by the index each of them carries; an answer may be in any order."""
        found = {int(entry["index"]): entry["embedding"] for entry in answer["data"]}
        values = [found[index] for index in range(count)]
        if not all(isinstance(one, list) and 0 < len(one) <= _MAX_DIMENSIONS for one in values):
            raise ValueError("an embedding is no list of numbers")
        if len({len(one) for one in values}) != 1:
            raise ValueError("embeddings differ in length")
        return [rounded(self.model, one) for one in values]
