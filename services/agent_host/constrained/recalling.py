"""A call id that was used before: the decision it stands for, and what a person has said about it since."""

from __future__ import annotations

import logging
import sqlite3
from dataclasses import replace

from agent_host.constrained.concluding import UNSIGNED
from agent_host.constrained.options import CallOptions, Decision, Ruling
from agent_host.constrained.recording import Call
from agent_host.constrained.reviewing import ruled, ruling_fault
from agent_host.constrained.store import CallStore, KeptCall, OpenReview, asked_hash
from agent_host.errors import CallError, ReceiptRefusedError, WriterUnavailableError

logger = logging.getLogger(__name__)


async def recalled(call: Call, store: CallStore, options: CallOptions) -> Decision | None:
    """Returns the decision that a call id stands for already, None when it is new.

    Its entry is appended again, which changes nothing. Where a person has ruled on it since, the decision is what his
    verdict makes of it: with `require_receipt` once that is on the ledger, else once it is kept.

    Raises:
        CallError: the call id stands for another input or spec, was forgotten, or the store cannot tell.
    """
    try:
        kept, review = store.call(call.call_id), store.review(call.call_id)
        was_forgotten = kept is None and store.was_forgotten(call.call_id)
    except (sqlite3.Error, ValueError, LookupError, TypeError) as error:  # the file, or a row of another build
        raise CallError(f"It cannot be told whether {call.call_id} was used before ({error}); try again.") from error
    if was_forgotten:
        raise CallError(f"{call.call_id} was used before and forgotten; take a new call id.")
    if kept is None:
        return None
    if kept.asked != asked_hash(call.spec, call.input):
        raise CallError(f"{call.call_id} was used before with another input or spec; take a new call id.")
    decision = await _signed(kept, call, options)
    return decision if review is None else _as_ruled(decision, review, call)


async def _signed(kept: KeptCall, call: Call, options: CallOptions) -> Decision:
    """Returns a kept decision with its entry, the spec's default where that is required and not to be had."""
    try:
        if call.spec.require_receipt and kept.decision.exit_state != "failed_closed":
            entry_id: int | None = await options.ledger.sign_decision(kept.draft, kept.openings)
        else:
            entry_id = await options.ledger.append_decision(kept.draft, kept.openings)
    except (WriterUnavailableError, ReceiptRefusedError, OSError) as error:
        logger.warning("the receipt of %s is not signed: %s", call.call_id, error)
        default = call.spec.fresh_default()
        return replace(kept.decision, output=default, exit_state="failed_closed", reason=UNSIGNED, entry_id=None)
    return replace(kept.decision, entry_id=entry_id)


def _as_ruled(decision: Decision, review: OpenReview, call: Call) -> Decision:
    """Returns what a later verdict makes of a decision that waited for it. Pure."""
    may_act = review.state == "recorded" or (review.state == "ruled" and not call.spec.require_receipt)
    if not (decision.awaits_review and may_act and review.case and review.verdict and review.ruling):
        return decision
    ruling = Ruling(review.verdict, str(review.ruling["reviewer"]), review.output)
    if fault := ruling_fault(review.case, ruling):
        logger.warning("the verdict on %s is not followed: %s", call.call_id, fault)
        return decision
    now = ruled(review.case, ruling)
    return replace(
        decision,
        output=now.output,
        exit_state=now.exit_state,
        reason=now.reason,
        verdict=now.verdict,
        awaits_review=False,
        review_entry_id=review.entry_id,
    )
