from __future__ import annotations

import itertools
import re
from contextlib import nullcontext
from pathlib import Path

import grpc
import pytest

from prometheus.receipts.v1 import receipts_pb2 as pb
from receipt_writer.errors import QueueFullError, RequestRefusedError
from receipt_writer.format.schema import LAYERS
from receipt_writer.rpc.handlers import CONTRACT, PREFIX, make_handlers, refusing_handler
from receipt_writer.rpc.messages import NUMBERS

PROTO = Path(__file__).parents[3] / "protos" / "prometheus" / "receipts" / "v1" / "receipts.proto"
NEEDS_A_COMMENT = re.compile(
    r"^\s*(message|enum|service|oneof|rpc)\s|^\s+(repeated |optional |map<.*> ?)?[\w.<>, ]+ = \d+;"
)


def test_everything_in_the_proto_is_commented() -> None:
    lines = PROTO.read_text().splitlines()
    named = [(before, line) for before, line in itertools.pairwise(lines) if NEEDS_A_COMMENT.match(line)]
    bare = [line for before, line in named if "//" not in before]
    assert bare == []
    assert len(named) > 150


def test_every_layer_of_the_table_has_its_own_number() -> None:
    assert {name: int(number) for name, number in NUMBERS.items()} == {name: int(name[1:]) for name in LAYERS}
    assert set(pb.Layer.values()) == {0, *map(int, NUMBERS.values())}


def test_the_contract_has_the_rpcs_of_the_specification() -> None:
    assert {method.name for method in CONTRACT.methods} == {
        *("BeginTurn", "AppendTurn", "AppendDecision", "Append", "AppendStream", "GetEntry", "ListEntries", "GetHead"),
        *("Watch", "GetCheckpoint", "ProveInclusion", "ProveConsistency", "RotateKey", "RevokeKey", "GetState"),
        "VerifyChain",
    }


def test_an_rpc_that_nothing_answers_is_a_mistake_at_the_start() -> None:
    with pytest.raises(KeyError, match="AppendTurn"):
        make_handlers({"BeginTurn": lambda *_: pytest.fail("not called")}, nullcontext)


def test_an_rpc_that_is_none_has_no_handler() -> None:
    refusal = RequestRefusedError("No.")
    assert refusing_handler(f"{PREFIX}DropTables", refusal) is None
    handler = refusing_handler(f"{PREFIX}AppendStream", QueueFullError("Full.", 1))
    assert handler is not None
    assert (handler.request_streaming, handler.response_streaming) == (True, True)


def test_bytes_that_are_no_message_are_not_an_internal_error() -> None:
    handler = refusing_handler(f"{PREFIX}GetHead", RequestRefusedError("No."))
    assert handler is not None
    assert isinstance(handler, grpc.RpcMethodHandler)
    read = handler.request_deserializer
    assert read is not None
    assert read(b"\xff\xff") is None
    assert read(b"\x08\x0c") == pb.GetHeadRequest(layer=pb.LAYER_L12_DECISIONS)
