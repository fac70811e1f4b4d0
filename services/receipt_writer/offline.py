"""Reading a receipts folder without a writer: no lock, no private key, nothing changed; a live writer may go on."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from receipt_writer.errors import (
    EntryNotFoundError,
    LedgerDamagedError,
    NotPossibleYetError,
    ReceiptError,
    StorageFailedError,
)
from receipt_writer.format.checkpoint import parse_note
from receipt_writer.format.errors import CheckpointError, PolicyError
from receipt_writer.format.keylog import KEY_CHAIN
from receipt_writer.format.merkle import HASH_BYTES, leaf_hash
from receipt_writer.format.policy import Policy, parse_policy
from receipt_writer.format.proof import Proof, prove_entry
from receipt_writer.format.schema import LAYERS
from receipt_writer.identity import LEDGER_NAME, chains_folder, policy_path, read_name
from receipt_writer.index import BLOCK_ENTRIES, ChainIndex, Filter
from receipt_writer.query import StoredEntry
from receipt_writer.replay import add_unchecked, head_of
from receipt_writer.storage.chain_file import ChainFile
from receipt_writer.storage.filesystem import OsFileSystem, read_whole
from receipt_writer.storage.index_file import IndexFile, index_path
from receipt_writer.storage.jsonl import chain_path, checkpoint_path
from receipt_writer.trust import Trust, judged_trust
from service_runtime.errors import SetupError

_LONGEST_ID = 17  # digits; ids end at 2^53-1


@dataclass(frozen=True)
class OfflineChain:
    """One chain as it was on disk when it was opened: up to the first line that is none, which `damage` tells of."""

    index: ChainIndex
    note: str | None  # the newest checkpoint
    damage: str | None
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
            self.require_whole()
            raise EntryNotFoundError(
                f"The chain {self.index.layer.chain} has no entry {text[:40]!r}; "
                f"receipt-writer list --chain {self.index.layer.chain} shows what it has."
            )
        return found

    def entry(self, entry_id: int) -> StoredEntry:
        """Return an entry that exists.

        Raises:
            LedgerDamagedError: The stored line is not the one that was recorded.
        """
        try:
            (line,) = self._file.read(entry_id, 1)
        except OSError:
            line = b""
        self.index.require_recorded(entry_id, line)
        return StoredEntry(self.index.layer.name, entry_id, line, self.index.recorded_at_ms(entry_id))

    def entries(self, wanted: Filter) -> tuple[list[StoredEntry], str | None]:
        """Return the good entries that a filter asks for, and a sentence about damage that was met, if any was.

        Raises:
            RequestRefusedError: The filter does not fit the chain.
        """
        found: list[StoredEntry] = []
        damage = self.damage
        for one in self.index.select(replace(wanted, limit=0)):
            try:
                entry = self.entry(one)
            except LedgerDamagedError as error:
                damage = damage or str(error)
                continue
            if not wanted.members or self.index.matches(wanted, json.loads(entry.line)):
                found.append(entry)
            if len(found) == wanted.limit:
                break
        return found, damage

    def proof(self, entry: StoredEntry) -> Proof:
        """Return the proof that an entry of this chain is under the newest checkpoint; it holds.

        Raises:
            NotPossibleYetError: The checkpoint does not cover the entry yet.
            LedgerDamagedError: The chain is not what the checkpoint was signed over.
        """
        size = self.checkpoint_size
        if entry.id > size or self.note is None:
            raise NotPossibleYetError(
                f"Entry {entry.id} is newer than the newest checkpoint (size {size}); a running writer makes one "
                "within 30 seconds and when it stops."
            )
        if size <= self.index.head.size:
            proof = prove_entry(self.index.tree, entry.id, entry.line, self.note)
            if proof.holds():
                return proof
        self.require_whole()
        raise LedgerDamagedError(
            f"The chain {self.index.layer.chain} is not what its checkpoint of {size} entries was signed over, so "
            "nothing is proven by it; receipt-writer fsck names the first bad entry."
        )

    def require_whole(self) -> None:
        """Refuse to speak for a chain that could not be read to its end.

        Raises:
            LedgerDamagedError: `damage`.
        """
        if self.damage:
            raise LedgerDamagedError(self.damage)


@contextmanager
def open_chain(folder: Path, layer: str) -> Iterator[OfflineChain]:
    """Open a chain for reading; its lines are taken as they are, `check_chain` judges them.

    What the writer keeps of its index spares the parsing of older lines; each is held against it when it is read.

    Raises:
        SetupError: There is no ledger in the folder.
        LedgerDamagedError: The checkpoint is none.
        StorageFailedError: A file could not be read.
    """
    files = OsFileSystem()
    name = read_name(files, folder)
    chain = LAYERS[layer].chain
    with reading(chain):
        note = read_whole(files, checkpoint_path(chains_folder(folder), chain))
        file = open_file(folder, chain)
        try:
            index = _adopted(folder, file, ChainIndex(LAYERS[layer], name.substrate_id, name.tenant_id))
            damage = _add_lines(index, file)
            yield OfflineChain(index, note.decode() if note else None, damage, file)
        except (CheckpointError, UnicodeDecodeError) as error:
            raise LedgerDamagedError(f"The checkpoint of the chain {chain} cannot be read: {error}") from error
        finally:
            file.close()


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


def read_trust(folder: Path, policy: Policy) -> Trust:
    """Return whom a ledger's chains trust: the policy's keys, and what the ledger's key log makes of them.

    Raises:
        LedgerDamagedError: The policy trusts nobody, or the key log does not hold.
    """
    if not any(key.use == "entry" for key in policy.keys):
        raise LedgerDamagedError("The policy file trusts no key to sign entries; put back the one of this ledger.")
    files = OsFileSystem()
    log = read_whole(files, chain_path(chains_folder(folder), KEY_CHAIN))
    *lines, _ = (log or b"").split(b"\n")  # an unfinished last line is no event yet
    return judged_trust(read_name(files, folder).origin(KEY_CHAIN), lines, policy.keys)


def _adopted(folder: Path, file: ChainFile, index: ChainIndex) -> ChainIndex:
    """Fill an empty index with what the writer kept of the chain, as far as that is to be believed."""
    chain = index.layer.chain
    kept = IndexFile(OsFileSystem(), index_path(chains_folder(folder), chain), index)
    for rows in kept.rows(_checkpoint_keys(folder, chain)):
        end = file.end_bytes + sum(rows.lengths) + BLOCK_ENTRIES
        last = file.read_bytes(end - 1 - rows.lengths[-1], end - 1)
        if leaf_hash(last) != rows.leaves[-HASH_BYTES:]:
            break
        file.know(rows.lengths)
        index.adopt(rows, head_of(last, index.head.size + BLOCK_ENTRIES))
    return index


def _add_lines(index: ChainIndex, file: ChainFile) -> str | None:
    """Add the lines that are not known yet, up to the first that is none; say so if there is one."""
    try:
        for line in file.further_lines(file.sound_end(None)):
            add_unchecked(index, line)
    except LedgerDamagedError as damage:
        return str(damage)
    return None


def _checkpoint_keys(folder: Path, chain: str) -> list[bytes]:
    """Return the checkpoint key in force; none when that is not to be had, and the chain is read line by line."""
    try:
        keys = read_trust(folder, read_policy(folder, chain)).keys(chain)
    except (LedgerDamagedError, SetupError):
        return []
    return [key.public_key for key in keys if key.use == "checkpoint" and key.to_id is None]


def open_file(folder: Path, chain: str) -> ChainFile:
    """Open the file of a chain for reading.

    Raises:
        SetupError: There is none.
    """
    path = chain_path(chains_folder(folder), chain)
    try:
        return ChainFile(OsFileSystem(), path, writable=False)
    except FileNotFoundError as error:
        if (folder / LEDGER_NAME).exists():
            raise SetupError(f"The chain {chain} has not begun yet; start the writer once.") from error
        raise SetupError(f"There is no chain at {path}; give the home folder of a ledger with --home.") from error


@contextmanager
def reading(chain: str) -> Iterator[None]:
    """Turn an error of the disk into one sentence about the chain."""
    try:
        yield
    except (ReceiptError, SetupError):
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StorageFailedError(f"The chain {chain} could not be read: {reason}.") from error
