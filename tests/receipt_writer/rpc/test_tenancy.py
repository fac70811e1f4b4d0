"""Two tenants and the ledger of none behind one socket: who asks by the ids of another gets its own, or nothing."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import weakref
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import grpc
import grpc.aio
import pytest
import pytest_asyncio
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message

from prometheus.receipts.v1 import receipts_pb2 as pb
from receipt_writer.rpc.handlers import CONTRACT, PREFIX
from receipt_writer.storage.filesystem import OsFileSystem
from receipt_writer.tenants import tenant_folder
from receipt_writer.tokens import TOKENS_NAME, add_token, revoke_tokens
from tests.receipt_writer.parts import (
    Running,
    begin_request,
    decision,
    decision_request,
    running,
    turn_request,
    ulid,
)
from tests.receipt_writer.rpc.calls import L10, L12, decision_item, refusal_of, refused, turn_item

ENTRIES = 3


@dataclass(frozen=True)
class Party:
    """One of those who share the writer: a name that all its entries carry, its numbers, and its token."""

    name: str
    first: int
    token: str | None

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()


@dataclass
class House:
    """A running writer with its parties, and what must not be seen by another: lines, hashes, keys, names."""

    one: Running
    folder: Path
    parties: list[Party]
    secrets: dict[str, set[bytes]]

    def chains(self, party: Party) -> dict[str, bytes]:
        folder = tenant_folder(self.folder, party.name) if party.token else self.folder
        return {path.name: path.read_bytes() for path in sorted((folder / "chains").glob("*.jsonl"))}


@pytest_asyncio.fixture
async def house(folder: Path) -> AsyncIterator[House]:
    async with running(folder) as one:
        tokens = {name: add_token(OsFileSystem(), folder / TOKENS_NAME, name, 0) for name in ("acme", "umbra")}
        parties = [
            Party("acme", 1000, tokens["acme"]),
            Party("umbra", 2000, tokens["umbra"]),
            Party("none", 3000, None),
        ]
        house = House(one, folder, parties, {})
        for party in parties:
            house.secrets[party.name] = await furnished(one, party)
        yield house


async def furnished(one: Running, party: Party) -> set[bytes]:
    """Record something for a party; return what identifies it in any answer."""
    lines = []
    for number in range(party.first, party.first + ENTRIES):
        request = decision_request(number, specId=f"of-{party.name}", turnId=ulid("t_", party.first))
        lines.append((await one.stub.AppendDecision(request, metadata=party.metadata)).entry)
    await one.stub.BeginTurn(begin_request(party.first), metadata=party.metadata)
    await one.stub.BeginTurn(begin_request(party.first + 1), metadata=party.metadata)  # has not reported yet
    report = await one.stub.AppendTurn(turn_request(party.first), metadata=party.metadata)
    state = await one.stub.GetState(pb.GetStateRequest(fresh=True), metadata=party.metadata)
    await one.stub.GetCheckpoint(pb.GetCheckpointRequest(layer=L12, fresh=True), metadata=party.metadata)
    entries = [*lines, report.entry, state.entry]
    key = json.loads(report.entry.line)["attestation"]["publicKey"]
    names = [f"of-{party.name}", f"/{party.name}", key]
    hashes = [entry.hash for entry in entries]
    return {text.encode() for text in (*names, *hashes, *(entry.line for entry in entries))}


def swapped(name: str, theirs: Party, key: str) -> Sequence[Message]:
    """Return requests of an RPC that name what is another party's."""
    turn, first = ulid("t_", theirs.first), theirs.first
    requests: dict[str, list[Message]] = {
        "BeginTurn": [begin_request(first), begin_request(first + 1, gateway="api")],
        "AppendTurn": [turn_request(first), turn_request(first + 1)],
        "AppendDecision": [decision_request(first, exitState="failed_closed")],
        "Append": [pb.AppendRequest(layer=L12, draft_json=json.dumps(decision(first + 1, exitState="ok_amended")))],
        "AppendStream": [decision_item(first + 2, exitState="failed_closed"), turn_item(first + 1)],
        "GetEntry": [pb.GetEntryRequest(layer=L12, id=number) for number in range(1, 9)],
        "ListEntries": [
            pb.ListEntriesRequest(layer=L12),  # all that the caller may see
            pb.ListEntriesRequest(layer=L12, turn_id=turn),
            pb.ListEntriesRequest(layer=L12, spec_id=f"of-{theirs.name}"),
            pb.ListEntriesRequest(layer=L10, key=key),
        ],
        "GetHead": [pb.GetHeadRequest(layer=layer) for layer in (L10, L12, pb.LAYER_L1_STATE, pb.LAYER_L3_KEYS)],
        "Watch": [pb.WatchRequest(layer=L12), pb.WatchRequest(layer=pb.LAYER_L3_KEYS)],
        "GetCheckpoint": [pb.GetCheckpointRequest(layer=L12), pb.GetCheckpointRequest(layer=L10, fresh=True)],
        "ProveInclusion": [pb.ProveInclusionRequest(layer=L12, id=number) for number in range(1, 5)],
        "ProveConsistency": [pb.ProveConsistencyRequest(layer=L12, from_size=1, to_size=3)],
        "GetState": [pb.GetStateRequest(), pb.GetStateRequest(fresh=True)],
        "RotateKey": [pb.RotateKeyRequest(use=pb.KEY_USE_ENTRY, previous_key=key)],
        "RevokeKey": [pb.RevokeKeyRequest(use=pb.KEY_USE_ENTRY, public_key=key)],
        "VerifyChain": [pb.VerifyChainRequest(layer=L12)],
    }
    return requests[name]


async def answers(one: Running, method: MethodDescriptor, requests: Iterable[Message], caller: Party) -> bytes:
    """Send requests as a caller and return all bytes that came back, refusals with their details included."""
    channel, path, back = cast("Any", one.channel), f"{PREFIX}{method.name}", b""
    for request in requests:
        data, options = request.SerializeToString(), {"metadata": caller.metadata, "timeout": 20}
        try:
            if method.client_streaming:
                back += b"".join([answer async for answer in channel.stream_stream(path)(iter([data]), **options)])
            elif method.server_streaming:
                patience_s = 0.2 if method.name == "Watch" else 20
                back += await some_of(channel.unary_stream(path)(data, **options), patience_s)
            else:
                back += await channel.unary_unary(path)(data, **options)
        except grpc.aio.AioRpcError as error:
            refusal = refusal_of(error)
            back += f"{refusal.sentence} {refusal.about}".encode()
    return back


async def some_of(stream: Any, patience_s: float) -> bytes:
    """Return what a stream says until it ends or falls silent."""
    back = b""
    while True:
        try:
            message = await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(stream.read())), patience_s)
        except TimeoutError:
            stream.cancel()
            return back
        if message is grpc.aio.EOF:
            return back
        back += message


def key_of(house: House, party: Party) -> str:
    return json.loads(house.chains(party)["keys.jsonl"].splitlines()[0])["publicKey"]  # type: ignore[no-any-return]


async def test_two_tenants_all_rpcs_all_ids_swapped_and_nothing_leaks(house: House) -> None:
    pairs = [(caller, theirs) for caller in house.parties for theirs in house.parties if theirs is not caller]
    for method in CONTRACT.methods:
        for caller, theirs in pairs:
            before, requests = house.chains(theirs), swapped(method.name, theirs, key_of(house, theirs))
            back = await answers(house.one, method, requests, caller)
            asked = b"".join(request.SerializeToString() for request in requests)
            leaked = {secret for secret in house.secrets[theirs.name] if secret in back and secret not in asked}
            assert not leaked, (method.name, caller.name, theirs.name)
            assert house.chains(theirs) == before, (method.name, caller.name, theirs.name)
            assert back, method.name


async def test_every_party_sees_its_own(house: House) -> None:
    for party in house.parties:
        request = pb.ListEntriesRequest(layer=L12)
        stream = house.one.stub.ListEntries(request, metadata=party.metadata)
        lines = [json.loads(answer.entry.line) async for answer in stream]
        assert {line["specId"] for line in lines} == {f"of-{party.name}"}
        assert {line.get("tenantId") for line in lines} == {party.name if party.token else None}
        assert [line["id"] for line in lines] == list(range(1, ENTRIES + 1))


async def test_two_tenants_may_use_the_same_ids_for_other_things(house: House) -> None:
    for party in house.parties:
        request = decision_request(7, productId=f"{party.name}s-own")
        entry = (await house.one.stub.AppendDecision(request, metadata=party.metadata)).entry
        assert json.loads(entry.line)["productId"] == f"{party.name}s-own"


@pytest.mark.parametrize(
    "authorization", ["Bearer nobodys", "Bearer ", "Basic YTpi", "nobodys", "Bearer no bodys", "Bearer " + "x" * 600]
)
async def test_what_is_no_token_of_anybody_is_refused_and_not_repeated(folder: Path, authorization: str) -> None:
    async with running(folder) as one:
        stranger = (("authorization", authorization),)
        refusal = await refused(one.stub.GetHead(pb.GetHeadRequest(layer=L12), metadata=stranger))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAUTHENTICATED, "CREDENTIAL_REFUSED")
    assert not any(word in refusal.sentence for word in ("nobodys", "bodys", "YTpi", "xxx"))


async def test_two_tokens_in_one_call_are_refused(house: House) -> None:
    both = house.parties[0].metadata + house.parties[1].metadata
    refusal = await refused(house.one.stub.GetHead(pb.GetHeadRequest(layer=L12), metadata=both))
    assert refusal.code == grpc.StatusCode.UNAUTHENTICATED


async def test_no_rpc_answers_a_stranger(house: House) -> None:
    stranger, key = Party("stranger", 1, "nobodys"), base64.b64encode(b"k" * 32).decode()
    for method in CONTRACT.methods:
        (request, *_) = swapped(method.name, house.parties[0], key)
        back = await answers(house.one, method, [request], stranger)
        assert back.startswith(b"No tenant has this token; ask whoever runs the writer for one. {"), method.name


async def test_a_revoked_token_counts_no_longer(house: House) -> None:
    acme = house.parties[0]
    assert revoke_tokens(OsFileSystem(), house.folder / TOKENS_NAME, "acme")
    refusal = await refused(house.one.stub.GetHead(pb.GetHeadRequest(layer=L12), metadata=acme.metadata))
    assert refusal.code == grpc.StatusCode.UNAUTHENTICATED
    request, umbra = pb.GetHeadRequest(layer=L12), house.parties[1]
    assert (await house.one.stub.GetHead(request, metadata=umbra.metadata)).size == ENTRIES


async def test_a_drain_leaves_every_ledger_with_a_checkpoint(house: House) -> None:
    house.one.leave.set()
    assert await asyncio.wait_for(asyncio.shield(house.one.ended), 10) == 0
    for party in house.parties:
        folder = tenant_folder(house.folder, party.name) if party.token else house.folder
        assert (folder / "chains" / "decisions.checkpoint").read_text().splitlines()[1] == str(ENTRIES)


async def test_a_ledger_that_was_closed_is_held_by_nobody_and_opened_by_the_next_call(house: House) -> None:
    one, acme = house.one, house.parties[0]
    await one.stub.AppendTurn(turn_request(acme.first + 1), metadata=acme.metadata)
    await one.stub.GetState(pb.GetStateRequest(fresh=True), metadata=acme.metadata)
    ledger = weakref.ref(await one.tenants.of(acme.token))
    one.tenants._idle_s = 0
    one.tenants.close_idle()
    head = await one.stub.GetHead(pb.GetHeadRequest(layer=L12), metadata=acme.metadata)
    assert head.size == ENTRIES
    gc.collect()
    assert ledger() is None
