"""The end of a constrained call: exactly one L12 entry, durable before the decision is returned (constrained-ai.md).

An entry that cannot be signed waits in the spool. Where even that fails, or the spec requires a signed one, the call
has failed closed: the default is returned, and what is recorded says so.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from typing import Final, ParamSpec, TypeVar

from agent_host.constrained.asking import Answer
from agent_host.constrained.options import CallOptions, Decision
from agent_host.constrained.recording import Call, Outcome, call_event, decision_draft
from agent_host.constrained.reviewing import Reviewed
from agent_host.constrained.store import KeptCall, asked_hash
from agent_host.errors import ReceiptRefusedError, WriterUnavailableError
from agent_host.receipts.commitments import Opening
from agent_host.receipts.drafts import DecisionDraft

UNSIGNED: Final = "Its receipt could not be kept where the spec wants it."

P = ParamSpec("P")
Result = TypeVar("Result")

logger = logging.getLogger(__name__)


async def conclude(
    call: Call, answer: Answer, reviewed: Reviewed, options: CallOptions, started_ms: int
) -> Decision | None:
    """Appends the call's one entry, and returns the decision as it then stands.

    None, and no entry, when another decision of this call id was kept before: that one stands.
    """
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
    event = call_event(call, outcome, None, lambda usage: _unharmed(call, options.cost, usage))
    if options.provider is not None:  # before the entry, as it is paid for whatever comes of that
        _unharmed(call, options.meter, event, call.turn_id)
    draft, openings = decision_draft(call, outcome)
    if not _is_kept(call, draft, openings, _decision(call, outcome, reviewed, None), options):
        return None
    try:
        if call.spec.require_receipt:
            entry_id: int | None = await options.ledger.sign_decision(draft, openings)
        else:
            entry_id = await options.ledger.append_decision(draft, openings)
    except (WriterUnavailableError, ReceiptRefusedError, OSError) as error:
        logger.warning("the receipt of %s is not signed: %s", call.call_id, error)
        reviewed = Reviewed("failed_closed", call.spec.fresh_default(), UNSIGNED, reviewed.verdict)
        outcome = replace(outcome, exit_state="failed_closed", output=reviewed.output, fell_back=True)
        entry_id = await _append_closed(call, outcome, reviewed, options)
    _unharmed(call, options.emit, replace(event, exit_state=outcome.exit_state, entry_id=entry_id))
    return _decision(call, outcome, reviewed, entry_id)


def _unharmed(call: Call, told: Callable[P, Result], *values: P.args, **named: P.kwargs) -> Result | None:
    """Tells somebody of a call; his error is logged, as neither the decision nor its entry depends on him."""
    try:
        return told(*values, **named)
    except Exception:  # whoever wrote it, no exception of his leaves a call (constrained-ai.md, step 5)
        logger.exception("the call %s could not be priced, metered or told of", call.call_id)
        return None


async def _append_closed(call: Call, outcome: Outcome, reviewed: Reviewed, options: CallOptions) -> int | None:
    """Leaves the entry of a call that failed closed where it can be: signed later from the spool, or the log alone."""
    draft, openings = decision_draft(call, outcome)
    _is_kept(call, draft, openings, _decision(call, outcome, reviewed, None), options, again=True)
    try:
        return await options.ledger.append_decision(draft, openings)
    except OSError as error:
        logger.warning("the entry of %s could not even be spooled: %s", call.call_id, error.strerror)
        return None


def _is_kept(
    call: Call,
    draft: DecisionDraft,
    openings: tuple[Opening, ...],
    decision: Decision,
    options: CallOptions,
    *,
    again: bool = False,
) -> bool:
    """Keeps the spec, and the decision when its caller chose the call id; a store that fails costs the replay alone.

    Returns False when another decision was kept under the call id before, unless it is kept `again`.
    """
    if options.store is None:
        return True
    try:
        options.store.keep_spec(call.spec)
        if options.call_id is None:
            return True
        kept = KeptCall(asked_hash(call.spec, call.input), draft, openings, decision)
        if not again:
            return options.store.keep_call(kept)
        options.store.replace_call(kept)
    except sqlite3.Error as error:
        logger.warning("the call %s is not kept: %s", call.call_id, error)
    return True


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
