"""The embedding seam: texts in, vectors out. Every implementation passes `tests/conformance/test_embedder.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from memory_mcp.embedding.vector import Vector


class Embedder(Protocol):
    """A model that turns texts into vectors; safe to use from several threads."""

    @property
    def model(self) -> str:
        """Names the model and everything that changes its vectors: vectors of different names are never compared."""
        ...

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Returns one vector a text, in order; an empty text has one too.

        Raises:
            EmbeddingError: The model did not answer.
        """
        ...

    def close(self) -> None:
        """Lets go of connections and memory; safe to call twice."""
        ...
