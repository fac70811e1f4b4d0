from __future__ import annotations

import re

import pytest

from receipt_writer.errors import LedgerBehindError, LedgerDamagedError
from receipt_writer.format.checkpoint import Checkpoint, sign_checkpoint
from receipt_writer.format.entry import Entry
from receipt_writer.format.merkle import leaf_hash, root_of
from receipt_writer.format.policy import TrustedKey
from receipt_writer.format.schema import LAYERS
from receipt_writer.index import ChainIndex
from receipt_writer.replay import read_checkpoint, replay_chain
from receipt_writer.storage.protocol import Mark
from tests.receipt_writer.format.material import SeedSigner, decision_chain
from tests.receipt_writer.parts import decision, ulid

SIGNER, OTHER, CHECKPOINT = SeedSigner(b"\1" * 32), SeedSigner(b"\2" * 32), SeedSigner(b"\3" * 32)
KEYS = (TrustedKey(SIGNER.public_key, "entry"), TrustedKey(CHECKPOINT.public_key, "checkpoint"))
ORIGIN = "home/decisions/-"
ENTRIES = decision_chain([decision(number) for number in range(1, 7)], SIGNER, ORIGIN)
LINES = [entry.line for entry in ENTRIES]


def empty() -> ChainIndex:
    return ChainIndex(LAYERS["L12"], "home")


def checkpoint(size: int, lines: list[bytes] = LINES) -> Checkpoint:
    return Checkpoint(ORIGIN, size, root_of(map(leaf_hash, lines[:size])))


def replayed(
    lines: list[bytes],
    tree: Checkpoint | None = None,
    committed: Mark | None = None,
    *,
    check_all: bool = False,
) -> ChainIndex:
    index = empty()
    replay_chain(index, lines, KEYS, checkpoint=tree, committed=committed, check_all=check_all)
    return index


def flipped(line: bytes, at: int) -> bytes:
    changed = bytearray(line)
    changed[at] ^= 1
    return bytes(changed)


@pytest.mark.parametrize("size", [None, 0, 1, 4, 6])
def test_the_index_is_the_same_whatever_the_checkpoint_covers(size: int | None) -> None:
    index = replayed(LINES, None if size is None else checkpoint(size), Mark(6, ENTRIES[-1].hash))
    assert (index.head.size, index.head.hash) == (6, ENTRIES[-1].hash)
    assert index.frontier.root() == checkpoint(6).root_hash
    assert index.id_of(ulid("c_", 3)) == 3


@pytest.mark.parametrize("position", range(6))
def test_a_changed_line_is_never_accepted(position: int) -> None:
    for at in range(5, len(LINES[position]), 61):
        lines = [*LINES]
        lines[position] = flipped(lines[position], at)
        with pytest.raises(LedgerDamagedError):
            replayed(lines, checkpoint(4))
        with pytest.raises(LedgerDamagedError, match=f"Entry {position + 1} of the chain decisions"):
            replayed(lines)


def test_a_changed_signature_under_a_checkpoint_is_noticed_without_checking_signatures() -> None:
    resigned = decision_chain([decision(number) for number in range(1, 7)], OTHER, ORIGIN)
    with pytest.raises(LedgerDamagedError, match="first 4 entries"):
        replayed([*[entry.line for entry in resigned][:4], *LINES[4:]], checkpoint(4))


def test_a_full_check_names_the_line_that_the_checkpoint_only_knows_to_be_somewhere() -> None:
    lines = [LINES[0], flipped(LINES[1], 200), *LINES[2:]]
    with pytest.raises(LedgerDamagedError, match="Entry 2 "):
        replayed(lines, checkpoint(4), check_all=True)


def test_a_chain_of_another_key_is_refused() -> None:
    foreign: list[Entry] = decision_chain([decision(1)], OTHER, ORIGIN)
    with pytest.raises(LedgerDamagedError, match="does not trust"):
        replayed([foreign[0].line])


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b"null", b"garbage", b"\xff", b"[" * 3000, b'{"hash":1}'])
@pytest.mark.parametrize("tree", [None, checkpoint(4)])
def test_a_complete_bad_line_is_refused_and_never_skipped(line: bytes, tree: Checkpoint | None) -> None:
    for position in (1, 5):
        with pytest.raises(LedgerDamagedError):
            replayed([*LINES[:position], line, *LINES[position:]], tree)


def test_a_missing_middle_line_is_refused() -> None:
    with pytest.raises(LedgerDamagedError, match="Entry 3 "):
        replayed([*LINES[:2], *LINES[3:]])


@pytest.mark.parametrize("kept", [0, 3])
def test_a_chain_shorter_than_its_checkpoint_is_behind(kept: int) -> None:
    with pytest.raises(LedgerBehindError, match=re.escape(f"ends with entry {kept}")):
        replayed(LINES[:kept], checkpoint(4))


@pytest.mark.parametrize("tree", [None, checkpoint(4)])
def test_a_chain_shorter_than_its_commit_point_is_behind(tree: Checkpoint | None) -> None:
    with pytest.raises(LedgerBehindError, match="entry 6 was committed"):
        replayed(LINES[:5], tree, Mark(6, ENTRIES[-1].hash))


@pytest.mark.parametrize("size", [2, 5])
def test_another_history_than_the_committed_one_is_refused(size: int) -> None:
    with pytest.raises(LedgerDamagedError, match=f"Entry {size} .*committed"):
        replayed(LINES, checkpoint(4), Mark(size, "f" * 64))


def test_entries_behind_the_commit_point_are_kept() -> None:
    assert replayed(LINES, committed=Mark(2, ENTRIES[1].hash)).head.size == 6


def test_a_stored_checkpoint_is_read_back() -> None:
    note = sign_checkpoint(checkpoint(4), CHECKPOINT).encode()
    assert read_checkpoint(note, empty(), KEYS) == checkpoint(4)
    assert read_checkpoint(None, empty(), KEYS) is None


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"\xff",
        sign_checkpoint(checkpoint(4), SIGNER).encode(),
        sign_checkpoint(Checkpoint("home/turns/-", 4, b"\0" * 32), CHECKPOINT).encode(),
    ],
)
def test_a_checkpoint_that_is_not_this_chains_is_refused(note: bytes) -> None:
    with pytest.raises(LedgerDamagedError, match="checkpoint of the chain decisions cannot be used"):
        read_checkpoint(note, empty(), KEYS)
