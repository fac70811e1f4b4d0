"""The gRPC face: messages in, messages out. The only module that knows the generated stubs.

Ledger names are the JSON names of the messages' fields, so the mapping is one line a field and has no rules of its own.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NoReturn, TypeAlias, TypeVar

import grpc.aio
from google.protobuf.message import Message

from prometheus.receipts.v1 import receipts_pb2 as pb
from prometheus.receipts.v1 import receipts_pb2_grpc
from receipt_writer.errors import ReceiptError, RequestRefusedError, WriterStoppedError
from receipt_writer.format.canonical import MAX_LINE_BYTES
from receipt_writer.format.entry import Entry
from receipt_writer.index import Filter
from receipt_writer.intents import Intent
from receipt_writer.ledger import Begin
from receipt_writer.query import Queries, StoredEntry
from receipt_writer.status import DETAILS_KEY, status_code, status_details
from receipt_writer.writer import Writer

SERVICE_NAME: str = pb.DESCRIPTOR.services_by_name["ReceiptWriter"].full_name
"""`prometheus.receipts.v1.ReceiptWriter`, for health and reflection."""

_NUMBERS = {"L10": pb.LAYER_L10_TURNS, "L12": pb.LAYER_L12_DECISIONS}
_LAYERS: dict[int, str] = {number: name for name, number in _NUMBERS.items()}

_Answer = TypeVar("_Answer")
_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"  # generic only for the type checker


def register(server: grpc.aio.Server, writer: Writer, queries: Queries, is_leaving: Callable[[], bool]) -> None:
    """Add every RPC to a server; open streams end themselves soon after `is_leaving` says so."""
    writing, reading = _Writing(writer), _Reading(queries, is_leaving)
    servicer = receipts_pb2_grpc.ReceiptWriterServicer()  # answers UNIMPLEMENTED where nothing takes its place
    vars(servicer).update(
        BeginTurn=writing.begin_turn,
        AppendTurn=writing.append_turn,
        AppendDecision=writing.append_decision,
        GetEntry=reading.get_entry,
        ListEntries=reading.list_entries,
        GetHead=reading.get_head,
        GetCheckpoint=reading.get_checkpoint,
        ProveInclusion=reading.prove_inclusion,
        ProveConsistency=reading.prove_consistency,
    )
    receipts_pb2_grpc.add_ReceiptWriterServicer_to_server(servicer, server)  # type: ignore[no-untyped-call]


class _Writing:
    """The RPCs that record something.

    A request is measured before it is turned into a draft: half a million empty rows fit into a mebibyte, and would
    hold up every other caller for a second.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def begin_turn(self, request: pb.BeginTurnRequest, context: _Context) -> pb.BeginTurnResponse:
        await _require_size(context, request)
        started = await _answer(context, self._writer.begin(Begin(_intent(request))))
        return pb.BeginTurnResponse(started_at_ms=started.started_at_ms)

    async def append_turn(self, request: pb.AppendTurnRequest, context: _Context) -> pb.AppendTurnResponse:
        await _require_size(context, request)
        entry = await _answer(context, self._writer.append("L10", _turn_draft(request.draft)))
        return pb.AppendTurnResponse(entry=_appended(entry))

    async def append_decision(self, request: pb.AppendDecisionRequest, context: _Context) -> pb.AppendDecisionResponse:
        await _require_size(context, request)
        entry = await _answer(context, self._writer.append("L12", _decision_draft(request.draft)))
        return pb.AppendDecisionResponse(entry=_appended(entry))


class _Reading:
    """The RPCs that tell what is recorded."""

    def __init__(self, queries: Queries, is_leaving: Callable[[], bool]) -> None:
        self._queries, self._is_leaving = queries, is_leaving

    async def get_entry(self, request: pb.GetEntryRequest, context: _Context) -> pb.GetEntryResponse:
        layer = await _layer(context, request.layer)
        entry = await _answer(context, self._queries.entry(layer, request.id))
        return pb.GetEntryResponse(entry=_stored(entry))

    async def list_entries(
        self, request: pb.ListEntriesRequest, context: _Context
    ) -> AsyncIterator[pb.ListEntriesResponse]:
        layer = await _layer(context, request.layer)
        try:
            async for entry in self._queries.entries(layer, _filter(request)):
                if self._is_leaving():
                    raise WriterStoppedError(f"The writer is shutting down; ask again from entry {entry.id} on.")
                yield pb.ListEntriesResponse(entry=_stored(entry))
        except ReceiptError as error:
            await _abort(context, error)

    async def get_head(self, request: pb.GetHeadRequest, context: _Context) -> pb.GetHeadResponse:
        layer = await _layer(context, request.layer)
        head = self._queries.head(layer)
        return pb.GetHeadResponse(size=head.size, hash=head.hash, origin=self._queries.origin(layer))

    async def get_checkpoint(self, request: pb.GetCheckpointRequest, context: _Context) -> pb.GetCheckpointResponse:
        layer = await _layer(context, request.layer)
        note, size = await _answer(context, self._queries.checkpoint(layer, fresh=request.fresh))
        return pb.GetCheckpointResponse(note=note, size=size)

    async def prove_inclusion(self, request: pb.ProveInclusionRequest, context: _Context) -> pb.ProveInclusionResponse:
        layer = await _layer(context, request.layer)
        proof = await _answer(context, self._queries.inclusion(layer, request.id, request.size))
        return pb.ProveInclusionResponse(
            size=proof.size, leaf_hash=proof.leaf_hash, path=proof.path, root_hash=proof.root_hash
        )

    async def prove_consistency(
        self, request: pb.ProveConsistencyRequest, context: _Context
    ) -> pb.ProveConsistencyResponse:
        layer = await _layer(context, request.layer)
        proof = await _answer(context, self._queries.consistency(layer, request.from_size, request.to_size))
        return pb.ProveConsistencyResponse(path=proof.path, from_root=proof.from_root, to_root=proof.to_root)


async def _answer(context: _Context, work: Awaitable[_Answer]) -> _Answer:
    try:
        answer = await work
    except ReceiptError as error:
        await _abort(context, error)
    return answer


async def _abort(context: _Context, error: ReceiptError) -> NoReturn:
    await context.abort(status_code(error), str(error), ((DETAILS_KEY, status_details(error)),))


async def _require_size(context: _Context, request: Message) -> None:
    size_bytes = request.ByteSize()
    if size_bytes > MAX_LINE_BYTES:
        message = f"The request has {size_bytes} bytes, more than the {MAX_LINE_BYTES} of the longest entry; send less."
        await _abort(context, RequestRefusedError(message))


async def _layer(context: _Context, number: int) -> str:
    if number not in _LAYERS:
        known = " ".join(pb.Layer.Name(number) for number in _NUMBERS.values())
        await _abort(context, RequestRefusedError(f"There is no layer {number} here; name one of: {known}."))
    return _LAYERS[number]


def _appended(entry: Entry) -> pb.Entry:
    return pb.Entry(
        layer=_NUMBERS[entry.layer],
        id=entry.id,
        line=entry.line.decode(),
        hash=entry.hash,
        recorded_at_ms=entry.recorded_at_ms,
    )


def _stored(entry: StoredEntry) -> pb.Entry:
    return pb.Entry(
        layer=_NUMBERS[entry.layer],
        id=entry.id,
        line=entry.line.decode(),
        hash=entry.hash,
        recorded_at_ms=entry.recorded_at_ms,
    )


def _filter(request: pb.ListEntriesRequest) -> Filter:
    members = (("turnId", request.turn_id), ("sessionId", request.session_id), ("specId", request.spec_id))
    return Filter(
        from_id=request.from_id,
        to_id=request.to_id,
        members=tuple((name, value) for name, value in members if value),
        recorded_from_ms=request.recorded_from_ms,
        recorded_to_ms=request.recorded_to_ms,
        newest_first=request.newest_first,
        limit=request.limit,
    )


def _intent(request: pb.BeginTurnRequest) -> Intent:
    return Intent(
        turn_id=request.turn_id,
        session_id=request.session_id,
        gateway=request.gateway,
        product_id=request.product_id,
        input_hash=request.input_hash,
        commitment=request.commitment,
        model_id=request.model_id,
        deadline_ms=request.deadline_ms,
    )


def _turn_draft(draft: pb.TurnDraft) -> dict[str, object]:
    model, memory, decisions = draft.model, draft.memory, draft.decisions
    return {
        "productId": draft.product_id,
        "turnId": draft.turn_id,
        "sessionId": draft.session_id,
        "gateway": draft.gateway,
        "outcome": draft.outcome,
        "iterations": draft.iterations,
        "inputHash": draft.input_hash,
        "replyHash": draft.reply_hash,
        "model": {
            "id": model.id,
            "inputTokens": model.input_tokens,
            "outputTokens": model.output_tokens,
            "cacheReadTokens": model.cache_read_tokens,
            "cacheWriteTokens": model.cache_write_tokens,
            "costMicroUsd": model.cost_micro_usd,
            "estimated": model.estimated,
            "calls": [{"kind": call.kind, "n": call.n} for call in model.calls],
        },
        "tools": [_tool(tool) for tool in draft.tools],
        "memory": {
            "searches": memory.searches,
            "used": memory.used,
            "kept": memory.kept,
            "unsent": memory.unsent,
            "reportId": memory.report_id if memory.HasField("report_id") else None,
        },
        "decisions": {"n": decisions.n, "firstId": decisions.first_id, "lastId": decisions.last_id},
        "totalMicroUsd": draft.total_micro_usd,
        "traceHash": draft.trace_hash,
        "commitment": draft.commitment,
    }


def _tool(tool: pb.ToolUsage) -> dict[str, object]:
    return {
        "tool": tool.tool,
        "provider": tool.provider,
        "status": tool.status,
        "n": tool.n,
        "costMicroUsd": tool.cost_micro_usd if tool.HasField("cost_micro_usd") else None,
    }


def _decision_draft(draft: pb.DecisionDraft) -> dict[str, object]:
    identity = draft.model_identity
    turn = {"turnId": draft.turn_id} if draft.HasField("turn_id") else {}
    return {
        "productId": draft.product_id,
        "specId": draft.spec_id,
        "specHash": draft.spec_hash,
        "inputHash": draft.input_hash,
        "outputCanonicalHash": draft.output_canonical_hash,
        "category": draft.category,
        "modelIdentity": {"provider": identity.provider, "model": identity.model, "version": identity.version},
        "latencyMs": draft.latency_ms,
        "schemaValid": draft.schema_valid,
        "reviewerVerdict": draft.reviewer_verdict if draft.HasField("reviewer_verdict") else None,
        "fallbackTriggered": draft.fallback_triggered,
        **turn,
        "callId": draft.call_id,
        "exitState": draft.exit_state,
        "commitment": draft.commitment,
    }
