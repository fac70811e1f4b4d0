"""Requests that nobody should send: messages filled with edges, and good ones with their bytes spoilt."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from prometheus.receipts.v1 import receipts_pb2 as pb
from tests.receipt_writer.parts import (
    begin_request,
    build,
    call,
    component,
    decision,
    decision_request,
    turn_request,
    ulid,
)

_WIDTHS = {
    FieldDescriptor.TYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_UINT64: (0, 2**64 - 1),
    FieldDescriptor.TYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_ENUM: (-(2**31), 2**31 - 1),
}
_TEXTS = (
    *(
        "",
        "-",
        "\x00",
        "a" * 4097,
        "é" * 3000,
        "\U0001f600",
        "\u202e",
        "../../etc/passwd",
        "' OR 1=1 --",
        "%s%n",
        "\r\n",
    ),
    *(ulid(prefix, 1) for prefix in ("t_", "s_", "c_")),
    *("prometheus-agent", "cli", "router", "ok", "sha256", "replied", "0" * 64, "mock", "rules", "{}", "[]", "null"),
)
_JSONS = ('{"a":1,"a":2}', '{"latencyMs":1.0}', "[" * 500, '{"callId":{"a":[[[]]]}}', '"x"', "1e999", '{"":0}')
_DRAFTS = ((4, build), (5, call), (11, component), (12, decision))


def good_requests(key: str) -> Mapping[str, Sequence[Message]]:
    """Return requests that make sense, by the RPC's name; `key` is the base64 of a key of the ledger."""
    other = [pb.AppendRequest(layer=layer, draft_json=json.dumps(make(2))) for layer, make in _DRAFTS]  # type: ignore[arg-type]
    item = pb.AppendStreamRequest
    return {
        "BeginTurn": [begin_request(1)],
        "AppendTurn": [turn_request(1)],
        "AppendDecision": [decision_request(1)],
        "Append": other,
        "AppendStream": [item(tag=1, begin=begin_request(1)), item(tag=2, decision=decision_request(2).draft)]
        + [item(tag=3, other=one) for one in other],
        "GetEntry": [pb.GetEntryRequest(layer=pb.LAYER_L12_DECISIONS, id=1)],
        "ListEntries": [
            pb.ListEntriesRequest(layer=pb.LAYER_L12_DECISIONS, from_id=1, to_id=9, spec_id="a", key=key, limit=3),
            pb.ListEntriesRequest(layer=pb.LAYER_L10_TURNS, members={"gateway": "cli"}, newest_first=True),
        ],
        "GetHead": [pb.GetHeadRequest(layer=pb.LAYER_L1_STATE)],
        "Watch": [pb.WatchRequest(layer=pb.LAYER_L12_DECISIONS, from_id=1)],
        "GetCheckpoint": [pb.GetCheckpointRequest(layer=pb.LAYER_L3_KEYS, fresh=True)],
        "ProveInclusion": [pb.ProveInclusionRequest(layer=pb.LAYER_L3_KEYS, id=1, size=2)],
        "ProveConsistency": [pb.ProveConsistencyRequest(layer=pb.LAYER_L3_KEYS, from_size=1, to_size=2)],
        "GetState": [pb.GetStateRequest(fresh=True)],
        "RotateKey": [pb.RotateKeyRequest(use=pb.KEY_USE_ENTRY, previous_key=key, reason="because")],
        "RevokeKey": [pb.RevokeKeyRequest(use=pb.KEY_USE_ENTRY, public_key=key, reason="lost", at_ids={"turns": 1})],
        "VerifyChain": [pb.VerifyChainRequest(layer=pb.LAYER_L3_KEYS)],
    }


def hostile_bytes(rng: random.Random, kind: type[Message], good: Sequence[Message]) -> bytes:
    """Return one request's bytes: noise, a message of edges, or a good one with a field or some bytes changed."""
    chance = rng.random()
    if chance < 0.1:
        return rng.randbytes(rng.choice((0, 1, 2, 9, 200, 3000)))
    if chance < 0.45:
        return _filled(rng, kind(), depth=0).SerializeToString()
    changed = kind()
    changed.CopyFrom(rng.choice(good))
    if chance < 0.75:
        _fill(rng, changed, rng.choice(changed.DESCRIPTOR.fields), depth=0)
        return changed.SerializeToString()
    return _spoilt(rng, changed.SerializeToString())


def _spoilt(rng: random.Random, data: bytes) -> bytes:
    spoilt = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(spoilt) + 1)
        kind = rng.randrange(4)
        if kind == 0 and at < len(spoilt):
            spoilt[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del spoilt[at : at + rng.randint(1, 8)]
        elif kind == 2:
            spoilt[at:at] = rng.randbytes(rng.randint(1, 8))
        else:
            spoilt += spoilt[at : at + 40]
    return bytes(spoilt)


def _filled(rng: random.Random, message: Message, depth: int) -> Message:
    for one in list(message.DESCRIPTOR.fields):
        if rng.random() < 0.6:
            _fill(rng, message, one, depth)
    return message


def _fill(rng: random.Random, message: Any, one: Any, depth: int) -> None:
    if one.message_type is not None and one.message_type.GetOptions().map_entry:
        keys = rng.sample(_TEXTS, rng.randint(0, 4))
        getattr(message, one.name).update({key: _value(rng, one.message_type.fields_by_name["value"]) for key in keys})
    elif one.message_type is not None and one.is_repeated:
        for _ in range(rng.choice((0, 1, 3, 50))):
            _filled(rng, getattr(message, one.name).add(), depth + 1)
    elif one.message_type is not None:
        _filled(rng, getattr(message, one.name), depth + 1)
    elif not one.is_repeated:
        setattr(message, one.name, _value(rng, one))


def _value(rng: random.Random, one: Any) -> Any:
    if one.type == FieldDescriptor.TYPE_STRING:
        return rng.choice(_JSONS + _TEXTS) if one.name == "draft_json" else rng.choice(_TEXTS)
    if one.type == FieldDescriptor.TYPE_BOOL:
        return rng.random() < 0.5
    low, high = _WIDTHS[one.type]
    edges = (0, 1, 2, 3, 10, 11, 12, 255, 2**31 - 1, 2**53, low, high)
    return max(low, min(high, rng.choice(edges)))
