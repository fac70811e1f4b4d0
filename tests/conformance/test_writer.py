"""What every `Writer` of the host must do: the fake, and the gRPC client against a real receipt writer."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agent_host.errors import ReceiptRefusedError, WriterUnavailableError
from agent_host.receipts.client import ReceiptClient
from agent_host.receipts.drafts import DecisionDraft, DecisionRef, SpecDraft, TurnIntent, TurnReceipt
from agent_host.receipts.protocol import Writer
from tests.agent_host.receipts import test_spool as material
from tests.fakes.writer import FakeWriter


def ulid(prefix: str, number: int) -> str:
    return f"{prefix}{number:026d}"


def intent(number: int) -> TurnIntent:
    return replace(material.INTENT, turn_id=ulid("t_", number), session_id=ulid("s_", 1))


def decision(number: int) -> DecisionDraft:
    return replace(material.DECISION, turn_id=ulid("t_", number), call_id=ulid("c_", number))


def spec(number: int) -> SpecDraft:
    return replace(material.SPEC, spec_hash=f"{number:064x}")


def receipt(number: int, *decisions: DecisionRef) -> TurnReceipt:
    return replace(
        material.RECEIPT, turn_id=ulid("t_", number), session_id=ulid("s_", 1), decisions=decisions, input_hash="a" * 64
    )


@asynccontextmanager
async def grpc_writer(folder: Path) -> AsyncIterator[Writer]:
    target = f"unix:{folder}/w.sock"
    words = ("-m", "receipt_writer", "serve", "--home", str(folder), "--listen", target, "--exit-with-stdin")
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stdin=PIPE, stderr=DEVNULL)
    client = ReceiptClient(target)
    try:
        await client.wait_ready(20)
        yield client
    finally:
        await client.close()
        await asyncio.wait_for(process.communicate(b""), 20)  # closes its stdin


@asynccontextmanager
async def fake_writer(_: Path) -> AsyncIterator[Writer]:
    yield FakeWriter()


@pytest.fixture(params=[grpc_writer, fake_writer], ids=["grpc", "fake"])
async def writer(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Writer]:
    async with request.param(tmp_path) as made:
        yield made


async def test_a_turn_with_a_decision_gets_numbered_entries(writer: Writer) -> None:
    await writer.begin_turn(intent(1))
    decided = await writer.append_decision(decision(1))
    stored = await writer.append_turn(receipt(1, DecisionRef(ulid("c_", 1), decided.id)))

    await writer.begin_turn(intent(2))
    second = await writer.append_turn(receipt(2))

    assert (decided.id, stored.id, second.id) == (1, 1, 2)


async def test_the_same_draft_again_gets_the_same_entry(writer: Writer) -> None:
    await writer.begin_turn(intent(1))
    await writer.begin_turn(intent(1))

    first = (await writer.append_decision(decision(1)), await writer.append_turn(receipt(1)))
    again = (await writer.append_decision(decision(1)), await writer.append_turn(receipt(1)))

    assert first == again


async def test_a_spec_has_one_entry_however_many_register_it_at_once(writer: Writer) -> None:
    drafts = [spec(1), spec(2), spec(1), spec(1)]
    stored = await asyncio.gather(*(writer.append_spec(draft) for draft in drafts))
    again = await writer.append_spec(spec(2))

    ids = [entry.id for entry in stored]
    assert sorted({*ids}) == [1, 2]
    assert ids[0] == ids[2] == ids[3]
    assert again == stored[1]


async def test_other_fields_under_the_same_id_are_refused(writer: Writer) -> None:
    await writer.begin_turn(intent(1))
    await writer.append_decision(decision(1))
    await writer.append_turn(receipt(1))

    await writer.append_spec(spec(1))

    with pytest.raises(ReceiptRefusedError):
        await writer.append_spec(replace(spec(1), spec_bytes=1))
    with pytest.raises(ReceiptRefusedError):
        await writer.append_decision(replace(decision(1), latency_ms=99))
    with pytest.raises(ReceiptRefusedError):
        await writer.append_turn(replace(receipt(1), outcome="failed"))
    with pytest.raises(ReceiptRefusedError):
        await writer.begin_turn(replace(intent(1), input_hash="b" * 64))


async def test_a_turn_that_never_began_cannot_report(writer: Writer) -> None:
    with pytest.raises(ReceiptRefusedError):
        await writer.append_turn(receipt(7))


async def test_a_refused_draft_takes_no_number(writer: Writer) -> None:
    with pytest.raises(ReceiptRefusedError):
        await writer.append_decision(replace(decision(1), spec_id="Not Kebab"))

    assert (await writer.append_decision(decision(2))).id == 1


async def test_a_writer_that_is_not_there_is_away_and_not_refusing(tmp_path: Path) -> None:
    client = ReceiptClient(f"unix:{tmp_path}/nobody.sock", timeout_s=0.5)

    with pytest.raises(WriterUnavailableError, match=r"nobody\.sock"):
        await client.append_decision(decision(1))
    await client.close()
