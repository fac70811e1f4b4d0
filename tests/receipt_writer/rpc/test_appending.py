from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio

from prometheus.receipts.v1 import receipts_pb2 as pb
from receipt_writer.format.canonical import MAX_DEPTH
from receipt_writer.format.entry import parse_line
from tests.receipt_writer.parts import (
    Draft,
    Running,
    begin_request,
    build,
    call,
    component,
    decision,
    decision_request,
    review,
    running,
    spec,
    turn,
    turn_request,
    ulid,
    verified,
)
from tests.receipt_writer.rpc.calls import L10, L12, refused

INVALID = grpc.StatusCode.INVALID_ARGUMENT


@pytest_asyncio.fixture
async def live(folder: Path) -> AsyncIterator[Running]:
    async with running(folder) as one:
        yield one


def request(layer: str, draft: Draft) -> pb.AppendRequest:
    """Return the request that records a draft of a layer such as `L4`."""
    (name,) = (name for name in pb.Layer.keys() if name.startswith(f"LAYER_{layer}_"))  # noqa: SIM118 -- no mapping
    return pb.AppendRequest(layer=name, draft_json=json.dumps(draft))


@pytest.mark.parametrize(
    ("layer", "draft"),
    [("L4", build(1)), ("L5", call(1)), ("L11", component(1)), ("L12", decision(1, turnId=ulid("t_", 1)))],
)
async def test_a_draft_of_an_open_layer_is_recorded_as_given(
    live: Running, folder: Path, layer: str, draft: Draft
) -> None:
    entry = (await live.stub.Append(request(layer, draft))).entry
    (stored,) = verified(folder, layer)
    assert stored.draft == draft
    assert (entry.line.encode(), entry.id, entry.hash) == (stored.line, 1, stored.hash)


async def test_a_review_names_a_decision_that_is_recorded(live: Running, folder: Path) -> None:
    decided = parse_line("L12", (await live.stub.AppendDecision(decision_request(1))).entry.line.encode())
    await live.stub.Append(request("L6", review(1, decided)))
    assert verified(folder, "L6")[0].draft == review(1, decided)


async def test_append_and_the_named_call_make_the_same_entry(live: Running) -> None:
    await live.stub.BeginTurn(begin_request(1))
    assert (await live.stub.Append(request("L10", turn(1)))).entry == (
        await live.stub.AppendTurn(turn_request(1))
    ).entry
    decided = await live.stub.AppendDecision(decision_request(1))
    assert (await live.stub.Append(request("L12", decision(1)))).entry == decided.entry


@pytest.mark.parametrize(("layer", "make"), [("L2", spec), ("L4", build), ("L5", call), ("L11", component)])
async def test_a_repeated_draft_returns_the_first_bytes_and_another_one_is_refused(
    live: Running, layer: str, make: Callable[..., Draft]
) -> None:
    first = await live.stub.Append(request(layer, make(1)))
    assert await live.stub.Append(request(layer, make(1))) == first
    refusal = await refused(live.stub.Append(request(layer, make(1, productId="another"))))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.ALREADY_EXISTS, "ALREADY_RECORDED")


@pytest.mark.parametrize("layer", ["L1", "L3", "L7"])
async def test_layers_of_the_writer_are_refused(live: Running, layer: str) -> None:
    refusal = await refused(live.stub.Append(request(layer, {})))
    assert (refusal.code, refusal.reason, refusal.about["layer"]) == (INVALID, "REQUEST_REFUSED", layer)
    assert "L2 L4 L5 L6 L10 L11 L12" in refusal.sentence


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Not JSON"),
        ("{", "Not JSON"),
        ("[]", "must be one JSON object"),
        ("null", "must be one JSON object"),
        ('{"a":1,"a":1}', "must be present once"),
        ('{"latencyMs":1.5}', "integer"),
        ('{"latencyMs":1e3}', "integer"),
        ('{"latencyMs":NaN}', "integer"),
        ('{"latencyMs":9007199254740992}', "2^53-1"),
        ('{"a":"\\ud800"}', "surrogate"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "deeper"),
        ("[" * 30_000 + "]" * 30_000, "deeper"),
        ('{"a":"' + "x" * 4097 + '"}', "4097 bytes"),
        ("\ufeff{}", "byte order mark"),
        ("{} {}", "Not JSON"),
    ],
)
async def test_json_that_two_readers_could_read_differently_is_refused_in_one_sentence(
    live: Running, text: str, said: str
) -> None:
    refusal = await refused(live.stub.Append(pb.AppendRequest(layer=L12, draft_json=text)))
    assert (refusal.code, refusal.reason, refusal.about["layer"]) == (INVALID, "DRAFT_REFUSED", "L12")
    assert said in refusal.sentence
    assert refusal.sentence.startswith("draft_json was refused: ")
    assert "\n" not in refusal.sentence


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"id": 7}, "id"),
        ({"tenantId": "other"}, "tenantId"),
        ({"prevHash": "0" * 64}, "prevHash"),
        ({"surprise": 1}, "surprise"),
        ({"latencyMs": True}, "latencyMs"),
        ({"modelIdentity": {"provider": "mock", "model": "m"}}, "modelIdentity.version"),
        ({"callId": ["c"]}, "callId"),
        ({"callId": None}, "callId"),
    ],
)
async def test_a_member_that_does_not_belong_is_named(live: Running, change: dict[str, Any], field: str) -> None:
    refusal = await refused(live.stub.Append(request("L12", decision(1) | change)))
    assert (refusal.code, refusal.reason) == (INVALID, "DRAFT_REFUSED")
    assert refusal.about == {"layer": "L12", "field": field}


async def test_a_draft_without_its_key_is_refused(live: Running) -> None:
    draft = decision(1)
    del draft["callId"]
    assert (await refused(live.stub.Append(request("L12", draft)))).about["field"] == "callId"


async def test_numbers_of_layers_to_come_are_refused_with_those_that_are(live: Running) -> None:
    for number in (0, 8, 9, 13, -1, 2**31 - 1):
        refusal = await refused(live.stub.Append(pb.AppendRequest(layer=number, draft_json="{}")))  # type: ignore[arg-type]
        assert (refusal.code, refusal.reason) == (INVALID, "REQUEST_REFUSED")
        assert "LAYER_L12_DECISIONS" in refusal.sentence


async def test_a_turn_that_is_reported_as_json_must_have_begun(live: Running) -> None:
    refusal = await refused(live.stub.Append(request("L10", turn(1))))
    assert refusal.code == grpc.StatusCode.FAILED_PRECONDITION
    assert refusal.about == {"layer": "L10"}
    await live.stub.BeginTurn(begin_request(1))
    assert (await live.stub.Append(request("L10", turn(1)))).entry.layer == L10
