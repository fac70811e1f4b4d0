from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
import pytest_asyncio

from prometheus.receipts.v1 import receipts_pb2 as pb
from prometheus.receipts.v1.receipts_pb2_grpc import ReceiptWriterStub
from receipt_writer.format.checkpoint import verify_note
from receipt_writer.format.merkle import leaf_hash, root_of
from receipt_writer.index import Filter
from receipt_writer.query import Queries, StoredEntry
from receipt_writer.rpc.watching import Watching
from tests.receipt_writer.parts import Running, decision, decision_request, policy_keys, running, verified
from tests.receipt_writer.rpc.calls import L10, L12, read_all, refusal_of, refused


@pytest_asyncio.fixture
async def live(folder: Path) -> AsyncIterator[Running]:
    async with running(folder) as one:
        yield one


async def append(one: Running, *numbers: int) -> None:
    await asyncio.gather(*(one.service.writer.append("L12", decision(number)) for number in numbers))


async def next_of(stream: Any, count: int) -> list[pb.WatchResponse]:
    return [await asyncio.wait_for(stream.read(), 20) for _ in range(count)]


def ids(events: list[pb.WatchResponse]) -> list[int]:
    """Return the ids of entries, and minus the size of each checkpoint."""
    return [event.entry.id if event.HasField("entry") else -event.checkpoint.size for event in events]


async def test_history_comes_first_and_then_what_is_appended(live: Running, folder: Path) -> None:
    await append(live, 1, 2, 3)
    stream = live.stub.Watch(pb.WatchRequest(layer=L12))
    events = await next_of(stream, 3)
    for number in (4, 5):
        await append(live, number)
        events += await next_of(stream, 1)
    assert [event.entry.line.encode() for event in events] == [entry.line for entry in verified(folder)]
    stream.cancel()


@pytest.mark.parametrize(("from_id", "expected"), [(0, [1, 2, 3, 4]), (1, [1, 2, 3, 4]), (3, [3, 4]), (4, [4])])
async def test_a_watch_begins_where_it_is_told(live: Running, from_id: int, expected: list[int]) -> None:
    await append(live, 1, 2, 3)
    stream = live.stub.Watch(pb.WatchRequest(layer=L12, from_id=from_id))
    events = await next_of(stream, len(expected) - 1)
    await append(live, 4)
    assert ids(events + await next_of(stream, 1)) == expected
    stream.cancel()


async def test_a_watch_beyond_the_chain_tells_that_entries_are_missing(live: Running) -> None:
    await append(live, 1, 2)
    refusal = await refused(live.stub.Watch(pb.WatchRequest(layer=L12, from_id=4)).read())
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "NOT_POSSIBLE_YET")
    assert "ends with entry 2" in refusal.sentence


async def test_checkpoints_come_behind_the_entries_they_cover(live: Running, folder: Path) -> None:
    await append(live, 1, 2)
    await live.stub.GetCheckpoint(pb.GetCheckpointRequest(layer=L12, fresh=True))
    await append(live, 3)
    stream = live.stub.Watch(pb.WatchRequest(layer=L12))
    events = await next_of(stream, 4)
    await append(live, 4)
    events += await next_of(stream, 1)
    await live.stub.GetCheckpoint(pb.GetCheckpointRequest(layer=L12, fresh=True))
    events += await next_of(stream, 1)
    assert sorted(ids(events)[:4]) == [-2, 1, 2, 3]
    assert ids(events).index(-2) > ids(events).index(2)
    assert ids(events)[4:] == [4, -4]
    origin, keys = policy_keys(folder)
    note = verify_note(events[-1].checkpoint.note, origin, [key.public_key for key in keys if key.use == "checkpoint"])
    leaves = [leaf_hash(event.entry.line.encode()) for event in events if event.HasField("entry")]
    assert (note.size, note.root_hash) == (4, root_of(leaves))
    stream.cancel()


async def test_a_watch_from_the_end_gets_the_checkpoint_that_lies_before_it(live: Running) -> None:
    await append(live, 1, 2)
    await live.stub.GetCheckpoint(pb.GetCheckpointRequest(layer=L12, fresh=True))
    stream = live.stub.Watch(pb.WatchRequest(layer=L12, from_id=3))
    assert ids(await next_of(stream, 1)) == [-2]
    stream.cancel()


async def test_every_checkpoint_is_sent_once(live: Running) -> None:
    await append(live, 1)
    await live.stub.GetCheckpoint(pb.GetCheckpointRequest(layer=L12, fresh=True))
    stream = live.stub.Watch(pb.WatchRequest(layer=L12))
    events = await next_of(stream, 2)
    for number in (2, 3):
        await append(live, number)
        events += await next_of(stream, 1)
    assert ids(events) == [1, -1, 2, 3]
    stream.cancel()


async def test_entries_that_arrive_during_history_are_neither_missed_nor_repeated(live: Running, folder: Path) -> None:
    await append(live, *range(300))
    stream = live.stub.Watch(pb.WatchRequest(layer=L12))
    appending = asyncio.ensure_future(_append_slowly(live, range(300, 700)))
    entries: list[pb.Entry] = []
    while len(entries) < 700:
        (event,) = await next_of(stream, 1)
        if event.HasField("entry"):
            entries.append(event.entry)
    await appending
    assert [entry.id for entry in entries] == list(range(1, 701))
    assert [entry.line.encode() for entry in entries] == [entry.line for entry in verified(folder)]
    stream.cancel()


async def _append_slowly(one: Running, numbers: range) -> None:
    for start in range(numbers.start, numbers.stop, 7):
        await append(one, *range(start, min(start + 7, numbers.stop)))


async def test_a_reader_that_stands_still_holds_up_nobody_and_makes_nothing_pile_up(
    live: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    real = Queries._read

    def counted(queries: Queries, index: Any, wanted: Any) -> Any:
        read.extend(wanted)
        return real(queries, index, wanted)

    monkeypatch.setattr(Queries, "_read", counted)
    narrow = (("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 1 << 16))
    async with grpc.aio.insecure_channel(live.target, options=narrow) as channel:
        stub: Any = ReceiptWriterStub(channel)  # type: ignore[no-untyped-call]
        stream = stub.Watch(pb.WatchRequest(layer=L12))
        for start in range(0, 1500, 250):
            await append(live, *range(start, start + 250))
        assert len(read) < 750  # what fits into the transport's windows; the rest waits in the store
        entries = [event.entry.id for event in await next_of(stream, 1500) if event.HasField("entry")]
        assert entries == list(range(1, len(entries) + 1))
        stream.cancel()


async def test_a_drain_ends_a_watch_and_names_where_to_go_on(folder: Path) -> None:
    async with running(folder) as one:
        await append(one, 1, 2)
        stream, idle = one.stub.Watch(pb.WatchRequest(layer=L12)), one.stub.Watch(pb.WatchRequest(layer=L10))
        await next_of(stream, 2)
        await one.health()
        one.leave.set()
        assert await one.drained() == 0
        (_, error), (_, other) = await read_all(stream), await read_all(idle)
    assert error is not None
    assert other is not None
    refusal = refusal_of(error)
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAVAILABLE, "WRITER_STOPPED")
    assert (refusal.about["id"], refusal_of(other).about["id"]) == ("3", "1")
    async with running(folder) as again:
        await append(again, 3)
        resumed = again.stub.Watch(pb.WatchRequest(layer=L12, from_id=int(refusal.about["id"])))
        events = await next_of(resumed, 2)
        resumed.cancel()
    assert sorted(ids(events)) == [-2, 3]


async def test_a_watch_sees_what_streams_and_calls_append(live: Running) -> None:
    stream = live.stub.Watch(pb.WatchRequest(layer=L12))
    for number in range(5):
        entry = (await live.stub.AppendDecision(decision_request(number))).entry
        (event,) = await next_of(stream, 1)
        assert event.entry == entry
    stream.cancel()


async def test_a_watch_of_another_chain_stays_silent(live: Running) -> None:
    stream = live.stub.Watch(pb.WatchRequest(layer=L10))
    await append(live, 1, 2, 3)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(stream.read(), 0.2)


async def test_watches_that_have_nothing_to_send_cost_an_append_nothing(
    live: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    have_begun = asyncio.Event()
    real = Watching._send_checkpoint

    async def counted(watching: Watching, context: Any, layer: str, place: Any) -> None:
        looks.append(layer)
        if looks.count("L10") == 20:
            have_begun.set()
        await real(watching, context, layer, place)

    monkeypatch.setattr(Watching, "_send_checkpoint", counted)
    streams = [live.stub.Watch(pb.WatchRequest(layer=L10)) for _ in range(20)]
    watched = live.stub.Watch(pb.WatchRequest(layer=L12))
    await asyncio.wait_for(have_begun.wait(), 20)
    for number in range(3):
        await append(live, number)
        await next_of(watched, 1)
    assert looks.count("L10") == 20  # one look each, when they began
    for stream in (watched, *streams):
        stream.cancel()


async def test_a_watch_at_the_end_of_its_chain_reads_nothing(live: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    await append(live, 1, 2)
    searches: list[Filter] = []
    real = Queries.entries

    def counted(queries: Queries, layer: str, wanted: Filter) -> AsyncIterator[StoredEntry]:
        searches.append(wanted)
        return real(queries, layer, wanted)

    monkeypatch.setattr(Queries, "entries", counted)
    stream = live.stub.Watch(pb.WatchRequest(layer=L12, from_id=3))
    await live.stub.GetCheckpoint(pb.GetCheckpointRequest(layer=L12, fresh=True))
    assert ids(await next_of(stream, 1)) == [-2]
    assert searches == []
    stream.cancel()


async def test_those_who_follow_a_chain_at_its_end_share_what_was_committed(
    live: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read of the chain by each of 20 watches took six of seven appends a second from everybody else."""
    read: list[Any] = []
    real = Queries._read

    def counted(queries: Queries, index: Any, ids: Any) -> Any:
        read.extend(ids)
        return real(queries, index, ids)

    monkeypatch.setattr(Queries, "_read", counted)
    streams = [live.stub.Watch(pb.WatchRequest(layer=L12)) for _ in range(5)]
    for number in range(40):
        entry = (await live.stub.AppendDecision(decision_request(number))).entry
        assert {event.entry.SerializeToString() for stream in streams for event in await next_of(stream, 1)} == {
            entry.SerializeToString()
        }
    assert read == []
    for stream in streams:
        stream.cancel()
