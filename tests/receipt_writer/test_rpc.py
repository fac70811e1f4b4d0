from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
import pytest_asyncio
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from prometheus.receipts.v1 import receipts_pb2 as pb
from receipt_writer.format.checkpoint import verify_note
from receipt_writer.format.merkle import leaf_hash, verify_consistency, verify_inclusion
from receipt_writer.listen import Address, TcpAddress, UnixAddress
from tests.receipt_writer.format.material import START_MS
from tests.receipt_writer.parts import (
    Clock,
    Running,
    begin_request,
    decision,
    decision_request,
    free_port,
    policy_keys,
    running,
    turn,
    turn_request,
    ulid,
    verified,
)

L10, L12 = pb.LAYER_L10_TURNS, pb.LAYER_L12_DECISIONS


@pytest.fixture(params=["unix", "tcp"])
def address(request: pytest.FixtureRequest, folder: Path) -> Address:
    return UnixAddress(folder / "w.sock") if request.param == "unix" else TcpAddress("127.0.0.1", free_port())


@pytest_asyncio.fixture
async def live(folder: Path) -> AsyncIterator[Running]:
    clock = Clock()
    async with running(folder, clock=clock) as one:
        yield one


async def refused(call: Awaitable[Any]) -> tuple[grpc.StatusCode, str, str]:
    """Return the code, the sentence and the reason with which a call was refused."""
    with pytest.raises(grpc.aio.AioRpcError) as refusal:
        await call
    error = refusal.value
    status = status_pb2.Status.FromString(dict(error.trailing_metadata() or ())["grpc-status-details-bin"])
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert (status.code, status.message, info.domain) == (
        error.code().value[0],
        error.details(),
        "receipts.prometheus-agent",
    )
    return error.code(), error.details() or "", info.reason


async def listed(one: Running, **request: Any) -> list[int]:
    return [answer.entry.id async for answer in one.stub.ListEntries(pb.ListEntriesRequest(**request))]


async def test_a_turn_leaves_signed_entries_over_either_transport(folder: Path, address: Address) -> None:
    async with running(folder, address=address) as one:
        assert (await one.stub.BeginTurn(begin_request(1))).started_at_ms > START_MS
        decided = await one.stub.AppendDecision(decision_request(1, turnId=ulid("t_", 1)))
        reported = await one.stub.AppendTurn(turn_request(1, decisions={"n": 1, "firstId": 1, "lastId": 1}))
    (first,), (second,) = verified(folder, "L12"), verified(folder, "L10")
    assert (decided.entry.line.encode(), decided.entry.hash, decided.entry.layer) == (first.line, first.hash, L12)
    assert (reported.entry.line.encode(), reported.entry.hash, reported.entry.layer) == (second.line, second.hash, L10)
    assert reported.entry.recorded_at_ms == second.recorded_at_ms


async def test_every_field_of_a_draft_reaches_the_ledger(live: Running, folder: Path) -> None:
    full_turn = turn(
        1,
        tools=[
            {"tool": "search", "provider": "search", "status": "error", "n": 3, "costMicroUsd": 0},
            {"tool": "note", "provider": "notes", "status": "ok", "n": 1, "costMicroUsd": None},
        ],
        memory={"searches": 1, "used": 2, "kept": 3, "unsent": 4, "reportId": "r_1"},
        decisions={"n": 2, "firstId": 3, "lastId": 7},
        totalMicroUsd=2**53 - 1,
    )
    full_decision = decision(1, turnId=ulid("t_", 1), reviewerVerdict="amended", fallbackTriggered=True, latencyMs=0)
    await live.stub.BeginTurn(begin_request(1))
    await live.stub.AppendTurn(turn_request(1, **{name: full_turn[name] for name in full_turn if name != "turnId"}))
    changes = {name: full_decision[name] for name in full_decision if name != "callId"}
    await live.stub.AppendDecision(decision_request(1, **changes))
    assert verified(folder, "L10")[0].draft == full_turn
    assert verified(folder, "L12")[0].draft == full_decision


async def test_what_is_absent_stays_absent_or_null(live: Running, folder: Path) -> None:
    await live.stub.AppendDecision(decision_request(1))
    draft = verified(folder)[0].draft
    assert "turnId" not in draft
    assert draft["reviewerVerdict"] is None


async def test_a_repeated_append_returns_the_same_bytes(live: Running) -> None:
    await live.stub.BeginTurn(begin_request(1))
    for call, request in ((live.stub.AppendTurn, turn_request(1)), (live.stub.AppendDecision, decision_request(1))):
        first = await call(request)
        assert (await call(request)).SerializeToString() == first.SerializeToString()


async def test_other_fields_under_a_used_key_are_already_exists(live: Running) -> None:
    await live.stub.BeginTurn(begin_request(1))
    await live.stub.AppendTurn(turn_request(1))
    await live.stub.AppendDecision(decision_request(1))
    expected = (grpc.StatusCode.ALREADY_EXISTS, "ALREADY_RECORDED")
    for call in (
        live.stub.AppendTurn(turn_request(1, outcome="failed")),
        live.stub.AppendDecision(decision_request(1, exitState="ok_amended")),
        live.stub.BeginTurn(begin_request(1, gateway="api")),
    ):
        code, _, reason = await refused(call)
        assert (code, reason) == expected


async def test_a_report_without_a_start_is_a_failed_precondition(live: Running) -> None:
    code, sentence, reason = await refused(live.stub.AppendTurn(turn_request(1)))
    assert (code, reason) == (grpc.StatusCode.FAILED_PRECONDITION, "NOT_POSSIBLE_YET")
    assert ulid("t_", 1) in sentence


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"category": "oracle"}, "category"),
        ({"specHash": "A" * 64}, "specHash"),
        ({"latencyMs": -1}, "latencyMs"),
        ({"productId": "x" * 4097}, "4097 bytes"),
        ({"modelIdentity": {"provider": "acme", "model": "", "version": ""}}, "modelIdentity.provider"),
    ],
)
async def test_a_bad_draft_is_an_invalid_argument_that_names_the_field(
    live: Running, changes: dict[str, Any], named: str
) -> None:
    code, sentence, reason = await refused(live.stub.AppendDecision(decision_request(1, **changes)))
    assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "DRAFT_REFUSED")
    assert named in sentence


async def test_an_empty_request_is_refused_in_words(live: Running) -> None:
    for call in (
        live.stub.AppendTurn(pb.AppendTurnRequest()),
        live.stub.AppendDecision(pb.AppendDecisionRequest()),
        live.stub.BeginTurn(pb.BeginTurnRequest()),
        live.stub.GetEntry(pb.GetEntryRequest()),
        live.stub.GetHead(pb.GetHeadRequest()),
        live.stub.GetCheckpoint(pb.GetCheckpointRequest(layer=9)),  # type: ignore[arg-type]
        live.stub.ProveConsistency(pb.ProveConsistencyRequest(layer=L10)),
    ):
        code, sentence, _ = await refused(call)
        assert code == grpc.StatusCode.INVALID_ARGUMENT
        assert sentence.endswith(".")


async def test_entries_are_read_by_id(live: Running) -> None:
    appended = (await live.stub.AppendDecision(decision_request(1))).entry
    assert (await live.stub.GetEntry(pb.GetEntryRequest(layer=L12, id=1))).entry == appended


@pytest.mark.parametrize("entry_id", [0, 2, 2**63])
async def test_an_entry_that_is_not_there_is_not_found(live: Running, entry_id: int) -> None:
    await live.stub.AppendDecision(decision_request(1))
    code, sentence, reason = await refused(live.stub.GetEntry(pb.GetEntryRequest(layer=L12, id=entry_id)))
    assert (code, reason) == (grpc.StatusCode.NOT_FOUND, "ENTRY_NOT_FOUND")
    assert "ids run from 1 to 1" in sentence


async def test_entries_are_listed_by_every_filter(folder: Path) -> None:
    clock = Clock()
    async with running(folder, clock=clock) as one:
        for number in range(1, 6):
            await one.stub.AppendDecision(decision_request(number, turnId=ulid("t_", number % 2), specId=f"s{number}"))
            clock.now_ms += 10
        await one.stub.BeginTurn(begin_request(1))
        await one.stub.AppendTurn(turn_request(1))
        assert await listed(one, layer=L12) == [1, 2, 3, 4, 5]
        assert await listed(one, layer=L12, turn_id=ulid("t_", 1)) == [1, 3, 5]
        assert await listed(one, layer=L12, turn_id=ulid("t_", 1), newest_first=True, limit=2) == [5, 3]
        assert await listed(one, layer=L12, spec_id="s4") == [4]
        assert await listed(one, layer=L12, from_id=2, to_id=3) == [2, 3]
        assert await listed(one, layer=L12, recorded_from_ms=START_MS + 10, recorded_to_ms=START_MS + 30) == [2, 3]
        assert await listed(one, layer=L10, session_id="s_01ARZ3NDEKTSV4RRFFQ69G5FAV") == [1]
        assert await listed(one, layer=L10, session_id=ulid("s_", 9)) == []


async def test_a_filter_that_does_not_fit_the_chain_is_refused(live: Running) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refusal:
        await listed(live, layer=L12, session_id=ulid("s_", 1))
    assert refusal.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    with pytest.raises(grpc.aio.AioRpcError) as refusal:
        await listed(live, layer=0)
    assert refusal.value.code() == grpc.StatusCode.INVALID_ARGUMENT


async def test_a_long_list_comes_whole_and_in_order(live: Running, folder: Path) -> None:
    for number in range(150):
        await live.stub.AppendDecision(decision_request(number))
    lines = [
        answer.entry.line.encode()
        async for answer in live.stub.ListEntries(pb.ListEntriesRequest(layer=L12, newest_first=True))
    ]
    assert lines == [entry.line for entry in reversed(verified(folder))]


async def test_the_head_of_an_empty_chain_is_its_genesis_hash(live: Running, folder: Path) -> None:
    origin, _ = policy_keys(folder)
    head = await live.stub.GetHead(pb.GetHeadRequest(layer=L12))
    assert (head.size, head.origin, len(head.hash)) == (0, origin, 64)
    entry = (await live.stub.AppendDecision(decision_request(1))).entry
    assert head.hash in entry.line
    head = await live.stub.GetHead(pb.GetHeadRequest(layer=L12))
    assert (head.size, head.hash) == (1, entry.hash)


async def test_a_fresh_checkpoint_is_signed_over_the_present_head(live: Running, folder: Path) -> None:
    code, _, _ = await refused(live.stub.GetCheckpoint(pb.GetCheckpointRequest(layer=L12)))
    assert code == grpc.StatusCode.NOT_FOUND
    await live.stub.AppendDecision(decision_request(1))
    fresh = await live.stub.GetCheckpoint(pb.GetCheckpointRequest(layer=L12, fresh=True))
    await live.stub.AppendDecision(decision_request(2))
    assert await live.stub.GetCheckpoint(pb.GetCheckpointRequest(layer=L12)) == fresh
    origin, keys = policy_keys(folder)
    trusted = [key.public_key for key in keys if key.use == "checkpoint"]
    checkpoint = verify_note(fresh.note, origin, trusted)
    assert (checkpoint.size, fresh.size) == (1, 1)
    assert checkpoint.root_hash == leaf_hash(verified(folder)[0].line)


async def test_an_entry_is_proved_under_the_newest_checkpoint_or_any_size(live: Running, folder: Path) -> None:
    for number in range(7):
        await live.stub.AppendDecision(decision_request(number))
    await live.stub.GetCheckpoint(pb.GetCheckpointRequest(layer=L12, fresh=True))
    await live.stub.AppendDecision(decision_request(7))
    lines = [entry.line for entry in verified(folder)]
    for size, expected in ((0, 7), (5, 5), (8, 8)):
        proof = await live.stub.ProveInclusion(pb.ProveInclusionRequest(layer=L12, id=3, size=size))
        assert (proof.size, proof.leaf_hash) == (expected, leaf_hash(lines[2]))
        assert verify_inclusion(proof.leaf_hash, 2, expected, list(proof.path), proof.root_hash)


@pytest.mark.parametrize(("entry_id", "size"), [(1, 0), (2, 1), (1, 9)])
async def test_a_proof_that_no_tree_can_give_is_a_failed_precondition(live: Running, entry_id: int, size: int) -> None:
    for number in range(3):
        await live.stub.AppendDecision(decision_request(number))
    call = live.stub.ProveInclusion(pb.ProveInclusionRequest(layer=L12, id=entry_id, size=size))
    assert (await refused(call))[0] == grpc.StatusCode.FAILED_PRECONDITION


async def test_one_tree_is_proved_a_prefix_of_another(live: Running) -> None:
    for number in range(7):
        await live.stub.AppendDecision(decision_request(number))
    proof = await live.stub.ProveConsistency(pb.ProveConsistencyRequest(layer=L12, from_size=3, to_size=7))
    assert verify_consistency(3, 7, list(proof.path), proof.from_root, proof.to_root)
    backwards = live.stub.ProveConsistency(pb.ProveConsistencyRequest(layer=L12, from_size=5, to_size=3))
    assert (await refused(backwards))[0] == grpc.StatusCode.INVALID_ARGUMENT
    beyond = live.stub.ProveConsistency(pb.ProveConsistencyRequest(layer=L12, from_size=5, to_size=99))
    assert (await refused(beyond))[0] == grpc.StatusCode.FAILED_PRECONDITION


@pytest.mark.parametrize("rows", [33_000, 500_000])
async def test_a_request_of_more_rows_than_an_entry_could_hold_is_refused_unread(live: Running, rows: int) -> None:
    await live.stub.BeginTurn(begin_request(1))
    request = turn_request(1)
    request.draft.model.calls.extend([pb.CallCount()] * rows)
    with pytest.raises(grpc.aio.AioRpcError) as refusal:
        await live.stub.AppendTurn(request)
    assert refusal.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "65536" in (refusal.value.details() or "")
    assert (await live.stub.AppendTurn(turn_request(1))).entry.id == 1


async def test_the_most_rows_that_a_request_can_hold_are_refused_for_their_content(live: Running) -> None:
    await live.stub.BeginTurn(begin_request(1))
    request = turn_request(1)
    request.draft.model.calls.extend([pb.CallCount()] * 32_000)
    code, _, reason = await refused(live.stub.AppendTurn(request))
    assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "DRAFT_REFUSED")


async def test_an_overlong_text_is_refused_in_every_request_that_writes(live: Running) -> None:
    text = "x" * 60_000
    for call in (
        live.stub.BeginTurn(begin_request(1, product_id=text)),
        live.stub.AppendTurn(turn_request(1, productId=text)),
        live.stub.AppendDecision(decision_request(1, productId=text)),
    ):
        code, sentence, reason = await refused(call)
        assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "DRAFT_REFUSED")
        assert "60000 bytes" in sentence
