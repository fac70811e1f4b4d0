"""A call's entry and event: made the same way for every call, whether its output is a schema's or a person's reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agent_host.constrained.spec import RuntimeAISpec
from agent_host.providers.protocol import Identity, JsonValue, StopReason, Usage
from agent_host.receipts.commitments import SCHEME, Opening, commit
from agent_host.receipts.drafts import DecisionDraft, Verdict
from agent_host.tracing.events import CallKind, ExitState, ModelCalled


@dataclass(frozen=True)
class Call:
    """One call: whose it is, and what went in."""

    spec: RuntimeAISpec
    identity: Identity
    call_id: str
    turn_id: str | None
    input: Mapping[str, JsonValue]
    kind: CallKind


@dataclass(frozen=True)
class Outcome:
    """What a call came to. `usage` is None when nobody knows what was counted."""

    exit_state: ExitState
    output: JsonValue
    schema_valid: bool
    fell_back: bool
    latency_ms: int
    usage: Usage | None = None
    stop_reason: StopReason | None = None
    verdict: Verdict | None = None


def decision_draft(call: Call, outcome: Outcome) -> tuple[DecisionDraft, tuple[Opening, ...]]:
    """Returns the L12 draft of a call, and the openings of its two commitments: nothing of either value is in it."""
    committed_input = commit(call.call_id, "inputHash", call.input)
    committed_output = commit(call.call_id, "outputCanonicalHash", outcome.output)
    draft = DecisionDraft(
        spec_id=call.spec.spec_id,
        spec_hash=call.spec.spec_hash,
        category=call.spec.category,
        input_hash=committed_input.digest,
        output_canonical_hash=committed_output.digest,
        commitment=SCHEME,
        identity=call.identity,
        latency_ms=outcome.latency_ms,
        schema_valid=outcome.schema_valid,
        fallback_triggered=outcome.fell_back,
        turn_id=call.turn_id,
        call_id=call.call_id,
        exit_state=outcome.exit_state,
        reviewer_verdict=outcome.verdict,
    )
    return draft, (committed_input.opening, committed_output.opening)


def call_event(call: Call, outcome: Outcome, entry_id: int | None, cost: Callable[[Usage], int | None]) -> ModelCalled:
    """Returns the event of a call. Its cost is None when its tokens are not known, unless nothing there costs."""
    unknown = outcome.usage is None and call.identity.provider != "offline"
    usage = outcome.usage or Usage()
    return ModelCalled(
        kind=call.kind,
        identity=call.identity,
        stop_reason=outcome.stop_reason,
        usage=usage,
        cost_micro_usd=None if unknown else cost(usage),
        latency_ms=outcome.latency_ms,
        exit_state=outcome.exit_state,
        call_id=call.call_id,
        entry_id=entry_id,
    )
