"""A reviewer's later verdict: kept durably, then one L6 entry that names its L12 entry (receipts.md section 2).

A verdict that cannot be recorded now, because the writer is away or the decision itself still waits in the spool, stays
in the store and is recorded by the next `record_verdicts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from agent_host.constrained.options import Ruling
from agent_host.constrained.plain_json import plain_copy
from agent_host.constrained.reviewing import ruling_fault, words_fault
from agent_host.constrained.store import CallStore, OpenReview
from agent_host.errors import ReceiptRefusedError, UsageError, WriterUnavailableError
from agent_host.identifiers import new_review_id
from agent_host.providers.protocol import JsonValue
from agent_host.receipts.commitments import SCHEME, Opening, commit
from agent_host.receipts.drafts import PRODUCT_ID
from agent_host.receipts.protocol import StoredEntry

REVIEWS: Final = "reviews"


class ReviewLedger(Protocol):
    """What verdicts need of the receipt writer; every method raises as `receipts.protocol.Writer` says."""

    async def decision(self, call_id: str) -> StoredEntry | None:
        """Returns the L12 entry of a call, None when there is none."""
        ...

    async def append(self, chain: str, draft: Mapping[str, object]) -> StoredEntry:
        """Appends one entry and returns it once it is durable."""
        ...


class KeepsOpenings(Protocol):
    """Where the openings of a verdict's commitments are kept."""

    def keep(self, *openings: Opening) -> None:
        """Keeps them."""
        ...

    def forget(self, owner_id: str) -> int:
        """Deletes those of a verdict that came to nothing."""
        ...


@dataclass(frozen=True)
class Recorded:
    """A verdict that is on the ledger now."""

    call_id: str
    entry: StoredEntry


def rule(store: CallStore, openings: KeepsOpenings, call_id: str, ruling: Ruling) -> OpenReview:
    """Keeps a verdict on an open case and returns the case; the first verdict stands.

    Raises:
        UsageError: there is no such open case, or the ruling cannot stand; the message says what to do instead.
    """
    found = store.review(call_id)
    if found is None or found.state != "waiting":
        done = "was ruled on already" if found else "is not in the review queue"
        raise UsageError(f"The call {call_id[:40]!r} {done}; `agent-host review list` shows what waits.")
    if fault := _fault(found, ruling):
        raise UsageError(fault)
    if found.ruling is not None:  # a verdict that the writer refused: its openings open nothing
        openings.forget(str(found.ruling["reviewId"]))
    ruling = replace(ruling, output=plain_copy(ruling.output) if ruling.verdict == "amended" else None)
    draft, proofs = _verdict_draft(call_id, ruling)
    openings.keep(*proofs)
    if not store.rule(call_id, ruling.verdict, draft, ruling.output):
        raise UsageError(f"The call {call_id} was ruled on just now by somebody else; that verdict stands.")
    return found


def _fault(found: OpenReview, ruling: Ruling) -> str | None:
    if found.case is not None:
        return ruling_fault(found.case, ruling)
    if ruling.verdict == "rejected":
        return words_fault(ruling)
    return (
        f"What was asked cannot be read any more ({found.problem}); reject it, or `agent-host forget {found.call_id}`."
    )


async def record_verdicts(store: CallStore, ledger: ReviewLedger) -> Sequence[Recorded]:
    """Records every verdict that is kept and not on the ledger yet, oldest first; returns what was recorded.

    One whose decision is not on the ledger yet is left for a later run. One that the writer refuses stops no other: its
    case waits again, with the writer's reason.

    Raises:
        WriterUnavailableError: the writer went away; what came before is recorded.
    """
    done = []
    for open_review in store.reviews("ruled"):
        call_id = open_review.call_id
        try:
            if open_review.ruling is None or (decision := await ledger.decision(call_id)) is None:
                continue
            named = {"decisionId": decision.id, "decisionHash": decision.hash}
            entry = await ledger.append(REVIEWS, {**open_review.ruling, **named})
        except (ReceiptRefusedError, UnicodeEncodeError) as error:  # the second: kept by a build that took any name
            store.refused(call_id, str(error))
            continue
        store.recorded(call_id, entry.id)
        done.append(Recorded(call_id, entry))
    return done


async def recorded_or_later(store: CallStore, ledger: ReviewLedger) -> tuple[Sequence[Recorded], str | None]:
    """Records verdicts as `record_verdicts` does; a writer that is away is a sentence, as nothing is lost by it."""
    try:
        return await record_verdicts(store, ledger), None
    except WriterUnavailableError as error:
        return (), f"{error} The verdict is kept, and the next `agent-host review` records it."


def _verdict_draft(call_id: str, ruling: Ruling) -> tuple[dict[str, JsonValue], tuple[Opening, ...]]:
    """Returns the L6 draft without the decision it will name, and the openings of its commitments."""
    review_id = new_review_id()
    output = commit(review_id, "outputHash", ruling.output) if ruling.verdict == "amended" else None
    comment = commit(review_id, "commentHash", ruling.comment) if ruling.comment else None
    draft: dict[str, JsonValue] = {
        "productId": PRODUCT_ID,
        "reviewId": review_id,
        "callId": call_id,
        "reviewer": ruling.reviewer,
        "verdict": ruling.verdict,
        "outputHash": output.digest if output else None,
        "commentHash": comment.digest if comment else None,
        "commitment": SCHEME,
    }
    return draft, tuple(one.opening for one in (output, comment) if one is not None)


def case_document(review: OpenReview) -> dict[str, JsonValue]:
    """Returns a case as plain JSON, for a screen or a script; what cannot be read is null. Pure."""
    case = review.case
    return {
        "call_id": review.call_id,
        "spec_id": case.spec.spec_id if case else None,
        "reason": case.reason if case else f"What was asked cannot be read any more: {review.problem}",
        "queued_at_ms": review.queued_at_ms,
        "state": review.state,
        "verdict": review.verdict,
        "refused": review.refused,
        "input": plain_copy(case.input) if case else None,
        "proposal": case.proposal if case else None,
        "default": case.spec.deterministic_default if case else None,
    }
