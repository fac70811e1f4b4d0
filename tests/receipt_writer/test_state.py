from __future__ import annotations

import asyncio
import errno
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from receipt_writer.app import Service, open_service
from receipt_writer.errors import EntryNotFoundError, LedgerDamagedError, StorageFailedError
from receipt_writer.ledger import Append, Regenerate
from receipt_writer.state import STATE_EVERY_MS
from receipt_writer.writer import Limits
from tests.receipt_writer.parts import Clock, WatchedFiles, chain_file, decision, verified


@asynccontextmanager
async def opened(
    folder: Path, clock: Clock, files: WatchedFiles | None = None, limits: Limits | None = None
) -> AsyncIterator[Service]:
    """Open a ledger and run its committer; upkeep happens when the test looks."""
    service = open_service(folder, files, clock, limits=limits)
    running = asyncio.create_task(service.writer.run(lambda: None))
    try:
        yield service
    finally:
        await service.writer.drain()
        await running
        service.store.close()


def sizes(line: bytes) -> dict[str, int]:
    return {row["chain"]: row["size"] for row in json.loads(line)["chains"]}


def reasons(folder: Path) -> list[object]:
    return [entry.fields["reason"] for entry in verified(folder, "L7")]


async def test_a_state_that_is_asked_for_is_recorded_and_becomes_the_file(folder: Path) -> None:
    async with opened(folder, Clock()) as service:
        await service.writer.append("L12", decision(1))
        entry = await service.state.regenerate("requested")
        assert (folder / "state.json").read_bytes() == entry.line + b"\n" == chain_file(folder, "L1").read_bytes()
        assert service.state.newest() == entry.line
        assert (sizes(entry.line)["decisions"], sizes(entry.line)["regenerations"]) == (1, 1)
        assert (folder / "state.json").stat().st_mode & 0o777 == 0o600
    assert reasons(folder) == ["requested"]


async def test_a_ledger_without_a_state_says_how_to_get_one(folder: Path) -> None:
    async with opened(folder, Clock()) as service:
        with pytest.raises(EntryNotFoundError, match="ask again with fresh set"):
            service.state.newest()
    assert not (folder / "state.json").exists()


async def test_a_state_is_due_an_hour_after_something_was_recorded_that_none_covers(folder: Path) -> None:
    clock = Clock()
    async with opened(folder, clock) as service:
        await service.writer.append("L12", decision(1))
        clock.now_ms += STATE_EVERY_MS - 1
        await service.state.look(clock.now_ms)
        assert verified(folder, "L1") == []
        clock.now_ms += 1
        await service.upkeep.look_once()
        assert sizes(service.state.newest())["decisions"] == 1
    assert reasons(folder) == ["scheduled"]


@pytest.mark.parametrize("step_ms", [STATE_EVERY_MS, -STATE_EVERY_MS])
async def test_the_next_state_is_due_an_hour_after_the_last_one_and_only_when_something_grew(
    folder: Path, step_ms: int
) -> None:
    clock = Clock()
    async with opened(folder, clock) as service:
        await service.writer.append("L12", decision(1))
        await service.state.regenerate("requested")
        clock.now_ms += step_ms
        await service.state.look(clock.now_ms)
        assert len(verified(folder, "L1")) == 1
        await service.writer.append("L12", decision(2))
        assert service.state.is_due(clock.now_ms)
        assert not service.state.is_due(clock.now_ms - step_ms // 2)
        await service.state.look(clock.now_ms)
        assert len(verified(folder, "L1")) == 2
        assert not service.state.is_due(clock.now_ms)


async def test_the_schedule_goes_on_where_the_last_process_left_it(folder: Path) -> None:
    clock = Clock()
    async with opened(folder, clock) as service:
        await service.state.regenerate("requested")
        await service.writer.append("L12", decision(1))
    clock.now_ms += STATE_EVERY_MS - 1
    async with opened(folder, clock) as service:
        assert not service.state.is_due(clock.now_ms)
        assert service.state.is_due(clock.now_ms + 1)


@pytest.mark.parametrize("content", [None, b"", b"{}\n", "older"])
async def test_a_start_restores_a_file_that_is_missing_or_behind(folder: Path, content: bytes | str | None) -> None:
    async with opened(folder, Clock()) as service:
        older = await service.state.regenerate("requested")
        newer = await service.state.regenerate("requested")
    if content is None:
        (folder / "state.json").unlink()
    else:
        (folder / "state.json").write_bytes(older.line + b"\n" if isinstance(content, str) else content)
    async with opened(folder, Clock()):
        assert (folder / "state.json").read_bytes() == newer.line + b"\n"


async def test_a_start_that_finds_the_right_file_leaves_it_alone(folder: Path) -> None:
    async with opened(folder, Clock()) as service:
        await service.state.regenerate("requested")
    files = WatchedFiles()
    async with opened(folder, Clock(), files):
        assert ("replace", "state.json") not in files.calls


@pytest.mark.parametrize("call", [("replace", "state.json"), ("sync", ".state.json.tmp"), ("sync_folder", "receipts")])
async def test_a_file_that_cannot_be_written_is_tried_again_and_harms_nothing_else(
    tmp_path: Path, call: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "receipts"
    folder.mkdir(mode=0o700)
    files = WatchedFiles(error=errno.ENOSPC)
    async with opened(folder, Clock(), files) as service:
        files.fails = call
        entry = await service.state.regenerate("requested")
        assert "state.json could not be written: no space left on device" in caplog.text
        await service.writer.append("L12", decision(1))
        await service.upkeep.look_once()
        assert len(caplog.records) == 1
        files.fails = None
        await service.upkeep.look_once()
        assert (folder / "state.json").read_bytes() == entry.line + b"\n"


async def test_requests_that_wait_for_a_run_share_the_next_one(folder: Path) -> None:
    async with opened(folder, Clock()) as service:
        first = asyncio.create_task(service.state.regenerate("requested"))
        await asyncio.sleep(0)
        others = [asyncio.create_task(service.state.regenerate("requested")) for _ in range(10)]
        changed = asyncio.create_task(service.state.regenerate("key_changed"))
        assert (await first).id == 1
        assert {(await other).id for other in others} == {2}
        assert (await changed).id == 3
    assert reasons(folder) == ["requested", "requested", "key_changed"]


async def test_a_caller_that_leaves_does_not_disturb_the_file(folder: Path) -> None:
    files = WatchedFiles(awaited=("sync", ".state.json.tmp"))
    async with opened(folder, Clock(), files) as service:
        leaver = asyncio.create_task(service.state.regenerate("requested"))
        assert await asyncio.to_thread(files.happened.wait, 20)
        leaver.cancel()
        newest = await service.state.regenerate("requested")
        await service.state.rest()
        assert (folder / "state.json").read_bytes() == newest.line + b"\n"


async def test_a_scheduled_state_that_the_queue_refuses_is_made_at_a_later_look(folder: Path) -> None:
    clock = Clock()
    async with opened(folder, clock, limits=Limits(queue=1)) as service:
        await service.writer.append("L12", decision(1))
        clock.now_ms += STATE_EVERY_MS
        told = asyncio.Event()
        service.writer.submit(Append("L12", decision(2)), lambda _: told.set())
        await service.state.look(clock.now_ms)
        assert verified(folder, "L1") == []
        await told.wait()
        await service.state.look(clock.now_ms)
        assert sizes((folder / "state.json").read_bytes())["decisions"] == 2


async def test_a_state_whose_commit_fails_is_no_state(folder: Path) -> None:
    files = WatchedFiles()
    service = open_service(folder, files, Clock())
    running = asyncio.create_task(service.writer.run(lambda: None))
    files.fails = ("sync", "state.jsonl")
    with pytest.raises(StorageFailedError):
        await service.state.regenerate("requested")
    await running
    assert not (folder / "state.json").exists()
    service.store.close()


async def test_a_newest_state_that_cannot_be_read_back_is_told_and_ends_no_writer(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    async with opened(folder, clock) as service:
        await service.state.regenerate("requested")
        await service.writer.append("L12", decision(1))
        chain = chain_file(folder, "L1")
        good = chain.read_bytes()
        chain.write_bytes(good.replace(b'"size":2', b'"size":3'))
        clock.now_ms += STATE_EVERY_MS
        for _ in range(2):
            await service.upkeep.look_once()
        assert "not what was recorded" in caplog.text
        assert len(caplog.records) == 1
        with pytest.raises(LedgerDamagedError):
            service.state.newest()
        chain.write_bytes(good)
        await service.upkeep.look_once()
        assert sizes((folder / "state.json").read_bytes())["decisions"] == 1


def test_a_state_is_written_only_after_everything_it_covers_is_on_the_medium(folder: Path) -> None:
    """Else a power cut could leave a signed state of entries that are not there."""
    files = WatchedFiles()
    service = open_service(folder, files, Clock())
    mark = len(files.calls)
    service.writer.commit_now([Regenerate("requested"), Append("L12", decision(1)), Regenerate("requested")])
    calls = files.since(mark)
    service.store.close()
    synced = [calls.index(("sync", f"{chain}.jsonl")) for chain in ("decisions", "regenerations")]
    assert max(synced) < calls.index(("write", "state.jsonl")) < calls.index(("sync", "state.jsonl"))
