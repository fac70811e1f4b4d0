"""`run_constrained_ai`: one model call under a spec, from a checked input to a decision with its entry.

    input ─ checked ─ model: attempts, one repair ─ reviewer or queue ─ L12 entry, durable ─ Decision

Nothing but these leaves it as an exception: a caller's error (before any call), a spec that says `raise` (after the
entry), and the cancellation of the task (after the entry).
"""

from __future__ import annotations

import asyncio
import logging
import re
import sqlite3
from dataclasses import replace
from typing import Final

from agent_host.cancellation import take_back_cancellation, to_the_end
from agent_host.constrained.asking import Answer, ask_code, ask_model
from agent_host.constrained.concluding import conclude
from agent_host.constrained.options import CallOptions, Decision, ReviewCase, Ruling, Values
from agent_host.constrained.plain_json import plain_copy
from agent_host.constrained.recalling import recalled
from agent_host.constrained.recording import Call
from agent_host.constrained.reviewing import Reviewed, ask_reviewer, review_reason, ruled, unreviewed, waiting
from agent_host.constrained.schema import value_fault
from agent_host.constrained.spec import RuntimeAISpec
from agent_host.errors import CallError, NoDecisionError
from agent_host.identifiers import new_call_id
from agent_host.providers.protocol import Identity

_CALL_ID: Final = re.compile("c_[0-9A-HJKMNP-TV-Z]{26}")
_CUT_OFF: Final = "The call was cancelled."

logger = logging.getLogger(__name__)


async def run_constrained_ai(spec: RuntimeAISpec, input: Values, options: CallOptions) -> Decision:  # noqa: A002
    """Asks a model under a spec and returns the decision once its L12 entry is durable (constrained-ai.md).

    The output satisfies the spec's schema whatever the model said; `exit_state` and `reason` say whose it is.

    Raises:
        CallError: the input or the options do not fit the spec; no model was called and nothing recorded.
        NoDecisionError: there is no output to return, and the spec says `raise`; its entry is recorded.
    """
    call = _checked(spec, input, options)
    if options.call_id is None or options.store is None:
        decision = await _made_now(call, options)
    else:
        async with options.store.asking(call.call_id):  # two at once: the second gets what the first came to
            decision = await recalled(call, options.store, options) or await _made_now(call, options)
    if decision is None:
        decision = await _made_elsewhere(call, options)
    if decision.output is None:
        told = f"No usable decision under {spec.spec_id} ({decision.call_id}): {decision.reason}"
        raise NoDecisionError(told, decision)
    return decision


async def _made_now(call: Call, options: CallOptions) -> Decision | None:
    """Makes the decision and its entry; a cancellation before the answer leaves one that failed closed.

    None when another process kept a decision under this call id while this one was asking: that one stands.
    """
    started_ms = options.now_ms()
    try:
        if options.registry is not None:
            await options.registry.register(call.spec)
        answer, reviewed = await _decide(call, call.input, options)
    except asyncio.CancelledError:
        take_back_cancellation()
        cut_off = Reviewed("failed_closed", call.spec.fresh_default(), _CUT_OFF)
        await to_the_end(conclude(call, Answer("fallback_timeout", _CUT_OFF), cut_off, options, started_ms))
        raise
    decision, cancelled = await to_the_end(conclude(call, answer, reviewed, options, started_ms))
    if cancelled:
        raise asyncio.CancelledError
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
    asked = {name: plain_copy(value) for name, value in values.items()}  # whatever the caller changes meanwhile
    return Call(spec, identity, options.call_id or new_call_id(), options.turn_id, asked, options.kind)


async def _made_elsewhere(call: Call, options: CallOptions) -> Decision:
    decision = await recalled(call, options.store, options) if options.store else None
    if decision is None:
        raise CallError(f"{call.call_id} is in use by another process; try again.")
    return decision


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
    if options.reviewer is not None:
        ruling = await ask_reviewer(options.reviewer, case, deadline)
        if isinstance(ruling, Ruling):
            return answer, ruled(case, ruling)
        case = replace(case, reason=f"{reason} {ruling}")
    return answer, waiting(spec, answer, case.reason, queued=_queued(case, options))


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


def _named(identity: Identity) -> str:
    return f"{identity.provider}/{identity.model} ({identity.version})"
