from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
import pytest_asyncio

from prometheus.receipts.v1 import receipts_pb2 as pb
from prometheus.receipts.v1.receipts_pb2_grpc import ReceiptWriterStub
from receipt_writer.ledger import Append
from receipt_writer.rpc.streaming import WINDOW
from receipt_writer.writer import Limits
from tests.receipt_writer.parts import (
    Running,
    component,
    decision,
    decision_request,
    running,
    ulid,
    verified,
)
from tests.receipt_writer.rpc.calls import (
    L10,
    L12,
    begin_item,
    decision_item,
    read_all,
    refusal_of,
    sent,
    taken_apart,
    turn_item,
)
from tests.receipt_writer.rpc.slow import SlowFiles, settled, standing

FIRST = 9_000
"""The call whose append stands still on its way to the disk."""


@pytest_asyncio.fixture
async def live(folder: Path) -> AsyncIterator[Running]:
    async with running(folder) as one:
        yield one


async def streamed(one: Running, *items: pb.AppendStreamRequest) -> list[pb.AppendStreamResponse]:
    stream = one.stub.AppendStream()
    sending = asyncio.ensure_future(sent(stream, items))
    answers, error = await read_all(stream)
    await sending
    assert error is None
    return answers


async def test_every_kind_of_item_is_recorded_and_answered_with_its_tag(live: Running, folder: Path) -> None:
    other = pb.AppendRequest(layer=pb.LAYER_L11_COMPONENTS, draft_json=json.dumps(component(1)))
    items = [begin_item(7), turn_item(7), decision_item(9), pb.AppendStreamRequest(tag=2**64 - 1, other=other)]
    started, turn, decided, version = await streamed(live, *items)
    assert [started.tag, turn.tag, decided.tag, version.tag] == [7, 7, 9, 2**64 - 1]
    assert started.started.started_at_ms > 0
    assert [turn.entry.layer, decided.entry.layer, version.entry.layer] == [L10, L12, pb.LAYER_L11_COMPONENTS]
    for entry in (turn.entry, decided.entry, version.entry):
        layer = pb.Layer.Name(entry.layer).split("_")[1]
        assert [one.line.decode() for one in verified(folder, layer)] == [entry.line]


async def test_hundreds_of_items_are_answered_in_the_order_they_were_sent(live: Running, folder: Path) -> None:
    count = 3 * WINDOW
    answers = await streamed(live, *(decision_item(number) for number in range(count)))
    assert [answer.tag for answer in answers] == list(range(count))
    assert [answer.entry.line.encode() for answer in answers] == [entry.line for entry in verified(folder)]


async def test_items_of_one_stream_share_commits(folder: Path) -> None:
    files = SlowFiles("decisions.jsonl")
    async with running(folder, files=files) as one:
        async with standing(files, one.stub.AppendDecision(decision_request(FIRST))):
            stream = one.stub.AppendStream()
            await sent(stream, (decision_item(number) for number in range(60)))
            await settled(one, 60)
        answers, _ = await read_all(stream)
        assert len(answers) == 60
        assert files.syncs == 2  # the one that stood still, and one for all that had come meanwhile


async def test_a_bad_item_is_answered_and_ends_nothing(live: Running, folder: Path) -> None:
    item = pb.AppendStreamRequest
    bad = {
        2: decision_item(1, category="oracle"),  # the number is the call's: the refused one takes none
        3: item(tag=3),
        4: item(tag=4, other=pb.AppendRequest(layer=L12, draft_json="{")),
        5: item(tag=5, other=pb.AppendRequest(layer=pb.LAYER_L3_KEYS, draft_json="{}")),
        6: turn_item(6),
        8: decision_item(7, exitState="failed_closed"),
    }
    bad[2].tag, bad[8].tag = 2, 8
    answers = await streamed(live, decision_item(1), *list(bad.values())[:5], decision_item(7), bad[8])
    assert [answer.tag for answer in answers] == [1, 2, 3, 4, 5, 6, 7, 8]
    refusals = {answer.tag: taken_apart(answer.status) for answer in answers if answer.HasField("status")}
    assert {tag: refusal.reason for tag, refusal in refusals.items()} == {
        2: "DRAFT_REFUSED",
        3: "REQUEST_REFUSED",
        4: "DRAFT_REFUSED",
        5: "REQUEST_REFUSED",
        6: "NOT_POSSIBLE_YET",
        8: "ALREADY_RECORDED",
    }
    assert [entry.fields["callId"] for entry in verified(folder)] == [ulid("c_", 1), ulid("c_", 7)]


async def test_a_refused_draft_names_its_field(live: Running) -> None:
    (answer,) = await streamed(live, decision_item(1, latencyMs=-1))
    refusal = taken_apart(answer.status)
    assert (refusal.code, refusal.about) == (grpc.StatusCode.INVALID_ARGUMENT, {"field": "latencyMs"})
    assert "latencyMs" in refusal.sentence


async def test_the_same_item_twice_gets_the_same_bytes(live: Running) -> None:
    first, second = await streamed(live, decision_item(1), decision_item(1))
    assert first == second
    assert (await live.stub.AppendDecision(decision_request(1))).entry == first.entry


async def test_an_empty_stream_ends_well(live: Running) -> None:
    assert await streamed(live) == []


async def test_a_caller_that_takes_no_answers_is_not_read_beyond_its_window(folder: Path) -> None:
    files = SlowFiles("decisions.jsonl")
    async with running(folder, files=files) as one:
        async with standing(files, one.stub.AppendDecision(decision_request(FIRST))):
            stream = one.stub.AppendStream()
            sending = asyncio.ensure_future(sent(stream, (decision_item(number) for number in range(2 * WINDOW))))
            await settled(one, WINDOW)
        answers, _ = await read_all(stream)
        await sending
    assert len(answers) == 2 * WINDOW


async def test_a_full_queue_holds_a_stream_up_instead_of_refusing_it(folder: Path) -> None:
    async with running(folder, limits=Limits(batch=2, queue=4)) as one:
        answers = await streamed(one, *(decision_item(number) for number in range(50)))
    assert [answer.entry.id for answer in answers] == list(range(1, 51))


async def test_an_item_that_finds_the_queue_full_of_others_is_told_when_to_come_back(folder: Path) -> None:
    async with running(folder, limits=Limits(queue=0, retry_after_ms=150)) as one:
        (answer,) = await streamed(one, decision_item(1))
    refusal = taken_apart(answer.status)
    assert (refusal.code, refusal.reason, refusal.retry_ms) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUEUE_FULL", 150)


async def test_what_was_taken_is_recorded_although_the_caller_goes(folder: Path) -> None:
    files = SlowFiles("decisions.jsonl")
    async with running(folder, files=files) as one:
        async with standing(files, one.stub.AppendDecision(decision_request(FIRST))):
            stream = one.stub.AppendStream()
            for number in range(20):
                await stream.write(decision_item(number))
            await settled(one, 20)
            stream.cancel()
        again = [(await one.stub.AppendDecision(decision_request(number))).entry for number in range(20)]
    assert [entry.id for entry in again] == list(range(2, 22))
    assert len(verified(folder)) == 21


async def test_a_drain_answers_what_was_taken_and_says_that_the_writer_leaves(folder: Path) -> None:
    files = SlowFiles("decisions.jsonl")
    async with running(folder, files=files) as one:
        async with standing(files, one.stub.AppendDecision(decision_request(FIRST))):
            stream = one.stub.AppendStream()
            for number in range(30):
                await stream.write(decision_item(number))
            await settled(one, 30)
            one.leave.set()
        answers, error = await read_all(stream)
        assert await one.drained() == 0
    assert [answer.entry.line.encode() for answer in answers] == [entry.line for entry in verified(folder)[1:]]
    assert len(answers) == 30
    assert error is not None
    refusal = refusal_of(error)
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAVAILABLE, "WRITER_STOPPED")


async def test_an_idle_stream_does_not_hold_up_a_drain(folder: Path) -> None:
    async with running(folder) as one:
        streams = [one.stub.AppendStream() for _ in range(20)]
        for number, stream in enumerate(streams):
            await stream.write(decision_item(number))
            assert (await stream.read()).tag == number
        one.leave.set()
        assert await one.drained() == 0
        endings = [await read_all(stream) for stream in streams]
    assert {error.code() for _, error in endings if error} == {grpc.StatusCode.UNAVAILABLE}
    assert len([error for _, error in endings if error]) == 20


async def test_a_caller_that_takes_no_answers_does_not_hold_up_a_drain(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    narrow = (("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 1 << 16))
    async with running(folder) as one, grpc.aio.insecure_channel(one.target, options=narrow) as channel:
        stub: Any = ReceiptWriterStub(channel)  # type: ignore[no-untyped-call]
        stream = stub.AppendStream()
        for number in range(WINDOW):  # their answers are more than the connection's window takes
            await stream.write(decision_item(number))
        while (await one.stub.GetHead(pb.GetHeadRequest(layer=L12))).size < WINDOW:
            await one.health()
        one.leave.set()
        assert await one.drained() == 0
        answers, error = await read_all(stream)
    assert error is not None
    assert error.code() == grpc.StatusCode.UNAVAILABLE
    lines = [entry.line for entry in verified(folder)]
    assert [answer.entry.line.encode() for answer in answers] == lines[: len(answers)]
    assert len(answers) < len(lines) == WINDOW
    assert [record for record in caplog.records if record.levelname in {"ERROR", "CRITICAL"}] == []


async def test_a_storage_failure_is_the_status_of_every_item_it_touched(folder: Path) -> None:
    files = SlowFiles("decisions.jsonl")
    async with running(folder, files=files) as one:
        files.fails = ("sync", "decisions.jsonl")
        stream = one.stub.AppendStream()
        await sent(stream, [decision_item(1), decision_item(2)])
        answers, _ = await read_all(stream)
        assert await one.drained() == 1
    reasons = {taken_apart(answer.status).reason for answer in answers}
    assert reasons <= {"STORAGE_FAILED", "WRITER_STOPPED"}
    assert answers


async def test_bytes_that_are_no_message_end_the_stream_after_what_came_before(live: Running) -> None:
    stream: Any = live.channel.stream_stream("/prometheus.receipts.v1.ReceiptWriter/AppendStream")()
    await stream.write(decision_item(1).SerializeToString())
    await stream.write(b"\xff\xff")
    answers, error = await read_all(stream)
    assert [pb.AppendStreamResponse.FromString(answer).entry.id for answer in answers] == [1]
    assert error is not None
    refusal = refusal_of(error)
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "REQUEST_REFUSED")


async def test_many_streams_and_calls_together_lose_nothing(live: Running, folder: Path) -> None:
    async def stream(at: int) -> list[Any]:
        return [answer.entry.line for answer in await streamed(live, *(decision_item(at + n) for n in range(40)))]

    async def calls(at: int) -> list[Any]:
        return [(await live.stub.AppendDecision(decision_request(at + n))).entry.line for n in range(20)]

    lines = await asyncio.gather(*(stream(1000 * n) for n in range(6)), *(calls(1000 * n) for n in range(6, 9)))
    assert sorted(line for part in lines for line in part) == sorted(e.line.decode() for e in verified(folder))


async def test_other_commands_of_the_writer_run_between_the_items_of_a_stream(live: Running) -> None:
    told: list[object] = []
    stream = live.stub.AppendStream()
    await stream.write(decision_item(1))
    assert (await stream.read()).entry.id == 1
    live.service.writer.submit(Append("L12", decision(2)), told.append)
    await stream.write(decision_item(3))
    assert (await stream.read()).entry.id == 3
    assert len(told) == 1
    await stream.done_writing()
