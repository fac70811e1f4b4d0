"""The writer as a process of its own: how it starts, how it ends, and what it says when it cannot."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from prometheus.receipts.v1 import receipts_pb2 as pb
from prometheus.receipts.v1 import receipts_pb2_grpc
from tests.receipt_writer.parts import begin_request, decision_request, free_port, turn_request, verified

pytestmark = pytest.mark.slow  # starts many processes

PIPE = asyncio.subprocess.PIPE


@dataclass
class Writer:
    """A running writer process and a client's way to it."""

    process: asyncio.subprocess.Process
    target: str
    channel: grpc.aio.Channel
    stub: receipts_pb2_grpc.ReceiptWriterStub

    async def end(self, number: signal.Signals | None = None) -> tuple[int, str]:
        """End the process by a signal or by closing its stdin; return its status and what it said."""
        if number is None:
            assert self.process.stdin is not None
            self.process.stdin.close()
        else:
            self.process.send_signal(number)
        return await said(self.process)


async def said(process: asyncio.subprocess.Process) -> tuple[int, str]:
    assert process.stderr is not None
    text = (await asyncio.wait_for(process.stderr.read(), 20)).decode()
    return await asyncio.wait_for(process.wait(), 20), text


async def launch(home: Path, listen: str, *options: str, under: tuple[str, ...] = ()) -> asyncio.subprocess.Process:
    command = [sys.executable, "-m", "receipt_writer", "serve", "--home", str(home), "--listen", listen, *options]
    command = [*under, *command]
    return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE)


@asynccontextmanager
async def started(home: Path, listen: str = "", *options: str, under: tuple[str, ...] = ()) -> AsyncIterator[Writer]:
    """Start a writer process and wait until it serves; it is killed when the block leaves it running."""
    listen = listen or f"unix:{home}/w.sock"
    process = await launch(home, listen, *options, under=under)
    # Else a channel may share the connection of an earlier one that does not know yet that its writer was killed.
    of_its_own = (("grpc.use_local_subchannel_pool", 1),)
    async with grpc.aio.insecure_channel(listen, options=of_its_own) as channel:
        try:
            check = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=20
            )
            assert (await check).status == health_pb2.HealthCheckResponse.SERVING
            stub = receipts_pb2_grpc.ReceiptWriterStub(channel)  # type: ignore[no-untyped-call]
            yield Writer(process, listen, channel, stub)
        finally:
            if process.returncode is None:
                process.kill()
                await said(process)


async def append_until_refused(writer: Writer) -> tuple[list[str], grpc.aio.AioRpcError]:
    """Return the lines that were acknowledged and what ended them."""
    lines: list[str] = []
    while len(lines) < 100:
        try:
            answer = await writer.stub.AppendDecision(decision_request(len(lines)))
        except grpc.aio.AioRpcError as refusal:
            return lines, refusal
        lines.append(answer.entry.line)
    raise AssertionError(lines)


async def test_one_ready_line_is_all_it_says(folder: Path) -> None:
    async with started(folder) as writer:
        await writer.stub.AppendDecision(decision_request(1))
        status, text = await writer.end(signal.SIGTERM)
    assert status == 0
    (line,) = text.splitlines()
    assert line.endswith(f"ready: receipt-writer serves keys (2) on unix:{folder}/w.sock")


async def test_health_says_whether_a_writer_serves(folder: Path) -> None:
    async with started(folder) as writer:
        command = (sys.executable, "-m", "receipt_writer", "health", writer.target)
        asked = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE)
        assert (await asked.communicate())[0] == b"SERVING\n"
        assert asked.returncode == 0
        await writer.end(signal.SIGTERM)
    asked = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE)
    assert (await asked.communicate())[0] == b"NOT SERVING\n"
    assert asked.returncode == 1


async def ending_of(stream: Any) -> grpc.StatusCode:
    """Read a stream to its end and say how it ended."""
    try:
        while await stream.read() is not grpc.aio.EOF:
            pass
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


async def test_a_drain_with_every_kind_of_stream_open_ends_in_time(folder: Path) -> None:
    async with started(folder) as writer:
        stub = writer.stub
        await asyncio.gather(*(stub.AppendDecision(decision_request(number)) for number in range(40)))
        appending = [stub.AppendStream() for _ in range(4)]
        item = pb.AppendStreamRequest(tag=1, decision=decision_request(1).draft)
        for stream in appending:
            await stream.write(item)
            assert (await stream.read()).tag == 1
        watching = [stub.Watch(pb.WatchRequest(layer=pb.LAYER_L12_DECISIONS)) for _ in range(4)]
        for stream in watching:
            assert (await stream.read()).entry.id == 1
        unread = [stub.ListEntries(pb.ListEntriesRequest(layer=pb.LAYER_L12_DECISIONS)) for _ in range(4)]
        health = health_pb2_grpc.HealthStub(writer.channel).Watch(health_pb2.HealthCheckRequest())
        await health.read()
        asking: Any = writer.channel.stream_stream("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")()
        await asking.write(b"\x3a\x00")  # list_services
        assert await asking.read()
        status, text = await writer.end(signal.SIGTERM)  # the process ends itself with 1 after two seconds
        endings = [await ending_of(stream) for stream in (*appending, *watching, *unread)]
    assert status == 0
    assert len(text.splitlines()) == 1, text
    assert endings[:8] == [grpc.StatusCode.UNAVAILABLE] * 8
    assert set(endings[8:]) <= {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.OK}
    assert len(verified(folder / "receipts")) == 40


HANGING_DISK = """
import sys, threading
from pathlib import Path
from receipt_writer.__main__ import main
from receipt_writer.storage.filesystem import OsFileSystem

def sync(files, handle, stuck=Path(sys.argv[1]), really=OsFileSystem.sync):
    return threading.Event().wait() if stuck.exists() else really(files, handle)

OsFileSystem.sync = sync
sys.argv = sys.argv[4:]
sys.exit(main())
"""


async def test_a_disk_that_hangs_does_not_keep_the_process(folder: Path) -> None:
    stuck = folder / "stuck"
    async with started(folder, under=(sys.executable, "-c", HANGING_DISK, str(stuck))) as writer:
        await writer.stub.AppendDecision(decision_request(1))
        stuck.touch()  # from now on no sync returns, so neither does the last checkpoint
        status, _ = await writer.end(signal.SIGTERM)
    assert status == 1
    assert len(verified(folder / "receipts")) == 1


async def test_it_leaves_when_its_stdin_ends(folder: Path) -> None:
    async with started(folder, "", "--exit-with-stdin") as writer:
        await writer.stub.AppendDecision(decision_request(1))
        status, _ = await writer.end()
    assert status == 0
    assert len(verified(folder / "receipts")) == 1
    assert (folder / "receipts" / "chains" / "decisions.checkpoint").exists()


async def test_ctrl_c_is_the_hosts_affair_when_stdin_rules(folder: Path) -> None:
    async with started(folder, "", "--exit-with-stdin") as writer:
        writer.process.send_signal(signal.SIGINT)
        assert (await writer.stub.AppendDecision(decision_request(1))).entry.id == 1
        assert (await writer.end())[0] == 0


async def test_ctrl_c_ends_it_otherwise(folder: Path) -> None:
    async with started(folder) as writer:
        assert (await writer.end(signal.SIGINT))[0] == 0


async def test_it_dies_with_a_host_that_was_killed(folder: Path) -> None:
    host = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-m', 'receipt_writer', *sys.argv[1:]], stdin=subprocess.PIPE)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    target = f"unix:{folder}/w.sock"
    arguments = ["serve", "--home", str(folder), "--listen", target, "--exit-with-stdin"]
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", host, *arguments, stdout=PIPE, stderr=PIPE)
    async with grpc.aio.insecure_channel(target) as channel:
        stub = receipts_pb2_grpc.ReceiptWriterStub(channel)  # type: ignore[no-untyped-call]
        await stub.BeginTurn(begin_request(1), wait_for_ready=True, timeout=20)
        process.kill()
        assert process.stderr is not None
        await asyncio.wait_for(process.stderr.read(), 5)  # ends when the writer, too, has closed it
    async with started(folder, "", "--exit-with-stdin") as writer:
        head = await writer.stub.GetHead(pb.GetHeadRequest(layer=pb.LAYER_L10_TURNS))
        assert head.size == 1  # another host: the turn that was begun will never be reported
    assert [entry.fields["outcome"] for entry in verified(folder / "receipts", "L10")] == ["interrupted"]


async def test_the_same_host_finishes_its_turn_after_the_writer_was_killed(folder: Path) -> None:
    async with started(folder, "", "--exit-with-stdin") as writer:
        await writer.stub.BeginTurn(begin_request(1))
        await writer.end(signal.SIGKILL)
    async with started(folder, "", "--exit-with-stdin") as writer:
        assert (await writer.stub.AppendTurn(turn_request(1))).entry.id == 1


async def test_kill_9_between_appends_loses_nothing_and_repeats_the_same_bytes(folder: Path) -> None:
    async with started(folder) as writer:
        first = [(await writer.stub.AppendDecision(decision_request(number))).entry.line for number in range(5)]
        await writer.end(signal.SIGKILL)
    async with started(folder) as writer:
        again = [(await writer.stub.AppendDecision(decision_request(number))).entry.line for number in range(5)]
        await writer.stub.AppendDecision(decision_request(5))
        await writer.end(signal.SIGTERM)
    assert again == first
    assert [entry.line.decode() for entry in verified(folder / "receipts")][:5] == first


async def test_a_disk_that_takes_no_more_ends_the_writer_and_loses_nothing(folder: Path) -> None:
    limited = ("sh", "-c", 'ulimit -f 32; exec "$@"', "sh")  # the kernel cuts the write that passes 16 or 32 KiB
    async with started(folder, under=limited) as writer:
        acknowledged, refusal = await append_until_refused(writer)
        assert refusal.code() == grpc.StatusCode.UNAVAILABLE
        assert "file too large" in (refusal.details() or "")
        status, _ = await said(writer.process)
        assert status == 1
    async with started(folder) as writer:
        again = (await writer.stub.AppendDecision(decision_request(len(acknowledged)))).entry
        assert again.id == len(acknowledged) + 1
        _, text = await writer.end(signal.SIGTERM)
    assert "cut off" in text
    assert [entry.line.decode() for entry in verified(folder / "receipts")][:-1] == acknowledged


async def test_the_socket_that_a_killed_writer_left_is_replaced(folder: Path) -> None:
    async with started(folder) as writer:
        await writer.end(signal.SIGKILL)
    assert (folder / "w.sock").exists()
    async with started(folder) as writer:
        assert (await writer.end(signal.SIGTERM))[0] == 0


async def test_a_second_writer_on_the_same_home_is_told_who_is_first(folder: Path) -> None:
    async with started(folder) as writer:
        status, text = await said(await launch(folder, f"unix:{folder}/other.sock"))
        assert status == 2
        (line,) = text.splitlines()
        assert f"process {writer.process.pid}" in line


async def test_a_socket_of_a_live_process_is_refused_in_one_sentence(folder: Path, tmp_path: Path) -> None:
    async with started(folder) as writer:
        status, text = await said(await launch(tmp_path, writer.target))
        assert (status, len(text.splitlines())) == (2, 1)
        assert "live process listens on" in text
        assert (await writer.stub.AppendDecision(decision_request(1))).entry.id == 1


async def test_a_port_in_use_is_refused_in_one_sentence(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        status, text = await said(await launch(folder, f"127.0.0.1:{taken.getsockname()[1]}"))
    assert (status, len(text.splitlines())) == (2, 1)
    assert "address already in use" in text


async def test_two_writers_cannot_share_a_port(folder: Path, tmp_path: Path) -> None:
    async with started(folder, f"127.0.0.1:{free_port()}") as writer:
        status, text = await said(await launch(tmp_path, writer.target))
        assert (status, len(text.splitlines())) == (2, 1)


async def test_a_key_that_others_can_read_is_refused_in_one_sentence(folder: Path) -> None:
    async with started(folder) as writer:
        await writer.end(signal.SIGTERM)
    (folder / "receipts" / "entry.key").chmod(0o644)
    status, text = await said(await launch(folder, f"unix:{folder}/w.sock"))
    assert (status, len(text.splitlines())) == (2, 1)
    assert "chmod 600" in text


async def test_a_damaged_chain_is_refused_with_status_1(folder: Path) -> None:
    async with started(folder) as writer:
        await writer.stub.AppendDecision(decision_request(1))
        await writer.end(signal.SIGTERM)
    path = folder / "receipts" / "chains" / "decisions.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"ok"', b'"no"'))
    status, text = await said(await launch(folder, f"unix:{folder}/w.sock"))
    assert (status, len(text.splitlines())) == (1, 1)
    assert "chain decisions" in text


async def test_what_the_writer_owns_is_private_whatever_the_umask(folder: Path) -> None:
    earlier = os.umask(0)
    try:
        async with started(folder, f"unix:{folder}/run/w.sock") as writer:
            await writer.stub.AppendDecision(decision_request(1))
            await writer.end(signal.SIGTERM)
    finally:
        os.umask(earlier)
    for path in (folder / "receipts").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    assert (folder / "run").stat().st_mode & 0o777 == 0o700


def has_no_keys(home: Path) -> bool:
    return not [*home.rglob("*.key")]


async def test_a_taken_port_costs_a_new_home_nothing(folder: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        status, text = await said(await launch(folder, f"127.0.0.1:{holder.getsockname()[1]}"))
    assert status == 2
    assert "cannot be listened on: address already in use" in text
    assert has_no_keys(folder)


async def test_a_writer_whose_port_is_held_is_not_ended_for_a_start_that_cannot_be(folder: Path) -> None:
    port = f"127.0.0.1:{free_port()}"
    async with started(folder, port) as old:
        status, text = await said(await launch(folder, port, "--take-over"))
        assert status == 2
        assert f"Process {old.process.pid} owns the ledger; end it (kill -9 {old.process.pid}) and start again" in text
        status, text = await said(await launch(folder, port))
        assert status == 2
        assert f"belong to a running writer, process {old.process.pid}; stop it first" in text
        await old.stub.AppendDecision(decision_request(1))
        assert (await old.end(signal.SIGTERM))[0] == 0
