"""The full check of one chain as it lies on disk: every line, its checkpoint, the commit point, the newest state."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from receipt_writer.covered import newest_state, require_covered
from receipt_writer.errors import LedgerDamagedError
from receipt_writer.format.canonical import MAX_LINE_BYTES
from receipt_writer.format.keylog import KEY_CHAIN
from receipt_writer.format.schema import LAYERS
from receipt_writer.format.signing import fingerprint
from receipt_writer.format.state import STATE_LAYER
from receipt_writer.identity import STATE_NAME, chains_folder, read_name
from receipt_writer.index import ChainIndex
from receipt_writer.offline import open_file, read_policy, read_trust, reading
from receipt_writer.progress import Advance, nobody
from receipt_writer.replay import read_checkpoint, replay_chain, require_copy
from receipt_writer.signers.source import KEY_NAMES
from receipt_writer.storage.filesystem import OsFileSystem, read_whole
from receipt_writer.storage.head_file import CommitPoint, newest_record
from receipt_writer.storage.jsonl import HEAD_NAME, chain_path, checkpoint_path
from receipt_writer.storage.protocol import Mark
from receipt_writer.trust import Trust

_STATE_CHAIN = LAYERS[STATE_LAYER].chain
_STATE_TAIL_BYTES = 2 * MAX_LINE_BYTES + 2  # holds a whole line, whatever unfinished one follows it
_TOLD_EVERY = 512  # lines


@dataclass(frozen=True)
class Finding:
    """What a full check of one chain says; `fault` is None when everything holds.

    `disowned` tells of entries that are as they were recorded and that a revocation reached back to: one sentence for
    each range.
    """

    chain: str
    entries: int
    head_hash: str
    checkpoint_size: int
    torn_bytes: int
    fault: str | None
    disowned: Sequence[str] = ()


@dataclass(frozen=True)
class _Evidence:
    """What speaks about a chain beside its own lines, read before them: a live writer may append, and a chain grows."""

    copy: bytes | None
    note: bytes | None
    states: Sequence[bytes]
    trust: Trust
    point: CommitPoint | None


def check_chain(folder: Path, layer: str, advance: Advance = nobody) -> Finding:
    """Judge every line of a chain, its checkpoint, its commit point and the newest state, under the folder's policy.

    That the policy is the right one is for an outside verifier to say; this finds accidents and clumsy edits.
    `advance` is told now and then how far it is.

    Raises:
        SetupError: There is no ledger in the folder.
        StorageFailedError: A file could not be read.
    """
    name = read_name(OsFileSystem(), folder)
    index = ChainIndex(LAYERS[layer], name.substrate_id, name.tenant_id)
    chain = index.layer.chain
    size, torn, fault, disowned = 0, 0, None, list[str]()
    with reading(chain):
        try:
            evidence = _evidence(folder, chain)
        except LedgerDamagedError as damage:
            return Finding(chain, 0, index.head.hash, 0, 0, str(damage))
        point, keys = evidence.point, evidence.trust.keys(chain)
        signed = (*evidence.trust.signing_keys(chain), *(key for key in keys if key.use == "checkpoint"))
        file = open_file(folder, chain)
        try:
            end = file.sound_end(point.length_bytes if point else None)
            torn = max(0, file.length_bytes() - end)
            checkpoint = read_checkpoint(evidence.note, index, keys)
            size = checkpoint.size if checkpoint else 0
            committed = Mark(point.size, point.hash) if point else None
            lines = _counted(file.lines(end), end, advance)
            replay_chain(index, lines, signed, checkpoint=checkpoint, committed=committed, check_all=True)
            require_copy(index, read_checkpoint(evidence.copy, index, keys))
            state = newest_state(evidence.states, evidence.trust.keys(_STATE_CHAIN), name.tenant_id)
            require_covered(index, state, lambda entry_id: file.read(entry_id, 1)[0])
        except LedgerDamagedError as damage:
            fault = str(damage)
        finally:
            file.close()
        disowned = _disowned(evidence.trust, chain, index.head.size)
    return Finding(chain, index.head.size, index.head.hash, size, torn, fault, disowned)


def _evidence(folder: Path, chain: str) -> _Evidence:
    files, chains = OsFileSystem(), chains_folder(folder)
    copy, note = (read_whole(files, checkpoint_path(place, chain)) for place in (folder, chains))
    states = _state_lines(folder)
    policy = read_policy(folder, chain)
    trust = read_trust(folder, policy)
    try:
        point = _commit_point(folder, trust, chain)
    except LedgerDamagedError:  # a rotation may have come between the two files
        trust = read_trust(folder, policy)
        point = _commit_point(folder, trust, chain)
    return _Evidence(copy, note, states, trust, point)


def _commit_point(folder: Path, trust: Trust, chain: str) -> CommitPoint | None:
    """Return how far a chain is committed by the word of the entry key in force.

    The key before it counts only while a rotation is cut off: its last step takes the prepared key's file away.

    Raises:
        LedgerDamagedError: Nothing in `head.json` is signed by that key.
    """
    head = read_whole(OsFileSystem(), chains_folder(folder) / HEAD_NAME)
    if head is None:
        return None
    key = folder / KEY_NAMES["entry"]
    is_changing = key.with_name(f"{key.name}.next").exists() or not key.exists()
    present, previous = trust.in_force("entry"), trust.replaced("entry")
    trusted = [key for key in (present, previous if is_changing else None) if key]
    return newest_record(head, *trusted)[0].chains.get(chain)


def _state_lines(folder: Path) -> list[bytes]:
    """Return the lines that may be the newest state: the last whole one of its chain, and that of the file."""
    files = OsFileSystem()
    found = [(read_whole(files, folder / STATE_NAME) or b"").removesuffix(b"\n")]
    path = chain_path(chains_folder(folder), _STATE_CHAIN)
    if path.exists():
        handle = files.open_to_read(path)
        try:
            size = files.size(handle)
            start = max(0, size - _STATE_TAIL_BYTES)
            found.append(files.read_at(handle, size - start, start).rpartition(b"\n")[0].rpartition(b"\n")[2])
        finally:
            files.close(handle)
    return found


def _disowned(trust: Trust, chain: str, size: int) -> list[str]:
    return [
        f"Entries {one.first_id} to {one.last_id} are signed by the entry key with fingerprint "
        f"{fingerprint(one.public_key)}, which entry {one.event_id} of the chain {KEY_CHAIN} revoked from "
        f"{one.first_id} on, so verifiers reject them. They are what was recorded: there is nothing to put back."
        for one in trust.disowned(chain, size)
    ]


def _counted(lines: Iterable[bytes], total_bytes: int, advance: Advance) -> Iterator[bytes]:
    done_bytes = 0
    for number, line in enumerate(lines, start=1):
        yield line
        done_bytes += len(line) + 1
        if number % _TOLD_EVERY == 0:
            advance(done_bytes, total_bytes)
