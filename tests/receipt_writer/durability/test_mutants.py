"""The checks of this folder can fail: each of nine broken writers is caught by one, and the product passes it."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from receipt_writer.app import open_service
from receipt_writer.errors import FolderInUseError, LedgerDamagedError, StorageFailedError
from receipt_writer.storage.filesystem import OsFileSystem
from tests.receipt_writer.durability.faults import FailingFiles, Fault
from tests.receipt_writer.durability.lives import Inspector, Promises, alive, first_life
from tests.receipt_writer.durability.mutants import (
    Buffered,
    LateFsync,
    RetriedFsync,
    Unlocked,
    WithoutFolderFsync,
    WithoutFsync,
    acknowledges_what_failed,
    cuts_a_complete_bad_line,
    with_forgotten_keys,
)
from tests.receipt_writer.durability.oplog import RecordingFiles
from tests.receipt_writer.durability.replays import Choice, Judged, Recorded, judge, record, scratch
from tests.receipt_writer.durability.sweep import Case, calls_of, fault_of, pasts
from tests.receipt_writer.parts import Clock, chain_file, decision

pytestmark = pytest.mark.durability

ENOUGH = 5
"""So many bad states show that a check catches a mutant."""


async def replayed(files: RecordingFiles, every: int = 1) -> Judged:
    """Judge crash states of a run; the same healthy `Inspector` starts on each, whatever made them."""
    with scratch() as place:
        return judge(await record(place, files), place, Inspector(), Choice(enough=ENOUGH, every=every))


def tells_of_a_loss(fault: str) -> bool:
    """Say whether a fault is that something committed or acknowledged is gone."""
    return any(words in fault for words in ("acknowledged entries", "left no trace", "were committed"))


async def test_the_product_passes_what_catches_the_mutants() -> None:
    judged = await replayed(RecordingFiles(), every=31)
    assert (judged.bad, judged.first_fault) == (0, "")


async def test_the_mutant_without_fsync_is_caught() -> None:
    judged = await replayed(WithoutFsync())
    assert judged.bad == ENOUGH


async def test_the_mutant_that_syncs_after_the_acknowledgement_is_caught() -> None:
    judged = await replayed(LateFsync(), every=5)
    assert judged.bad == ENOUGH
    assert tells_of_a_loss(judged.first_fault)


async def test_the_mutant_without_a_sync_of_its_folders_is_caught() -> None:
    judged = await replayed(WithoutFolderFsync())
    assert judged.bad == ENOUGH


async def test_the_mutant_with_a_buffer_of_its_own_is_caught() -> None:
    judged = await replayed(Buffered(), every=5)
    assert judged.bad == ENOUGH
    assert tells_of_a_loss(judged.first_fault)


async def after_a_failed_fsync(files: RecordingFiles) -> tuple[bool, Judged]:
    """Let the one sync of a commit fail; return whether its caller got an answer, and the judged crash states."""
    with scratch() as place:
        root = place / "run"
        root.mkdir()
        folder = root / "home" / "receipts"
        files.make_folders(root, folder)
        promises = Promises(lambda: len(files.log))
        async with alive(folder, files, Clock()) as service:
            await promises.append(service, "L12", decision(1))
            since = len(files.log)
            files.fail_sync = "decisions.jsonl"
            try:
                await promises.append(service, "L12", decision(2))
                answered = True
            except StorageFailedError:
                answered = service.writer.failure is None
        files.abandon()
        return answered, judge(Recorded(files, promises, root), place, Inspector(), Choice(since=since))


async def test_the_mutant_that_repeats_a_failed_fsync_is_caught() -> None:
    answered, judged = await after_a_failed_fsync(RetriedFsync())
    assert answered
    assert judged.bad
    assert "1 acknowledged entries of L12 are not there" in judged.first_fault
    answered, judged = await after_a_failed_fsync(RecordingFiles())
    assert not answered
    assert (judged.bad, judged.first_fault) == (0, "")


def two_on_one_folder(folder: Path, files: OsFileSystem) -> str:
    """Open a folder twice; return what the second is told, "" when it is let in."""
    first = open_service(folder, files, Clock())
    try:
        open_service(folder, files, Clock()).store.close()
    except FolderInUseError as refusal:
        return str(refusal)
    finally:
        first.store.close()
    return ""


def test_the_mutant_without_a_lock_is_caught(tmp_path: Path) -> None:
    assert two_on_one_folder(tmp_path, Unlocked()) == ""
    assert "belong to a running writer, process " in two_on_one_folder(tmp_path, OsFileSystem())


async def commit_write_fails() -> list[str]:
    """Let writes of the first life fail for ever, one run each; return what was wrong."""
    with scratch() as place:
        first, *_ = await calls_of(place)
        writes = [at for at, name in enumerate(first, 1) if name == "write"][-12:]
        runs = [Case(0, Fault(at, errno.EIO, for_ever=True)) for at in writes]
        past, *_ = await pasts(place)
        return [fault for case in runs if (fault := await fault_of(case, place, past, Inspector()))]


async def test_the_mutant_that_acknowledges_a_batch_it_could_not_write_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert await commit_write_fails() == []
    acknowledges_what_failed(monkeypatch)
    faults = await commit_write_fails()
    assert any(map(tells_of_a_loss, faults))


async def with_a_bad_last_line(folder: Path) -> None:
    """Leave a ledger whose last committed line, complete as it is, was overwritten in part."""
    files = FailingFiles()
    await first_life(folder, files, Promises())
    files.abandon()
    path = chain_file(folder)
    path.write_bytes(path.read_bytes()[:-60] + b"#" * 59 + b"\n")


async def test_the_mutant_that_cuts_a_complete_bad_line_is_caught(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await with_a_bad_last_line(folder)
    before = chain_file(folder).read_bytes()
    with pytest.raises(LedgerDamagedError, match="Nothing was changed"):
        open_service(folder, clock=Clock())
    assert chain_file(folder).read_bytes() == before
    (folder / "chains" / "head.json").unlink()  # nobody knows how far it was committed
    with pytest.raises(LedgerDamagedError, match="Nothing was changed"):
        open_service(folder, clock=Clock())
    cuts_a_complete_bad_line(monkeypatch)
    open_service(folder, clock=Clock()).store.close()
    assert len(chain_file(folder).read_bytes()) < len(before)


async def test_the_mutant_that_keeps_idempotency_in_memory_is_caught() -> None:
    with scratch() as place:
        recorded = await record(place, RecordingFiles())
        judged = judge(recorded, place, Inspector(with_forgotten_keys), Choice(enough=1, every=31))
    assert judged.bad
    assert "a repeated request got another answer" in judged.first_fault
