from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest_asyncio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from opentelemetry.propagate import inject
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.trace import SpanKind, StatusCode

from prometheus.receipts.v1 import receipts_pb2 as pb
from prometheus.receipts.v1 import receipts_pb2_grpc
from receipt_writer.app import make_tenants, open_service
from receipt_writer.listen import UnixAddress
from receipt_writer.process import run_service
from receipt_writer.rpc.spans import CallSpans
from tests.receipt_writer.parts import begin_request, decision_request, turn_request
from tests.receipt_writer.rpc.calls import L10, refused

SERVICE = "prometheus.receipts.v1.ReceiptWriter"


class Ended(SpanProcessor):
    """Keeps the writer's spans as they end."""

    def __init__(self) -> None:
        self.spans: asyncio.Queue[ReadableSpan] = asyncio.Queue()

    def on_end(self, span: ReadableSpan) -> None:
        if span.kind is SpanKind.SERVER:
            self.spans.put_nowait(span)


class Traced:
    """A writer that records its calls, a client's way to it, and a caller's tracer."""

    def __init__(self, channel: grpc.aio.Channel, provider: TracerProvider, ended: Ended) -> None:
        self.channel = channel
        self.stub = receipts_pb2_grpc.ReceiptWriterStub(channel)  # type: ignore[no-untyped-call]
        self.tracer = provider.get_tracer("caller")
        self.ended = ended.spans

    async def spans(self, count: int) -> list[ReadableSpan]:
        """Return the next spans; that of a refusal ends after its caller has been answered."""
        return [await self.ended.get() for _ in range(count)]


@pytest_asyncio.fixture
async def traced(folder: Path) -> AsyncIterator[Traced]:
    kept, provider = Ended(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(kept)
    address, leave = UnixAddress(folder / "w.sock"), asyncio.Event()
    gates = (CallSpans(provider.get_tracer("writer")),)
    ended = asyncio.create_task(run_service(make_tenants(open_service(folder)), address, leave, gates=gates))
    async with grpc.aio.insecure_channel(address.target) as channel:
        await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), wait_for_ready=True)
        yield Traced(channel, provider, kept)
    leave.set()
    assert await ended == 0
    assert kept.spans.empty()  # each was looked at


async def test_each_call_of_a_turn_is_a_span_under_the_callers(traced: Traced) -> None:
    with traced.tracer.start_as_current_span("turn") as turn:
        told: dict[str, str] = {}
        inject(told)
        await traced.stub.BeginTurn(begin_request(1), metadata=tuple(told.items()))
        await traced.stub.AppendDecision(decision_request(1), metadata=tuple(told.items()))
        await traced.stub.AppendTurn(turn_request(1), metadata=tuple(told.items()))
    caller = turn.get_span_context()

    spans = await traced.spans(3)
    assert [span.name for span in spans] == [
        f"{SERVICE}/BeginTurn",
        f"{SERVICE}/AppendDecision",
        f"{SERVICE}/AppendTurn",
    ]
    for span in spans:
        assert span.context.trace_id == caller.trace_id
        assert span.parent is not None
        assert span.parent.span_id == caller.span_id
        assert span.attributes == {
            "rpc.system.name": "grpc",
            "rpc.method": span.name,
            "rpc.response.status_code": "OK",
        }
        assert span.status.status_code is StatusCode.UNSET


async def test_a_caller_without_a_trace_begins_one(traced: Traced) -> None:
    await traced.stub.GetHead(pb.GetHeadRequest(layer=L10))

    (span,) = await traced.spans(1)
    assert span.parent is None


async def test_a_trace_context_that_is_none_is_no_reason_to_fail(traced: Traced) -> None:
    await traced.stub.GetHead(pb.GetHeadRequest(layer=L10), metadata=(("traceparent", "00-nonsense"),))

    (span,) = await traced.spans(1)
    assert span.parent is None


async def test_a_refusal_says_its_code_and_none_of_its_words(traced: Traced) -> None:
    refusal = await refused(traced.stub.GetEntry(pb.GetEntryRequest(layer=L10, id=7)))

    (span,) = await traced.spans(1)
    assert refusal.code is grpc.StatusCode.NOT_FOUND
    assert (span.attributes or {})["rpc.response.status_code"] == "NOT_FOUND"
    assert (span.attributes or {})["error.type"] == "NOT_FOUND"
    assert span.status.status_code is StatusCode.UNSET  # the caller's mistake, not the server's
    assert span.events == ()


async def test_health_checks_and_streams_are_no_spans(traced: Traced) -> None:
    await health_pb2_grpc.HealthStub(traced.channel).Check(health_pb2.HealthCheckRequest())
    async for _ in traced.stub.ListEntries(pb.ListEntriesRequest(layer=L10)):
        pass

    assert traced.ended.empty()
