"""Loads a model and gives every memory its vector, in the background; searches go by words until it is there.

One daemon thread: it loads the model, then asks the store for memories without a vector, a few at a time. Numbers only
grow, so what was looked at once need not be looked at again. A failure is said once and tried again later; it never
reaches a search.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from memory_mcp.embedding.protocol import Embedder
from memory_mcp.embedding.vector import Vector
from memory_mcp.errors import EmbeddingError, StoreError
from memory_mcp.model import Memory
from memory_mcp.moments import date_words
from memory_mcp.storage.protocol import MemoryStore

BATCH = 16
POLL_S = 2.0
"""How long a new memory may be without a vector; another process may have stored it, so the store is asked."""
RETRY_S = 30.0
_LOG = logging.getLogger(__name__)


@dataclass
class _Pause:
    """Says a failure once, and leaves a model that failed alone for a while."""

    clock: Callable[[], float]
    until_s: float = 0.0
    told: str = ""

    def begin(self, error: Exception) -> None:
        self.until_s = self.clock() + RETRY_S
        if str(error) != self.told:
            self.told = str(error)
            _LOG.warning("%s", error)

    @property
    def over(self) -> bool:
        return self.clock() >= self.until_s


class Meaning:
    """The vectors of queries and memories, once the model is there."""

    def __init__(
        self,
        store: MemoryStore,
        load: Callable[[], Embedder],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._load = load
        self._embedder: Embedder | None = None
        self._done_to = 0
        self._pause = _Pause(clock)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="embeddings", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self, patience_s: float = 1.0) -> None:
        """Stops the thread and waits a bounded time for what it is doing."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(patience_s)
        if self._embedder is not None and not self._thread.is_alive():
            self._embedder.close()

    def of_query(self, query: str) -> Vector | None:
        """Returns the vector of a query; none while there is no model to ask, and then a search goes by words."""
        if self._embedder is None or not self._pause.over:
            return None
        try:
            return self._embedder.embed([query])[0]
        except EmbeddingError as error:
            self._pause.begin(error)
            return None

    def step(self) -> int:
        """Loads the model when it is not there, and gives some memories their vectors; returns how many it gave.

        Raises:
            EmbeddingError: The model cannot be loaded or does not answer.
            StoreError: The store refused; the memories are taken again later.
        """
        if self._embedder is None:
            self._store.prepare_vectors()
            self._embedder = self._load()
        embedder = self._embedder
        with self._store.reading() as reader:
            memories = reader.without_vector(embedder.model, self._done_to, BATCH)
        if not memories:
            return 0
        vectors = embedder.embed([text_of(memory) for memory in memories])
        with self._store.writing() as writer:
            writer.store_vectors({memory.number: vector for memory, vector in zip(memories, vectors, strict=True)})
        self._done_to = memories[-1].number
        return len(memories)

    def _run(self) -> None:
        wait_s = 0.0
        while not self._stopping.wait(wait_s):
            try:
                wait_s = 0.0 if self.step() else POLL_S
            except (EmbeddingError, StoreError) as error:
                self._pause.begin(error)
                wait_s = RETRY_S


def text_of(memory: Memory) -> str:
    """Returns what of a memory a model reads: its date in words, its subject and its body."""
    content = memory.content
    date = f"({date_words(content.happened.text)}) " if content.happened else ""
    subject = f"{content.subject}: " if content.subject else ""
    return f"{date}{subject}{content.body}"
