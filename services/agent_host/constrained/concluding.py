"""The end of a constrained call: exactly one L12 entry, durable before the decision is returned (constrained-ai.md).

An entry that cannot be signed waits in the spool. Where even that fails, or the spec requires a signed one, the call
has failed closed: the default is returned, and what is recorded says so.
"""

from __future__ import annotations

import logging
import sqlite3
from dataclasses import replace
from typing import Final

from agent_host.constrained.asking import Answer
from agent_host.constrained.options import CallOptions, Decision
from agent_host.constrained.recording import Call, Outcome, call_event, decision_draft
from agent_host.constrained.reviewing import Reviewed
from agent_host.constrained.store import KeptCall, asked_hash
from agent_host.errors import ReceiptRefusedError, WriterUnavailableError
from agent_host.receipts.commitments import Opening
from agent_host.receipts.drafts import DecisionDraft

UNSIGNED: Final = "Its receipt could not be kept where the spec wants it."

logger = logging.getLogger(__name__)


async def conclude(call: Call, answer: Answer, reviewed: Reviewed, options: CallOptions, started_ms: int) -> Decision:
    """Appends the call's one entry, and returns the decision as it then stands."""
    outcome = Outcome(
        exit_state=reviewed.exit_state,
        output=reviewed.output,
        schema_valid=answer.state == "ok",
        fell_back=bool(reviewed.reason),
        latency_ms=max(0, options.now_ms() - started_ms),
        usage=answer.usage,
        stop_reason=answer.stop_reason,
        verdict=reviewed.verdict,
    )
    try:
        entry_id = await _append(call, outcome, reviewed, options)
    except (WriterUnavailableError, ReceiptRefusedError, OSError) as error:
        logger.warning("the receipt of %s is not signed: %s", call.call_id, error)
        reviewed = Reviewed("failed_closed", call.spec.fresh_default(), UNSIGNED, reviewed.verdict)
        outcome = replace(outcome, exit_state="failed_closed", output=reviewed.output, fell_back=True)
        entry_id = await _append_closed(call, outcome, reviewed, options)
    event = call_event(call, outcome, entry_id, options.cost)
    if options.provider is not None:
        options.meter(event, call.turn_id)
    options.emit(event)
    return _decision(call, outcome, reviewed, entry_id)


async def _append(call: Call, outcome: Outcome, reviewed: Reviewed, options: CallOptions) -> int | None:
    draft, openings = decision_draft(call, outcome)
    _keep(call, draft, openings, _decision(call, outcome, reviewed, None), options)
    if call.spec.require_receipt:
        return await options.ledger.sign_decision(draft, openings)
    return await options.ledger.append_decision(draft, openings)


async def _append_closed(call: Call, outcome: Outcome, reviewed: Reviewed, options: CallOptions) -> int | None:
    """Leaves the entry of a call that failed closed where it can be: signed later from the spool, or the log alone."""
    draft, openings = decision_draft(call, outcome)
    _keep(call, draft, openings, _decision(call, outcome, reviewed, None), options)
    try:
        return await options.ledger.append_decision(draft, openings)
    except OSError as error:
        logger.warning("the entry of %s could not even be spooled: %s", call.call_id, error.strerror)
        return None


def _keep(
    call: Call, draft: DecisionDraft, openings: tuple[Opening, ...], decision: Decision, options: CallOptions
) -> None:
    """Keeps the spec, and the decision when its caller chose the call id; a store that fails costs the replay alone."""
    if options.store is None:
        return
    try:
        options.store.keep_spec(call.spec)
        if options.call_id is not None:
            options.store.keep_call(KeptCall(asked_hash(call.spec, call.input), draft, openings, decision))
    except sqlite3.Error as error:
        logger.warning("the call %s is not kept: %s", call.call_id, error)


def _decision(call: Call, outcome: Outcome, reviewed: Reviewed, entry_id: int | None) -> Decision:
    return Decision(
        output=outcome.output,
        exit_state=outcome.exit_state,
        call_id=call.call_id,
        spec_hash=call.spec.spec_hash,
        entry_id=entry_id,
        reason=reviewed.reason,
        verdict=outcome.verdict,
        awaits_review=reviewed.queued,
        latency_ms=outcome.latency_ms,
    )
