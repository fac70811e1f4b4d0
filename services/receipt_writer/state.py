"""`state.json`: one signed line under which every chain of a ledger hangs (spec section 2, RF-30).

The state chain is the truth, the file its newest line. So the file is made again at any time, and one that cannot be
written never ends the writer: it is tried again at the next look.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from receipt_writer.errors import EntryNotFoundError, ReceiptError
from receipt_writer.format.entry import Entry
from receipt_writer.format.state import REGENERATION_LAYER, STATE_LAYER, covered_sizes
from receipt_writer.index import ChainIndex
from receipt_writer.ledger import Ledger
from receipt_writer.storage.filesystem import FileSystem, read_whole, replace_file
from receipt_writer.storage.protocol import EntryStore
from receipt_writer.writer import Writer

STATE_EVERY_MS = 3_600_000
"""How old the state may be while something else grows: one hour."""

_log = logging.getLogger(__name__)
_OWN_LAYERS = frozenset({STATE_LAYER, REGENERATION_LAYER})


@dataclass(frozen=True)
class _Covered:
    """What the newest state says: its id (0 for none), when it was made, and how far it reaches, by chain name."""

    id: int = 0
    made_at_ms: int = 0
    sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class StateFile:
    """The file that people take away: a state's line and one line break, whole or not there."""

    files: FileSystem
    path: Path

    def hold(self, line: bytes) -> None:
        """Make the file this line, durably, unless it is.

        Raises:
            OSError: The disk refused; the old file stands.
        """
        content = line + b"\n"
        if read_whole(self.files, self.path) != content:
            replace_file(self.files, self.path, content)


class State:
    """Makes new states when asked and on a schedule, and keeps the file the newest of them."""

    def __init__(self, ledger: Ledger, store: EntryStore, writer: Writer, file: StateFile, every_ms: int) -> None:
        """Keep `file`; while something grows, a state is made every `every_ms` milliseconds."""
        self._ledger, self._store, self._writer = ledger, store, writer
        self._file, self.every_ms = file, every_ms
        self._regenerating, self._publishing = asyncio.Lock(), asyncio.Lock()
        self._runs = 0
        self._last_run: Entry | None = None
        self._published_id = 0
        self._complaint = ""
        self._covered = _Covered()

    def newest(self) -> bytes:
        """Return the newest state's line, without its line break.

        Raises:
            EntryNotFoundError: No state was made yet.
            StorageFailedError, LedgerDamagedError: It cannot be read back as it was recorded.
        """
        index = self._index()
        if index.head.size == 0:
            raise EntryNotFoundError("The ledger has no state yet; ask again with fresh set.")
        (line,) = self._store.read(index.layer.chain, index.head.size, 1)
        index.require_recorded(index.head.size, line)
        return line

    def restore(self) -> None:
        """Make the file the newest state again at start, when it is missing or another one.

        Raises:
            StorageFailedError, LedgerDamagedError: The newest state cannot be read back.
        """
        if self._index().head.size:
            self._hold_newest()

    async def regenerate(self, reason: str) -> Entry:
        """Record a new state, durably, and publish it. `reason` is `scheduled`, `requested` or `key_changed`.

        Requests that wait while a run is made share the next one: it covers all that was recorded when they came.

        Raises:
            ReceiptError: As `Writer.append`.
        """
        runs = self._runs
        async with self._regenerating:
            shared = self._last_run if self._runs > runs and reason == "requested" else None
            if shared is None:
                self._runs += 1
                shared = self._last_run = await self._writer.regenerate(reason)
        await self.publish()
        return shared

    async def look(self, now_ms: int) -> None:
        """Make the state that is due, and the file when it is behind; what cannot be done is left to a later look."""
        try:
            if self.is_due(now_ms):
                await self.regenerate("scheduled")
            elif self._published_id < self._index().head.size:
                await self.publish()
        except ReceiptError as refusal:  # the queue is full, the writer ends, or the newest state cannot be read back
            self._complain(f"The state was not made: {refusal}")

    def is_due(self, now_ms: int) -> bool:
        """Say whether something has grown and the newest state, or what no state covers, is an hour old."""
        covered, grown = self._newest_covered(), self._grown()
        if not grown:
            return False
        oldest = [index.recorded_at_ms(covered.sizes.get(index.layer.chain, 0) + 1) for index in grown]
        since_ms = covered.made_at_ms if covered.id else min(oldest)
        return abs(now_ms - since_ms) >= self.every_ms  # a clock that stepped makes a state early rather than never

    def is_behind(self) -> bool:
        """Say whether something has grown since the newest state, so that one will be due some time."""
        return bool(self._grown())

    async def publish(self) -> None:
        """Make the file the newest state. A caller that leaves does not stop the write."""
        await asyncio.shield(asyncio.ensure_future(self._publish()))

    async def rest(self) -> None:
        """Wait until the file is not being written."""
        async with self._publishing:
            return

    async def _publish(self) -> None:
        async with self._publishing:
            if self._published_id < self._index().head.size:
                await asyncio.to_thread(self._hold_newest)

    def _hold_newest(self) -> None:
        size = self._index().head.size
        try:
            self._file.hold(self.newest())
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            self._complain(f"{self._file.path} could not be written: {reason}; it will be tried again.")
        else:
            self._published_id, self._complaint = size, ""

    def _complain(self, complaint: str) -> None:
        if complaint != self._complaint:  # else every look would repeat it
            _log.warning("%s", complaint)
        self._complaint = complaint

    def _grown(self) -> list[ChainIndex]:
        sizes = self._newest_covered().sizes
        return [
            index
            for layer, index in self._ledger.indexes.items()
            if layer not in _OWN_LAYERS and index.head.size > sizes.get(index.layer.chain, 0)
        ]

    def _newest_covered(self) -> _Covered:
        index = self._index()
        if index.head.size != self._covered.id:
            members = json.loads(self.newest())
            self._covered = _Covered(index.head.size, index.head.recorded_at_ms, covered_sizes(members))
        return self._covered

    def _index(self) -> ChainIndex:
        return self._ledger.indexes[STATE_LAYER]
