"""A chain verified while it grows: a real writer, the real verifier, and entries that were touched on their way."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from agent_host.errors import UsageError, WriterUnavailableError
from agent_host.receipts.client import DECISIONS, ReceiptClient
from agent_host.receipts.commitments import commit
from agent_host.receipts.openings import OpeningStore
from agent_host.receipts.protocol import StoredEntry
from agent_host.receipts.verification import trust_of
from agent_host.receipts.watching import ContinuousVerification, lasting
from tests.conformance.test_writer import decision
from tests.receipt_writer.parts import running, ulid


class Watched:
    """A chain under watch: `told` are the ids that held, in their order."""

    def __init__(self, folder: Path, openings: OpeningStore) -> None:
        self.told: list[int] = []
        self._verification = ContinuousVerification(
            folder / "copy.jsonl", trust_of(folder, DECISIONS, None), openings, lambda entry: self.told.append(entry.id)
        )

    async def until_it_ends(self, entries: AsyncIterator[StoredEntry]) -> str:
        return await self._verification.run(entries)


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rw-") as made:
        yield Path(made)


@pytest_asyncio.fixture
async def client(folder: Path) -> AsyncIterator[ReceiptClient]:
    async with running(folder) as one:
        made = ReceiptClient(one.target)
        yield made
        await made.close()


@pytest.fixture
def openings(folder: Path) -> Iterator[OpeningStore]:
    made = OpeningStore(folder / "openings.db")
    yield made
    made.close()


async def test_entries_are_told_of_once_they_hold_and_a_touched_one_ends_it(
    folder: Path, client: ReceiptClient, openings: OpeningStore
) -> None:
    watched = Watched(folder, openings)
    await client.append_decision(decision(1))

    async def tampering() -> AsyncIterator[StoredEntry]:
        async for entry in client.watch(DECISIONS):
            if entry.id == 3:
                yield replace(entry, line=entry.line.replace('"latencyMs":3', '"latencyMs":4'))
                await asyncio.Event().wait()
            yield entry
            await client.append_decision(decision(entry.id + 1))  # lands while it is watched

    said = await watched.until_it_ends(tampering())
    assert watched.told == [1, 2]
    assert said == "Entry 3 does not hold: TAMPERED (hash); those before it do."
    assert not (folder / "copy.jsonl").exists()


async def test_an_entry_that_commits_to_something_else_than_this_host_did_is_found(
    folder: Path, client: ReceiptClient, openings: OpeningStore
) -> None:
    ours = commit(ulid("c_", 1), "inputHash", {"message": "hello"})
    openings.keep(ours.opening, commit(ulid("c_", 2), "inputHash", {"message": "hello"}).opening)
    await client.append_decision(replace(decision(1), input_hash=ours.digest))
    await client.append_decision(decision(2))

    said = await Watched(folder, openings).until_it_ends(client.watch(DECISIONS))
    assert said == f"Entry 2 ({ulid('c_', 2)}) has another inputHash than this host committed to."


async def test_a_watch_that_is_cancelled_leaves_nothing_behind(
    folder: Path, client: ReceiptClient, openings: OpeningStore
) -> None:
    await client.append_decision(decision(1))
    watched = Watched(folder, openings)
    running_watch = asyncio.ensure_future(watched.until_it_ends(client.watch(DECISIONS)))
    async for _ in _ticks():
        if watched.told:
            break
    running_watch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running_watch
    assert not (folder / "copy.jsonl").exists()


async def test_a_watch_goes_on_with_the_next_writer_where_the_last_one_ended(client: ReceiptClient) -> None:
    for number in range(1, 4):
        await client.append_decision(decision(number))
    lives, asked = [2, 3, 3], list[int]()

    async def ending(from_id: int) -> AsyncGenerator[StoredEntry, None]:
        asked.append(from_id)
        until = lives.pop(0)
        async for entry in client.watch(DECISIONS, from_id):
            yield entry
            if entry.id == until:
                raise WriterUnavailableError("The writer ended.")

    async def again() -> None:
        if not lives:
            raise UsageError("enough")

    stream = lasting(ending, again)
    seen = [(await anext(stream)).id for _ in range(3)]
    with pytest.raises(UsageError):
        await anext(stream)
    assert (seen, asked) == ([1, 2, 3], [0, 2, 3])


async def test_what_the_next_writer_has_otherwise_does_not_hold(
    folder: Path, client: ReceiptClient, openings: OpeningStore
) -> None:
    await client.append_decision(decision(1))
    lives = ['"latencyMs":3', '"latencyMs":9']

    async def watch(from_id: int) -> AsyncGenerator[StoredEntry, None]:
        latency = lives.pop(0)
        async for entry in client.watch(DECISIONS, from_id):
            yield replace(entry, line=entry.line.replace('"latencyMs":3', latency))
            if lives:
                return
            await asyncio.Event().wait()

    async def again() -> None:
        return

    said = await Watched(folder, openings).until_it_ends(lasting(watch, again))
    assert said.startswith("Entry ")
    assert "does not hold" in said


def test_without_a_policy_nobody_is_trusted(folder: Path) -> None:
    with pytest.raises(UsageError, match="name the policy of that writer with --policy"):
        trust_of(folder, DECISIONS, None)


async def _ticks() -> AsyncIterator[None]:
    while True:
        await asyncio.sleep(0.01)
        yield
