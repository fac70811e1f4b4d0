"""What callers that send and do not read can make the process hold."""

from __future__ import annotations

import asyncio
from itertools import accumulate
from pathlib import Path

import pytest

from prometheus.receipts.v1 import receipts_pb2 as pb
from receipt_writer import rpc
from receipt_writer.rpc.budget import STREAM_BYTES, Budget
from receipt_writer.rpc.streaming import ANSWER_BYTES
from tests.receipt_writer.parts import begin_request, decision_request, running, turn_request
from tests.receipt_writer.rpc.calls import decision_item, read_all, sent, turn_item
from tests.receipt_writer.rpc.slow import SlowFiles, settled, standing

FIRST = 9_000
"""The turn or call whose append stands still on its way to the disk."""


async def test_a_stream_of_large_items_is_not_read_beyond_its_bytes(folder: Path) -> None:
    files = SlowFiles("turns.jsonl")
    async with running(folder, files=files) as one:
        items = [large_turn_item(number) for number in range(20)]
        for number in (*range(20), FIRST):
            await one.stub.BeginTurn(begin_request(number))
        held = accumulate(item.ByteSize() + ANSWER_BYTES for item in items)
        taken = next(count for count, size_bytes in enumerate(held, 1) if size_bytes >= STREAM_BYTES)
        async with standing(files, one.stub.AppendTurn(turn_request(FIRST))):
            stream = one.stub.AppendStream()
            sending = asyncio.ensure_future(sent(stream, items))
            await settled(one, taken)
        answers, _ = await read_all(stream)
        await sending
    assert taken < 20
    assert [answer.entry.id for answer in answers] == list(range(2, 22))


def large_turn_item(tag: int) -> pb.AppendStreamRequest:
    """Return a report of `turn(tag)` that names some hundred tools."""
    item = turn_item(tag)
    usage = pb.ToolUsage(provider="p" * 40, status="ok", n=1)
    item.turn.tools.extend(pb.ToolUsage(tool=f"{number:040d}") for number in range(300))
    for tool in item.turn.tools:
        tool.MergeFrom(usage)
    return item


async def test_streams_that_hold_all_the_bytes_there_are_leave_every_other_one_item_at_a_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = Budget(process_bytes=1)
    monkeypatch.setattr(rpc, "Budget", lambda: budget)
    files = SlowFiles("decisions.jsonl")
    async with running(folder, files=files) as one:
        async with standing(files, one.stub.AppendDecision(decision_request(FIRST))):
            streams = [one.stub.AppendStream() for _ in range(3)]
            items = [[decision_item(10 * place + number) for number in range(5)] for place in range(3)]
            sending = [asyncio.ensure_future(sent(*each)) for each in zip(streams, items, strict=True)]
            await settled(one, 3)
        answers = [await read_all(stream) for stream in streams]
        await asyncio.gather(*sending)
    assert [[answer.tag for answer in told] for told, _ in answers] == [[one.tag for one in each] for each in items]
    assert not budget.is_spent  # all of it was given back


async def test_what_a_cancelled_stream_held_is_given_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = Budget(process_bytes=1)
    monkeypatch.setattr(rpc, "Budget", lambda: budget)
    files = SlowFiles("decisions.jsonl")
    async with running(folder, files=files) as one:
        files.slow()
        stream = one.stub.AppendStream()
        await stream.write(decision_item(1))
        await files.stuck()
        assert budget.is_spent
        stream.cancel()
        files.go()
        await one.stub.AppendDecision(decision_request(2))
    assert not budget.is_spent
