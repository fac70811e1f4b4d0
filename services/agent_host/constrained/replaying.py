"""A past decision, run again from its opening and compared (constrained-ai.md, recovery and replay).

The ledger says which spec and which commitments; the private openings say what was asked and answered; both have to
agree before anything is run. The new run is a model call like any other, so it leaves an entry of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeAlias

from agent_host.constrained.call import run_constrained_ai
from agent_host.constrained.options import CallOptions, ReviewCase, Ruling, Values
from agent_host.constrained.restating import restated
from agent_host.constrained.spec import RuntimeAISpec
from agent_host.constrained.specs import CODE_IDENTITY
from agent_host.constrained.store import CallStore
from agent_host.errors import NoDecisionError, UsageError
from agent_host.providers.protocol import JsonValue
from agent_host.receipts.commitments import Opening, canonical_bytes, digest_of
from agent_host.receipts.drafts import Verdict
from agent_host.receipts.protocol import StoredEntry

Code: TypeAlias = Callable[[Values], JsonValue]
_CODE: Final[Mapping[str, Code]] = {"restates": restated}
FIELDS: Final = ("inputHash", "outputCanonicalHash")


class FindsOpenings(Protocol):
    """Where openings are kept."""

    def find(self, owner_id: str, field: str) -> Opening | None:
        """Returns an opening, None when there is none or it was forgotten."""
        ...


@dataclass(frozen=True)
class Past:
    """A decision as the ledger and the openings have it, proven to be the same thing.

    Where the spec's default stood because a person was to look first, `case` is what he was shown.
    """

    entry_id: int
    call_id: str
    spec: RuntimeAISpec
    input: Mapping[str, JsonValue]
    output: JsonValue
    exit_state: str
    verdict: Verdict | None
    case: ReviewCase | None = None


@dataclass(frozen=True)
class Replayed:
    """A past decision and the one that the same call comes to now.

    `proposal` is what the model said now, where that was put before a reviewer and not let through.
    """

    past: Past
    exit_state: str
    output: JsonValue
    call_id: str
    proposal: JsonValue = None

    @property
    def same(self) -> bool | None:
        """Whether both ended alike and with the same output; None when there is nothing to compare.

        A default that stood in the place of an output says nothing of that: what a person was shown then is compared
        with what he would be shown now. All of it as canonical bytes.
        """
        if self.exit_state != self.past.exit_state or not _equal(self.output, self.past.output):
            return False
        if self.past.case is not None:
            return _equal(self.proposal, self.past.case.proposal)
        return None if self.past.exit_state == "failed_closed" else True


def _equal(one: JsonValue, other: JsonValue) -> bool:
    return canonical_bytes(one) == canonical_bytes(other)


def past_decision(entry: StoredEntry, openings: FindsOpenings, store: CallStore) -> Past:
    """Returns what an L12 entry says together with what its openings hold.

    Raises:
        UsageError: an opening was forgotten or is not the entry's, or this host never kept the spec.
    """
    body = json.loads(entry.line)
    call_id = str(body["callId"])
    values = {}
    for field in FIELDS:
        opening = openings.find(call_id, field)
        if opening is None:
            raise UsageError(f"The call {call_id} was forgotten, or made by another host: its {field} has no opening.")
        if digest_of(opening) != body[field]:
            raise UsageError(
                f"The opening of {call_id} does not open the {field} of entry {entry.id}; do not trust it."
            )
        values[field] = json.loads(opening.value)
    spec = store.spec(str(body["specHash"]))
    if spec is None:
        raise UsageError(
            f"The call {call_id} was made under {body['specId']}, which cannot be run again here: "
            "calls of the loop act through tools, and this host keeps no such spec."
        )
    review = store.review(call_id)
    return Past(
        entry.id,
        call_id,
        spec,
        values["inputHash"],
        values["outputCanonicalHash"],
        body["exitState"],
        body["reviewerVerdict"],
        review.case if review else None,
    )


async def replay(past: Past, options: CallOptions) -> Replayed:
    """Runs a past decision again under the spec it was made under; a reviewer's verdict is given again as it was.

    Raises:
        CallError: the model that is set up now is not the one of the spec.
    """
    shown: list[JsonValue] = []

    async def as_before(case: ReviewCase) -> Ruling | None:
        shown.append(case.proposal)
        if past.verdict is None:
            return None  # nobody ruled at once, so nobody does now
        return Ruling(past.verdict, "replay", past.output if past.verdict == "amended" else None)

    options = replace(options, store=None, call_id=None, turn_id=None, reviewer=as_before)
    if (code := code_of(past.spec)) is not None:
        options = replace(options, provider=None, code=code)
    try:
        now = await run_constrained_ai(past.spec, past.input, options)
    except NoDecisionError as error:
        now = error.decision
    return Replayed(past, now.exit_state, now.output, now.call_id, *shown)


def code_of(spec: RuntimeAISpec) -> Code | None:
    """Returns the code that answers a spec of this product in a model's place, None when a model does."""
    return _CODE.get(spec.spec_id) if spec.model_identity == CODE_IDENTITY else None
