"""A model that knows words only, for tests that need vectors and no model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from memory_mcp.embedding.vector import Vector, rounded
from memory_mcp.errors import EmbeddingError

DIMENSIONS = 32
SYNONYMS = {"dog": "canine", "cat": "feline"}


@dataclass
class WordsEmbedder:
    """Texts that share words, or synonyms it knows, are near; it fails while `broken` says why."""

    model: str = "words"
    broken: str | None = None
    seen: list[str] = field(default_factory=list)
    closed: int = 0

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.broken:
            raise EmbeddingError(self.broken)
        self.seen += texts
        return [self._one(text) for text in texts]

    def close(self) -> None:
        self.closed += 1

    def _one(self, text: str) -> Vector:
        values = [0.0] * DIMENSIONS
        for word in text.lower().replace(".", " ").replace("?", " ").split():
            known = SYNONYMS.get(word, word)
            values[hashlib.sha256(known.encode()).digest()[1] % DIMENSIONS] += 1.0
        return rounded(self.model, values)
