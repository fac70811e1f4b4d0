"""Reading a chain back at start: is it what this writer committed, and what must be remembered of it?

Up to the newest checkpoint the tree decides: one root fixes every byte of every line, so each line costs two hashes and
no signature check. From there on every line is judged in full. (Spec section 10, "Start".)
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from receipt_writer.errors import LedgerBehindError, LedgerDamagedError
from receipt_writer.format.chain import Head, check_link
from receipt_writer.format.checkpoint import Checkpoint, parse_note, verify_note
from receipt_writer.format.entry import parse_line
from receipt_writer.format.errors import CheckpointError, FormatError
from receipt_writer.format.keylog import KEY_LAYER, check_possession
from receipt_writer.format.policy import TrustedKey
from receipt_writer.index import BLOCK_ENTRIES, ChainIndex, Rows
from receipt_writer.storage.protocol import Mark

Recognise = Callable[[int, Sequence[int], bytes], bytes | None]
"""Returns the last of the lines from an id on, if they have these lengths and this SHA-256 (`EntryStore.recognise`)."""


def replay_chain(
    index: ChainIndex,
    lines: Iterable[bytes],
    keys: Sequence[TrustedKey],
    *,
    checkpoint: Checkpoint | None,
    committed: Mark | None,
    check_all: bool = False,
) -> None:
    """Fill an index from a chain's lines; `check_all` judges the lines under the checkpoint in full as well.

    The lines are those behind what the index knows by `adopt_kept`, all of them when it is empty.

    Raises:
        LedgerDamagedError: A line, the root at the checkpoint, or the hash at the commit point is not what was signed.
        LedgerBehindError: The chain ends before its checkpoint or its commit point.
    """
    source = iter(lines)
    if checkpoint and checkpoint.size:
        add = partial(add_checked, keys=keys) if check_all else add_unchecked
        _replay_under_checkpoint(index, source, checkpoint, committed, add)
    for line in source:
        add_checked(index, line, keys)
        _require_commit_point(index, committed)
    if committed and index.head.size < committed.size:
        raise LedgerBehindError(
            f"The chain {index.layer.chain} ends with entry {index.head.size}, but entry {committed.size} was "
            "committed; put the newer copy back."
        )


def adopt_kept(
    index: ChainIndex,
    kept: Iterable[Rows],
    recognise: Recognise,
    checkpoint: Checkpoint | None,
    committed: Mark | None,
) -> None:
    """Fill an empty index with rows that the checkpoint key vouches for, as far as they are about this chain's lines.

    They spare the parsing of older lines, and no more than that: `replay_chain` compares the root over them with the
    checkpoint's. Rows that reach beyond the checkpoint or to the commit point are left to it.
    """
    size = checkpoint.size if checkpoint else 0
    if committed:
        size = min(size, committed.size - 1)
    for rows in kept:
        first, last = index.head.size + 1, index.head.size + BLOCK_ENTRIES
        line = recognise(first, rows.lengths, rows.digest) if last <= size else None
        if line is None:
            return
        index.adopt(rows, head_of(line, last))


def read_checkpoint(note: bytes | None, index: ChainIndex, keys: Sequence[TrustedKey]) -> Checkpoint | None:
    """Return the checkpoint of a stored note, None when none was written yet, or one that covers no entry.

    Raises:
        LedgerDamagedError: The note is not this chain's, or not signed by this ledger's checkpoint key.
    """
    if note is None:
        return None
    try:
        text = note.decode()
        size = parse_note(text).checkpoint.size
        trusted = [key.public_key for key in keys if key.use == "checkpoint" and key.covers(size)]
        return verify_note(text, index.origin, trusted) if size else None
    except (CheckpointError, UnicodeDecodeError) as error:
        raise LedgerDamagedError(
            f"The checkpoint of the chain {index.layer.chain} cannot be used ({error}); put back the one that belongs "
            "to these chains and keys."
        ) from error


def require_copy(index: ChainIndex, copy: Checkpoint | None) -> None:
    """Judge a replayed chain against the checkpoint that was kept apart from it.

    Raises:
        LedgerBehindError: The chain is shorter: somebody put an old copy of the chains back.
        LedgerDamagedError: It is another chain than the one that was signed.
    """
    if copy is None or copy.size == 0:
        return
    chain, size = index.layer.chain, index.head.size
    if copy.size > size:
        raise LedgerBehindError(
            f"The chain {chain} ends with entry {size}, but the checkpoint kept beside the chains was signed "
            f"over {copy.size} entries; put the newer copy of the chains back."
        )
    if index.tree.root(copy.size) != copy.root_hash:
        raise LedgerDamagedError(
            f"The first {copy.size} entries of the chain {chain} are not those that the checkpoint kept beside the "
            "chains was signed over; put the chains back that belong to it."
        )


def _replay_under_checkpoint(
    index: ChainIndex,
    source: Iterator[bytes],
    checkpoint: Checkpoint,
    committed: Mark | None,
    add: Callable[[ChainIndex, bytes], None],
) -> None:
    name = index.layer.chain
    for line in islice(source, checkpoint.size - index.head.size):
        add(index, line)
        _require_commit_point(index, committed)
    if index.head.size < checkpoint.size:
        raise LedgerBehindError(
            f"The chain {name} ends with entry {index.head.size}, but its checkpoint was signed over "
            f"{checkpoint.size} entries; put the newer copy back."
        )
    if index.tree.root() != checkpoint.root_hash:
        raise LedgerDamagedError(
            f"The first {checkpoint.size} entries of the chain {name} are not those its checkpoint was signed over; "
            f"receipt-writer fsck names the first bad one."
        )


def head_of(line: bytes, size: int) -> Head:
    """Return the head that a line makes which is known to be a good one."""
    members = json.loads(line)
    return Head(size, members["hash"], members["recordedAtMs"])


def add_unchecked(index: ChainIndex, line: bytes) -> None:
    """Remember a line without judging it: for a reader who compares the tree's root afterwards, or judges nothing.

    Raises:
        LedgerDamagedError: The line is not even an object with a hash and a time.
    """
    try:
        members = json.loads(line)
        index.add(members, line, Head(index.head.size + 1, str(members["hash"]), int(members["recordedAtMs"])))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise _damaged(index, "It is not a line of a ledger") from error


def add_checked(index: ChainIndex, line: bytes, keys: Sequence[TrustedKey]) -> None:
    """Judge a line in full against the head before it and the trusted keys, then remember it.

    Raises:
        LedgerDamagedError: The first check that fails, and the id.
    """
    try:
        entry = parse_line(index.layer.name, line)
        head = check_link(index.head, entry, tenant_id=index.tenant_id, keys=keys)
        if index.layer.name == KEY_LAYER:
            check_possession(entry)
    except FormatError as error:
        raise _damaged(index, str(error).removesuffix(".")) from error
    index.add(entry.fields, line, head)


def _require_commit_point(index: ChainIndex, committed: Mark | None) -> None:
    if committed and index.head.size == committed.size:
        _require_hash(index, index.head, committed)


def _require_hash(index: ChainIndex, head: Head, committed: Mark) -> None:
    if head.hash != committed.hash:
        raise _damaged(index, "Its hash is not the committed one", ahead=head.size - index.head.size)


def _damaged(index: ChainIndex, why: str, ahead: int = 1) -> LedgerDamagedError:
    return LedgerDamagedError(
        f"Entry {index.head.size + ahead} of the chain {index.layer.chain} is not what was recorded. {why}. "
        "Nothing was changed; put a good copy back."
    )
