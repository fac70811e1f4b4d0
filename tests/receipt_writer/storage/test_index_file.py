from __future__ import annotations

import errno
import logging
import os
from pathlib import Path

import pytest

from receipt_writer.format.chain import head_after
from receipt_writer.format.entry import Entry
from receipt_writer.format.schema import LAYERS
from receipt_writer.index import BLOCK_ENTRIES, ChainIndex, Filter, Rows
from receipt_writer.storage.filesystem import OsFileSystem
from receipt_writer.storage.index_file import IndexFile, index_path
from tests.receipt_writer.format.material import SeedSigner, decision_chain
from tests.receipt_writer.parts import WatchedFiles, decision, ulid

SIGNER, CHECKPOINT, OTHER = SeedSigner(b"\1" * 32), SeedSigner(b"\3" * 32), SeedSigner(b"\4" * 32)
BLOCKS = 4
ENTRIES = decision_chain(
    [
        decision(number, turnId=ulid("t_", number // 7), specId="gate" if number % 3 else "draft")
        for number in range(1, BLOCKS * BLOCK_ENTRIES + 6)
    ],
    SIGNER,
    "home/decisions/-",
)
FILES = OsFileSystem()


def filled(entries: list[Entry]) -> ChainIndex:
    index = ChainIndex(LAYERS["L12"], "home")
    for entry in entries:
        index.add(entry.fields, entry.line, head_after(entry))
    return index


FULL = filled(ENTRIES)


def opened(path: Path, index: ChainIndex | None = None, files: OsFileSystem = FILES) -> IndexFile:
    return IndexFile(files, path, index or ChainIndex(LAYERS["L12"], "home"))


def kept(path: Path, key: bytes = CHECKPOINT.public_key) -> list[Rows]:
    return list(opened(path).rows([key]))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that holds the rows of every whole block."""
    path = index_path(tmp_path, "decisions")
    opened(path, FULL).keep(len(ENTRIES), CHECKPOINT)
    return path


def test_an_index_filled_from_kept_rows_is_the_index_filled_from_the_lines(path: Path) -> None:
    index = ChainIndex(LAYERS["L12"], "home")
    for rows in kept(path):
        last = index.head.size + BLOCK_ENTRIES
        index.adopt(rows, head_after(ENTRIES[last - 1]))
    assert index.adopted == BLOCKS * BLOCK_ENTRIES
    for entry in ENTRIES[index.adopted :]:
        index.add(entry.fields, entry.line, head_after(entry))
    assert index.head == FULL.head
    assert index.tree.root() == FULL.tree.root()
    assert list(map(index.rows, range(BLOCKS))) == list(map(FULL.rows, range(BLOCKS)))
    for entry in ENTRIES[::97]:
        assert index.id_of(str(entry.fields["callId"])) == entry.id
    for member, value in (("turnId", ulid("t_", 50)), ("specId", "draft"), ("category", "drafter")):
        wanted = Filter(members=((member, value),))
        assert list(index.select(wanted)) == list(FULL.select(wanted)) != []


def test_only_whole_blocks_that_a_checkpoint_covers_are_kept(tmp_path: Path) -> None:
    path = index_path(tmp_path, "decisions")
    file = opened(path, FULL)
    file.keep(BLOCK_ENTRIES - 1, CHECKPOINT)
    assert not path.exists()
    file.keep(2 * BLOCK_ENTRIES + 1, CHECKPOINT)
    assert kept(path) == [FULL.rows(0), FULL.rows(1)]
    file.keep(3 * BLOCK_ENTRIES, CHECKPOINT)
    assert len(kept(path)) == 3


def test_the_file_is_readable_by_its_owner_only(path: Path) -> None:
    assert path.stat().st_mode & 0o777 == 0o600


def test_rows_that_another_key_signed_are_no_rows(path: Path) -> None:
    assert kept(path, OTHER.public_key) == []
    assert len(kept(path)) == BLOCKS


def test_a_block_by_a_new_key_vouches_for_the_blocks_before_it(path: Path) -> None:
    index = ChainIndex(LAYERS["L12"], "home")
    file = opened(path, index)
    for rows in file.rows([CHECKPOINT.public_key]):
        index.adopt(rows, head_after(ENTRIES[index.head.size + BLOCK_ENTRIES - 1]))
    for entry in decision_chain([decision(number) for number in range(1, 2000)], SIGNER, "home/decisions/-")[
        index.head.size : index.head.size + BLOCK_ENTRIES
    ]:
        index.add(entry.fields, entry.line, head_after(entry))
    file.keep(index.head.size, OTHER)
    assert len(kept(path, OTHER.public_key)) == BLOCKS + 1


def test_a_new_key_vouches_for_the_blocks_of_the_former_one_also_when_there_is_no_new_block(path: Path) -> None:
    before = path.read_bytes()
    index = ChainIndex(LAYERS["L12"], "home")
    file = opened(path, index)
    for rows in file.rows([CHECKPOINT.public_key]):
        index.adopt(rows, head_after(ENTRIES[index.head.size + BLOCK_ENTRIES - 1]))
    file.keep(index.head.size, CHECKPOINT)
    assert path.read_bytes() == before
    file.keep(index.head.size, OTHER)
    assert kept(path, OTHER.public_key) == list(map(FULL.rows, range(BLOCKS)))
    assert kept(path) == list(map(FULL.rows, range(BLOCKS - 1)))


@pytest.mark.parametrize("cut", [1, 64, 65, 5_000])
def test_a_block_that_was_torn_is_passed_over_and_written_again(path: Path, cut: int) -> None:
    whole = path.read_bytes()
    os.truncate(path, len(whole) - cut)
    index = ChainIndex(LAYERS["L12"], "home")
    file = opened(path, index)
    for rows in file.rows([CHECKPOINT.public_key]):
        index.adopt(rows, head_after(ENTRIES[index.head.size + BLOCK_ENTRIES - 1]))
    assert index.adopted == (BLOCKS - 1) * BLOCK_ENTRIES
    for entry in ENTRIES[index.adopted :]:
        index.add(entry.fields, entry.line, head_after(entry))
    file.keep(len(ENTRIES), CHECKPOINT)
    assert path.read_bytes() == whole


def test_no_byte_of_the_file_can_be_changed_and_still_be_believed(path: Path) -> None:
    whole = path.read_bytes()
    good = kept(path)
    block_bytes = (len(whole) - whole.index(b"\n") - 1) // BLOCKS
    for at in [*range(0, len(whole), 1_511), len(whole) - 1, whole.index(b"\n")]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        first_bad = max(at - whole.index(b"\n") - 1, 0) // block_bytes
        found = kept(path)
        assert found == good[: len(found)]
        assert len(found) <= first_bad


@pytest.mark.parametrize("content", [b"", b"\n", b"{}\n", b"x" * 100_000, bytes(200_000)])
def test_a_file_of_something_else_has_no_rows_and_is_replaced(path: Path, content: bytes) -> None:
    whole = path.read_bytes()
    path.write_bytes(content)
    file = opened(path, FULL)
    assert list(file.rows([CHECKPOINT.public_key])) == []
    file.keep(len(ENTRIES), CHECKPOINT)
    assert path.read_bytes() == whole


def test_rows_of_another_chain_layer_or_tenant_are_no_rows(path: Path) -> None:
    for index in (
        ChainIndex(LAYERS["L12"], "other"),
        ChainIndex(LAYERS["L12"], "home", "acme"),
        ChainIndex(LAYERS["L10"], "home"),
    ):
        assert list(opened(path, index).rows([CHECKPOINT.public_key])) == []


def test_rows_swapped_within_the_file_are_no_rows(path: Path) -> None:
    whole = path.read_bytes()
    start = whole.index(b"\n") + 1
    block_bytes = (len(whole) - start) // BLOCKS
    blocks = [whole[start + n * block_bytes : start + (n + 1) * block_bytes] for n in range(BLOCKS)]
    path.write_bytes(whole[:start] + blocks[1] + blocks[0] + blocks[2] + blocks[3])
    assert kept(path) == []
    path.write_bytes(whole[:start] + blocks[0] + blocks[2] + blocks[3])
    assert len(kept(path)) == 1


def test_rows_that_their_reader_did_not_take_over_are_written_again(path: Path) -> None:
    index = ChainIndex(LAYERS["L12"], "home")
    file = opened(path, index)
    rows = next(file.rows([CHECKPOINT.public_key]))
    index.adopt(rows, head_after(ENTRIES[BLOCK_ENTRIES - 1]))
    others = decision_chain([decision(number) for number in range(1, 600)], SIGNER, "home/decisions/-")
    for entry in others[BLOCK_ENTRIES:]:
        index.add(entry.fields, entry.line, head_after(entry))
    file.keep(index.head.size, CHECKPOINT)
    first, second = kept(path)
    assert first == rows
    assert second == index.rows(1)


def test_a_full_disk_ends_the_keeping_with_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = WatchedFiles(fails=("write_at", "decisions.index"), error=errno.ENOSPC)
    file = opened(index_path(tmp_path, "decisions"), FULL, files)
    with caplog.at_level(logging.WARNING):
        file.keep(len(ENTRIES), CHECKPOINT)
        file.keep(len(ENTRIES), CHECKPOINT)
    assert [record.message for record in caplog.records] == [
        "The index of the chain decisions cannot be kept (no space left on device), so the next start takes longer."
    ]


class NoHandleLeft(OsFileSystem):
    """Opens no file to write for as long as `is_short`."""

    is_short = True

    def open(self, path: Path, *, append: bool = False) -> int:
        if self.is_short:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return super().open(path, append=append)


def test_a_want_of_handles_is_over_when_there_are_some(tmp_path: Path) -> None:
    files, path = NoHandleLeft(), index_path(tmp_path, "decisions")
    file = opened(path, FULL, files)
    file.keep(len(ENTRIES), CHECKPOINT)
    assert not path.exists()
    files.is_short = False
    file.keep(len(ENTRIES), CHECKPOINT)
    assert len(kept(path)) == BLOCKS


def test_a_file_that_cannot_be_read_has_no_rows(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = index_path(tmp_path, "decisions")
    path.mkdir()
    with caplog.at_level(logging.WARNING):
        assert kept(path) == []
    assert "index of the chain decisions cannot be read" in caplog.text
