from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from receipt_writer.app import Service, open_service
from receipt_writer.errors import LedgerDamagedError, StorageFailedError
from receipt_writer.format.merkle import verify_consistency, verify_inclusion
from receipt_writer.identity import chains_folder
from receipt_writer.index import Filter
from receipt_writer.index.columns import value_fingerprint
from receipt_writer.ledger import Append, Begin
from receipt_writer.query import Queries
from receipt_writer.server import MAX_MESSAGE_BYTES
from tests.receipt_writer.parts import Clock, chain_file, decision, intent, turn

FINGERPRINT_OF_DRAFT = value_fingerprint("draft")


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


@pytest.fixture
def others(folder: Path) -> Iterator[Service]:
    """A ledger of 150 decisions, of which every third is another spec's."""
    one = open_service(folder, None, Clock())
    drafts = [decision(number, specId="draft" if number % 3 else "gate") for number in range(1, 151)]
    one.writer.commit_now([Append("L12", draft) for draft in drafts])
    yield one
    one.store.close()


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ({}, range(1, 151)),
        ({"newest_first": True}, range(150, 0, -1)),
        ({"limit": 70}, range(1, 71)),
        ({"members": (("specId", "gate"),)}, range(3, 151, 3)),
        ({"members": (("specId", "gate"),), "newest_first": True, "limit": 5}, range(150, 135, -3)),
        ({"members": (("specId", "gate"),), "from_id": 100, "to_id": 110}, range(102, 111, 3)),
        ({"members": (("specId", "gate"), ("exitState", "ok_amended"))}, range(0)),
    ],
)
async def test_entries_come_in_the_order_and_number_that_was_asked_for(
    others: Service, wanted: dict[str, Any], ids: range
) -> None:
    entries = [entry async for entry in others.queries.entries("L12", Filter(**wanted))]
    assert [entry.id for entry in entries] == list(ids)
    assert [json.loads(entry.line)["id"] for entry in entries] == list(ids)


async def test_an_entry_that_only_shares_a_fingerprint_is_not_among_the_answers(
    others: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("receipt_writer.index.chain_index.value_fingerprint", lambda _: FINGERPRINT_OF_DRAFT)
    wanted = Filter(members=(("specId", "gate"),), limit=3)
    assert [entry async for entry in others.queries.entries("L12", wanted)] == []


async def test_a_list_holds_few_lines_at_a_time(others: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    read = others.store.read

    def counted(chain: str, first_id: int, count: int) -> list[bytes]:
        asked.append(count)
        return read(chain, first_id, count)

    monkeypatch.setattr(others.store, "read", counted)
    entries = others.queries.entries("L12", Filter())
    await anext(entries)
    assert asked == [64]
    asked.clear()
    assert len([entry async for entry in others.queries.entries("L12", Filter(limit=2))]) == 2
    assert asked == [2]


async def test_proofs_are_made_for_any_size_the_chain_ever_had(others: Service) -> None:
    index = others.ledger.indexes["L12"]
    for entry_id, size in ((1, 1), (1, 150), (77, 128), (150, 150)):
        proof = await others.queries.inclusion("L12", entry_id, size)
        assert (proof.size, proof.root_hash) == (size, index.tree.root(size))
        assert verify_inclusion(proof.leaf_hash, entry_id - 1, size, proof.path, proof.root_hash)
    for older, newer in ((1, 150), (128, 129), (150, 150)):
        grown = await others.queries.consistency("L12", older, newer)
        assert verify_consistency(older, newer, grown.path, grown.from_root, grown.to_root)


async def test_the_size_of_the_newest_checkpoint_is_told(others: Service) -> None:
    assert others.queries.checkpoint_size("L12") == 0
    await others.queries.checkpoint("L12", fresh=True)
    assert others.queries.checkpoint_size("L12") == 150


@pytest.mark.parametrize("newest_first", [False, True])
async def test_long_lines_are_held_few_at_a_time_and_come_in_order(
    service: Service, newest_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = [
        {"tool": f"{n:040d}", "provider": "p" * 40, "status": "ok", "n": 1, "costMicroUsd": None} for n in range(400)
    ]
    for number in range(40):
        await service.writer.begin(Begin(intent(number)))
        await service.writer.append("L10", turn(number, tools=tools if number % 20 else []))
    held: list[int] = []
    real = Queries._next

    def measured(queries: Queries, *words: Any) -> Any:
        entries = real(queries, *words)
        held.append(sum(len(entry.line) for entry in entries))
        return entries

    monkeypatch.setattr(Queries, "_next", measured)
    found = [entry.id async for entry in service.queries.entries("L10", Filter(newest_first=newest_first))]
    assert found == sorted(range(1, 41), reverse=newest_first)
    assert max(held) < (1 << 18) + MAX_MESSAGE_BYTES
    assert len(held) >= 7
    some = Filter(newest_first=newest_first, limit=30, members=(("gateway", turn(1)["gateway"]),))
    assert [entry.id async for entry in service.queries.entries("L10", some)] == found[:30]
