"""How much the writer takes at once, and how long a batch may have the loop."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from receipt_writer.errors import QueueFullError
from receipt_writer.format.entry import Entry
from receipt_writer.ledger import Append, Outcome
from receipt_writer.writer import Limits
from tests.receipt_writer.parts import decision
from tests.receipt_writer.test_writer import at_the_gate, held, sent


async def test_a_commit_takes_no_more_than_its_limit(folder: Path) -> None:
    async with held(folder, Limits(batch=16)) as one:
        first = await sent(one.writer, range(1))
        await at_the_gate(one.gate)
        others = await sent(one.writer, range(1, 41))
        one.gate.opened.set()
        await asyncio.gather(*first, *others)
    assert [len(batch.entries["decisions"]) for batch in one.gate.batches] == [1, 16, 16, 8]


async def test_a_commit_takes_no_more_bytes_of_requests_than_its_limit(folder: Path) -> None:
    async with held(folder, Limits(batch_bytes=100)) as one:
        first = asyncio.ensure_future(one.writer.append("L12", decision(0)))
        await at_the_gate(one.gate)
        tasks = [asyncio.ensure_future(one.writer.append("L12", decision(number), 60)) for number in range(1, 6)]
        large = asyncio.ensure_future(one.writer.append("L12", decision(6), 1000))
        await asyncio.sleep(0)
        one.gate.opened.set()
        await asyncio.gather(first, *tasks, large)
    assert [len(batch.entries["decisions"]) for batch in one.gate.batches] == [1, 2, 2, 2]


async def test_a_queue_that_holds_enough_bytes_refuses_until_they_are_taken(folder: Path) -> None:
    async with held(folder, Limits(queue_bytes=100)) as one:
        first = asyncio.ensure_future(one.writer.append("L12", decision(0), 500))
        await at_the_gate(one.gate)
        waiting = asyncio.ensure_future(one.writer.append("L12", decision(1), 101))
        await asyncio.sleep(0)
        with pytest.raises(QueueFullError, match="1 appends wait already"):
            await one.writer.append("L12", decision(2), 1)
        one.gate.opened.set()
        await asyncio.gather(first, waiting)
        assert (await one.writer.append("L12", decision(2), 1)).id == 3


async def test_batches_that_read_old_entries_back_leave_the_loop_to_others_in_between(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held(folder, Limits(batch=1)) as one:
        one.gate.opened.set()
        await one.writer.append("L12", decision(1))
        rests: list[float] = []
        real = asyncio.sleep

        async def counted(delay_s: float) -> None:
            rests.append(delay_s)
            await real(0)

        monkeypatch.setattr(asyncio, "sleep", counted)
        again = [one.writer.append("L12", decision(1)) for _ in range(10)]
        assert {entry.id for entry in await asyncio.gather(*again)} == {1}
        await real(0)
        assert len([rest for rest in rests if rest > 0]) >= 9


async def test_a_full_queue_refuses_with_a_hint_and_records_nothing(folder: Path) -> None:
    async with held(folder, Limits(queue=3, retry_after_ms=40)) as one:
        first = await sent(one.writer, range(1))
        await at_the_gate(one.gate)
        waiting = await sent(one.writer, range(1, 4))
        with pytest.raises(QueueFullError, match="again in 40 ms") as refusal:
            await one.writer.append("L12", decision(9))
        assert refusal.value.retry_after_ms == 40
        one.gate.opened.set()
        assert len(await asyncio.gather(*first, *waiting)) == 4
        assert (await one.writer.append("L12", decision(9))).id == 5


async def test_a_full_queue_refuses_a_submitted_command_at_once(folder: Path) -> None:
    async with held(folder, Limits(queue=1)) as one:
        first = await sent(one.writer, range(1))
        await at_the_gate(one.gate)
        told: list[Outcome] = []
        one.writer.submit(Append("L12", decision(1)), told.append)
        with pytest.raises(QueueFullError):
            one.writer.submit(Append("L12", decision(2)), told.append)
        one.gate.opened.set()
        await asyncio.gather(*first)
        await one.writer.append("L12", decision(3))
        assert [type(outcome) for outcome in told] == [Entry]
