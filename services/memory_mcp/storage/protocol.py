"""The storage seam: what the service needs of a database, in small steps inside a transaction.

Every implementation passes `tests/conformance/test_memory_store.py`. The decisions (what is a duplicate, what replaces
what) are the service's; a store only keeps rows and the index. The index is a plain list of terms per memory, so
ranking is the same whatever the database, and erasing a memory removes exactly its own rows.

Added for transfer, mirrors and removal by origin: `Reader.retired_bodies`, `Reader.every`, the `source` of
`Reader.newest` and of `Filter`, and that `Writer.insert` gives another place when the one asked for is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from memory_mcp.dense import Nearness
from memory_mcp.embedding.vector import Vector
from memory_mcp.model import ANY_SOURCE, Content, Kind, Memory, Origin, Source
from memory_mcp.ranking import Posting
from memory_mcp.scopes import Scope
from memory_mcp.terms import IndexedText


@dataclass(frozen=True)
class NewMemory:
    """A memory about to be stored.

    `episode` is the key of a conversation in the scope; the memory takes the next position there, or `position` when it
    replaces a version that had one and no live memory has that place.
    """

    id: str
    content: Content
    body_hash: str
    origin: Origin
    created_at_ms: int
    text: IndexedText
    episode: str | None = None
    position: int | None = None


@dataclass(frozen=True)
class Searched:
    """Which part of the index is read: one scope or all, and whether superseded memories are in it too."""

    scope: Scope | None = None
    with_superseded: bool = False


@dataclass(frozen=True)
class Filter:
    """What a memory must be to be in an answer: of this kind and source, with all of these tags, within these times.

    The time of a memory is when it happened, else when it was stored; `after_ms` is included, `before_ms` is not.
    """

    kind: Kind | None = None
    tags: tuple[str, ...] = ()
    after_ms: int | None = None
    before_ms: int | None = None
    source: Source = ANY_SOURCE


@dataclass(frozen=True)
class Totals:
    """The size of the searched part of the index: memories, their words, and the words of each conversation."""

    memories: int
    words: int
    episodes: Mapping[int, int]


@dataclass(frozen=True)
class RecordedReply:
    """What a write with an idempotency key did, so that a repeated one gives the same reply."""

    key: str
    request_hash: str
    memory_id: str
    deduped: bool
    superseded: tuple[str, ...]


class Reader(Protocol):
    """One consistent view of the store."""

    def memory(self, memory_id: str) -> Memory | None:
        """Returns the memory with this id, whatever its status."""
        ...

    def memories(self, numbers: Sequence[int]) -> dict[int, Memory]:
        """Returns memories by number; unknown numbers are left out."""
        ...

    def live_with_body(self, scope: Scope, body_hash: str) -> Memory | None:
        """Returns the live memory of a scope with this body; there is at most one."""
        ...

    def retired_bodies(self) -> dict[tuple[str, str], str]:
        """Returns the superseded, forgotten and erased: scope key and body hash, with the id of the newest of them."""
        ...

    def every(self, after: int, limit: int) -> list[Memory]:
        """Returns memories of every status in the order of their numbers, from the first above `after`."""
        ...

    def superseded_by(self, memory_id: str) -> tuple[str, ...]:
        """Returns the ids of the memories that this one replaced directly, oldest first."""
        ...

    def newest(
        self,
        scope: Scope | None,
        kind: Kind | None,
        before: tuple[int, int] | None,
        limit: int,
        source: Source = ANY_SOURCE,
    ) -> list[Memory]:
        """Returns live memories, newest first, that come after the place (created_at_ms, number) in that order."""
        ...

    def totals(self, searched: Searched) -> Totals:
        """Returns the size of the searched part of the index."""
        ...

    def frequencies(self, searched: Searched, terms: Sequence[str], at_most: int) -> dict[str, int]:
        """Returns in how many memories each term occurs, counted up to `at_most`; terms that none has are left out."""
        ...

    def postings(
        self,
        searched: Searched,
        terms: Sequence[str],
        among: Sequence[int] | None = None,
    ) -> dict[str, list[Posting]]:
        """Returns the index entries of each term, all or those of some memories."""
        ...

    def matching(self, searched: Searched, wanted: Filter) -> set[int]:
        """Returns the numbers of the memories that pass a filter."""
        ...

    def subjects(self, numbers: Sequence[int]) -> dict[int, str]:
        """Returns the subjects of those memories that have one, by number."""
        ...

    def reply_to(self, key: str) -> RecordedReply | None:
        """Returns what the write with this idempotency key did."""
        ...

    def nearest(
        self,
        searched: Searched,
        vector: Vector,
        limit: int,
        also: Sequence[int] = (),
        within: set[int] | None = None,
    ) -> Nearness:
        """Returns the memories nearest in meaning, among `within` when it is given, and those of `also`.

        Only vectors of the same model and length are compared. Of equally near ones the newer come first.
        """
        ...

    def without_vector(self, model: str, after: int, limit: int) -> list[Memory]:
        """Returns memories that searches can find and that have no vector of a model, by number, from above `after`."""
        ...


class Writer(Reader, Protocol):
    """A transaction: all of it happens, or nothing."""

    def insert(self, new: NewMemory) -> Memory:
        """Stores a live memory and files it in the index."""
        ...

    def touch(self, memory: Memory, at_ms: int) -> None:
        """Notes that a memory was stated again."""
        ...

    def supersede(self, memory: Memory, text: IndexedText, by: str, at_ms: int) -> None:
        """Retires a live memory in favour of another; it stays readable and in the index of superseded ones."""
        ...

    def forget(self, memory: Memory, text: IndexedText, client: str, at_ms: int) -> None:
        """Takes a memory out of every search; its text stays."""
        ...

    def restore(self, memory: Memory, text: IndexedText) -> None:
        """Makes a forgotten memory what it was: live, or superseded; it takes another place when its own is taken."""
        ...

    def erase(self, memory: Memory) -> None:
        """Removes the text, subject, tags and source of a forgotten memory; its id, hash and times stay."""
        ...

    def record_reply(self, reply: RecordedReply, at_ms: int) -> None:
        """Keeps the reply of a write under its idempotency key."""
        ...

    def store_vectors(self, vectors: Mapping[int, Vector]) -> None:
        """Keeps the vectors of memories, by number; one that was forgotten meanwhile gets none."""
        ...


class MemoryStore(Protocol):
    """A database of memories, safe to use from several threads and several processes.

    Every method raises a `StoreError` when the database does not do what was asked; then nothing was changed.
    """

    def reading(self) -> AbstractContextManager[Reader]:
        """Opens a consistent view."""
        ...

    def writing(self) -> AbstractContextManager[Writer]:
        """Opens a transaction that is durable when the block ends, and undone when it raises."""
        ...

    def prepare_vectors(self) -> None:
        """Makes the store ready to keep vectors; before that it has none and finds none."""
        ...

    def purge(self) -> tuple[str, ...]:
        """Removes from the files what erasing left there; returns where erased text may remain, in words."""
        ...

    def verify(self, within_s: float) -> bool:
        """Looks whether what is stored is whole; returns whether there was time to look at all of it.

        Raises:
            StoreError: Something was overwritten or is missing.
        """
        ...

    def close(self) -> None:
        """Closes the database; safe to call twice."""
        ...
