"""`<chain>.index`: what the index knows of a chain's older entries, kept so that the next start need not parse them.

A line of JSON says whose rows they are. Then blocks follow, each the rows of 256 entries, and an Ed25519 signature by
the checkpoint key over a hash that runs through all blocks so far: one good signature vouches for everything before it.
The file is a cache and never the truth (docs/adr/0008). It is not synced; whatever is torn, altered, of another chain,
key, machine or version is passed over and written anew, and a file that cannot be written costs the next start time.
"""

import errno
import hashlib
import json
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from receipt_writer.format.signing import SIGNATURE_BYTES, Signer, pae, verify
from receipt_writer.index import BLOCK_ENTRIES, ChainIndex, Rows
from receipt_writer.index.rows import rows_bytes
from receipt_writer.storage.filesystem import FileSystem, write_all_at

_log = logging.getLogger(__name__)
_VERSION = 1
_KIND = "application/vnd.prometheus.index"
_PASSING = {errno.EMFILE, errno.ENFILE}  # no handle was left, which the next checkpoint may find otherwise


def index_path(folder: Path, chain: str) -> Path:
    """Return where a chain's rows are kept."""
    return folder / f"{chain}.index"


class IndexFile:
    """The kept rows of one chain: `rows` are read once, into an empty index; then `keep` is called now and again.

    Satisfies `index.RowKeeper`.
    """

    def __init__(self, files: FileSystem, path: Path, index: ChainIndex) -> None:
        """Name the file; nothing is opened, and it need not exist."""
        self._files, self._path, self.index = files, path, index
        filters = {name: ".".join(members) for name, members in index.layer.filters.items()}
        about = {"index": _VERSION, "origin": index.origin, "byteOrder": sys.byteorder, "filters": filters}
        self._header = json.dumps(about).encode() + b"\n"
        self._filters = len(filters)
        self._payload_bytes = rows_bytes(self._filters)
        self._hashes = [hashlib.sha256(self._header).digest()]  # after the header, and after each good block
        self._vouched_by: bytes | None = None  # the key that signed the last good block
        self._is_trimmed = self._is_given_up = False

    def rows(self, keys: Sequence[bytes]) -> Iterator[Rows]:
        """Yield the rows that one of these checkpoint keys vouches for, 256 entries at a time, from entry 1 on.

        A file that is missing or cannot be read has none.
        """
        try:
            with self._handle(self._files.open_to_read(self._path)) as handle:
                self._find_good(handle, keys)
                for number in range(self._blocks):
                    yield Rows.decode(self._read(handle, self._at(number), self._payload_bytes), self._filters)
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            _log.warning("The index of the chain %s cannot be read: %s.", self.index.layer.chain, error)

    def keep(self, size: int, signer: Signer) -> None:
        """Write the rows of the whole blocks among the first `size` entries, all of which a checkpoint covers.

        A medium that refuses ends the keeping and not the writer, since nothing that was promised depends on it.
        """
        adopted = self.index.adopted // BLOCK_ENTRIES
        if not self._is_trimmed and adopted < self._blocks:
            del self._hashes[1 + adopted :]
            self._vouched_by = None
        is_vouched_for = not self._blocks or self._vouched_by == signer.public_key
        if self._is_given_up or (self._blocks >= size // BLOCK_ENTRIES and is_vouched_for):
            return
        try:
            with self._handle(self._files.open(self._path)) as handle:
                self._trim(handle)
                while self._blocks < size // BLOCK_ENTRIES:
                    self._write_block(handle, signer)
                if self._vouched_by != signer.public_key:
                    self._sign_again(handle, signer)
        except OSError as error:
            self._is_given_up = error.errno not in _PASSING
            reason = (error.strerror or str(error)).lower()
            _log.warning(
                "The index of the chain %s cannot be kept (%s), so the next start takes longer.",
                self.index.layer.chain,
                reason,
            )

    @property
    def _blocks(self) -> int:
        return len(self._hashes) - 1

    def _at(self, block: int) -> int:
        return len(self._header) + block * (self._payload_bytes + SIGNATURE_BYTES)

    def _find_good(self, handle: int, keys: Sequence[bytes]) -> None:
        """Learn how many blocks are good: the last one with a signature over all that stands before it, and these."""
        if self._read(handle, 0, len(self._header)) != self._header:
            return
        signatures = []
        for number in range((self._files.size(handle) - self._at(0)) // (self._at(1) - self._at(0))):
            block = self._read(handle, self._at(number), self._at(1) - self._at(0))
            self._hashes.append(hashlib.sha256(self._hashes[-1] + block[:-SIGNATURE_BYTES]).digest())
            signatures.append(block[-SIGNATURE_BYTES:])
        while signatures:
            self._vouched_by = _signer_of(self._hashes[-1], signatures.pop(), keys)
            if self._vouched_by:
                return
            self._hashes.pop()

    def _trim(self, handle: int) -> None:
        if self._is_trimmed:
            return
        self._files.truncate(handle, self._at(self._blocks) if self._blocks else 0)
        if not self._blocks:
            write_all_at(self._files, handle, self._header, 0)
        self._is_trimmed = True

    def _write_block(self, handle: int, signer: Signer) -> None:
        payload = self.index.rows(self._blocks).encode()
        running = hashlib.sha256(self._hashes[-1] + payload).digest()
        write_all_at(self._files, handle, payload + signer.sign(pae(_KIND, running)), self._at(self._blocks))
        self._hashes.append(running)
        self._vouched_by = signer.public_key

    def _sign_again(self, handle: int, signer: Signer) -> None:
        """Let a new checkpoint key vouch for what the former one vouched for."""
        signature = signer.sign(pae(_KIND, self._hashes[-1]))
        write_all_at(self._files, handle, signature, self._at(self._blocks) - SIGNATURE_BYTES)
        self._vouched_by = signer.public_key

    def _read(self, handle: int, offset: int, length: int) -> bytes:
        data = self._files.read_at(handle, length, offset)
        while len(data) < length and (more := self._files.read_at(handle, length - len(data), offset + len(data))):
            data += more
        return data

    @contextmanager
    def _handle(self, handle: int) -> Iterator[int]:
        try:
            yield handle
        finally:
            self._files.close(handle)


def _signer_of(running: bytes, signature: bytes, keys: Sequence[bytes]) -> bytes | None:
    message = pae(_KIND, running)
    return next((key for key in keys if verify(key, message, signature)), None)
