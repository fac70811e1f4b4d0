"""The reading side: entries, heads, checkpoints and proofs. It writes nothing but a new checkpoint, when asked."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from receipt_writer.errors import EntryNotFoundError, LedgerDamagedError, NotPossibleYetError, RequestRefusedError
from receipt_writer.format.chain import Head
from receipt_writer.format.checkpoint import parse_note
from receipt_writer.format.errors import CheckpointError
from receipt_writer.format.merkle import consistency_path, inclusion_path
from receipt_writer.index import ChainIndex, Filter
from receipt_writer.ledger import Ledger
from receipt_writer.storage.protocol import EntryStore
from receipt_writer.upkeep import Checkpoints

_READ_AT_ONCE = 64  # lines
_HELD_BYTES = 1 << 18  # of lines that a stream holds while its caller takes them
_HASH_MEMBER = b',"hash":"'
_HASH_CHARACTERS = 64


@dataclass(frozen=True)
class StoredEntry:
    """One entry as it stands in its chain; `line` is the truth and has no line break."""

    layer: str
    id: int
    line: bytes
    recorded_at_ms: int

    @property
    def hash(self) -> str:
        """The entry's hash, as the line states it."""
        start = self.line.rindex(_HASH_MEMBER) + len(_HASH_MEMBER)
        return self.line[start : start + _HASH_CHARACTERS].decode()


@dataclass(frozen=True)
class InclusionProof:
    """That an entry is under a tree head (RFC 6962 section 2.1.1)."""

    size: int
    leaf_hash: bytes
    path: list[bytes]
    root_hash: bytes


@dataclass(frozen=True)
class ConsistencyProof:
    """That one tree is a prefix of another (RFC 6962 section 2.1.2)."""

    path: list[bytes]
    from_root: bytes
    to_root: bytes


@dataclass(slots=True)
class _Search:
    """How far the search for a filter's entries is."""

    ids: Iterator[int]
    ahead: deque[int] = field(default_factory=deque)  # ids that were taken and not read yet
    page: int = _READ_AT_ONCE  # how many to read next; long lines are read fewer at a time

    def take(self, most: int) -> list[int]:
        """Return the next ids, none only at the end."""
        wanted = min(self.page, most)
        self.ahead.extend(islice(self.ids, max(wanted - len(self.ahead), 0)))
        return [self.ahead.popleft() for _ in range(min(wanted, len(self.ahead)))]

    def keep(self, entries: list[StoredEntry]) -> list[StoredEntry]:
        """Return the first of the entries that were read, as many as a stream may hold; the others are read again."""
        left_bytes, kept = _HELD_BYTES, 0
        while kept < len(entries) and left_bytes > 0:
            left_bytes -= len(entries[kept].line)
            kept += 1
        self.ahead.extendleft(entry.id for entry in reversed(entries[kept:]))
        self.page = min(2 * kept, _READ_AT_ONCE)
        return entries[:kept]


class Queries:
    """Answers about committed entries. Reads run beside the commits and never wait for them.

    Attributes:
        growth: Wakes who waits for new entries or checkpoints of a chain.
    """

    def __init__(self, ledger: Ledger, store: EntryStore, checkpoints: Checkpoints) -> None:
        self._ledger, self._store, self._checkpoints = ledger, store, checkpoints
        self.growth = checkpoints.growth

    def head(self, layer: str) -> Head:
        """Return the newest entry's id, hash and time."""
        return self._ledger.indexes[layer].head

    def origin(self, layer: str) -> str:
        """Return a chain's origin."""
        return self._ledger.indexes[layer].origin

    async def entry(self, layer: str, entry_id: int) -> StoredEntry:
        """Return one entry.

        Raises:
            EntryNotFoundError: The chain ends before it, or the id is 0.
            LedgerDamagedError: The stored line is not the one that was recorded.
        """
        index = self._ledger.indexes[layer]
        _require_entry(index, entry_id)
        (entry,) = await asyncio.to_thread(self._read, index, [entry_id])
        return entry

    def newest(self, layer: str, first_id: int) -> list[StoredEntry]:
        """Return every entry from an id on, as committed, when all of them are still in memory; else none.

        For those who follow a chain and stand at its end: nothing is read, and the lines are shared by all of them.
        """
        index, lines = self._ledger.indexes[layer], self._ledger.newest[layer].since(first_id)
        return [StoredEntry(layer, one, line, index.recorded_at_ms(one)) for one, line in enumerate(lines, first_id)]

    async def entries(self, layer: str, wanted: Filter) -> AsyncIterator[StoredEntry]:
        """Yield the entries that a filter asks for, as of now: what is appended meanwhile is not among them.

        They are found and read 64 at a time at most, and a stream of any length holds 256 KiB of lines and one more.

        Raises:
            RequestRefusedError: The filter does not fit the chain.
            LedgerDamagedError: A stored line is not the one that was recorded.
        """
        index = self._ledger.indexes[layer]
        search = _Search(index.select(replace(wanted, limit=0)))
        left = wanted.limit or index.head.size
        while left and (entries := await asyncio.to_thread(self._next, index, wanted, search, left)):
            left -= len(entries)
            for entry in entries:
                yield entry

    def checkpoint_size(self, layer: str) -> int:
        """Return how many entries the newest checkpoint covers, 0 when there is none."""
        return self._checkpoints.size(layer)

    async def checkpoint(self, layer: str, *, fresh: bool) -> tuple[str, int]:
        """Return the newest checkpoint's note and size, after making one of the present head when `fresh`.

        Raises:
            EntryNotFoundError: There is none yet.
            LedgerDamagedError: What is stored is no checkpoint any more.
        """
        if fresh:
            await self._checkpoints.write(layer)
        chain = self._ledger.indexes[layer].layer.chain
        note = await asyncio.to_thread(self._store.checkpoint, chain)
        if note is None:
            raise EntryNotFoundError(f"The chain {chain} has no checkpoint yet; ask again with fresh set.")
        try:
            text = note.decode()
            return text, parse_note(text).checkpoint.size
        except (CheckpointError, UnicodeDecodeError) as error:
            raise LedgerDamagedError(
                f"The stored checkpoint of the chain {chain} is none any more; ask with fresh set when it has grown."
            ) from error

    async def inclusion(self, layer: str, entry_id: int, size: int) -> InclusionProof:
        """Prove that an entry is under the tree of a size; 0 takes the newest checkpoint's.

        Raises:
            EntryNotFoundError: No such entry.
            NotPossibleYetError: The tree of that size does not hold it, or there is no such tree yet.
        """
        index = self._ledger.indexes[layer]
        _require_entry(index, entry_id)
        size = size or self._checkpoints.size(layer)
        _require_size(index, size)
        if entry_id > size:
            raise NotPossibleYetError(
                f"Entry {entry_id} is newer than the tree of size {size}; name a size up to {index.head.size}, or make "
                "a fresh checkpoint first."
            )
        tree = index.tree  # some hundred hashes at most: a thread would cost more
        path = inclusion_path(tree, entry_id - 1, size)
        return InclusionProof(size, tree[entry_id - 1], path, tree.root(size))

    async def consistency(self, layer: str, from_size: int, to_size: int) -> ConsistencyProof:
        """Prove that the tree of one size is a prefix of the tree of another.

        Raises:
            RequestRefusedError: Not 1 <= from_size <= to_size.
            NotPossibleYetError: The chain is shorter than to_size.
        """
        index = self._ledger.indexes[layer]
        if not 1 <= from_size <= to_size:
            raise RequestRefusedError(
                f"There is no proof from size {from_size} to size {to_size}; name an older size of at least 1 first."
            )
        _require_size(index, to_size)
        tree = index.tree
        return ConsistencyProof(consistency_path(tree, from_size, to_size), tree.root(from_size), tree.root(to_size))

    def _next(self, index: ChainIndex, wanted: Filter, search: _Search, most: int) -> list[StoredEntry]:
        """Return the next entries that are wanted, none only at the end."""
        while taken := search.take(most):
            entries = search.keep(self._read(index, taken))
            if wanted.members:
                entries = [entry for entry in entries if index.matches(wanted, json.loads(entry.line))]
            if entries:
                return entries
        return []

    def _read(self, index: ChainIndex, ids: Sequence[int]) -> list[StoredEntry]:
        chain, layer = index.layer.chain, index.layer.name
        lines: dict[int, bytes] = {}
        for first, last in _runs(sorted(ids)):
            lines.update(enumerate(self._store.read(chain, first, last - first + 1), first))
        for one, line in lines.items():
            index.require_recorded(one, line)
        return [StoredEntry(layer, one, lines[one], index.recorded_at_ms(one)) for one in ids]


def _runs(ids: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for one in ids:
        if runs and runs[-1][1] == one - 1:
            runs[-1] = (runs[-1][0], one)
        else:
            runs.append((one, one))
    return runs


def _require_entry(index: ChainIndex, entry_id: int) -> None:
    if not 1 <= entry_id <= index.head.size:
        newest = f"its ids run from 1 to {index.head.size}" if index.head.size else "it is empty"
        raise EntryNotFoundError(f"The chain {index.layer.chain} has no entry {entry_id}; {newest}.")


def _require_size(index: ChainIndex, size: int) -> None:
    if size == 0:
        raise NotPossibleYetError(f"The chain {index.layer.chain} has no checkpoint yet; make a fresh one first.")
    if size > index.head.size:
        raise NotPossibleYetError(
            f"The chain {index.layer.chain} has {index.head.size} entries, so there is no tree of size {size} yet."
        )
