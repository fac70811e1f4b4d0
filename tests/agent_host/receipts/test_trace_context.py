"""What the writer is told of the trace that a call belongs to."""

from __future__ import annotations

from collections.abc import AsyncIterator

import grpc
import pytest
import pytest_asyncio
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, use_span

from agent_host.receipts.client import ReceiptClient, WriterAccess
from agent_host.receipts.drafts import TurnIntent
from prometheus.receipts.v1 import receipts_pb2 as wire

INTENT = TurnIntent("t_1", "s_1", "cli", "a" * 64, "scheme", "model")
SPAN = NonRecordingSpan(SpanContext(0xA1, 0xB2, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED)))
TRACEPARENT = f"00-{'0' * 30}a1-{'0' * 14}b2-01"


class Listening:
    """A server that says yes to every intent and keeps what each call carried."""

    def __init__(self) -> None:
        self.target = ""
        self.metadata: list[dict[str, str]] = []

    async def begin_turn(
        self, request: wire.BeginTurnRequest, context: grpc.aio.ServicerContext[wire.BeginTurnRequest, object]
    ) -> wire.BeginTurnResponse:
        assert request.turn_id == INTENT.turn_id
        self.metadata.append({name: str(word) for name, word in context.invocation_metadata() or ()})
        return wire.BeginTurnResponse()


@pytest_asyncio.fixture
async def listening() -> AsyncIterator[Listening]:
    one, server = Listening(), grpc.aio.server()
    handler = grpc.unary_unary_rpc_method_handler(
        one.begin_turn,
        request_deserializer=wire.BeginTurnRequest.FromString,
        response_serializer=wire.BeginTurnResponse.SerializeToString,
    )
    methods = {"BeginTurn": handler}
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("prometheus.receipts.v1.ReceiptWriter", methods),)
    )
    one.target = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    yield one
    await server.stop(None)


@pytest.mark.parametrize(("is_traced", "carried"), [(True, TRACEPARENT), (False, None)])
async def test_a_call_carries_the_trace_when_turns_are_traced_and_its_token_always(
    listening: Listening, is_traced: bool, carried: str | None
) -> None:
    client = ReceiptClient(WriterAccess(listening.target, token="a-token"), is_traced=is_traced)
    with use_span(SPAN):
        await client.begin_turn(INTENT)
    await client.close()

    (told,) = listening.metadata
    assert told.get("traceparent") == carried
    assert told["authorization"] == "Bearer a-token"


async def test_a_call_of_no_trace_carries_none(listening: Listening) -> None:
    client = ReceiptClient(listening.target, is_traced=True)
    await client.begin_turn(INTENT)
    await client.close()

    assert "traceparent" not in listening.metadata[0]
