from __future__ import annotations

import asyncio
import logging
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]
from grpc.aio._server import Server
from grpc_health.v1 import health_pb2, health_pb2_grpc

from prometheus.receipts.v1 import receipts_pb2 as pb
from receipt_writer import rpc, server
from receipt_writer.app import make_tenants, open_service
from receipt_writer.errors import ListenError
from receipt_writer.listen import TcpAddress, UnixAddress
from receipt_writer.process import DRAIN_S, run_service
from receipt_writer.rpc import SERVICE_NAME
from receipt_writer.rpc.budget import Budget
from receipt_writer.rpc.call import GRACE_S
from receipt_writer.server import MAX_MESSAGE_BYTES
from receipt_writer.upkeep import Upkeep
from receipt_writer.writer import Limits
from tests.receipt_writer.parts import (
    Running,
    WatchedFiles,
    begin_request,
    chain_file,
    decision,
    decision_request,
    free_port,
    running,
    verified,
)
from tests.receipt_writer.rpc.calls import refused

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
L12 = pb.LAYER_L12_DECISIONS


async def test_health_is_serving_for_the_server_and_the_service(folder: Path) -> None:
    async with running(folder) as one:
        assert [await one.health(), await one.health(SERVICE_NAME)] == [SERVING, SERVING]


async def test_the_socket_is_its_owners_alone(folder: Path) -> None:
    async with running(folder):
        assert stat.S_IMODE((folder / "w.sock").stat().st_mode) == 0o600


async def test_one_line_tells_that_the_writer_is_ready(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        async with running(folder) as one:
            await one.stub.AppendDecision(decision_request(1))
        async with running(folder) as one:
            pass
    ready = [record.message for record in caplog.records if record.message.startswith("ready:")]
    address = f"unix:{folder}/w.sock"
    assert ready == [
        f"ready: receipt-writer serves keys (2) on {address}",
        f"ready: receipt-writer serves keys (2), decisions (1) on {address}",
    ]


async def test_a_drain_ends_with_a_checkpoint_and_status_0(folder: Path) -> None:
    async with running(folder) as one:
        for number in range(3):
            await one.stub.AppendDecision(decision_request(number))
    assert one.ended.result() == 0
    assert (folder / "chains" / "decisions.checkpoint").read_text().splitlines()[1] == "3"
    assert not (folder / "chains" / "turns.checkpoint").exists()


async def test_a_drain_answers_every_append_it_took(folder: Path) -> None:
    async with running(folder) as one:
        calls = [one.stub.AppendDecision(decision_request(number)) for number in range(60)]
        tasks = [asyncio.ensure_future(call) for call in calls]
        await one.stub.AppendDecision(decision_request(99))
        one.leave.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    acknowledged = {result.entry.line for result in results if not isinstance(result, BaseException)}
    refused = [result for result in results if isinstance(result, grpc.aio.AioRpcError)]
    assert {result.code() for result in refused} <= {grpc.StatusCode.UNAVAILABLE}
    assert len(acknowledged) + len(refused) == 60
    assert acknowledged <= {entry.line.decode() for entry in verified(folder)}


async def test_an_open_health_watch_does_not_hold_up_a_drain(folder: Path) -> None:
    async with running(folder) as one:
        watch = health_pb2_grpc.HealthStub(one.channel).Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == SERVING
        one.leave.set()
        assert await one.drained() == 0
        assert (await watch.read()).status == NOT_SERVING


async def test_the_moment_that_open_calls_get_at_the_end_is_a_small_part_of_two_seconds(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How long a drain takes on a busy machine is no test; test_process.py has the process's own limit."""
    graces: list[float | None] = []

    async def stop(one: Server, grace: float | None) -> None:
        graces.append(grace)
        await real(one, grace)

    real = Server.stop
    monkeypatch.setattr(Server, "stop", stop)
    async with running(folder) as one:
        watch = one.stub.Watch(pb.WatchRequest(layer=L12))
        await one.health()
        one.leave.set()
        assert await one.drained() == 0
        watch.cancel()
    assert len(graces) == 1
    assert graces[0] is not None
    assert 4 * (graces[0] + GRACE_S) < DRAIN_S


async def test_health_is_watched_from_serving_to_leaving(folder: Path) -> None:
    async with running(folder) as one:
        stub = health_pb2_grpc.HealthStub(one.channel)
        watches = [stub.Watch(health_pb2.HealthCheckRequest(service=name)) for name in ("", SERVICE_NAME)]
        assert [(await watch.read()).status for watch in watches] == [SERVING, SERVING]
        unknown = stub.Watch(health_pb2.HealthCheckRequest(service="nobody"))
        assert (await unknown.read()).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
        one.leave.set()
        assert [(await watch.read()).status for watch in watches] == [NOT_SERVING, NOT_SERVING]


async def test_a_peer_that_went_without_a_word_is_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = dict.fromkeys(("grpc.keepalive_time_ms", "grpc.keepalive_timeout_ms", "grpc.http2.ping_timeout_ms"), 1_000)
    monkeypatch.setattr(server, "_OPTIONS", tuple((dict(server._OPTIONS) | quick).items()))
    async with running(folder, address=TcpAddress("127.0.0.1", free_port())) as one:
        async with hole_in_the_line(one.target) as line, grpc.aio.insecure_channel(line.target) as channel:
            watch: Any = channel.unary_stream(
                f"/{SERVICE_NAME}/Watch",
                request_serializer=pb.WatchRequest.SerializeToString,
                response_deserializer=pb.WatchResponse.FromString,
            )(pb.WatchRequest(layer=L12))
            await one.stub.AppendDecision(decision_request(1))
            assert (await watch.read()).entry.id == 1
            line.is_cut = True
            await asyncio.wait_for(line.given_up.wait(), 20)
        assert await one.health() == SERVING


@dataclass
class Line:
    """A connection through which nothing comes any more once it is cut, though both ends believe it stands."""

    target: str = ""
    is_cut: bool = False
    given_up: asyncio.Event = field(default_factory=asyncio.Event)

    async def carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            if not self.is_cut:
                sink.write(data)
        self.given_up.set()


@asynccontextmanager
async def hole_in_the_line(target: str) -> AsyncIterator[Line]:
    """Forward a port of 127.0.0.1 to a writer."""
    line, carriers, ends = Line(), set[asyncio.Task[None]](), list[asyncio.StreamWriter]()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = target.rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        ends.extend((writer, far_writer))
        carriers.add(asyncio.create_task(line.carry(reader, far_writer)))
        carriers.add(asyncio.create_task(line.carry(far_reader, writer)))

    listening = await asyncio.start_server(connect, "127.0.0.1", 0)
    line.target = f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield line
    finally:
        listening.close()
        for carrier in carriers:
            carrier.cancel()
        await asyncio.gather(*carriers, return_exceptions=True)
        for end in ends:
            end.close()
            await asyncio.gather(end.wait_closed(), return_exceptions=True)


async def _read_on(stream: grpc.aio.UnaryStreamCall[pb.ListEntriesRequest, pb.ListEntriesResponse]) -> None:
    while await stream.read():
        pass


async def test_a_list_whose_reader_is_slow_is_ended_by_a_drain(folder: Path) -> None:
    async with running(folder) as one:
        appends = (one.service.writer.append("L12", decision(number)) for number in range(1100))
        await asyncio.gather(*appends)  # more than flow control lets through unread
        stream = one.stub.ListEntries(pb.ListEntriesRequest(layer=L12))
        assert (await stream.read()).entry.id == 1
        one.leave.set()
        assert await one.drained() == 0
        with pytest.raises(grpc.aio.AioRpcError) as ending:
            await _read_on(stream)
    assert ending.value.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}


async def test_a_request_longer_than_any_entry_is_refused_unread(folder: Path) -> None:
    async with running(folder) as one:
        with pytest.raises(grpc.aio.AioRpcError) as refusal:
            await one.stub.AppendDecision(decision_request(1, productId="x" * (MAX_MESSAGE_BYTES + 1)))
        assert refusal.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert (await one.stub.AppendDecision(decision_request(1))).entry.id == 1


async def test_a_full_queue_tells_when_to_come_back(folder: Path) -> None:
    async with running(folder, limits=Limits(queue=0, retry_after_ms=150)) as one:
        with pytest.raises(grpc.aio.AioRpcError) as refusal:
            await one.stub.AppendDecision(decision_request(1))
    assert refusal.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    trailers = dict(refusal.value.trailing_metadata() or ())
    status = status_pb2.Status.FromString(trailers["grpc-status-details-bin"])
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    assert status.details[0].Unpack(info)
    assert status.details[1].Unpack(retry)
    assert (info.reason, retry.retry_delay.ToMilliseconds()) == ("QUEUE_FULL", 150)
    assert chain_file(folder).read_bytes() == b""


async def test_a_call_beyond_those_that_may_be_open_is_told_when_to_come_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc, "Budget", lambda: Budget(most_calls=2))
    async with running(folder) as one:
        await one.stub.AppendDecision(decision_request(1))
        watches = [one.stub.Watch(pb.WatchRequest(layer=L12)) for _ in range(2)]
        assert [(await watch.read()).entry.id for watch in watches] == [1, 1]
        refusal = await refused(one.stub.GetHead(pb.GetHeadRequest(layer=L12)))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUEUE_FULL")
        assert (refusal.sentence[:28], refusal.retry_ms) == ("2 calls are open already; no", 1000)
        assert await one.health() == SERVING  # health is asked beside them
        watches[0].cancel()
        while await is_refused(one):
            await one.health()


async def is_refused(one: Running) -> bool:
    try:
        await one.stub.GetHead(pb.GetHeadRequest(layer=L12))
    except grpc.aio.AioRpcError:
        return True
    return False


async def test_grpc_itself_bounds_the_calls_whose_request_never_comes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_RPCS", 1)
    async with running(folder) as one:
        watch = health_pb2_grpc.HealthStub(one.channel).Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == SERVING
        with pytest.raises(grpc.aio.AioRpcError) as refusal:
            await one.stub.GetHead(pb.GetHeadRequest(layer=L12))
        assert refusal.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        watch.cancel()


async def test_a_failed_sync_makes_the_writer_unavailable_and_ends_it_with_status_1(folder: Path) -> None:
    files = WatchedFiles()
    async with running(folder, files=files) as one:
        first = (await one.stub.AppendDecision(decision_request(1))).entry.line
        files.fails = ("sync", "decisions.jsonl")
        with pytest.raises(grpc.aio.AioRpcError) as refusal:
            await one.stub.AppendDecision(decision_request(2))
        assert refusal.value.code() == grpc.StatusCode.UNAVAILABLE
        assert "the writer stops" in (refusal.value.details() or "")
        files.fails = None
        assert await one.drained() == 1
        with pytest.raises(grpc.aio.AioRpcError) as refusal:
            await one.stub.AppendDecision(decision_request(1))
        assert refusal.value.code() == grpc.StatusCode.UNAVAILABLE
    async with running(folder) as again:
        assert (await again.stub.AppendDecision(decision_request(1))).entry.line == first


async def test_health_is_not_serving_from_the_moment_of_a_storage_failure(folder: Path) -> None:
    files = WatchedFiles()
    async with running(folder, files=files) as one:
        watch = health_pb2_grpc.HealthStub(one.channel).Watch(health_pb2.HealthCheckRequest(service=SERVICE_NAME))
        assert (await watch.read()).status == SERVING
        files.fails = ("write", "intents.jsonl")
        with pytest.raises(grpc.aio.AioRpcError):
            await one.stub.BeginTurn(begin_request(1))
        assert (await watch.read()).status == NOT_SERVING


async def test_a_caller_that_leaves_when_its_entry_is_already_written_gets_it_later(folder: Path) -> None:
    files = WatchedFiles(awaited=("sync", "decisions.jsonl"))
    async with running(folder, files=files) as one:
        files.happened.clear()  # the start synced, too
        call = one.stub.AppendDecision(decision_request(1))
        assert await asyncio.to_thread(files.happened.wait, 20)
        call.cancel()
        again = (await one.stub.AppendDecision(decision_request(1))).entry
        assert again.id == 1
    assert [entry.line.decode() for entry in verified(folder)] == [again.line]


async def test_an_address_that_cannot_be_used_gives_the_folder_back(folder: Path) -> None:
    (folder / "taken").write_text("")
    service = open_service(folder)
    with pytest.raises(ListenError):
        await run_service(make_tenants(service), UnixAddress(folder / "taken"), asyncio.Event())
    open_service(folder).store.close()


async def test_a_writer_whose_upkeep_ended_does_not_serve_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_: Upkeep) -> None:
        raise ArithmeticError

    monkeypatch.setattr(Upkeep, "look_once", broken)
    service = open_service(folder)
    status = await asyncio.wait_for(
        run_service(make_tenants(service), UnixAddress(folder / "w.sock"), asyncio.Event()), 20
    )
    assert status == 1
    assert "upkeep ended" in str(service.writer.failure)
