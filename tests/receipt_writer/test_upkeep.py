from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from receipt_writer.app import Service, open_service
from receipt_writer.errors import OutOfHandlesError, StorageFailedError
from receipt_writer.format.checkpoint import verify_note
from receipt_writer.identity import chains_folder
from receipt_writer.ledger import Begin
from receipt_writer.upkeep import CHECKPOINT_ENTRIES, CHECKPOINT_MS
from tests.receipt_writer.parts import Clock, WatchedFiles, decision, intent, policy_keys, ulid, verified


@asynccontextmanager
async def opened(folder: Path, clock: Clock, files: WatchedFiles | None = None) -> AsyncIterator[Service]:
    """Open a ledger and run its committer; upkeep happens when the test looks."""
    service = open_service(folder, files, clock)
    running = asyncio.create_task(service.writer.run(lambda: None))
    try:
        yield service
    finally:
        await service.writer.drain()
        await running
        service.store.close()


def checkpoint_size(folder: Path) -> int:
    """Return the size of the stored decisions checkpoint, verified under the policy file; 0 when there is none."""
    path = chains_folder(folder) / "decisions.checkpoint"
    if not path.exists():
        return 0
    origin, keys = policy_keys(folder)
    trusted = [key.public_key for key in keys if key.use == "checkpoint"]
    return verify_note(path.read_text(), origin, trusted).size


async def append(service: Service, first: int, last: int) -> None:
    await asyncio.gather(*(service.writer.append("L12", decision(number)) for number in range(first, last + 1)))


async def test_a_checkpoint_is_due_after_256_new_entries(folder: Path) -> None:
    async with opened(folder, Clock()) as service:
        await append(service, 1, CHECKPOINT_ENTRIES - 1)
        await service.upkeep.look_once()
        assert checkpoint_size(folder) == 0
        await append(service, CHECKPOINT_ENTRIES, CHECKPOINT_ENTRIES)
        await service.upkeep.look_once()
        assert checkpoint_size(folder) == CHECKPOINT_ENTRIES


@pytest.mark.parametrize("step_ms", [CHECKPOINT_MS, -CHECKPOINT_MS])
async def test_a_checkpoint_is_due_when_the_oldest_new_entry_is_30_seconds_old(folder: Path, step_ms: int) -> None:
    clock = Clock()
    async with opened(folder, clock) as service:
        await append(service, 1, 2)
        clock.now_ms += step_ms - (step_ms > 0) + (step_ms < 0)
        await service.upkeep.look_once()
        assert checkpoint_size(folder) == 0
        clock.now_ms += (step_ms > 0) - (step_ms < 0)
        await service.upkeep.look_once()
        assert checkpoint_size(folder) == 2


async def test_no_checkpoint_is_written_when_nothing_is_new(folder: Path) -> None:
    clock, files = Clock(), WatchedFiles()
    async with opened(folder, clock, files) as service:
        await append(service, 1, 2)
        clock.now_ms += CHECKPOINT_MS
        await service.upkeep.look_once()
        mark = len(files.calls)
        clock.now_ms += CHECKPOINT_MS
        await service.upkeep.look_once()
        assert files.since(mark) == []


async def test_a_restart_knows_the_checkpoint_it_finds(folder: Path) -> None:
    clock = Clock()
    async with opened(folder, clock) as service:
        await append(service, 1, 3)
        await service.checkpoints.write_all_new()
    async with opened(folder, clock) as service:
        assert service.checkpoints.size("L12") == 3
        await append(service, 4, 5)
        await service.checkpoints.write_all_new()
    assert checkpoint_size(folder) == 5


async def test_the_committer_wakes_the_upkeep_when_a_checkpoint_is_due(folder: Path) -> None:
    files = WatchedFiles(awaited=("replace", "decisions.checkpoint"))
    service = open_service(folder, files, Clock())
    service.upkeep._every_s = 3600
    tasks = [
        asyncio.create_task(service.writer.run(service.upkeep.after_commit)),
        asyncio.create_task(service.upkeep.run()),
    ]
    await append(service, 1, CHECKPOINT_ENTRIES)
    assert await asyncio.to_thread(files.happened.wait, 20)
    await service.checkpoints.rest()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    service.store.close()
    assert checkpoint_size(folder) == CHECKPOINT_ENTRIES


async def test_a_turn_past_its_deadline_is_recorded_as_interrupted_once(folder: Path) -> None:
    clock = Clock()
    async with opened(folder, clock) as service:
        await service.writer.begin(Begin(intent(1, deadline_ms=1000)))
        await service.writer.append("L12", decision(1, turnId=ulid("t_", 1)))
        await service.upkeep.look_once()
        assert verified(folder, "L10") == []
        clock.now_ms += 1000
        for _ in range(2):
            await service.upkeep.look_once()
    (entry,) = verified(folder, "L10")
    assert (entry.fields["outcome"], entry.fields["turnId"]) == ("interrupted", ulid("t_", 1))
    assert entry.fields["decisions"] == {"n": 1, "firstId": 1, "lastId": 1}


async def test_a_decision_that_waits_when_its_turn_is_given_up_is_counted(folder: Path) -> None:
    clock = Clock()
    async with opened(folder, clock) as service:
        await service.writer.begin(Begin(intent(1, deadline_ms=1000)))
        clock.now_ms += 1000
        waiting = asyncio.ensure_future(service.writer.append("L12", decision(1, turnId=ulid("t_", 1))))
        await asyncio.sleep(0)  # it is in the queue
        await service.upkeep.look_once()
        await waiting
    (entry,) = verified(folder, "L10")
    assert entry.fields["decisions"] == {"n": 1, "firstId": 1, "lastId": 1}


async def test_a_checkpoint_that_cannot_be_written_ends_the_writer(folder: Path) -> None:
    clock, files = Clock(), WatchedFiles()
    service = open_service(folder, files, clock)
    running = asyncio.create_task(service.writer.run(lambda: None))
    await append(service, 1, 1)
    clock.now_ms += CHECKPOINT_MS
    files.fails = ("replace", "decisions.checkpoint")
    await service.upkeep.run()
    await running
    assert isinstance(service.writer.failure, StorageFailedError)
    service.store.close()


@dataclass
class NoHandles(WatchedFiles):
    """Opens no file while `is_short`, or none but folders to sync, as a process that ran out of handles."""

    is_short: bool = False
    error_number: int = errno.EMFILE

    def open(self, path: Path, *, append: bool = False) -> int:
        if self.is_short:
            raise OSError(self.error_number, os.strerror(self.error_number))
        return super().open(path, append=append)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
async def test_a_checkpoint_waits_while_no_file_can_be_opened_and_the_writer_goes_on(
    folder: Path, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    clock, files = Clock(), NoHandles(error_number=number)
    async with opened(folder, clock, files) as service:
        await append(service, 1, 2)
        clock.now_ms += CHECKPOINT_MS
        files.is_short = True
        await service.upkeep.look_once()
        await service.checkpoints.write_all_new()
        with pytest.raises(OutOfHandlesError, match="it will be tried again"):
            await service.checkpoints.write("L12")
        await append(service, 3, 3)
        assert checkpoint_size(folder) == 0
        files.is_short = False
        await service.upkeep.look_once()
    assert checkpoint_size(folder) == 3
    assert caplog.text.count("checkpoint of the chain decisions could not be written") == 1


async def test_a_checkpoint_whose_folder_cannot_be_synced_for_want_of_handles_is_written_again(folder: Path) -> None:
    clock, files = Clock(), WatchedFiles(error=errno.EMFILE)
    async with opened(folder, clock, files) as service:
        await append(service, 1, 2)
        clock.now_ms += CHECKPOINT_MS
        files.fails = ("sync_folder", "chains")
        await service.upkeep.look_once()
        assert service.checkpoints.size("L12") == 0
        files.fails = None
        await service.upkeep.look_once()
        assert service.checkpoints.size("L12") == checkpoint_size(folder) == 2


async def test_any_other_refusal_to_open_a_checkpoint_ends_the_writer(folder: Path) -> None:
    clock, files = Clock(), NoHandles(error_number=errno.EACCES)
    async with opened(folder, clock, files) as service:
        await append(service, 1, 2)
        clock.now_ms += CHECKPOINT_MS
        files.is_short = True
        with pytest.raises(StorageFailedError, match="permission denied"):
            await service.upkeep.look_once()


async def test_a_caller_that_leaves_does_not_disturb_the_checkpoint_it_asked_for(folder: Path) -> None:
    files = WatchedFiles(awaited=("sync", ".decisions.checkpoint.tmp"))
    async with opened(folder, Clock(), files) as service:
        await append(service, 1, 2)
        leaver = asyncio.create_task(service.checkpoints.write("L12"))
        assert await asyncio.to_thread(files.happened.wait, 20)
        leaver.cancel()
        await append(service, 3, 3)
        await service.checkpoints.write("L12")
        assert checkpoint_size(folder) == 3


async def test_checkpoints_do_not_wait_for_many_silent_turns_which_share_commits(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock, files = Clock(), WatchedFiles()
    async with opened(folder, clock, files) as service:
        await asyncio.gather(*(service.writer.begin(Begin(intent(number))) for number in range(1, 301)))
        await append(service, 1, 1)
        clock.now_ms += 3_600_000
        mark = len(files.calls)
        await service.upkeep.look_once()
        calls = files.since(mark)
    commits = [at for at, call in enumerate(calls) if call == ("sync", "turns.jsonl")]
    assert len(commits) == 3
    assert calls.index(("replace", "decisions.checkpoint")) < commits[0]
    assert ("replace", "turns.checkpoint") in calls
    assert len(verified(folder, "L10")) == 300
    assert "300 turns stayed silent; entries 1 to 300 record them as interrupted." in caplog.text
