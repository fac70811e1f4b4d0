"""`run_constrained_ai`: one model call under a spec, from a checked input to a decision with its entry.

    input ─ checked ─ model: attempts, one repair ─ reviewer or queue ─ L12 entry, durable ─ Decision

Nothing but these leaves it as an exception: a caller's error (before any call), a spec that says `raise` (after the
entry), and the cancellation of the task (after the entry).
"""

from __future__ import annotations

import asyncio
import copy
import logging
import re
import sqlite3
from dataclasses import replace
from typing import Final

from agent_host.cancellation import take_back_cancellation, to_the_end
from agent_host.constrained.asking import Answer, ask_code, ask_model
from agent_host.constrained.options import CallOptions, Decision, ReviewCase, Values
from agent_host.constrained.recording import Call, Outcome, call_event, decision_draft
from agent_host.constrained.reviewing import Reviewed, ask_reviewer, review_reason, ruled, unreviewed, waiting
from agent_host.constrained.schema import value_fault
from agent_host.constrained.spec import RuntimeAISpec
from agent_host.constrained.store import KeptCall, asked_hash
from agent_host.errors import CallError, NoDecisionError, ReceiptRefusedError, WriterUnavailableError
from agent_host.identifiers import new_call_id
from agent_host.providers.protocol import Identity
from agent_host.receipts.drafts import DecisionDraft

_CALL_ID: Final = re.compile("c_[0-9A-HJKMNP-TV-Z]{26}")
_CUT_OFF: Final = "The call was cancelled."
_UNSIGNED: Final = "Its receipt could not be signed, and the spec requires one."

logger = logging.getLogger(__name__)


async def run_constrained_ai(spec: RuntimeAISpec, input: Values, options: CallOptions) -> Decision:  # noqa: A002
    """Asks a model under a spec and returns the decision once its L12 entry is durable (constrained-ai.md).

    The output satisfies the spec's schema whatever the model said; `exit_state` and `reason` say whose it is.

    Raises:
        CallError: the input or the options do not fit the spec; no model was called and nothing recorded.
        NoDecisionError: there is no output to return, and the spec says `raise`; its entry is recorded.
    """
    call = _checked(spec, copy.deepcopy(dict(input)), options)  # what is committed to is what was asked
    if (again := await _made_before(call, options)) is not None:
        return again
    started_ms = options.now_ms()
    try:
        if options.registry is not None:
            await options.registry.register(spec)
        answer, reviewed = await _decide(call, _values(call), options)
    except asyncio.CancelledError:
        take_back_cancellation()
        cut_off = Reviewed("failed_closed", None, _CUT_OFF)
        await to_the_end(_record(call, Answer("fallback_timeout", _CUT_OFF), cut_off, options, started_ms))
        raise
    decision, cancelled = await to_the_end(_record(call, answer, reviewed, options, started_ms))
    if cancelled:
        raise asyncio.CancelledError
    if decision.output is None:
        raise NoDecisionError(
            f"No usable decision under {spec.spec_id} ({decision.call_id}): {decision.reason}",
            decision.call_id,
            decision.exit_state,
        )
    return decision


def _checked(spec: RuntimeAISpec, values: Values, options: CallOptions) -> Call:
    """Returns the call that can be made.

    Raises:
        CallError: it cannot be made; the message says what to give instead.
    """
    if fault := value_fault(values, spec.input_schema):
        raise CallError(f"The input does not satisfy the input_schema of {spec.spec_id}: {fault}.")
    if (options.provider is None) == (options.code is None):
        raise CallError(f"A call under {spec.spec_id} needs either a provider or code to answer it.")
    identity = options.provider.identity if options.provider else spec.model_identity
    if identity != spec.model_identity:
        raise CallError(
            f"The spec {spec.spec_id} is for {_named(spec.model_identity)}, and the provider is {_named(identity)}."
        )
    if options.call_id is not None and not _CALL_ID.fullmatch(options.call_id):
        raise CallError("call_id must be c_ and a ULID, as agent_host.identifiers.new_call_id makes them.")
    return Call(spec, identity, options.call_id or new_call_id(), options.turn_id, values, options.kind)


async def _made_before(call: Call, options: CallOptions) -> Decision | None:
    """Returns the decision that this call id stands for already; its entry is appended again, which changes nothing.

    Raises:
        CallError: the call id stands for another input or spec, or the store cannot tell.
    """
    if options.call_id is None or options.store is None:
        return None
    try:
        kept = options.store.call(options.call_id)
    except sqlite3.Error as error:
        raise CallError(f"It cannot be told whether {call.call_id} was used before ({error}); try again.") from error
    if kept is None:
        return None
    if kept.asked != asked_hash(call.spec, _values(call)):
        raise CallError(f"{call.call_id} was used before with another input or spec; take a new call id.")
    entry_id = await options.ledger.append_decision(kept.draft, ())
    return replace(kept.decision, entry_id=entry_id)


async def _decide(call: Call, values: Values, options: CallOptions) -> tuple[Answer, Reviewed]:
    """Asks, and puts the answer before a reviewer where the spec wants one."""
    spec = call.spec
    deadline = asyncio.get_running_loop().time() + spec.max_latency_ms / 1000
    if options.provider is not None:
        answer = await ask_model(spec, values, options, options.provider)
    else:
        answer = ask_code(spec, values, options)
    if (reason := review_reason(spec, answer)) is None:
        return answer, unreviewed(spec, answer)
    case = ReviewCase(call.call_id, spec, values, answer.output, reason)
    ruling = await ask_reviewer(options.reviewer, case, deadline) if options.reviewer else None
    if ruling is not None:
        return answer, ruled(spec, case, ruling)
    return answer, waiting(spec, answer, reason, queued=_queued(case, options))


def _queued(case: ReviewCase, options: CallOptions) -> bool:
    """Queues a case; a queue that is not there or fails leaves the spec's default standing."""
    if options.store is None:
        return False
    try:
        options.store.queue(case, options.now_ms())
    except sqlite3.Error as error:
        logger.warning("the call %s could not be queued for review: %s", case.call_id, error)
        return False
    return True


async def _record(call: Call, answer: Answer, reviewed: Reviewed, options: CallOptions, started_ms: int) -> Decision:
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
        reviewed = Reviewed("failed_closed", call.spec.fresh_default(), _UNSIGNED, reviewed.verdict)
        outcome = replace(outcome, exit_state="failed_closed", output=reviewed.output, fell_back=True)
        entry_id = await _append_closed(call, outcome, reviewed, options)
    options.emit(call_event(call, outcome, entry_id, options.cost))
    return _decision(call, outcome, reviewed, entry_id)


async def _append(call: Call, outcome: Outcome, reviewed: Reviewed, options: CallOptions) -> int | None:
    draft, openings = decision_draft(call, outcome)
    _keep(call, draft, _decision(call, outcome, reviewed, None), options)
    if call.spec.require_receipt:
        return await options.ledger.sign_decision(draft, openings)
    return await options.ledger.append_decision(draft, openings)


async def _append_closed(call: Call, outcome: Outcome, reviewed: Reviewed, options: CallOptions) -> int | None:
    """Leaves the entry of a call that failed closed where it can be: signed later from the spool, or the log alone."""
    draft, openings = decision_draft(call, outcome)
    _keep(call, draft, _decision(call, outcome, reviewed, None), options)
    try:
        return await options.ledger.append_decision(draft, openings)
    except OSError as error:
        logger.warning("the entry of %s could not even be spooled: %s", call.call_id, error.strerror)
        return None


def _keep(call: Call, draft: DecisionDraft, decision: Decision, options: CallOptions) -> None:
    """Keeps the spec, and the decision when its caller chose the call id; a store that fails costs the replay alone."""
    if options.store is None:
        return
    try:
        options.store.keep_spec(call.spec)
        if options.call_id is not None:
            options.store.keep_call(KeptCall(asked_hash(call.spec, _values(call)), draft, decision))
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


def _values(call: Call) -> Values:
    return call.input if isinstance(call.input, dict) else {}


def _named(identity: Identity) -> str:
    return f"{identity.provider}/{identity.model} ({identity.version})"
