"""`head.json`: the signed commit point of all chains, and the writer's epoch (spec section 10, "Head").

The file is a JSON array of two records in two slots of 4,096 bytes, padded with spaces. Each commit overwrites one slot
in place, after the chains are on the medium, so the head never claims more than is durable. It is written before the
acknowledgement, and so outlives `kill -9`; it reaches the medium with the next `sync`, since a second sync in each
commit would double what every caller waits. After a power cut it may therefore be a little old: a lower bound, never
wrong. Between two syncs only one slot is touched, so a torn write always leaves the other slot whole.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from receipt_writer.errors import LedgerDamagedError
from receipt_writer.format.signing import Signer, pae, verify
from receipt_writer.storage.filesystem import FileSystem, create_file, write_all_at

SLOT_BYTES = 4096
"""One slot: a page and a disk block, room for all twelve chains."""

_KIND = "application/vnd.prometheus.head+json"
_SIGNATURE = b',"signature":"'
_SIGNED = "signed"
_FRAMES = ((b"[", b"\n"), (b",", b"]\n"))


@dataclass(frozen=True)
class CommitPoint:
    """How far one chain is committed: its newest entry's id and hash, and the file's length in bytes up to there."""

    size: int
    length_bytes: int
    hash: str


@dataclass(frozen=True)
class HeadRecord:
    """One commit. `epoch` counts writer starts, `commit` counts commits; together they order records.

    `signs_intents` says that the intent journal holds signed rows only; records of former versions do not have it.
    """

    epoch: int
    commit: int
    chains: Mapping[str, CommitPoint]
    signs_intents: bool = False


def encode_slot(record: HeadRecord, signer: Signer, slot: int) -> bytes:
    """Return the signed record as the exact bytes of slot 0 or 1."""
    rows = [
        {"chain": name, "id": point.size, "bytes": point.length_bytes, "hash": point.hash}
        for name, point in record.chains.items()
    ]
    members: dict[str, object] = {"epoch": record.epoch, "commit": record.commit, "chains": rows}
    if record.signs_intents:
        members["intents"] = _SIGNED
    body = msgspec.json.encode(members)
    signature = base64.b64encode(signer.sign(pae(_KIND, body)))
    opening, closing = _FRAMES[slot]
    text = opening + body[:-1] + _SIGNATURE + signature + b'"}'
    return text.ljust(SLOT_BYTES - len(closing)) + closing


def decode_slot(content: bytes, public_key: bytes, slot: int) -> HeadRecord | None:
    """Return the record of a slot, None when it is torn, altered or signed by another key."""
    opening, closing = _FRAMES[slot]
    text = content.removeprefix(opening).removesuffix(closing).rstrip(b" ")
    body, found, tail = text.rpartition(_SIGNATURE)
    body += b"}"
    try:
        signature = base64.b64decode(tail.removesuffix(b'"}'), validate=True)
        if not found or not verify(public_key, pae(_KIND, body), signature):
            return None
        members = json.loads(body)
        chains = {row["chain"]: CommitPoint(row["id"], row["bytes"], row["hash"]) for row in members["chains"]}
        return HeadRecord(members["epoch"], members["commit"], chains, members.get("intents") == _SIGNED)
    except (ValueError, KeyError, TypeError):
        return None


def newest_record(content: bytes, *public_keys: bytes) -> tuple[HeadRecord, int]:
    """Return the commit point that the bytes of `head.json` hold, and its slot.

    In the middle of a key change the two slots may be signed by two keys, so more than one can be given.

    Raises:
        LedgerDamagedError: Neither slot holds a record signed by one of these keys.
    """
    slots = [(content[slot * SLOT_BYTES : (slot + 1) * SLOT_BYTES], slot) for slot in (0, 1)]
    records = [
        (record, slot) for text, slot in slots for key in public_keys if (record := decode_slot(text, key, slot))
    ]
    if not records:
        raise LedgerDamagedError(
            "head.json holds no record signed by this writer's entry key; put back the file or the key that belongs "
            "to these chains, or move head.json away to have it rebuilt from the chains."
        )
    return max(records, key=lambda pair: (pair[0].epoch, pair[0].commit))


class HeadFile:
    """The open `head.json` of the one writer that owns the chains. Every call may raise `OSError`."""

    def __init__(self, files: FileSystem, path: Path, signer: Signer, other_keys: Sequence[bytes] = ()) -> None:
        """Open an existing head file, which `signer` signs from now on; `other_keys` may have signed what it holds.

        Raises:
            LedgerDamagedError: Neither slot holds a record that one of these keys signed.
        """
        self._files = files
        self._signer = signer
        self._handle = files.open(path)
        try:
            self._known = self._content()
            self.record, self._newest = newest_record(self._known, signer.public_key, *other_keys)
        except (OSError, LedgerDamagedError):
            files.close(self._handle)
            raise
        self._slot = 1 - self._newest

    @classmethod
    def create(cls, files: FileSystem, path: Path, record: HeadRecord, signer: Signer) -> "HeadFile":
        """Write the first head file, whole or not at all, and open it."""
        create_file(files, path, encode_slot(record, signer, 0) + encode_slot(record, signer, 1))
        return cls(files, path, signer)

    def is_undisturbed(self) -> bool:
        """Say whether the file holds what this object last read or wrote; a writer of a later epoch changes it."""
        return self._content() == self._known

    def sign_with(self, signer: Signer) -> None:
        """Sign every later record with another key."""
        self._signer = signer

    def write(self, record: HeadRecord) -> None:
        """Make a record the commit point, for every process from now on; `sync` makes it so for power cuts, too."""
        content = encode_slot(record, self._signer, self._slot)
        offset = self._slot * SLOT_BYTES
        write_all_at(self._files, self._handle, content, offset)
        self._known = self._known[:offset] + content + self._known[offset + SLOT_BYTES :]
        self.record, self._newest = record, self._slot

    def sync(self) -> None:
        """Return when the commit point is on the medium; from then on the other slot is written."""
        self._files.sync(self._handle)
        self._slot = 1 - self._newest

    def close(self) -> None:
        """Give the handle back."""
        self._files.close(self._handle)

    def _content(self) -> bytes:
        return self._files.read_at(self._handle, 2 * SLOT_BYTES, 0)
