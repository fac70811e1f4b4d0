from __future__ import annotations

import asyncio
from pathlib import Path

import grpc
import grpc.aio
import pytest

from prometheus.receipts.v1 import receipts_pb2 as pb
from tests.receipt_writer.parts import Running, begin_request, decision_request, running, turn_request, verified
from tests.receipt_writer.rpc.calls import L10, L12, decision_item
from tests.receipt_writer.rpc.slow import SlowFiles

SHORT_S = 0.2


async def over(call: grpc.aio.UnaryUnaryCall) -> None:  # type: ignore[type-arg]
    """Wait until a call's deadline has passed on both sides."""
    with pytest.raises(grpc.aio.AioRpcError) as ending:
        await call
    assert ending.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED


async def withdrawn(one: Running) -> None:
    """Wait until the server has noticed it, too."""
    while any(waiting.is_wanted for waiting in one.service.writer._queue):
        await one.health()


async def test_an_append_whose_deadline_passes_before_its_commit_is_not_recorded(folder: Path) -> None:
    files = SlowFiles("decisions.jsonl")
    async with running(folder, files=files) as one:
        files.slow()
        first = one.stub.AppendDecision(decision_request(1))
        ahead = asyncio.ensure_future(first)
        await files.stuck()
        await over(one.stub.AppendDecision(decision_request(2), timeout=SHORT_S))
        await withdrawn(one)
        files.go()
        assert (await ahead).entry.id == 1
        head = await one.stub.GetHead(pb.GetHeadRequest(layer=L12))
        assert head.size == 1
        assert (await one.stub.AppendDecision(decision_request(3))).entry.id == 2


async def test_an_append_whose_deadline_passes_during_its_commit_stays_and_a_retry_gets_its_bytes(folder: Path) -> None:
    files = SlowFiles("decisions.jsonl")
    async with running(folder, files=files) as one:
        files.slow()
        late = one.stub.AppendDecision(decision_request(1), timeout=SHORT_S)
        await over(late)
        await files.stuck()
        files.go()
        again = (await one.stub.AppendDecision(decision_request(1))).entry
        more = (await one.stub.AppendDecision(decision_request(1))).entry
    (entry,) = verified(folder)
    assert again == more
    assert (again.id, again.line.encode(), again.hash) == (1, entry.line, entry.hash)


async def test_a_turn_whose_deadline_passes_during_its_commit_is_the_same_turn_again(folder: Path) -> None:
    files = SlowFiles("turns.jsonl")
    async with running(folder, files=files) as one:
        await one.stub.BeginTurn(begin_request(1))
        files.slow()
        await over(one.stub.AppendTurn(turn_request(1), timeout=SHORT_S))
        files.go()
        again = (await one.stub.AppendTurn(turn_request(1))).entry
    assert [entry.line.decode() for entry in verified(folder, "L10")] == [again.line]


async def test_a_start_whose_deadline_passes_during_its_commit_is_the_same_start_again(folder: Path) -> None:
    files = SlowFiles("intents.jsonl")
    async with running(folder, files=files) as one:
        files.slow()
        await over(one.stub.BeginTurn(begin_request(1), timeout=SHORT_S))
        files.go()
        first = await one.stub.BeginTurn(begin_request(1))
        assert await one.stub.BeginTurn(begin_request(1)) == first
        assert (await one.stub.AppendTurn(turn_request(1))).entry.id == 1


async def test_a_cancelled_append_that_still_waits_is_not_recorded(folder: Path) -> None:
    files = SlowFiles("decisions.jsonl")
    async with running(folder, files=files) as one:
        files.slow()
        ahead = asyncio.ensure_future(one.stub.AppendDecision(decision_request(1)))
        await files.stuck()
        behind = one.stub.AppendDecision(decision_request(2))
        while not one.service.writer._queue:
            await one.health()
        behind.cancel()
        await withdrawn(one)
        files.go()
        await ahead
        assert (await one.stub.GetHead(pb.GetHeadRequest(layer=L12))).size == 1


async def test_the_deadline_of_a_stream_keeps_what_the_writer_had_taken(folder: Path) -> None:
    files = SlowFiles("decisions.jsonl")
    async with running(folder, files=files) as one:
        files.slow()
        stream = one.stub.AppendStream(timeout=SHORT_S)
        for number in range(5):
            await stream.write(decision_item(number))
        await files.stuck()
        with pytest.raises(grpc.aio.AioRpcError) as ending:
            await stream.read()
        assert ending.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        files.go()
        lines = [(await one.stub.AppendDecision(decision_request(number))).entry.line for number in range(5)]
    assert [entry.line.decode() for entry in verified(folder)] == lines


@pytest.mark.parametrize("layer", [L10, L12])
async def test_a_read_with_a_deadline_ends_by_it(folder: Path, layer: pb.Layer) -> None:
    async with running(folder) as one:
        stream = one.stub.Watch(pb.WatchRequest(layer=layer), timeout=SHORT_S)
        with pytest.raises(grpc.aio.AioRpcError) as ending:
            await stream.read()
    assert ending.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
