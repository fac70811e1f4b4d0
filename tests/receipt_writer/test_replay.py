from __future__ import annotations

import re
from pathlib import Path

import pytest

from receipt_writer.errors import LedgerBehindError, LedgerDamagedError
from receipt_writer.format.chain import Head
from receipt_writer.format.checkpoint import Checkpoint, sign_checkpoint
from receipt_writer.format.entry import Entry
from receipt_writer.format.merkle import leaf_hash, root_of
from receipt_writer.format.policy import TrustedKey
from receipt_writer.format.schema import LAYERS
from receipt_writer.index import BLOCK_ENTRIES, ChainIndex, Rows
from receipt_writer.replay import add_unchecked, adopt_kept, read_checkpoint, replay_chain
from receipt_writer.storage.chain_file import ChainFile
from receipt_writer.storage.filesystem import OsFileSystem
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
    assert index.tree.root() == checkpoint(6).root_hash
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


LONG = decision_chain([decision(number) for number in range(1, 2 * BLOCK_ENTRIES + 4)], SIGNER, ORIGIN)
LONG_LINES = [entry.line for entry in LONG]


def kept_rows(lines: list[bytes] = LONG_LINES) -> list[Rows]:
    """Return the rows that a writer would have kept of these lines."""
    index = empty()
    for line in lines:
        add_unchecked(index, line)
    return [index.rows(block) for block in range(len(lines) // BLOCK_ENTRIES)]


def replayed_with(
    kept: list[Rows],
    lines: list[bytes] = LONG_LINES,
    committed: Mark | None = None,
    tree: Checkpoint | None = None,
) -> ChainIndex:
    """Start on these lines with what was kept, under a checkpoint that leaves the last of all lines out."""
    index = empty()
    tree = tree or checkpoint(len(LONG_LINES) - 1, LONG_LINES)
    files = MemoryFiles(b"".join(line + b"\n" for line in lines))
    file = ChainFile(files, Path("decisions.jsonl"), writable=False)
    adopt_kept(index, kept, file.recognise, tree, committed)
    replay_chain(index, file.lines(len(files.content), index.adopted), KEYS, checkpoint=tree, committed=committed)
    assert file.size == index.head.size
    return index


class MemoryFiles(OsFileSystem):
    """One file that is only read."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def open_to_read(self, path: Path) -> int:
        assert path.name == "decisions.jsonl"
        return 7

    def read_at(self, handle: int, length: int, offset: int) -> bytes:
        assert handle == 7
        return self.content[offset : offset + length]


def everything(index: ChainIndex) -> tuple[Head, bytes, list[Rows]]:
    return index.head, index.tree.root(), [index.rows(block) for block in range(index.head.size // BLOCK_ENTRIES)]


def test_kept_rows_give_the_same_index_without_parsing_a_line_under_them() -> None:
    plain, spared = replayed_with([]), replayed_with(kept_rows())
    assert everything(spared) == everything(plain)
    assert (plain.adopted, spared.adopted) == (0, 2 * BLOCK_ENTRIES)
    assert spared.id_of(ulid("c_", BLOCK_ENTRIES)) == BLOCK_ENTRIES
    assert spared.id_of(ulid("c_", len(LONG))) == len(LONG)


def test_kept_rows_about_other_lines_are_passed_over() -> None:
    others = decision_chain([decision(number, latencyMs=1) for number in range(1, 600)], SIGNER, ORIGIN)
    first, second = kept_rows()
    _, foreign = kept_rows([entry.line for entry in others])
    for kept, adopted in (([first, foreign], 1), ([second, first], 0), ([foreign, second], 0), ([first], 1)):
        index = replayed_with(kept)
        assert everything(index) == everything(replayed_with([]))
        assert index.adopted == adopted * BLOCK_ENTRIES


def test_lines_that_no_checkpoint_covers_are_judged_whatever_is_kept_of_them() -> None:
    tree = checkpoint(BLOCK_ENTRIES + 9, LONG_LINES)
    assert replayed_with(kept_rows(), tree=tree).adopted == BLOCK_ENTRIES
    spoilt = [*LONG_LINES]
    spoilt[BLOCK_ENTRIES + 20] = spoilt[BLOCK_ENTRIES + 20].replace(b'"signature":"', b'"signature":"A', 1)
    with pytest.raises(LedgerDamagedError, match=f"Entry {BLOCK_ENTRIES + 21} "):
        replayed_with(kept_rows(spoilt), spoilt, tree=tree)
    unanchored = empty()
    adopt_kept(unanchored, kept_rows(), lambda *_: LONG_LINES[255], None, None)
    assert unanchored.adopted == 0


@pytest.mark.parametrize("position", [0, 100, BLOCK_ENTRIES - 1, BLOCK_ENTRIES, 2 * BLOCK_ENTRIES - 1])
def test_a_changed_line_under_kept_rows_is_never_accepted(position: int) -> None:
    kept = kept_rows()
    for at in range(7, len(LONG_LINES[position]), 211):
        lines = [*LONG_LINES]
        lines[position] = flipped(lines[position], at)
        with pytest.raises(LedgerDamagedError):
            replayed_with(kept, lines)
    with pytest.raises(LedgerDamagedError):
        replayed_with(kept, [*LONG_LINES[:position], *LONG_LINES[position + 1 :]])


def test_rows_kept_of_changed_lines_do_not_make_them_true() -> None:
    lines = [*LONG_LINES]
    lines[3] = lines[3].replace(b'"latencyMs":12', b'"latencyMs":13')
    with pytest.raises(LedgerDamagedError, match="are not those its checkpoint was signed over"):
        replayed_with(kept_rows(lines), lines)


@pytest.mark.parametrize("size", [1, BLOCK_ENTRIES, BLOCK_ENTRIES + 1, 2 * BLOCK_ENTRIES, 2 * BLOCK_ENTRIES + 1])
def test_the_commit_point_is_compared_whatever_is_kept(size: int) -> None:
    adopted = (size - 1) // BLOCK_ENTRIES * BLOCK_ENTRIES
    assert replayed_with(kept_rows(), committed=Mark(size, LONG[size - 1].hash)).adopted == adopted
    with pytest.raises(LedgerDamagedError, match=f"Entry {size} .*committed"):
        replayed_with(kept_rows(), committed=Mark(size, "f" * 64))


def test_a_chain_shorter_than_its_checkpoint_is_behind_whatever_is_kept() -> None:
    for length in (0, 3, BLOCK_ENTRIES, BLOCK_ENTRIES + 1, 2 * BLOCK_ENTRIES):
        with pytest.raises(LedgerBehindError, match=f"ends with entry {length}"):
            replayed_with(kept_rows(), LONG_LINES[:length])
