"""The entry store of one machine: a folder of JSONL chains, owned by one process.

    lock  head.json  intents.jsonl  turns.jsonl  turns.checkpoint  decisions.jsonl  decisions.checkpoint

Copies of the checkpoints are in another folder.

Order of one commit: write every chain, sync every chain, then the same for a chain whose lines are about the others',
write the head, and only then return. `head_file` says why the head's own sync may come later: with the next checkpoint,
or at the end.
"""

import errno
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

from receipt_writer.errors import LedgerBehindError, OutOfHandlesError, StorageFailedError, TakenOverError
from receipt_writer.format.instant import iso_from_ms
from receipt_writer.format.signing import Signer
from receipt_writer.storage.chain_file import ChainFile
from receipt_writer.storage.filesystem import (
    FileSystem,
    create_file,
    read_whole,
    renew_file,
    replace_file,
)
from receipt_writer.storage.head_file import CommitPoint, HeadFile, HeadRecord
from receipt_writer.storage.journal_file import JournalFile
from receipt_writer.storage.lock import FolderLock, holder_of
from receipt_writer.storage.protocol import Batch, Mark

HEAD_NAME = "head.json"
INTENTS_NAME = "intents.jsonl"

_SINGLE_FILES = (HEAD_NAME, INTENTS_NAME)

_STOPPED = "The ledger's storage failed earlier; restart the writer, which recovers what was acknowledged."


def chain_path(folder: Path, chain: str) -> Path:
    """Return where a chain's lines are."""
    return folder / f"{chain}.jsonl"


def checkpoint_path(folder: Path, chain: str) -> Path:
    """Return where a chain's newest checkpoint is."""
    return folder / f"{chain}.checkpoint"


class JsonlStore:
    """Satisfies `EntryStore` with files. Opening creates missing files and changes nothing else."""

    def __init__(
        self,
        files: FileSystem,
        lock: FolderLock,
        chains: Sequence[str],
        signer: Signer,
        copies: Path,
        *,
        other_keys: Sequence[bytes] = (),
    ) -> None:
        """Open the folder that the lock is for; `close` releases the lock. Checkpoints are copied to `copies`.

        `signer` signs the commit point; `other_keys` may have signed the one on disk, in the middle of a key change.

        Raises:
            LedgerDamagedError: `head.json` holds no record that one of these keys signed.
            StorageFailedError: A file could not be opened or read.
        """
        self._files, self._folder, self._signer, self._lock = files, lock.folder, signer, lock
        self._copies, self._other_keys = copies, other_keys
        self._failed = self._settled = False
        self._moving_head = threading.Lock()  # a checkpoint's thread syncs what the committer's thread writes
        self._sound_ends: dict[str, int] = {}
        with ExitStack() as opened, self._final_failure("opened"):
            opened.callback(lock.release)
            if lock.was_taken_over:
                self._leave_the_last_holder_behind(chains)
            self._chains = {name: ChainFile(files, chain_path(lock.folder, name), writable=True) for name in chains}
            for file in self._chains.values():
                opened.callback(file.close)
            self._journal = JournalFile(files, lock.folder / INTENTS_NAME)
            opened.callback(self._journal.close)
            self._head = self._open_head()
            if self._head:
                opened.callback(self._head.close)
            self._record = self._head.record if self._head else HeadRecord(0, 0, {})
            self._opened = opened.pop_all()

    def committed(self, chain: str) -> Mark | None:
        """Return how far the last commit reached, None without a head file or for a chain it does not know."""
        point = self._record.chains.get(chain)
        return Mark(point.size, point.hash) if point else None

    def recognise(self, chain: str, first_id: int, lengths: Sequence[int], digest: bytes) -> bytes | None:
        """Compare a part of the chain with a digest; its lines are known then."""
        with self._final_failure("read"):
            return self._chains[chain].recognise(first_id, lengths, digest)

    def lines(self, chain: str, known: int = 0) -> Iterator[bytes]:
        """Yield the chain's lines behind the known ones, up to a torn tail."""
        file, point = self._chains[chain], self._record.chains.get(chain)
        with self._final_failure("read"):
            length = file.length_bytes()
            if point and length < point.length_bytes:
                raise LedgerBehindError(
                    f"The chain {chain} has {length} bytes, but {point.length_bytes} were committed (up to entry "
                    f"{point.size}); put the newer copy back."
                )
            end = self._sound_ends[chain] = file.sound_end(point.length_bytes if point else None)
            yield from file.lines(end, known)

    def intents(self) -> list[bytes]:
        """Return the journal's complete lines; an unterminated last one was never acknowledged."""
        with self._final_failure("read"):
            return self._journal.lines()

    def has_signed_intents(self) -> bool:
        """Say whether unsigned rows are nobody's: yes, unless a commit point of a former version says nothing of it."""
        return self._head is None or self._record.signs_intents

    def settle(
        self, marks: Mapping[str, Mark], intents: Sequence[bytes], now_ms: int, refused: Sequence[bytes] = ()
    ) -> list[str]:
        """Set torn tails aside, make durable what the last process may have left in the page cache, begin a new epoch.

        What lies behind the commit point may have met a sync that failed, so it is written again before it is synced.
        """
        with self._final_failure("written"):
            reports = [report for chain in self._chains if (report := self._set_tail_aside(chain, now_ms))]
            for chain, file in self._chains.items():
                point = self._record.chains.get(chain)
                file.write_again(point.length_bytes if point else 0, self._sound_ends[chain])
                file.sync()
            if refused:
                reports.append(self._set_rows_aside(refused, now_ms))
            self._journal.replace(intents)
            points = {chain: CommitPoint(m.size, self._chains[chain].end_bytes, m.hash) for chain, m in marks.items()}
            self._record = HeadRecord(self._record.epoch + 1, self._record.commit + 1, points, signs_intents=True)
            if self._head:
                self._head.sync()  # the last process may have left one slot unsynced: never two at once
                self._head.write(self._record)
                self._head.sync()
            else:
                self._sync_names()
                self._head = HeadFile.create(self._files, self._folder / HEAD_NAME, self._record, self._signer)
                self._opened.callback(self._head.close)
            self._settled = True
        return reports

    def commit(self, batch: Batch) -> None:
        """Write, sync, move the commit point, return."""
        lines = {chain: [entry.line for entry in entries] for chain, entries in batch.entries.items() if entries}
        with self._moving_head, self._final_failure("written"):
            self._require_undisturbed(lines)
            covering = {chain: added for chain, added in lines.items() if chain == batch.covering}
            covered = {chain: added for chain, added in lines.items() if chain != batch.covering}
            for chain, added in covered.items():
                self._chains[chain].append(added)
            if batch.intents:
                self._journal.append(batch.intents)
            for chain in covered:
                self._chains[chain].sync()
            for chain, added in covering.items():  # a cut-off commit leaves no state of entries that are not there
                self._chains[chain].append(added)
                self._chains[chain].sync()
            # What was written to files that another took over must not be acknowledged. It takes no file over before it
            # has the lock, so one look is enough, behind the last sync.
            self._require_owner()
            for chain, added in lines.items():
                self._chains[chain].advance(added)
            if lines:
                self._move_commit_point({chain: batch.entries[chain][-1].hash for chain in lines})
            if batch.open_intents is not None:
                self._journal.shorten(batch.open_intents)

    def replace_intents(self, intents: Sequence[bytes]) -> None:
        """Leave only these rows in the journal."""
        with self._moving_head, self._final_failure("written"):
            self._require_sole_writer()
            self._journal.shorten(intents)

    def change_signer(self, signer: Signer) -> None:
        """Sign the present commit point anew, in the slot that is not synced, and sync it: the other slot stays."""
        with self._moving_head, self._final_failure("written"):
            self._signer = signer
            if self._head:
                self._head.sign_with(signer)
            if self._head and self._settled:
                self._require_sole_writer()
                self._record = replace(self._record, commit=self._record.commit + 1)
                self._head.write(self._record)
                self._head.sync()

    def read(self, chain: str, first_id: int, count: int) -> list[bytes]:
        """Return lines by id. A failed read is this caller's trouble, not the end of the writer."""
        try:
            return self._chains[chain].read(first_id, count)
        except OSError as error:
            raise StorageFailedError(f"The chain {chain} could not be read: {_reason(error)}.") from error

    def checkpoint(self, chain: str) -> bytes | None:
        """Return the newest checkpoint's note. A failed read is this caller's trouble, as in `read`."""
        return self._note(self._folder, chain)

    def checkpoint_copy(self, chain: str) -> bytes | None:
        """Return the note that is kept apart from the chains."""
        return self._note(self._copies, chain)

    def _note(self, folder: Path, chain: str) -> bytes | None:
        try:
            return read_whole(self._files, checkpoint_path(folder, chain))
        except OSError as error:
            message = f"The checkpoint of the chain {chain} could not be read: {_reason(error)}."
            raise StorageFailedError(message) from error

    def write_checkpoint(self, chain: str, note: bytes) -> None:
        """Make the commit point durable, then replace the checkpoint's file and its copy, each whole or not at all."""
        with self._moving_head, self._final_failure("written"):
            self._require_sole_writer()
            self._sync_head()
        with self._final_failure("written"), _shortage_passes(f"The checkpoint of the chain {chain}"):
            for folder in (self._folder, self._copies):
                replace_file(self._files, checkpoint_path(folder, chain), note)

    def close(self) -> None:
        """Make the commit point durable, close every file, and let another process have the folder."""
        try:
            if not self._failed:
                with self._final_failure("written"):
                    self._sync_head()
        finally:
            self._opened.close()

    def _sync_head(self) -> None:
        if self._head:
            self._head.sync()

    def _open_head(self) -> HeadFile | None:
        path = self._folder / HEAD_NAME
        if read_whole(self._files, path) is None:
            return None
        return HeadFile(self._files, path, self._signer, self._other_keys)

    def _set_tail_aside(self, chain: str, now_ms: int) -> str | None:
        file, end = self._chains[chain], self._sound_ends[chain]
        length = file.length_bytes()
        if length == end:
            return None
        aside = self._kept_aside(f"{chain}.torn", file.read_bytes(end, length), now_ms)  # kept before it is cut
        file.cut(end)
        return f"The chain {chain} ended in {length - end} bytes of a write that was cut off; they are in {aside.name}."

    def _set_rows_aside(self, rows: Sequence[bytes], now_ms: int) -> str:
        aside = self._kept_aside("intents.refused", b"".join(row + b"\n" for row in rows), now_ms)
        return (
            f"{len(rows)} rows of the intent journal are damaged or not signed by this ledger, so no turn is recorded "
            f"for them; they are in {aside.name}."
        )

    def _kept_aside(self, name: str, content: bytes, now_ms: int) -> Path:
        stamp = iso_from_ms(now_ms).replace("-", "").replace(":", "")
        aside = self._folder / f"{name}-{stamp}"
        numbers = count(2)
        while True:
            try:
                create_file(self._files, aside, content)
            except FileExistsError:  # a clock that stands, or stepped back, names the same moment again
                aside = self._folder / f"{name}-{stamp}-{next(numbers)}"
            else:
                return aside

    def _sync_names(self) -> None:
        chains, receipts, home, above = (self._folder, *self._folder.parents[:3])
        for folder in (chains, receipts, home):
            self._files.sync_folder(folder)
        with suppress(PermissionError):  # not ours to read everywhere; only a home that is new needs it
            self._files.sync_folder(above)

    def require_owner(self) -> None:
        """Look whether another writer took over."""
        with self._final_failure("kept"):
            self._require_owner()

    def _leave_the_last_holder_behind(self, chains: Sequence[str]) -> None:
        for path in (*(chain_path(self._folder, name) for name in chains), *map(self._folder.joinpath, _SINGLE_FILES)):
            renew_file(self._files, path)

    def _require_owner(self) -> None:
        if not self._lock.is_held():
            self._failed = True
            raise TakenOverError(
                f"Another writer, process {holder_of(self._files, self._folder)}, took over these chains; this one "
                "stops, and acknowledges nothing more."
            )

    def _require_sole_writer(self) -> None:
        self._require_owner()
        self._require_undisturbed(self._chains)

    def _require_undisturbed(self, chains: Iterable[str]) -> None:
        moved = any(self._chains[name].length_bytes() != self._chains[name].end_bytes for name in chains)
        if moved or not (self._head and self._head.is_undisturbed()):
            raise OSError("another process wrote to the chains")

    def _move_commit_point(self, hashes: Mapping[str, str]) -> None:
        moved = {
            chain: CommitPoint(self._chains[chain].size, self._chains[chain].end_bytes, newest)
            for chain, newest in hashes.items()
        }
        chains = {**self._record.chains, **moved}
        self._record = replace(self._record, commit=self._record.commit + 1, chains=chains)
        if self._head:
            self._head.write(self._record)

    @contextmanager
    def _final_failure(self, done: str) -> Iterator[None]:
        if self._failed:
            raise StorageFailedError(_STOPPED)
        try:
            yield
        except OSError as error:
            self._failed = True
            raise StorageFailedError(f"The ledger could not be {done}: {_reason(error)}; the writer stops.") from error


@contextmanager
def _shortage_passes(what: str) -> Iterator[None]:
    """Let a want of file handles pass: whole files are replaced here, so whatever was done is safe to do again."""
    try:
        yield
    except OSError as error:
        if error.errno not in {errno.EMFILE, errno.ENFILE}:
            raise
        raise OutOfHandlesError(f"{what} could not be written: {_reason(error)}; it will be tried again.") from error


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
