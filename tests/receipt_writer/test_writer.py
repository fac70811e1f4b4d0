from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from receipt_writer.app import open_service
from receipt_writer.errors import (
    DraftRefusedError,
    RequestRefusedError,
    StorageFailedError,
    WriterStoppedError,
)
from receipt_writer.format.entry import Entry
from receipt_writer.ledger import Append, Begin, Outcome
from receipt_writer.storage.protocol import Batch, EntryStore
from receipt_writer.writer import Limits, Writer
from tests.receipt_writer.format.material import START_MS
from tests.receipt_writer.parts import Clock, WatchedFiles, decision, intent, turn, verified


@dataclass
class Gate:
    """Stands before the store's commit: shows what is in it, and holds it until it is opened."""

    store: EntryStore
    batches: list[Batch] = field(default_factory=list)
    entered: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)

    def commit(self, batch: Batch) -> None:
        self.batches.append(batch)
        self.entered.set()
        assert self.opened.wait(20)
        self.store.commit(batch)

    def read(self, chain: str, first_id: int, count: int) -> list[bytes]:
        return self.store.read(chain, first_id, count)


@dataclass
class Held:
    writer: Writer
    gate: Gate
    running: asyncio.Task[None]
    files: WatchedFiles


@asynccontextmanager
async def held(folder: Path, limits: Limits | None = None, clock: Clock | None = None) -> AsyncIterator[Held]:
    """Run a writer whose first commit waits at the gate."""
    files = WatchedFiles()
    clock = clock or Clock()
    service = open_service(folder, files, clock)
    gate = Gate(service.store)
    writer = Writer(service.ledger, gate, clock, limits or Limits())  # type: ignore[arg-type]
    one = Held(writer, gate, asyncio.create_task(writer.run(lambda: None)), files)
    try:
        yield one
    finally:
        gate.opened.set()
        if not writer.stopped.is_set():
            await writer.drain()
        await one.running
        service.store.close()


async def at_the_gate(gate: Gate) -> None:
    assert await asyncio.to_thread(gate.entered.wait, 20)


async def sent(writer: Writer, numbers: range) -> list[asyncio.Task[Entry]]:
    """Send appends and return once they are queued."""
    tasks = [asyncio.create_task(writer.append("L12", decision(number))) for number in numbers]
    await asyncio.sleep(0)
    return tasks


async def test_requests_that_arrive_during_a_commit_form_the_next_one(folder: Path) -> None:
    async with held(folder) as one:
        first = await sent(one.writer, range(1))
        await at_the_gate(one.gate)
        others = await sent(one.writer, range(1, 40))
        one.gate.opened.set()
        entries = await asyncio.gather(*first, *others)
    assert [len(batch.entries["decisions"]) for batch in one.gate.batches] == [1, 39]
    assert [entry.id for entry in entries] == list(range(1, 41))
    assert verified(folder) == entries


async def test_nothing_is_acknowledged_before_it_is_synced(folder: Path) -> None:
    async with held(folder) as one:
        (task,) = await sent(one.writer, range(1))
        await at_the_gate(one.gate)
        mark = len(one.files.calls)
        assert not task.done()
        one.gate.opened.set()
        await task
        assert one.files.since(mark)[:3] == [
            ("write", "decisions.jsonl"),
            ("sync", "decisions.jsonl"),
            ("write_at", "head.json"),
        ]


async def test_a_caller_that_gave_up_before_its_turn_costs_no_entry(folder: Path) -> None:
    async with held(folder) as one:
        first = await sent(one.writer, range(1))
        await at_the_gate(one.gate)
        gone, stays = await sent(one.writer, range(1, 3))
        gone.cancel()
        one.gate.opened.set()
        await asyncio.gather(*first, stays)
    assert [entry.fields["callId"] for entry in verified(folder)] == [decision(n)["callId"] for n in (0, 2)]


async def test_a_caller_that_gives_up_during_the_commit_finds_its_entry_later(folder: Path) -> None:
    async with held(folder) as one:
        (gone,) = await sent(one.writer, range(1))
        await at_the_gate(one.gate)
        gone.cancel()
        one.gate.opened.set()
        again = await one.writer.append("L12", decision(0))
        assert again.id == 1
    assert verified(folder) == [again]


@pytest.mark.parametrize("call", ["write", "sync"])
async def test_a_failed_write_or_sync_ends_the_writer_and_tells_everybody(folder: Path, call: str) -> None:
    async with held(folder) as one:
        first = await sent(one.writer, range(1))
        await at_the_gate(one.gate)
        queued = await sent(one.writer, range(1, 4))
        one.files.fails = (call, "decisions.jsonl")
        one.gate.opened.set()
        results = await asyncio.gather(*first, *queued, return_exceptions=True)
        assert [type(result) for result in results] == [StorageFailedError, *[WriterStoppedError] * 3]
        assert one.writer.stopped.is_set()
        assert one.writer.failure is results[0]
        one.files.fails = None
        with pytest.raises(WriterStoppedError, match="input/output error"):
            await one.writer.append("L12", decision(0))
        assert len(one.gate.batches) == 1


async def test_a_drain_answers_what_waits_and_takes_nothing_more(folder: Path) -> None:
    async with held(folder) as one:
        first = await sent(one.writer, range(1))
        await at_the_gate(one.gate)
        queued = await sent(one.writer, range(1, 9))
        draining = asyncio.create_task(one.writer.drain())
        await asyncio.sleep(0)
        with pytest.raises(WriterStoppedError, match="shutting down"):
            await one.writer.append("L12", decision(50))
        one.gate.opened.set()
        await draining
        assert [task.result().id for task in (*first, *queued)] == list(range(1, 10))


async def test_a_writer_that_is_cancelled_leaves_nobody_waiting(folder: Path) -> None:
    async with held(folder) as one:
        first = await sent(one.writer, range(1))
        await at_the_gate(one.gate)
        queued = await sent(one.writer, range(1, 3))
        one.running.cancel()
        one.gate.opened.set()
        results = await asyncio.gather(*first, *queued, return_exceptions=True)
        assert [type(result) for result in results] == [WriterStoppedError] * 3
        with pytest.raises(asyncio.CancelledError):
            await one.running
        one.running = asyncio.create_task(asyncio.sleep(0))


async def test_beginning_a_turn_is_durable_before_it_is_acknowledged(folder: Path) -> None:
    async with held(folder) as one:
        one.gate.opened.set()
        mark = len(one.files.calls)
        started = await one.writer.begin(Begin(intent(1)))
        assert started.started_at_ms == START_MS
        assert one.files.since(mark) == [("write", "intents.jsonl"), ("sync", "intents.jsonl")]
        assert (await one.writer.append("L10", turn(1))).id == 1


async def test_a_clock_that_steps_back_is_logged_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    async with held(folder, clock=clock) as one:
        one.gate.opened.set()
        await one.writer.append("L12", decision(1))
        clock.now_ms -= 5000
        with caplog.at_level(logging.WARNING):
            for number in (2, 3):
                assert (await one.writer.append("L12", decision(number))).recorded_at_ms == START_MS
    assert [record.message for record in caplog.records if "stepped back by 5000 ms" in record.message] != []
    assert len(caplog.records) == 1


async def test_work_alone_runs_between_two_commits_and_before_what_waits(folder: Path) -> None:
    async with held(folder) as one:
        first = await sent(one.writer, range(1))
        await at_the_gate(one.gate)
        others = await sent(one.writer, range(1, 5))
        seen = asyncio.create_task(one.writer.run_alone(lambda: one.writer.ledger.indexes["L12"].head.size))
        await asyncio.sleep(0)
        assert not seen.done()
        one.gate.opened.set()
        assert await seen == 1
        assert len(await asyncio.gather(*first, *others)) == 4 + 1


async def test_work_alone_may_commit_and_its_entries_come_before_what_waits(folder: Path) -> None:
    async with held(folder) as one:
        first = await sent(one.writer, range(1))
        await at_the_gate(one.gate)
        (other,) = await sent(one.writer, range(1, 2))
        work = lambda: one.writer.commit_now([Append("L12", decision(7))])  # noqa: E731
        outcomes = asyncio.create_task(one.writer.run_alone(work))
        await asyncio.sleep(0)
        one.gate.opened.set()
        assert [outcome.id for outcome in await outcomes if isinstance(outcome, Entry)] == [2]
        assert (await other).id == 3
        await asyncio.gather(*first)


async def test_an_error_of_work_alone_is_its_callers_affair(folder: Path) -> None:
    async with held(folder) as one:
        one.gate.opened.set()
        with pytest.raises(ZeroDivisionError):
            await one.writer.run_alone(lambda: 1 // 0)
        assert (await one.writer.append("L12", decision(1))).id == 1


async def test_a_storage_failure_of_work_alone_ends_the_writer(folder: Path) -> None:
    async with held(folder) as one:
        one.gate.opened.set()
        one.files.fails = ("sync", "decisions.jsonl")
        with pytest.raises(StorageFailedError):
            await one.writer.run_alone(lambda: one.writer.commit_now([Append("L12", decision(1))]))
        with pytest.raises(WriterStoppedError):
            await one.writer.run_alone(lambda: 5)
        one.files.fails = None


async def test_a_caller_of_work_alone_that_gave_up_before_its_turn_changes_nothing(folder: Path) -> None:
    async with held(folder) as one:
        first = await sent(one.writer, range(1))
        await at_the_gate(one.gate)
        ran: list[int] = []
        gone = asyncio.create_task(one.writer.run_alone(lambda: ran.append(1)))
        await asyncio.sleep(0)
        gone.cancel()
        one.gate.opened.set()
        await asyncio.gather(*first)
        assert (await one.writer.append("L12", decision(1))).id == 2
        assert ran == []


async def test_work_alone_that_waits_when_the_storage_fails_is_told_so(folder: Path) -> None:
    async with held(folder) as one:
        first = await sent(one.writer, range(1))
        await at_the_gate(one.gate)
        waiting = asyncio.create_task(one.writer.run_alone(lambda: 5))
        await asyncio.sleep(0)
        one.files.fails = ("sync", "decisions.jsonl")
        one.gate.opened.set()
        results = await asyncio.gather(*first, waiting, return_exceptions=True)
        assert [type(result) for result in results] == [StorageFailedError, WriterStoppedError]
        one.files.fails = None


async def test_a_submitted_command_tells_its_outcome_once_it_is_durable(folder: Path) -> None:
    async with held(folder) as one:
        told: list[Outcome] = []
        one.writer.submit(Append("L12", decision(1)), told.append)
        one.writer.submit(Append("L12", decision(2, latencyMs=-1)), told.append)
        await at_the_gate(one.gate)
        assert told == []
        one.gate.opened.set()
        await one.writer.append("L12", decision(3))
        assert [type(outcome) for outcome in told] == [Entry, DraftRefusedError]


async def test_a_submitted_command_that_is_withdrawn_costs_no_entry(folder: Path) -> None:
    async with held(folder) as one:
        first = await sent(one.writer, range(1))
        await at_the_gate(one.gate)
        told: list[Outcome] = []
        one.writer.submit(Append("L12", decision(1)), told.append).withdraw()
        one.gate.opened.set()
        await asyncio.gather(*first)
        assert (await one.writer.append("L12", decision(2))).id == 2
        assert told == []


@pytest.mark.parametrize("layer", ["L1", "L3", "L7"])
async def test_what_the_writer_alone_records_is_refused_in_one_sentence(folder: Path, layer: str) -> None:
    async with held(folder) as one:
        one.gate.opened.set()
        with pytest.raises(RequestRefusedError) as refusal:
            await one.writer.append(layer, {})
    assert str(refusal.value) == f"{layer} is the writer's own; append to one of: L2 L4 L5 L6 L10 L11 L12."


async def test_a_regeneration_is_one_commit_of_two_chains(folder: Path) -> None:
    async with held(folder) as one:
        one.gate.opened.set()
        await one.writer.append("L12", decision(1))
        entry = await one.writer.regenerate("requested")
        assert (entry.layer, entry.id) == ("L1", 1)
    assert [list(batch.entries) for batch in one.gate.batches] == [["decisions"], ["regenerations", "state"]]
    assert verified(folder, "L1") == [entry]
    assert [why.fields["stateId"] for why in verified(folder, "L7")] == [1]
