"""When a decision goes before a reviewer, and what his ruling makes of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from agent_host.constrained.asking import Answer
from agent_host.constrained.options import ReviewCase, Reviewer, Ruling
from agent_host.constrained.schema import value_fault
from agent_host.constrained.spec import RuntimeAISpec
from agent_host.providers.protocol import JsonValue
from agent_host.receipts.drafts import Verdict
from agent_host.tracing.events import ExitState

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reviewed:
    """An answer after review: a model's or a reviewer's output when `reason` is empty, else the spec's default."""

    exit_state: ExitState
    output: JsonValue
    reason: str = ""
    verdict: Verdict | None = None
    queued: bool = False


def review_reason(spec: RuntimeAISpec, answer: Answer) -> str | None:
    """Returns why a person should look at an answer, None when nobody needs to. Pure."""
    if answer.state != "ok":
        return answer.reason if spec.fallback_behavior == "queue-for-review" else None
    if spec.reviewer_gate == "always":
        return "Every decision under this spec is reviewed."
    if spec.reviewer_gate == "never" or spec.low_confidence_threshold is None:
        return None
    told = answer.output.get("confidence") if isinstance(answer.output, Mapping) else None
    if isinstance(told, int) and told >= spec.low_confidence_threshold:
        return None
    return f"The model's confidence is {told} of 10000, below {spec.low_confidence_threshold}."


def unreviewed(spec: RuntimeAISpec, answer: Answer) -> Reviewed:
    """Returns what an answer comes to that nobody needs to look at. Pure."""
    if answer.state == "ok":
        return Reviewed("ok", answer.output)
    return Reviewed(answer.state, spec.fresh_default(), answer.reason)


def ruled(spec: RuntimeAISpec, case: ReviewCase, ruling: Ruling) -> Reviewed:
    """Returns what a ruling makes of a case: an output that breaks the schema is never let through. Pure."""
    if fault := ruling_fault(spec, case.proposal, ruling):
        return Reviewed("rejected_by_reviewer", spec.fresh_default(), fault, "rejected")
    match ruling.verdict:
        case "approved":
            return Reviewed("ok", case.proposal, verdict="approved")
        case "amended":
            return Reviewed("ok_amended", ruling.output, verdict="amended")
    return Reviewed(
        "rejected_by_reviewer", spec.fresh_default(), "The reviewer rejected the model's output.", "rejected"
    )


def ruling_fault(spec: RuntimeAISpec, proposal: JsonValue, ruling: Ruling) -> str | None:
    """Returns in one sentence why a ruling cannot stand as it is, None when it can. Pure."""
    if ruling.verdict == "approved" and proposal is None:
        return "There is no output to approve; amend it or reject it."
    if ruling.verdict == "amended" and (fault := value_fault(ruling.output, spec.output_schema)):
        return f"The amended output does not satisfy the output_schema of {spec.spec_id}: {fault}."
    return None


async def ask_reviewer(reviewer: Reviewer, case: ReviewCase, deadline: float) -> Ruling | None:
    """Returns the ruling of a reviewer who answers before the deadline (loop time), else None."""
    try:
        async with asyncio.timeout_at(deadline):
            return await reviewer(case)
    except TimeoutError:
        return None
    except Exception:  # whoever wrote the reviewer, the case goes to the queue
        logger.exception("the reviewer of the call %s failed", case.call_id)
        return None


def waiting(spec: RuntimeAISpec, answer: Answer, reason: str, *, queued: bool) -> Reviewed:
    """Returns what stands until a person has looked at a case: the spec's default. Pure.

    A valid output that nobody has let through yet is `failed_closed`; an answer that failed keeps its own state.
    """
    held = unreviewed(spec, replace(answer, reason=reason))
    state: ExitState = "failed_closed" if answer.state == "ok" else held.exit_state
    return Reviewed(state, spec.fresh_default(), reason, queued=queued)
