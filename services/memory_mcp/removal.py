"""Removing all memories of one source, such as what a poisoned page made an agent remember, and the way back."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

from memory_mcp.errors import InvalidArgumentError, StoreError
from memory_mcp.indexing import index_text
from memory_mcp.intake import checked_id
from memory_mcp.mirror.protocol import Mirror
from memory_mcp.model import ANY_SOURCE, Memory, Origin, OriginCount, Restored, Source, Status, Swept
from memory_mcp.storage.protocol import MemoryStore, Reader
from memory_mcp.versions import known

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

    def restore(
        self, memory_ids: Sequence[str] = (), source: Source = ANY_SOURCE, *, dry_run: bool = False
    ) -> Restored:
        """Brings back forgotten memories, by id or all of a source, in one transaction; what was erased is gone.

        Of several with the same text the newest comes back. A dry run does the same and undoes it.

        Raises:
            InvalidArgumentError: Neither ids nor a source was named, or an id is none.
            UnknownMemoryError: There is no memory with an id; none was brought back.
            StoreError: The store refused; none was brought back.
        """
        if not memory_ids and source == ANY_SOURCE:
            raise InvalidArgumentError("Say which memories to bring back: send ids, or an origin, a trust, or both.")
        back: list[Memory] = []
        left: dict[str, str] = {}
        try:
            with self._store.writing() as writer:
                for memory in _meant(writer, memory_ids, source):
                    if why := _not_back(writer, memory):
                        left[memory.id] = why
                        continue
                    writer.restore(memory, index_text(memory.content))
                    back.append(memory)
                if dry_run:
                    _undo()
        except _DryRun:
            return Restored(tuple(back), left)
        self._mirror.changed([memory.id for memory in back])
        return Restored(tuple(back), left)

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


class _DryRun(Exception):  # noqa: N818 - it undoes the transaction and never leaves this module
    """Undoes a dry run."""


def _undo() -> NoReturn:
    raise _DryRun


def _meant(reader: Reader, memory_ids: Sequence[str], source: Source) -> list[Memory]:
    """Returns the memories to bring back, newest first."""
    if memory_ids:
        found = {memory.id: memory for memory in (known(reader, checked_id(one)) for one in memory_ids)}
        meant = list(found.values())
    else:
        meant = [one for one in every(reader) if source.covers(one.origin) and one.status is Status.FORGOTTEN]
    return sorted(meant, key=lambda memory: -memory.number)


def _not_back(reader: Reader, memory: Memory) -> str | None:
    """Returns why a memory cannot be brought back, none when it can."""
    if memory.erased:
        return "its text was erased"
    if memory.forgotten_at_ms is None:
        return "it is not forgotten"
    same = None if memory.superseded_by else reader.live_with_body(memory.content.scope, memory.body_hash)
    return f"{same.id} says the same" if same else None


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
