"""Two writers and one folder: the second is refused, or takes over by its operator's word; never both acknowledge."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import grpc
import grpc.aio
import pytest

from prometheus.receipts.v1 import receipts_pb2_grpc
from receipt_writer.app import Service, open_service
from receipt_writer.errors import FolderInUseError, StorageFailedError, TakenOverError
from receipt_writer.storage.filesystem import OsFileSystem
from receipt_writer.storage.lock import take_lock
from tests.receipt_writer.durability.faults import FailingFiles
from tests.receipt_writer.durability.lives import ChainReader, Promises, alive
from tests.receipt_writer.parts import Clock, chain_file, decision, decision_request, verified
from tests.receipt_writer.test_process import Writer, launch, said, started

pytestmark = pytest.mark.slow  # starts many processes


@asynccontextmanager
async def taking_over(home: Path, listen: str) -> AsyncIterator[Writer]:
    """Start a writer on the socket of one that hangs; connect only once the socket is the new writer's."""
    process = await launch(home, listen, "--take-over")
    assert process.stderr is not None
    assert b"ready" in await asyncio.wait_for(process.stderr.readline(), 20)
    own = (("grpc.use_local_subchannel_pool", 1),)  # a new connection, though this process has one to that address
    async with grpc.aio.insecure_channel(listen, options=own) as channel:
        stub = receipts_pb2_grpc.ReceiptWriterStub(channel)  # type: ignore[no-untyped-call]
        try:
            yield Writer(process, listen, channel, stub)
        finally:
            if process.returncode is None:
                process.kill()
                await said(process)


async def refused(stub: receipts_pb2_grpc.ReceiptWriterStub, number: int) -> bool:
    """Ask for an entry; say whether there was none."""
    try:
        await stub.AppendDecision(decision_request(number), timeout=10)
    except grpc.aio.AioRpcError as error:
        return error.code() is grpc.StatusCode.UNAVAILABLE
    return False


async def test_a_holder_that_was_stopped_and_taken_over_fails_when_it_goes_on(folder: Path) -> None:
    async with started(folder) as old:
        before = [(await old.stub.AppendDecision(decision_request(number))).entry.line for number in range(3)]
        old.process.send_signal(signal.SIGSTOP)
        waiting = asyncio.create_task(refused(old.stub, 3))
        async with taking_over(folder, old.target) as new:
            taken = [(await new.stub.AppendDecision(decision_request(number))).entry.line for number in range(5)]
            old.process.send_signal(signal.SIGCONT)
            status, text = await said(old.process)
            assert await waiting
            after = (await new.stub.AppendDecision(decision_request(5))).entry.line
            assert (await new.end(signal.SIGTERM))[0] == 0
    assert status == 1
    assert f"Another writer, process {new.process.pid}, took over these chains; this one stops" in text
    assert taken[:3] == before
    assert [entry.line.decode() for entry in verified(folder / "receipts")] == [*taken, after]


async def test_a_holder_that_is_asked_nothing_notices_all_the_same(folder: Path) -> None:
    async with started(folder) as old:
        await old.stub.AppendDecision(decision_request(1))
        async with started(folder, f"unix:{folder}/other.sock", "--take-over") as new:
            status, text = await said(old.process)
            assert status == 1
            assert f"process {new.process.pid}" in text
            assert not await refused(new.stub, 2)


async def test_taking_over_from_nobody_is_an_ordinary_start(folder: Path) -> None:
    async with started(folder) as writer:
        await writer.stub.AppendDecision(decision_request(1))
        await writer.end(signal.SIGKILL)
    inode = (folder / "receipts" / "chains" / "lock").stat().st_ino
    async with started(folder, "", "--take-over") as writer:
        assert not await refused(writer.stub, 2)
    assert (folder / "receipts" / "chains" / "lock").stat().st_ino == inode
    assert len(verified(folder / "receipts")) == 2


@dataclass
class Overtaken(FailingFiles):
    """Real files; before the chosen call another writer takes the folder over, as if this process had been stopped."""

    at: int = 0
    take_over: Callable[[], None] = lambda: None

    def _count(self, name: str) -> int | None:
        kind = super()._count(name)
        if len(self.names) == self.at:
            self.take_over()
        return kind


async def commit_overtaken_at(folder: Path, at: int) -> tuple[int, list[bytes]]:
    """Commit entry 2, taken over before storage call `at` of it; return its calls, and what was acknowledged."""
    files, next_files, successors = Overtaken(), FailingFiles(), list[Service]()
    files.take_over = lambda: successors.append(open_service(folder, next_files, Clock(), take_over=True))
    promises = Promises()
    async with alive(folder, files, Clock()) as service:
        await promises.append(service, "L12", decision(1))
        start = len(files.names)
        files.at = start + at
        try:
            await promises.append(service, "L12", decision(2))
        except TakenOverError:
            assert service.writer.failure
        calls = len(files.names) - start
    files.abandon()
    for successor in successors:
        successor.store.close()
    next_files.abandon()
    return calls, [promise.line for promise in promises.made]


async def test_wherever_a_commit_is_overtaken_the_next_writer_has_what_was_acknowledged(folder: Path) -> None:
    acknowledgements = []
    for at in count(1):
        receipts = folder / f"{at}"
        receipts.mkdir()
        calls, acknowledged = await commit_overtaken_at(receipts, at)
        assert set(acknowledged) <= {entry.line for entry in ChainReader().entries(receipts, "L12")}
        acknowledgements.append(len(acknowledged))
        if at > calls:
            break
    last_look = acknowledgements.index(2)
    assert last_look > 3  # at each call up to the look, write and sync among them, it was the old holder that failed …
    assert set(acknowledgements[last_look:]) == {2}  # … and behind that, what it acknowledged is in the copies


def test_a_lock_file_that_was_replaced_is_not_held(tmp_path: Path) -> None:
    files = OsFileSystem()
    first = take_lock(files, tmp_path)
    with pytest.raises(FolderInUseError, match=r"process [0-9]+; stop it first \(if it hangs: serve --take-over\)"):
        take_lock(files, tmp_path)
    second = take_lock(files, tmp_path, take_over=True)
    third = take_lock(files, tmp_path, take_over=True)
    assert [one.is_held() for one in (first, second, third)] == [False, False, True]
    assert [one.was_taken_over for one in (first, second, third)] == [False, True, True]
    first.release()
    with pytest.raises(FolderInUseError):
        take_lock(files, tmp_path)
    third.release()
    take_lock(files, tmp_path).release()
    second.release()


async def test_what_the_old_holder_still_writes_goes_to_files_without_a_name(folder: Path) -> None:
    files = FailingFiles()
    promises = Promises()
    async with alive(folder, files, Clock()) as service:
        await promises.append(service, "L12", decision(1))
        open_service(folder, clock=Clock(), take_over=True).store.close()
        before = {path.name: path.read_bytes() for path in chain_file(folder).parent.iterdir()}
        with pytest.raises(TakenOverError, match="took over these chains"):
            await promises.append(service, "L12", decision(2))
        with pytest.raises(StorageFailedError):
            await service.checkpoints.write("L10")
    files.abandon()
    assert {path.name: path.read_bytes() for path in chain_file(folder).parent.iterdir()} == before
