from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from receipt_writer.app import Service, open_service
from receipt_writer.errors import LedgerDamagedError, StorageFailedError
from receipt_writer.identity import chains_folder
from receipt_writer.index import Filter
from tests.receipt_writer.parts import Clock, chain_file, decision


@pytest_asyncio.fixture
async def service(folder: Path) -> AsyncIterator[Service]:
    """A ledger of three decisions whose committer runs."""
    one = open_service(folder, None, Clock())
    running = asyncio.create_task(one.writer.run(lambda: None))
    await asyncio.gather(*(one.writer.append("L12", decision(number)) for number in (1, 2, 3)))
    yield one
    await one.writer.drain()
    await running
    one.store.close()


def tamper(folder: Path, old: bytes, new: bytes) -> None:
    """Change the first line of the chain in place, as long as before."""
    path = chain_file(folder)
    with path.open("r+b") as file:
        file.seek(path.read_bytes().index(old))
        file.write(new)


@pytest.mark.parametrize("new", [b'"latencyMs":13', b"\xff" * 14, b"\n" * 14])
async def test_a_line_that_was_changed_under_the_writer_is_not_served(
    folder: Path, service: Service, new: bytes
) -> None:
    first = await service.queries.entry("L12", 1)
    tamper(folder, b'"latencyMs":12', new)
    with pytest.raises((LedgerDamagedError, StorageFailedError)):
        await service.queries.entry("L12", 1)
    assert (await service.queries.entry("L12", 2)).id == first.id + 1


async def test_a_list_ends_where_a_line_was_changed(folder: Path, service: Service) -> None:
    tamper(folder, b'"latencyMs":12', b'"latencyMs":13')
    with pytest.raises(LedgerDamagedError, match="Entry 1 of the chain decisions is not what was recorded"):
        _ = [entry async for entry in service.queries.entries("L12", Filter())]


async def test_a_repeated_draft_is_not_answered_with_a_line_that_was_changed(folder: Path, service: Service) -> None:
    tamper(folder, b'"latencyMs":12', b'"latencyMs":13')
    for latency_ms in (12, 13):
        with pytest.raises(LedgerDamagedError, match="Entry 1 of the chain decisions"):
            await service.writer.append("L12", decision(1, latencyMs=latency_ms))
    assert (await service.writer.append("L12", decision(4))).id == 4


@pytest.mark.parametrize("content", [b"", b"junk", b"\xff\xfe"])
async def test_a_stored_checkpoint_that_is_none_any_more_is_told(
    folder: Path, service: Service, content: bytes
) -> None:
    await service.checkpoints.write("L12")
    (chains_folder(folder) / "decisions.checkpoint").write_bytes(content)
    with pytest.raises(LedgerDamagedError, match="stored checkpoint of the chain decisions is none any more"):
        await service.queries.checkpoint("L12", fresh=False)
