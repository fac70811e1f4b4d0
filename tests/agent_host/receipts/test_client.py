from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from agent_host.errors import ReceiptRefusedError, WriterUnavailableError
from agent_host.receipts.client import DECISIONS, ReceiptClient
from agent_host.receipts.drafts import TurnIntent
from receipt_writer.writer import Limits
from tests.receipt_writer.parts import Running, decision_request, running, ulid


@pytest_asyncio.fixture
async def writer() -> AsyncIterator[Running]:
    with tempfile.TemporaryDirectory(prefix="rw-") as folder:
        async with running(Path(folder)) as one:
            yield one


def intent(model_id: str = "rules") -> TurnIntent:
    return TurnIntent(ulid("t_", 1), ulid("s_", 1), "cli", "0" * 64, "sha256", model_id)


async def test_a_draft_that_is_too_long_for_any_entry_is_refused_for_good(writer: Running) -> None:
    client = ReceiptClient(writer.target)
    with pytest.raises(ReceiptRefusedError, match="larger than max"):
        await client.begin_turn(intent("x" * 70_000))
    await client.begin_turn(intent())
    await client.close()


async def test_a_full_queue_is_a_writer_to_ask_again() -> None:
    with tempfile.TemporaryDirectory(prefix="rw-") as folder:
        async with running(Path(folder), limits=Limits(queue=0)) as one:
            client = ReceiptClient(one.target)
            with pytest.raises(WriterUnavailableError, match="resource exhausted"):
                await client.begin_turn(intent())
            await client.close()


async def test_entries_come_back_with_the_writers_own_bytes(writer: Running) -> None:
    stored = (await writer.stub.AppendDecision(decision_request(1))).entry
    client = ReceiptClient(writer.target)
    assert (entry := await client.entry(DECISIONS, 1)) is not None
    assert (entry.line, entry.hash, entry.recorded_at_ms) == (stored.line, stored.hash, stored.recorded_at_ms)
    assert await client.entry(DECISIONS, 2) is None
    assert [one async for one in client.entries(DECISIONS)] == [entry]
    await client.close()
