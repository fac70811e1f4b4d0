"""Reading a receipts folder without a writer: no lock, no private key, nothing changed; a live writer may go on."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from receipt_writer.errors import EntryNotFoundError, LedgerDamagedError, ReceiptError, StorageFailedError
from receipt_writer.format.checkpoint import parse_note
from receipt_writer.format.errors import CheckpointError, PolicyError
from receipt_writer.format.policy import Policy, TrustedKey, parse_policy
from receipt_writer.format.schema import LAYERS
from receipt_writer.identity import chains_folder, policy_path, read_substrate_id
from receipt_writer.index import ChainIndex
from receipt_writer.progress import Advance, nobody
from receipt_writer.query import StoredEntry
from receipt_writer.replay import add_unchecked, read_checkpoint, replay_chain, require_copy
from receipt_writer.storage.chain_file import ChainFile
from receipt_writer.storage.filesystem import OsFileSystem, read_whole
from receipt_writer.storage.head_file import newest_record
from receipt_writer.storage.jsonl import HEAD_NAME, chain_path, checkpoint_path
from receipt_writer.storage.protocol import Mark
from service_runtime.errors import SetupError

_TOLD_EVERY = 512  # lines
_LONGEST_ID = 17  # digits; ids end at 2^53-1


@dataclass(frozen=True)
class OfflineChain:
    """One chain as it was on disk when it was opened."""

    index: ChainIndex
    note: str | None  # the newest checkpoint
    _file: ChainFile

    @property
    def checkpoint_size(self) -> int:
        """How many entries the newest checkpoint covers, 0 when there is none."""
        return parse_note(self.note).checkpoint.size if self.note else 0

    def id_of(self, text: str) -> int:
        """Return the id of the entry that a person names by its id, turnId or callId.

        Raises:
            EntryNotFoundError: There is none.
        """
        number = int(text) if text.isascii() and text.isdigit() and len(text) < _LONGEST_ID else 0
        found = self.index.id_of(text) or (number if number <= self.index.head.size else 0)
        if not found:
            raise EntryNotFoundError(
                f"The chain {self.index.layer.chain} has no entry {text[:40]!r}; "
                f"receipt-writer list --chain {self.index.layer.chain} shows what it has."
            )
        return found

    def entry(self, entry_id: int) -> StoredEntry:
        """Return an entry that exists."""
        (line,) = self._file.read(entry_id, 1)
        return StoredEntry(self.index.layer.name, entry_id, line, self.index.recorded_at_ms(entry_id))


@dataclass(frozen=True)
class Finding:
    """What a full check of one chain says; `fault` is None when everything holds."""

    chain: str
    entries: int
    head_hash: str
    checkpoint_size: int
    torn_bytes: int
    fault: str | None


@contextmanager
def open_chain(folder: Path, layer: str) -> Iterator[OfflineChain]:
    """Open a chain for reading; its lines are taken as they are, `check_chain` judges them.

    Raises:
        SetupError: There is no ledger in the folder.
        LedgerDamagedError: A line is not even an object with a hash and a time.
        StorageFailedError: A file could not be read.
    """
    files = OsFileSystem()
    index = ChainIndex(LAYERS[layer], read_substrate_id(files, folder))
    with _reading(index.layer.chain):
        note = read_whole(files, checkpoint_path(chains_folder(folder), index.layer.chain))
        file = _open(folder, index.layer.chain)
        try:
            for line in file.lines(file.sound_end(None)):
                add_unchecked(index, line)
            yield OfflineChain(index, note.decode() if note else None, file)
        except (CheckpointError, UnicodeDecodeError) as error:
            raise LedgerDamagedError(
                f"The checkpoint of the chain {index.layer.chain} cannot be read: {error}"
            ) from error
        finally:
            file.close()


def check_chain(folder: Path, layer: str, advance: Advance = nobody) -> Finding:
    """Judge every line of a chain, its checkpoint and its commit point, under the folder's own policy file.

    That the policy is the right one is for an outside verifier to say; this finds accidents and clumsy edits.
    `advance` is told now and then how far it is.

    Raises:
        SetupError: There is no ledger in the folder.
        StorageFailedError: A file could not be read.
    """
    files = OsFileSystem()
    index = ChainIndex(LAYERS[layer], read_substrate_id(files, folder))
    chain, chains = index.layer.chain, chains_folder(folder)
    keys = read_policy(folder, chain).keys
    size, torn, fault = 0, 0, None
    with _reading(chain):
        # Oldest evidence first: a live writer may append while this reads, and a chain only grows.
        copy, head = read_whole(files, checkpoint_path(folder, chain)), read_whole(files, chains / HEAD_NAME)
        note = read_whole(files, checkpoint_path(chains, chain))
        file = _open(folder, chain)
        try:
            point = newest_record(head, _entry_key(keys))[0].chains.get(chain) if head else None
            end = file.sound_end(point.length_bytes if point else None)
            torn = file.length_bytes() - end
            checkpoint = read_checkpoint(note, index, keys)
            size = checkpoint.size if checkpoint else 0
            committed = Mark(point.size, point.hash) if point else None
            lines = _counted(file.lines(end), end, advance)
            replay_chain(index, lines, keys, checkpoint=checkpoint, committed=committed, check_all=True)
            require_copy(index, read_checkpoint(copy, index, keys))
        except LedgerDamagedError as damage:
            fault = str(damage)
        finally:
            file.close()
    return Finding(chain, index.head.size, index.head.hash, size, torn, fault)


def read_policy(folder: Path, chain: str) -> Policy:
    """Return the policy file of a chain.

    Raises:
        SetupError: It is missing or broken.
    """
    path = policy_path(folder, chain)
    content = read_whole(OsFileSystem(), path)
    if content is None:
        raise SetupError(f"{path} is missing; the next start of the writer makes it again.")
    try:
        return parse_policy(content)
    except PolicyError as error:
        raise SetupError(f"{path} is no policy: {error}") from error


def _counted(lines: Iterable[bytes], total_bytes: int, advance: Advance) -> Iterator[bytes]:
    done_bytes = 0
    for number, line in enumerate(lines, start=1):
        yield line
        done_bytes += len(line) + 1
        if number % _TOLD_EVERY == 0:
            advance(done_bytes, total_bytes)


def _entry_key(keys: Sequence[TrustedKey]) -> bytes:
    for key in keys:
        if key.use == "entry":
            return key.public_key
    raise LedgerDamagedError("The policy file trusts no key to sign entries; put back the one of this ledger.")


def _open(folder: Path, chain: str) -> ChainFile:
    path = chain_path(chains_folder(folder), chain)
    try:
        return ChainFile(OsFileSystem(), path, writable=False)
    except FileNotFoundError as error:
        raise SetupError(f"There is no chain at {path}; give the home folder of a ledger with --home.") from error


@contextmanager
def _reading(chain: str) -> Iterator[None]:
    try:
        yield
    except (ReceiptError, SetupError):
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StorageFailedError(f"The chain {chain} could not be read: {reason}.") from error
