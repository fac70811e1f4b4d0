"""Kill -9 in the middle of the work, again and again: what was acknowledged is there, once, and the chain verifies."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.receipt_writer.durability.clients import Caller, Item, StreamCaller, Work
from tests.receipt_writer.durability.judging import hold_against, verify_chain
from tests.receipt_writer.durability.lives import ChainReader
from tests.receipt_writer.durability.replays import scratch
from tests.receipt_writer.test_process import launch, started

KILLS = int(os.environ.get("DURABILITY_KILLS", "200"))
CALLERS = 8


@dataclass
class Campaign:
    """Eight callers, half of them over streams, against one home whose writer is killed again and again."""

    home: Path
    chance: random.Random
    work: Work = field(default_factory=Work)
    reader: ChainReader = field(default_factory=ChainReader)
    callers: list[Caller] = field(init=False)

    def __post_init__(self) -> None:
        self.callers = [(Caller if number % 2 else StreamCaller)(self.work) for number in range(CALLERS)]

    async def cycle(self, number: int) -> None:
        """Start, work until some items are acknowledged, kill, and judge what is left."""
        if number % 10 == 9:
            await self.kill_a_start()
        async with started(self.home) as writer:
            self.work.aim(self.chance.randrange(4, 30))
            known = list(self.work.acknowledged)
            again = self.chance.sample(known, min(2, len(known)))
            calling = [
                asyncio.create_task(
                    caller.live(writer.target, again if caller is self.callers[number % CALLERS] else ())
                )
                for caller in self.callers
            ]
            wanted = asyncio.create_task(self.work.enough.wait())
            await asyncio.wait({wanted, *calling}, return_when=asyncio.FIRST_COMPLETED)
            assert wanted.done(), [caller for caller in calling if caller.done()]
            await writer.end(signal.SIGKILL)
            await asyncio.gather(*calling)
        self.judge()
        verify_chain(self.home / "receipts", ("L10", "L12")[number % 2])

    async def kill_a_start(self) -> None:
        """Kill a writer that recovers, or has just begun to serve."""
        process = await launch(self.home, f"unix:{self.home}/w.sock")
        try:
            await asyncio.wait_for(process.wait(), self.chance.random() * 0.4)
        except TimeoutError:
            process.kill()
            await process.communicate()

    def judge(self) -> None:
        hold_against(self.reader, self.home / "receipts", self.work)

    async def finish(self) -> None:
        """Start once more, ask again for whatever has no answer yet, and stop in order."""
        async with started(self.home) as writer:
            waiting: set[Item] = {item for caller in self.callers for item in caller.waiting}
            self.work.aim(len(waiting))
            calling = [asyncio.create_task(caller.live(writer.target)) for caller in self.callers]
            await asyncio.wait_for(self.work.enough.wait(), 20)
            status, _ = await writer.end(signal.SIGTERM)
            await asyncio.gather(*calling)
        assert status == 0
        self.judge()
        for layer in ("L10", "L12"):
            verify_chain(self.home / "receipts", layer)


async def campaign(home: Path, kills: int, seed: int = 0) -> Campaign:
    one = Campaign(home, chance=random.Random(seed))  # noqa: S311 -- when to kill is no secret
    for number in range(kills):
        await one.cycle(number)
    await one.finish()
    return one


@pytest.mark.timeout(40)
async def test_a_few_kills_lose_no_acknowledged_entry_and_repeat_none() -> None:
    with scratch() as home:
        one = await campaign(home, 3)
    assert len(one.work.acknowledged) >= 12


@pytest.mark.durability
@pytest.mark.timeout(600)
@pytest.mark.parametrize("half", [1, 2])
async def test_two_hundred_kills_lose_no_acknowledged_entry_and_repeat_none(half: int) -> None:
    began, kills = time.monotonic(), KILLS // 2
    with scratch() as home:
        one = await campaign(home, kills, seed=half)
    assert one.work.repeated > kills
    told = f"{kills} kills, {len(one.work.acknowledged)} acknowledged, {one.work.repeated} repeated with the same bytes"
    print(f"{told}, 0 lost, 0 twice, {time.monotonic() - began:.0f} s")  # noqa: T201 -- the figure
