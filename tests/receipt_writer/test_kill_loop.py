"""Kill -9 in the middle of the work, again and again: what was acknowledged is there, once, and the chain verifies."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import grpc.aio
import pytest

from tests.receipt_writer.parts import decision_request, verified
from tests.receipt_writer.test_process import Writer, started

CYCLES = 30
CALLERS = 4


@dataclass
class Work:
    """What the callers have done so far; `enough` is set when `wanted` entries are acknowledged."""

    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    acknowledged: dict[int, str] = field(default_factory=dict)
    wanted: int = 0
    enough: asyncio.Event = field(default_factory=asyncio.Event)

    def aim(self, more: int) -> None:
        self.wanted = len(self.acknowledged) + more
        self.enough.clear()

    async def append(self, writer: Writer, number: int) -> None:
        self.acknowledged[number] = (await writer.stub.AppendDecision(decision_request(number))).entry.line
        if len(self.acknowledged) >= self.wanted:
            self.enough.set()

    async def append_until_death(self, writer: Writer) -> set[int]:
        """Append until the writer is gone; return the call whose fate is unknown."""
        for number in self.numbers:
            try:
                await self.append(writer, number)
            except grpc.aio.AioRpcError:
                return {number}
        return set()


@pytest.mark.durability
@pytest.mark.timeout(300)
async def test_thirty_kills_lose_no_acknowledged_entry_and_repeat_none(folder: Path) -> None:
    chance = random.Random(7)  # noqa: S311 -- when to kill is no secret
    work, unknown = Work(), set[int]()
    for _ in range(CYCLES):
        async with started(folder) as writer:
            for number in sorted(unknown):
                await work.append(writer, number)
            work.aim(chance.randrange(1, 40))
            callers = [asyncio.create_task(work.append_until_death(writer)) for _ in range(CALLERS)]
            await work.enough.wait()
            await writer.end(signal.SIGKILL)
            unknown = set().union(*await asyncio.gather(*callers))
    lines = [entry.line.decode() for entry in verified(folder / "receipts")]
    assert len(set(lines)) == len(lines)
    assert set(work.acknowledged.values()) <= set(lines)
    calls = [entry.fields["callId"] for entry in verified(folder / "receipts")]
    assert len(set(calls)) == len(calls)
    assert len(lines) <= len(work.acknowledged) + len(unknown)
