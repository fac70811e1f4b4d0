"""What has to happen without anybody asking: checkpoints, states, and turns that stay silent past their deadline.

A checkpoint that cannot be written ends the writer, with one exception: when no file handle is left, nothing was
changed, so it is tried again at the next look and the writer goes on (the chains' own files are open all the time).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType

from receipt_writer.errors import OutOfHandlesError, ReceiptError, StorageFailedError
from receipt_writer.format.checkpoint import Checkpoint, sign_checkpoint
from receipt_writer.format.entry import Entry
from receipt_writer.format.signing import Signer
from receipt_writer.growth import Growth
from receipt_writer.index import ChainIndex, RowKeeper
from receipt_writer.intents import Intent
from receipt_writer.ledger import Ledger
from receipt_writer.state import State
from receipt_writer.storage.protocol import EntryStore
from receipt_writer.writer import Clock, Writer

_log = logging.getLogger(__name__)

CHECKPOINT_ENTRIES = 256
"""A checkpoint is due after so many new entries …"""
CHECKPOINT_MS = 30_000
"""… or when the oldest new entry is so old (spec section 6)."""

_TURNS_AT_ONCE = 128  # half a commit, so that callers have the other half


class Checkpoints:
    """The newest checkpoint of every chain; made from committed entries only, written one at a time.

    Attributes:
        growth: Told after every commit and every checkpoint.
    """

    def __init__(
        self,
        ledger: Ledger,
        store: EntryStore,
        signer: Signer,
        sizes: dict[str, int],
        keepers: Mapping[str, RowKeeper] = MappingProxyType({}),
    ) -> None:
        """Start from the sizes of the stored checkpoints, by layer name; 0 for a chain that has none.

        `keepers`, by layer name, keep what the index knows of the entries under each new checkpoint.
        """
        self.signer = signer  # replaced when the checkpoint key rotates
        self._ledger, self._store = ledger, store
        self._sizes, self._keepers = sizes, keepers
        self._short: set[str] = set()
        self._writing = asyncio.Lock()
        self.growth = Growth(ledger.indexes)

    def are_due(self, now_ms: int) -> bool:
        """Say whether some chain should get a checkpoint now."""
        return any(self._is_due(index, now_ms) for index in self._ledger.indexes.values())

    def size(self, layer: str) -> int:
        """Return the size of a chain's newest checkpoint, 0 when there is none."""
        return self._sizes[layer]

    async def write(self, layer: str) -> None:
        """Make the present head a checkpoint, durably, unless it is one.

        A caller that leaves does not stop the write: two of them at once would take one another's temporary file.

        Raises:
            StorageFailedError: The medium refused.
            OutOfHandlesError: No file could be opened for now; nothing was changed.
        """
        await asyncio.shield(asyncio.ensure_future(self._write(layer)))

    async def write_due(self, now_ms: int) -> None:
        """Write the checkpoints that are due; those for which no file can be opened stay due.

        Raises:
            StorageFailedError: The medium refused.
        """
        await self._write_each([layer for layer, index in self._ledger.indexes.items() if self._is_due(index, now_ms)])

    async def write_all_new(self) -> None:
        """Write a checkpoint for every chain that grew since its last one; nothing is being written afterwards.

        One for which no file can be opened is left to the next start.

        Raises:
            StorageFailedError: The medium refused.
        """
        sizes = {layer: index.head.size for layer, index in self._ledger.indexes.items()}
        await self._write_each([layer for layer, size in sizes.items() if size > self._sizes[layer]])
        await self.rest()

    def require_owner(self) -> None:
        """Look whether another writer took the chains over.

        Raises:
            TakenOverError: It did.
        """
        self._store.require_owner()

    async def rest(self) -> None:
        """Wait until no checkpoint is being written."""
        async with self._writing:
            return

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Write no checkpoint during the block, in which the key that signs them may change."""
        async with self._writing:
            yield

    async def _write_each(self, layers: Sequence[str]) -> None:
        for layer in layers:
            try:
                await self.write(layer)
                self._short.discard(layer)
            except OutOfHandlesError as shortage:
                if layer not in self._short:  # else every look would repeat it
                    _log.warning("%s", shortage)
                self._short.add(layer)

    async def _write(self, layer: str) -> None:
        index = self._ledger.indexes[layer]
        async with self._writing:
            head, root = index.head, index.frontier.root()
            if head.size == self._sizes[layer] and head.size:
                return
            note = sign_checkpoint(Checkpoint(index.origin, head.size, root), self.signer)
            await asyncio.to_thread(self._store.write_checkpoint, index.layer.chain, note.encode())
            self._sizes[layer] = head.size
            self.growth.tell(layer)
            await self._keep(layer)

    async def keep_rows(self) -> None:
        """Have the rows under the present checkpoints kept: those that the last process did not get to."""
        async with self._writing:
            for layer in self._keepers:
                await self._keep(layer)

    async def _keep(self, layer: str) -> None:
        if layer in self._keepers:
            await asyncio.to_thread(self._keepers[layer].keep, self._sizes[layer], self.signer)

    def _is_due(self, index: ChainIndex, now_ms: int) -> bool:
        size = self._sizes[index.layer.name]
        if index.head.size == size:
            return False
        # A clock that stepped either way makes a checkpoint early rather than never.
        age_ms = abs(now_ms - index.recorded_at_ms(size + 1))
        return index.head.size - size >= CHECKPOINT_ENTRIES or age_ms >= CHECKPOINT_MS


class Upkeep:
    """Looks after checkpoints, states and deadlines every `every_s` seconds, and at once when 256 entries are new."""

    def __init__(self, writer: Writer, checkpoints: Checkpoints, state: State, clock: Clock, every_s: float) -> None:
        self._ledger, self._writer, self._checkpoints, self._state = writer.ledger, writer, checkpoints, state
        self._clock, self._every_s = clock, every_s
        self._wake = asyncio.Event()

    def after_commit(self) -> None:
        """Wake those who watch the chains that grew; look whether a checkpoint is due now."""
        self._checkpoints.growth.look()
        if self._checkpoints.are_due(self._clock()):
            self._wake.set()

    async def run(self) -> None:
        """Run until cancelled; a storage failure ends the writer."""
        await self._checkpoints.keep_rows()
        while True:
            self._wake.clear()
            try:
                await self.look_once()
            except StorageFailedError as failure:
                _log.critical("%s", failure)
                self._writer.fail(failure)
                return
            await self._pause()

    async def look_once(self) -> None:
        """Write the checkpoints and the state that are due, then record the turns that are past their deadline.

        Raises:
            StorageFailedError: A checkpoint could not be written, or another writer took over.
        """
        now_ms = self._clock()
        self._checkpoints.require_owner()
        await self._checkpoints.write_due(now_ms)
        await self._state.look(now_ms)
        silent = self._ledger.silent_turns(now_ms)
        recorded = list[Entry]()
        for start in range(0, len(silent), _TURNS_AT_ONCE):
            entries = await self._interrupt(silent[start : start + _TURNS_AT_ONCE])
            recorded += entries
            if not entries:
                break  # no room, or no writer any more
            await self._checkpoints.write_due(now_ms)
        if len(recorded) == 1:
            turn_id, entry_id = recorded[0].fields["turnId"], recorded[0].id
            _log.warning("Turn %s stayed silent; entry %d records it as interrupted.", turn_id, entry_id)
        elif recorded:
            ids = recorded[0].id, recorded[-1].id
            _log.warning("%d turns stayed silent; entries %d to %d record them as interrupted.", len(recorded), *ids)

    async def _interrupt(self, silent: Sequence[Intent]) -> list[Entry]:
        """Record silent turns, which makes one commit; what is refused is looked at again."""
        asked = (self._writer.interrupt(intent) for intent in silent)
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, ReceiptError):  # it reported in the same moment, or the queue is full
                _log.info("A silent turn was not recorded as interrupted: %s", outcome)
            elif isinstance(outcome, BaseException):
                raise outcome
        return [outcome for outcome in outcomes if isinstance(outcome, Entry)]

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._wake.wait(), self._every_s)
        except TimeoutError:
            return
