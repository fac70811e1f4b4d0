from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
import pytest_asyncio

from prometheus.receipts.v1 import receipts_pb2 as pb
from receipt_writer.format.policy import KeyUse
from receipt_writer.fsck import check_chain
from receipt_writer.listen import TcpAddress
from receipt_writer.storage.filesystem import OsFileSystem
from receipt_writer.tokens import TOKENS_NAME, add_token
from tests.receipt_writer.parts import Running, decision_request, free_port, running
from tests.receipt_writer.rpc.calls import L12, refused

ENTRY, CHECKPOINT = pb.KEY_USE_ENTRY, pb.KEY_USE_CHECKPOINT


@pytest_asyncio.fixture
async def live(folder: Path) -> AsyncIterator[Running]:
    async with running(folder) as one:
        await one.stub.AppendDecision(decision_request(1))
        yield one


def key_in_force(one: Running, use: pb.KeyUse = ENTRY) -> str:
    name: KeyUse = "entry" if use == ENTRY else "checkpoint"
    return base64.b64encode(one.service.rotations.key_in_force(name)).decode()


def rotation(one: Running, use: pb.KeyUse = ENTRY) -> pb.RotateKeyRequest:
    return pb.RotateKeyRequest(use=use, previous_key=key_in_force(one, use), reason="a yearly change")


@pytest.mark.parametrize("use", [ENTRY, CHECKPOINT])
async def test_a_rotation_is_recorded_and_the_new_key_signs(live: Running, folder: Path, use: pb.KeyUse) -> None:
    old = key_in_force(live, use)
    answer = await live.stub.RotateKey(rotation(live, use))
    event = json.loads(answer.entry.line)
    assert (event["event"], event["previousKey"], event["publicKey"]) == ("rotated", old, answer.public_key)
    assert answer.public_key == key_in_force(live, use) != old
    entry = json.loads((await live.stub.AppendDecision(decision_request(2))).entry.line)
    assert (entry["attestation"]["publicKey"] == answer.public_key) is (use == ENTRY)
    await live.stub.GetCheckpoint(pb.GetCheckpointRequest(layer=L12, fresh=True))
    assert [check_chain(folder, layer).fault for layer in ("L3", "L12")] == [None, None]


async def test_a_rotation_that_was_done_is_answered_with_its_own_entry(live: Running) -> None:
    request = rotation(live)
    first = await live.stub.RotateKey(request)
    assert await live.stub.RotateKey(request) == first
    await live.stub.RotateKey(rotation(live))
    assert await live.stub.RotateKey(request) == first


async def test_a_rotation_of_another_key_than_the_one_in_force_is_refused(live: Running) -> None:
    other = base64.b64encode(b"k" * 32).decode()
    refusal = await refused(live.stub.RotateKey(pb.RotateKeyRequest(use=ENTRY, previous_key=other)))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "NOT_POSSIBLE_YET")


async def test_a_key_is_revoked_after_its_rotation_and_not_before(live: Running, folder: Path) -> None:
    old = key_in_force(live)
    request = pb.RevokeKeyRequest(use=ENTRY, public_key=old, reason="lost")
    refusal = await refused(live.stub.RevokeKey(request))
    assert refusal.code == grpc.StatusCode.FAILED_PRECONDITION
    await live.stub.RotateKey(rotation(live))
    answer = await live.stub.RevokeKey(request)
    event = json.loads(answer.entry.line)
    assert (event["event"], event["publicKey"], event["reason"]) == ("revoked", old, "lost")
    assert await live.stub.RevokeKey(request) == answer
    assert check_chain(folder, "L3").fault is None


async def test_a_key_that_never_signed_is_not_found(live: Running) -> None:
    request = pb.RevokeKeyRequest(use=ENTRY, public_key=base64.b64encode(b"k" * 32).decode())
    refusal = await refused(live.stub.RevokeKey(request))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.NOT_FOUND, "ENTRY_NOT_FOUND")


async def test_a_revocation_of_a_chain_that_is_none_is_refused(live: Running) -> None:
    old = key_in_force(live)
    await live.stub.RotateKey(rotation(live))
    request = pb.RevokeKeyRequest(use=ENTRY, public_key=old, at_ids={"dreams": 1})
    assert (await refused(live.stub.RevokeKey(request))).code == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("key", ["", "abc", "=", "A" * 43, "A" * 44, base64.b64encode(b"k" * 31).decode(), "é"])
async def test_a_key_that_is_none_is_named(live: Running, key: str) -> None:
    refusal = await refused(live.stub.RotateKey(pb.RotateKeyRequest(use=ENTRY, previous_key=key)))
    assert (refusal.code, refusal.about) == (grpc.StatusCode.INVALID_ARGUMENT, {"field": "previous_key"})
    refusal = await refused(live.stub.RevokeKey(pb.RevokeKeyRequest(use=ENTRY, public_key=key)))
    assert refusal.about == {"field": "public_key"}


async def test_a_use_that_is_none_is_named(live: Running) -> None:
    for use in (0, 3, -1):
        refusal = await refused(live.stub.RotateKey(pb.RotateKeyRequest(use=use)))  # type: ignore[arg-type]
        assert (refusal.code, refusal.about) == (grpc.StatusCode.INVALID_ARGUMENT, {"field": "use"})


async def test_an_overlong_reason_is_refused_and_changes_nothing(live: Running) -> None:
    request = rotation(live)
    request.reason = "x" * 4097
    assert (await refused(live.stub.RotateKey(request))).reason == "DRAFT_REFUSED"
    assert key_in_force(live) == request.previous_key


async def test_a_caller_from_the_network_needs_a_token(folder: Path) -> None:
    token = add_token(OsFileSystem(), folder / TOKENS_NAME, "acme", 0)
    async with running(folder, address=TcpAddress("127.0.0.1", free_port())) as one:
        for call in (one.stub.RotateKey(rotation(one)), one.stub.RevokeKey(pb.RevokeKeyRequest(use=ENTRY))):
            refusal = await refused(call)
            assert (refusal.code, refusal.reason) == (grpc.StatusCode.PERMISSION_DENIED, "NOT_ALLOWED")
            assert "changed over a Unix socket only" in refusal.sentence
        bearer = (("authorization", f"Bearer {token}"),)
        entry = (await one.stub.AppendDecision(decision_request(1), metadata=bearer)).entry
        key = json.loads(entry.line)["attestation"]["publicKey"]
        request = pb.RotateKeyRequest(use=ENTRY, previous_key=key)
        assert (await one.stub.RotateKey(request, metadata=bearer)).public_key != key


async def test_a_rotation_whose_caller_goes_is_whole_or_not_there(live: Running, folder: Path) -> None:
    request = rotation(live)
    call = live.stub.RotateKey(request)
    waiting = asyncio.ensure_future(call)
    await live.health()
    call.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    answer = await live.stub.RotateKey(request)
    assert answer.public_key == key_in_force(live)
    assert check_chain(folder, "L3").fault is None
    assert check_chain(folder, "L3").entries == 3


async def test_entries_of_a_stream_go_on_over_a_rotation(live: Running, folder: Path) -> None:
    async def append() -> None:
        for number in range(2, 80):
            await live.stub.AppendDecision(decision_request(number))

    appending = asyncio.ensure_future(append())
    for _ in range(3):
        await live.stub.RotateKey(rotation(live))
    await appending
    assert check_chain(folder, "L12").fault is None
    assert check_chain(folder, "L12").entries == 79
