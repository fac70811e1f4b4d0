"""Removing all memories of one source, such as what a poisoned page made an agent remember."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

from memory_mcp.errors import InvalidArgumentError, StoreError
from memory_mcp.indexing import index_text
from memory_mcp.mirror.protocol import Mirror
from memory_mcp.model import ANY_SOURCE, Memory, Origin, OriginCount, Source, Status, Swept
from memory_mcp.storage.protocol import MemoryStore, Reader

_READ_AT_ONCE = 500


class Removal:
    """Says where memories came from and removes those of one source; `now_ms` is ms since 1970 UTC."""

    def __init__(self, store: MemoryStore, mirror: Mirror, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._mirror = mirror
        self._now_ms = now_ms

    def forget_source(self, source: Source, origin: Origin, *, hard: bool = False, dry_run: bool = False) -> Swept:
        """Forgets all memories of a source, live and superseded, in one transaction; `hard` also erases their text.

        Raises:
            InvalidArgumentError: The source is any.
            StoreError: The store refused; nothing was forgotten.
        """
        if source == ANY_SOURCE:
            raise InvalidArgumentError("Say whose memories to forget: send an origin, a trust, or both.")
        now_ms = self._now_ms()
        with self._store.writing() as writer:
            meant = [
                memory
                for memory in every(writer)
                if source.covers(memory.origin) and (memory.forgotten_at_ms is None or (hard and not memory.erased))
            ]
            for memory in () if dry_run else meant:
                if memory.forgotten_at_ms is None:
                    writer.forget(memory, index_text(memory.content), origin.client, now_ms)
                if hard:
                    writer.erase(memory)
        ids = tuple(memory.id for memory in meant)
        if dry_run or not ids:
            return Swept(tuple(meant))
        self._mirror.changed(ids)
        return Swept(tuple(meant), erased_remains(self._store, self._mirror, ids) if hard else ())

    def origins(self) -> list[OriginCount]:
        """Returns who stored memories, with how many of each are live, superseded and forgotten; the most live first.

        Raises:
            StoreError: The store refused.
        """
        counts: dict[Origin, Counter[Status]] = defaultdict(Counter)
        with self._store.reading() as reader:
            for memory in every(reader):
                counts[memory.origin][memory.status] += 1
        found = [
            OriginCount(
                origin,
                live=by_status[Status.LIVE],
                superseded=by_status[Status.SUPERSEDED],
                forgotten=by_status[Status.FORGOTTEN] + by_status[Status.ERASED],
            )
            for origin, by_status in counts.items()
        ]
        return sorted(found, key=lambda one: (-one.live, one.origin.client, one.origin.trust))


def every(reader: Reader) -> Iterator[Memory]:
    """Yields every memory of the store, whatever its status, in the order in which they were stored."""
    after = 0
    while page := reader.every(after, _READ_AT_ONCE):
        yield from page
        after = page[-1].number


def erased_remains(store: MemoryStore, mirror: Mirror, memory_ids: Sequence[str]) -> tuple[str, ...]:
    """Purges mirror and store of erased memories; returns, in words, where their text may still be.

    The text is erased by now, so a failure only means that files may still hold it.
    """
    mirrored = mirror.purge(memory_ids)
    try:
        return mirrored + store.purge()
    except StoreError:
        return (*mirrored, "the files of the store, which could not be cleaned now")
