"""When a decision goes before a reviewer, and what his ruling makes of it."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, get_args

from agent_host.constrained.asking import Answer
from agent_host.constrained.options import ReviewCase, Reviewer, Ruling
from agent_host.constrained.plain_json import SURROGATE, plain_copy
from agent_host.constrained.schema import value_fault
from agent_host.constrained.spec import RuntimeAISpec
from agent_host.providers.protocol import JsonValue
from agent_host.receipts.drafts import Verdict
from agent_host.tracing.events import ExitState

REVIEWER_LIMIT: Final = 200
"""The most characters of a reviewer's name."""

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


def ruled(case: ReviewCase, ruling: Ruling) -> Reviewed:
    """Returns what a ruling without a `ruling_fault` makes of a case. Pure."""
    match ruling.verdict:
        case "approved":
            return Reviewed("ok", case.proposal, verdict="approved")
        case "amended":
            return Reviewed("ok_amended", plain_copy(ruling.output), verdict="amended")
        case "rejected":
            default = case.spec.fresh_default()
            return Reviewed("rejected_by_reviewer", default, "The reviewer rejected the model's output.", "rejected")


def ruling_fault(case: ReviewCase, ruling: object) -> str | None:
    """Returns in one sentence why what a reviewer gave cannot stand, None when it is a ruling that can. Pure."""
    if fault := words_fault(ruling):
        return fault
    if not isinstance(ruling, Ruling) or ruling.verdict == "rejected":
        return None
    if ruling.verdict == "approved" and case.proposal is None:
        return "There is no output to approve; amend it or reject it."
    whose, output = ("amended", ruling.output) if ruling.verdict == "amended" else ("approved", case.proposal)
    if fault := value_fault(output, case.spec.output_schema):
        return f"The {whose} output does not satisfy the output_schema of {case.spec.spec_id}: {fault}."
    return None


def words_fault(ruling: object) -> str | None:
    """Returns why no case could have this ruling, None when one could: the ledger keeps the reviewer's name. Pure."""
    if not isinstance(ruling, Ruling):
        return f"A reviewer gives a Ruling, and this one gave a {type(ruling).__name__}."
    if ruling.verdict not in get_args(Verdict):
        return f"A verdict is one of {', '.join(get_args(Verdict))}."
    name = ruling.reviewer
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > REVIEWER_LIMIT:
        return f"A reviewer has a name of 1 to {REVIEWER_LIMIT} printable characters, which the ledger will have."
    if not isinstance(ruling.comment, str) or SURROGATE.search(ruling.comment):
        return "A comment is text, without half surrogate pairs."
    return None


async def ask_reviewer(reviewer: Reviewer, case: ReviewCase, deadline: float) -> Ruling | str:
    """Returns a ruling that can stand, given before the deadline (loop time); else why there is none, as a sentence.

    The reviewer gets a copy of the case: what he changes in it changes nothing that is let through or committed to.
    """
    try:
        async with asyncio.timeout_at(deadline):
            ruling = await reviewer(copy.deepcopy(case))
    except TimeoutError:
        return "The reviewer did not answer in time."
    except Exception as error:  # whoever wrote the reviewer, the case goes to the queue
        logger.exception("the reviewer of the call %s failed", case.call_id)
        return f"The reviewer failed ({type(error).__name__})."
    if ruling is None:
        return "The reviewer left it to the queue."
    return ruling_fault(case, ruling) or ruling


def waiting(spec: RuntimeAISpec, answer: Answer, reason: str, *, queued: bool) -> Reviewed:
    """Returns what stands until a person has looked at a case: the spec's default. Pure.

    A valid output that nobody has let through yet is `failed_closed`; an answer that failed keeps its own state.
    """
    held = unreviewed(spec, replace(answer, reason=reason))
    state: ExitState = "failed_closed" if answer.state == "ok" else held.exit_state
    return Reviewed(state, spec.fresh_default(), reason, queued=queued)
