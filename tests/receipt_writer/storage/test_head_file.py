from __future__ import annotations

import json
from pathlib import Path

import pytest

from receipt_writer.errors import LedgerDamagedError
from receipt_writer.storage.filesystem import OsFileSystem
from receipt_writer.storage.head_file import SLOT_BYTES, CommitPoint, HeadFile, HeadRecord, newest_record
from tests.receipt_writer.format.material import SeedSigner

SIGNER = SeedSigner(b"\1" * 32)


def record(commit: int, size: int = 1, epoch: int = 1) -> HeadRecord:
    return HeadRecord(epoch, commit, {"turns": CommitPoint(size, size * 100, "a" * 64)})


def created(path: Path) -> HeadFile:
    return HeadFile.create(OsFileSystem(), path, record(1), SIGNER)


def reopened(path: Path) -> HeadFile:
    return HeadFile(OsFileSystem(), path, SIGNER)


def test_the_newest_record_is_found_again(tmp_path: Path) -> None:
    head = created(tmp_path / "head.json")
    for commit in range(2, 7):
        head.write(record(commit, size=commit))
        if commit % 2:
            head.sync()
    assert reopened(tmp_path / "head.json").record == record(6, size=6)


def test_a_new_epoch_outranks_any_number_of_commits(tmp_path: Path) -> None:
    head = created(tmp_path / "head.json")
    head.write(record(900))
    head.sync()
    head.write(record(1, epoch=2))
    assert reopened(tmp_path / "head.json").record.epoch == 2


def test_the_file_is_json_of_one_size(tmp_path: Path) -> None:
    path = tmp_path / "head.json"
    head = created(path)
    head.write(record(2, size=2**53 - 1))
    assert path.stat().st_size == 2 * SLOT_BYTES
    assert {row["commit"] for row in json.loads(path.read_bytes())} == {1, 2}


@pytest.mark.parametrize("synced", [True, False])
@pytest.mark.parametrize("kept", [0, 1, 300, SLOT_BYTES - 1])
def test_a_torn_write_leaves_the_last_durable_record(tmp_path: Path, kept: int, synced: bool) -> None:
    path = tmp_path / "head.json"
    head = created(path)
    head.write(record(2, size=2))
    head.sync()
    before = path.read_bytes()
    for commit in range(3, 6):  # several commits, no sync: all of them go to one slot
        head.write(record(commit, size=commit))
    after = path.read_bytes()
    slot = 0 if before[:SLOT_BYTES] != after[:SLOT_BYTES] else 1
    torn = bytearray(before)
    start = slot * SLOT_BYTES
    torn[start : start + kept] = after[start : start + kept]
    if not synced:
        torn[start + kept : start + SLOT_BYTES] = bytes(SLOT_BYTES - kept)
    found, _ = newest_record(bytes(torn), SIGNER.public_key)
    complete = torn == bytearray(after)  # the part that never arrived was padding
    assert found == record(5, size=5) if complete else found == record(2, size=2)


def test_every_flipped_byte_of_a_record_makes_its_slot_worthless(tmp_path: Path) -> None:
    path = tmp_path / "head.json"
    created(path)
    content = path.read_bytes()
    text_bytes = len(content[:SLOT_BYTES].rstrip())
    for at in range(1, text_bytes, 7):
        flipped = bytearray(content)
        flipped[at] ^= 1
        flipped[SLOT_BYTES + at] ^= 1
        with pytest.raises(LedgerDamagedError, match=r"head\.json"):
            newest_record(bytes(flipped), SIGNER.public_key)


def test_a_record_of_another_key_is_refused(tmp_path: Path) -> None:
    created(tmp_path / "head.json")
    with pytest.raises(LedgerDamagedError, match="this writer's entry key"):
        HeadFile(OsFileSystem(), tmp_path / "head.json", SeedSigner(b"\2" * 32))


@pytest.mark.parametrize("content", [b"", b"[]", b"[\n]" * 9000, b"\0" * 8192])
def test_junk_is_refused(content: bytes) -> None:
    with pytest.raises(LedgerDamagedError):
        newest_record(content, SIGNER.public_key)


def test_a_record_that_another_process_wrote_is_noticed(tmp_path: Path) -> None:
    mine = created(tmp_path / "head.json")
    mine.write(record(2))
    assert mine.is_undisturbed()
    reopened(tmp_path / "head.json").write(record(1, epoch=2))
    assert not mine.is_undisturbed()
