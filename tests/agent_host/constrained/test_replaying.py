"""A past decision run again from its opening; and what stops that: a forgotten, a wrong or a missing part."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest

from agent_host.constrained import Ruling, run_constrained_ai, shipped_spec
from agent_host.constrained.options import ReviewCase
from agent_host.constrained.replaying import Past, code_of, past_decision, replay
from agent_host.constrained.restating import restated
from agent_host.constrained.specs import CODE_IDENTITY
from agent_host.constrained.verdicts import rule
from agent_host.errors import CallError, UsageError
from agent_host.providers.protocol import Identity, JsonValue
from agent_host.receipts.commitments import commit
from agent_host.receipts.protocol import StoredEntry
from tests.agent_host.constrained.parts import GOOD, MESSAGE, UNSURE, Desk, spec, sure_spec
from tests.fakes.scripted_provider import ScriptedProvider, says

OTHER = '{"mood": "sad", "note": "as it seems"}'


def stored(desk: Desk, number: int = -1) -> StoredEntry:
    """The ledger's line of a decision, as far as a replay reads it."""
    draft = desk.writer.decisions[number]
    body: dict[str, Any] = {
        "callId": draft.call_id,
        "specId": draft.spec_id,
        "specHash": draft.spec_hash,
        "inputHash": draft.input_hash,
        "outputCanonicalHash": draft.output_canonical_hash,
        "exitState": draft.exit_state,
        "reviewerVerdict": draft.reviewer_verdict,
    }
    return StoredEntry(1, "d" * 64, 0, json.dumps(body))


def past(desk: Desk) -> Past:
    return past_decision(stored(desk), desk.openings, desk.store)


async def test_the_same_answer_again_is_the_same_decision_and_has_an_entry_of_its_own(desk: Desk) -> None:
    first = await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD, turn_id="t_1"))
    done = await replay(past(desk), desk.saying(GOOD))

    assert done.same
    assert (done.past.call_id, done.past.input, done.output) == (first.call_id, MESSAGE, first.output)
    assert done.call_id != first.call_id
    assert [draft.turn_id for draft in desk.writer.decisions] == ["t_1", None]


async def test_another_answer_or_another_ending_is_seen(desk: Desk) -> None:
    await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD))
    was = past(desk)
    assert not (await replay(was, desk.saying(OTHER))).same
    failed = await replay(was, desk.saying("no", "no"))
    assert (failed.same, failed.exit_state) == (False, "fallback_schema")


async def test_a_fallback_is_the_same_when_it_happens_again(desk: Desk) -> None:
    await run_constrained_ai(spec(), MESSAGE, desk.saying("no", "no"))
    assert (await replay(past(desk), desk.saying("no", "no"))).same


async def test_a_reviewers_verdict_is_given_again_as_it_was(desk: Desk) -> None:
    amended: JsonValue = {"mood": "sad", "note": "", "confidence": 1}

    async def reviewer(_: ReviewCase) -> Ruling:
        return Ruling("amended", "Ana", amended)

    await run_constrained_ai(sure_spec(), MESSAGE, desk.saying(UNSURE, reviewer=reviewer))
    done = await replay(past(desk), desk.saying(UNSURE))
    assert (done.same, done.exit_state, done.output) == (True, "ok_amended", amended)


@pytest.mark.parametrize(("said_now", "same"), [(UNSURE, True), (UNSURE.replace("glad", "sad"), False)])
@pytest.mark.parametrize("ruling", [None, Ruling("approved", "Ana"), Ruling("rejected", "Ana")])
async def test_of_a_case_for_the_queue_what_the_model_said_is_compared(
    desk: Desk, said_now: str, same: bool, ruling: Ruling | None
) -> None:
    decision = await run_constrained_ai(sure_spec(), MESSAGE, desk.saying(UNSURE))
    if ruling is not None:
        rule(desk.store, desk.openings, decision.call_id, ruling)
    done = await replay(past(desk), desk.saying(said_now))
    assert (done.same, done.output, done.proposal) == (same, decision.output, json.loads(said_now))
    assert len(desk.store.reviews("waiting", "ruled")) == 1  # no second case


async def test_a_default_that_stood_for_nobody_knows_what_is_not_compared(desk: Desk) -> None:
    await run_constrained_ai(sure_spec(), MESSAGE, desk.saying(UNSURE, store=None))
    desk.store.keep_spec(sure_spec())
    assert (await replay(past(desk), desk.saying(UNSURE))).same is None


async def test_a_case_of_a_failed_model_is_the_same_when_it_fails_again(desk: Desk) -> None:
    queueing = spec(fallback_behavior="queue-for-review")
    await run_constrained_ai(queueing, MESSAGE, desk.saying("no", "no"))
    was = past(desk)
    assert (await replay(was, desk.saying("no", "no"))).same
    assert not (await replay(was, desk.saying(GOOD))).same


def test_only_the_spec_that_code_answers_is_replayed_by_it() -> None:
    assert code_of(shipped_spec("restates", CODE_IDENTITY)) is restated
    assert code_of(spec(model_identity=CODE_IDENTITY)) is None


async def test_a_decision_of_code_is_replayed_by_the_code(desk: Desk) -> None:
    values: dict[str, JsonValue] = {
        "facts": [{"number": 1, "content": "Ana was born in 1990."}],
        "read": ["Ana was born in 1990."],
    }
    made = shipped_spec("restates", CODE_IDENTITY)
    first = await run_constrained_ai(made, values, desk.options(None, code=restated))
    assert first.output == {"dropped": [1]}
    assert (await replay(past(desk), desk.options(ScriptedProvider()))).same


async def test_a_spec_that_raises_is_replayed_to_its_end_too(desk: Desk) -> None:
    strict = spec(fallback_behavior="raise", deterministic_default=None)
    await run_constrained_ai(strict, MESSAGE, desk.saying(GOOD))
    done = await replay(past(desk), desk.saying(says("", "refusal")))
    assert (done.same, done.exit_state, done.output) == (False, "fallback_provider", None)


async def test_what_was_forgotten_cannot_be_replayed(desk: Desk) -> None:
    decision = await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD))
    assert desk.openings.forget(decision.call_id) == 2
    with pytest.raises(UsageError, match=f"The call {decision.call_id} was forgotten"):
        past(desk)


async def test_an_opening_that_does_not_open_the_entry_is_not_run(desk: Desk) -> None:
    await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD))
    with sqlite3.connect(desk.folder / "openings.db") as other:
        other.execute("UPDATE openings SET key = zeroblob(32) WHERE field = 'inputHash'")
    with pytest.raises(UsageError, match="does not open the inputHash of entry 1; do not trust it"):
        past(desk)


async def test_a_call_under_a_spec_that_was_never_kept_says_so(desk: Desk) -> None:
    await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD, store=None))
    with pytest.raises(UsageError, match="was made under mood-reader, which cannot be run again here"):
        past(desk)


async def test_another_model_than_the_specs_is_not_asked(desk: Desk) -> None:
    class Another(ScriptedProvider):
        @property
        def identity(self) -> Identity:
            return Identity("mock", "another", "1")

    await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD))
    with pytest.raises(CallError, match="is for mock/scripted"):
        await replay(past(desk), desk.options(Another(says(GOOD))))


def test_a_verdict_that_waits_outlives_what_it_was_about(desk: Desk) -> None:
    desk.store.queue(ReviewCase("c_1", sure_spec(), {"message": "quagga stripes"}, None, "why"), 0)
    desk.store.rule("c_1", "rejected", {"reviewId": "r_1"})
    assert desk.store.forget("c_1") == 1
    (kept,) = desk.store.reviews("ruled")
    assert kept.case is not None
    assert (dict(kept.case.input), kept.ruling) == ({}, {"reviewId": "r_1"})


def test_nothing_of_what_was_forgotten_is_left_in_the_files(desk: Desk) -> None:
    case = ReviewCase("c_1", sure_spec(), {"message": "quagga stripes"}, None, "why")
    desk.store.queue(case, 0)
    assert desk.store.forget("c_1") == 1
    left = b"".join(path.read_bytes() for path in desk.folder.glob("calls.db*"))
    assert b"quagga" not in left


def test_nothing_of_a_forgotten_key_is_left_in_the_files(desk: Desk) -> None:
    opening = commit("c_1", "inputHash", {"message": "quagga stripes"}).opening
    desk.openings.keep(opening)
    assert desk.openings.forget("c_1") == 1
    left = b"".join(path.read_bytes() for path in desk.folder.glob("openings.db*"))
    assert opening.key not in left
