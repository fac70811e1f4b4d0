"""Messages to the writer's own values, and back. Ledger names are the JSON names of the messages' fields.

So the mapping is one line a field and has no rules of its own.
"""

from collections.abc import Mapping
from typing import Protocol, cast

from prometheus.receipts.v1 import receipts_pb2 as pb
from receipt_writer.errors import DraftRefusedError, RequestRefusedError
from receipt_writer.format.canonical import decode_strict
from receipt_writer.format.errors import FormatError
from receipt_writer.format.schema import LAYERS
from receipt_writer.index import Filter
from receipt_writer.intents import Intent
from receipt_writer.ledger import OPEN_LAYERS, Begin

NUMBERS: Mapping[str, pb.Layer] = {
    name: cast("pb.Layer", pb.Layer.Value(f"LAYER_{name}_{layer.chain.upper()}")) for name, layer in LAYERS.items()
}
"""The enum's number of every layer, by its name."""

_NAMES: Mapping[int, str] = {number: name for name, number in NUMBERS.items()}


class StandingEntry(Protocol):
    """What the writer's two kinds of entry have in common: the one just made, and the one read back."""

    @property
    def layer(self) -> str:
        """The name of its layer."""
        ...

    @property
    def id(self) -> int:
        """Its place in the chain, counted from 1."""
        ...

    @property
    def line(self) -> bytes:
        """Its stored line, without the line break."""
        ...

    @property
    def hash(self) -> str:
        """Its hash, lower-case hex."""
        ...

    @property
    def recorded_at_ms(self) -> int:
        """When it was recorded."""
        ...


def layer_of(number: int) -> str:
    """Return the name of a layer.

    Raises:
        RequestRefusedError: There is none of this number.
    """
    name = _NAMES.get(number)
    if name is None:
        known = " ".join(pb.Layer.Name(number) for number in NUMBERS.values())
        raise RequestRefusedError(f"There is no layer {number} here; name one of: {known}.")
    return name


def about_request(request: object) -> dict[str, str]:
    """Return what a request names, for the details of its refusal: the layer and the id, where it has them."""
    layer, entry_id = _NAMES.get(getattr(request, "layer", 0)), getattr(request, "id", 0)
    return ({"layer": layer} if layer else {}) | ({"id": str(entry_id)} if entry_id else {})


def entry_message(entry: StandingEntry) -> pb.Entry:
    """Return an entry as the contract shows it."""
    return pb.Entry(
        layer=NUMBERS[entry.layer],
        id=entry.id,
        line=entry.line.decode(),
        hash=entry.hash,
        recorded_at_ms=entry.recorded_at_ms,
    )


def json_draft(request: pb.AppendRequest) -> tuple[str, dict[str, object]]:
    """Return the layer and the members of a draft given as JSON.

    Raises:
        RequestRefusedError: No such layer, or one that only the writer appends to.
        DraftRefusedError: The text is not one JSON object, strictly read.
    """
    layer = layer_of(request.layer)
    if layer not in OPEN_LAYERS:
        raise RequestRefusedError(
            f"The writer alone appends to {layer}; a caller may append to: {' '.join(OPEN_LAYERS)}."
        )
    try:
        draft = decode_strict(request.draft_json.encode())
    except FormatError as error:
        raise DraftRefusedError(f"draft_json was refused: {error}") from error
    if not isinstance(draft, dict):
        raise DraftRefusedError("draft_json was refused: It must be one JSON object with the draft's members.")
    return layer, draft


def filter_of(request: pb.ListEntriesRequest) -> Filter:
    """Return which entries a request asks for; what is not set does not filter."""
    members = (
        ("turnId", request.turn_id),
        ("sessionId", request.session_id),
        ("specId", request.spec_id),
        ("category", request.category),
        ("exitState", request.exit_state),
        ("model", request.model),
        ("key", request.key),
        *request.members.items(),
    )
    return Filter(
        from_id=request.from_id,
        to_id=request.to_id,
        members=tuple((name, value) for name, value in members if value),
        recorded_from_ms=request.recorded_from_ms,
        recorded_to_ms=request.recorded_to_ms,
        newest_first=request.newest_first,
        limit=request.limit,
    )


def begin_of(request: pb.BeginTurnRequest) -> Begin:
    """Return the command that records the start of a turn."""
    intent = Intent(
        turn_id=request.turn_id,
        session_id=request.session_id,
        gateway=request.gateway,
        product_id=request.product_id,
        input_hash=request.input_hash,
        commitment=request.commitment,
        model_id=request.model_id,
        deadline_ms=request.deadline_ms,
    )
    return Begin(intent)


def turn_draft(draft: pb.TurnDraft) -> dict[str, object]:
    """Return the members of an L10 draft."""
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


def decision_draft(draft: pb.DecisionDraft) -> dict[str, object]:
    """Return the members of an L12 draft."""
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
