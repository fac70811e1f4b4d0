"""Reviewers who answer now, the queue for those who answer later, and the L6 entry of a later verdict."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from agent_host.constrained import CallOptions, Decision, ReviewCase, Ruling, run_constrained_ai
from agent_host.constrained.options import Reviewer
from agent_host.constrained.reviewing import ask_reviewer
from agent_host.constrained.store import CallStore
from agent_host.constrained.verdicts import record_verdicts, rule
from agent_host.errors import NoDecisionError, ProviderUnavailableError, UsageError, WriterUnavailableError
from agent_host.providers.protocol import JsonValue
from agent_host.receipts.client import REVIEWS, ReceiptClient
from agent_host.receipts.commitments import digest_of
from agent_host.receipts.drafts import Verdict
from agent_host.receipts.log import ReceiptLog
from agent_host.receipts.spool import Spool
from tests.agent_host.constrained.parts import (
    DEFAULT,
    MESSAGE,
    SURE,
    SURE_DEFAULT,
    UNSURE,
    Desk,
    spec,
    sure_spec,
)
from tests.receipt_writer.parts import running, verified

AMENDED: JsonValue = {"mood": "sad", "note": "", "confidence": 9900}


def ruling(verdict: Any, output: Any = None) -> tuple[Reviewer, list[ReviewCase]]:
    """A reviewer who always says the same, and the cases he was asked about."""
    asked: list[ReviewCase] = []

    async def review(case: ReviewCase) -> Ruling:
        asked.append(case)
        return Ruling(verdict, "Ana", output)

    return review, asked


async def decided(desk: Desk, said: str = UNSURE, **options: Any) -> Decision:
    return await run_constrained_ai(sure_spec(), MESSAGE, desk.saying(said, **options))


async def test_a_confident_output_needs_nobody(desk: Desk) -> None:
    reviewer, asked = ruling("rejected")
    assert (await decided(desk, SURE, reviewer=reviewer)).exit_state == "ok"
    assert asked == []


@pytest.mark.parametrize(
    ("verdict", "output", "state", "result"),
    [
        ("approved", None, "ok", json.loads(UNSURE)),
        ("amended", AMENDED, "ok_amended", AMENDED),
        ("rejected", None, "rejected_by_reviewer", SURE_DEFAULT),
    ],
)
async def test_a_reviewer_who_answers_now_decides(
    desk: Desk, verdict: str, output: Any, state: str, result: Any
) -> None:
    reviewer, asked = ruling(verdict, output)
    decision = await decided(desk, reviewer=reviewer)

    assert (decision.exit_state, decision.output, decision.verdict) == (state, result, verdict)
    assert (desk.entry.reviewer_verdict, desk.entry.schema_valid) == (verdict, True)
    assert desk.entry.fallback_triggered is (verdict == "rejected")
    (case,) = asked
    assert (case.call_id, case.input, case.proposal) == (decision.call_id, MESSAGE, json.loads(UNSURE))
    assert case.reason == "The model's confidence is 1200 of 10000, below 6000."


async def test_a_gate_that_is_always_closed_asks_about_every_output(desk: Desk) -> None:
    reviewer, asked = ruling("approved")
    always = spec(reviewer_gate="always")
    said = '{"mood": "glad", "note": ""}'
    assert (await run_constrained_ai(always, MESSAGE, desk.saying(said, reviewer=reviewer))).exit_state == "ok"
    assert [case.reason for case in asked] == ["Every decision under this spec is reviewed."]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (Ruling("amended", "Ana", {"mood": "furious"}), "The amended output does not satisfy the output_schema of"),
        (Ruling(cast("Verdict", "aproved"), "Ana"), "A verdict is one of approved, rejected, amended."),
        ("approved", "A reviewer gives a Ruling, and this one gave a str."),
        (Ruling("approved", ""), "A reviewer has a name of 1 to 200 printable characters"),
        (Ruling("approved", "ev\x1b[31mil\nx"), "printable characters"),
        (Ruling("approved", "b\udcff"), "printable characters"),
        (Ruling("approved", "x" * 201), "printable characters"),
        (None, "The reviewer left it to the queue."),
    ],
)
async def test_what_is_no_ruling_lets_nothing_through_and_leaves_the_case_to_the_queue(
    desk: Desk, given: Any, why: str
) -> None:
    async def review(_: ReviewCase) -> Any:
        return given

    decision = await decided(desk, reviewer=review)
    assert (decision.output, decision.exit_state, decision.verdict) == (SURE_DEFAULT, "failed_closed", None)
    assert why in decision.reason
    assert (decision.awaits_review, desk.entry.reviewer_verdict) == (True, None)  # he never gave that verdict


async def test_what_a_reviewer_changes_in_his_case_changes_no_output_and_no_commitment(desk: Desk) -> None:
    async def review(case: ReviewCase) -> Ruling:
        case.proposal["mood"] = "evil"  # type: ignore[index]  # a careless reviewer
        case.input["message"] = "changed"  # type: ignore[index]
        case.spec.output_schema["properties"]["mood"]["enum"].append("evil")  # type: ignore[index,union-attr,call-overload]
        return Ruling("approved", "Ana")

    decision = await decided(desk, reviewer=review)
    assert (decision.exit_state, decision.output) == ("ok", json.loads(UNSURE))
    asked = desk.openings.find(decision.call_id, "inputHash")
    assert asked is not None
    assert json.loads(asked.value) == MESSAGE


async def test_an_amended_output_is_no_longer_its_reviewers(desk: Desk) -> None:
    mine: dict[str, JsonValue] = {"mood": "sad", "note": "", "confidence": 9900}
    decision = await decided(desk, reviewer=ruling("amended", mine)[0])
    mine["mood"] = "evil"
    assert decision.output == AMENDED


async def test_without_a_reviewer_the_case_is_queued_and_the_default_stands_meanwhile(desk: Desk) -> None:
    decision = await decided(desk)

    assert (decision.output, decision.exit_state) == (SURE_DEFAULT, "failed_closed")
    assert (decision.awaits_review, desk.entry.reviewer_verdict) == (True, None)
    (waiting,) = Desk(desk.folder).store.reviews("waiting")  # another process sees it
    assert waiting.case is not None
    assert (waiting.call_id, waiting.case.proposal) == (decision.call_id, json.loads(UNSURE))
    assert waiting.case.spec == sure_spec()


async def test_a_reviewer_who_is_late_is_not_waited_for() -> None:
    async def late(_: ReviewCase) -> Ruling:
        await asyncio.Event().wait()
        raise AssertionError

    case = ReviewCase("c_1", sure_spec(), MESSAGE, json.loads(UNSURE), "why")
    said = await ask_reviewer(late, case, asyncio.get_running_loop().time())
    assert said == "The reviewer did not answer in time."


async def test_a_reviewer_who_fails_leaves_the_case_to_the_queue(desk: Desk) -> None:
    async def broken(_: ReviewCase) -> Ruling:
        raise ZeroDivisionError

    decision = await decided(desk, reviewer=broken)
    assert (decision.exit_state, decision.awaits_review) == ("failed_closed", True)
    assert len(desk.store.reviews("waiting")) == 1


async def test_without_reviewer_and_queue_an_unsure_output_is_still_not_let_through(desk: Desk) -> None:
    decision = await decided(desk, store=None)
    assert (decision.output, decision.awaits_review) == (SURE_DEFAULT, False)


async def test_a_failed_model_is_queued_where_the_spec_says_so(desk: Desk) -> None:
    queueing = spec(fallback_behavior="queue-for-review")
    down = ProviderUnavailableError("Overloaded.")
    decision = await run_constrained_ai(queueing, MESSAGE, desk.saying(down, down))

    assert (decision.output, decision.exit_state, decision.awaits_review) == (DEFAULT, "fallback_provider", True)
    with pytest.raises(UsageError, match="There is no output to approve; amend it or reject it"):
        rule(desk.store, desk.openings, decision.call_id, Ruling("approved", "Ana"))


async def test_a_spec_that_raises_raises_when_its_reviewer_rejects(desk: Desk) -> None:
    reviewer, _ = ruling("rejected")
    strict = sure_spec(fallback_behavior="raise", deterministic_default=None)
    with pytest.raises(NoDecisionError) as caught:
        await run_constrained_ai(strict, MESSAGE, desk.saying(UNSURE, reviewer=reviewer))
    assert caught.value.decision.exit_state == "rejected_by_reviewer"


# The later verdict, over a real writer


@pytest.fixture
def ledger_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rw-") as folder:
        yield Path(folder)


@pytest_asyncio.fixture
async def client(ledger_folder: Path) -> AsyncIterator[ReceiptClient]:
    async with running(ledger_folder) as one:
        made = ReceiptClient(one.target)
        yield made
        await made.close()


def over(desk: Desk, client: ReceiptClient, options: CallOptions) -> CallOptions:
    async def ensure() -> None:
        return

    return replace(options, ledger=ReceiptLog(client, Spool(desk.folder / "real.jsonl"), desk.openings, ensure))


async def test_a_later_verdict_is_one_signed_entry_that_names_the_decision(
    desk: Desk, ledger_folder: Path, client: ReceiptClient
) -> None:
    decision = await run_constrained_ai(sure_spec(), MESSAGE, over(desk, client, desk.saying(UNSURE)))
    rule(desk.store, desk.openings, decision.call_id, Ruling("amended", "Ana", AMENDED, "He was sad."))
    (done,) = await record_verdicts(desk.store, client)
    assert await record_verdicts(desk.store, client) == []

    (entry,) = verified(ledger_folder, "L6")
    (about,) = verified(ledger_folder, "L12")
    assert entry.line.decode() == done.entry.line
    fields = entry.fields
    assert (fields["decisionId"], fields["decisionHash"], fields["callId"]) == (about.id, about.hash, decision.call_id)
    assert (fields["verdict"], fields["reviewer"]) == ("amended", "Ana")
    assert b"sad" not in entry.line
    opened = {one.field: (digest_of(one), one.value) for one in desk.openings.of(str(fields["reviewId"]))}
    assert opened["outputHash"] == (fields["outputHash"], b'{"confidence":9900,"mood":"sad","note":""}')
    assert opened["commentHash"] == (fields["commentHash"], b'"He was sad."')


async def test_a_verdict_waits_for_its_decision_and_for_the_writer(desk: Desk, client: ReceiptClient) -> None:
    decision = await decided(desk)  # its entry is not on this writer
    rule(desk.store, desk.openings, decision.call_id, Ruling("rejected", "Ana"))
    assert await record_verdicts(desk.store, client) == []
    away = ReceiptClient(f"unix:{desk.folder}/nobody.sock", timeout_s=0.2)
    with pytest.raises(WriterUnavailableError):
        await record_verdicts(desk.store, away)
    await away.close()

    await client.append_decision(desk.entry)
    (done,) = await record_verdicts(desk.store, client)
    assert done.call_id == decision.call_id
    assert [entry.id async for entry in client.entries(REVIEWS)] == [1]


async def test_a_verdict_whose_answer_was_lost_is_recorded_once(desk: Desk, client: ReceiptClient) -> None:
    decision = await run_constrained_ai(sure_spec(), MESSAGE, over(desk, client, desk.saying(UNSURE)))
    case = rule(desk.store, desk.openings, decision.call_id, Ruling("approved", "Ana"))
    kept = desk.store.review(decision.call_id)
    entry = await client.decision(decision.call_id)
    assert case.state == "waiting"
    assert kept is not None
    assert kept.ruling is not None
    assert entry is not None
    await client.append(REVIEWS, {**kept.ruling, "decisionId": entry.id, "decisionHash": entry.hash})  # then a crash

    (done,) = await record_verdicts(desk.store, client)
    assert done.entry.id == 1
    assert [one.id async for one in client.entries(REVIEWS)] == [1]


async def test_the_first_verdict_stands_and_an_unknown_call_has_none(desk: Desk) -> None:
    decision = await decided(desk)
    rule(desk.store, desk.openings, decision.call_id, Ruling("rejected", "Ana"))
    with pytest.raises(UsageError, match="was ruled on already"):
        rule(desk.store, desk.openings, decision.call_id, Ruling("approved", "Bea"))
    with pytest.raises(UsageError, match="'c_none' is not in the review queue; `agent-host review list`"):
        rule(desk.store, desk.openings, "c_none", Ruling("approved", "Bea"))
    kept = desk.store.review(decision.call_id)
    assert kept is not None
    assert kept.verdict == "rejected"


async def test_a_queue_of_an_earlier_build_opens_as_it_is(desk: Desk) -> None:
    decision = await decided(desk)
    with closing(sqlite3.connect(desk.folder / "calls.db")) as other, other:
        for column in ("output", "refused", "entry_id"):
            other.execute(f"ALTER TABLE reviews DROP COLUMN {column}")
    later = CallStore(desk.folder / "calls.db")
    rule(later, desk.openings, decision.call_id, Ruling("amended", "Ana", AMENDED))
    kept = later.review(decision.call_id)
    assert kept is not None
    assert (kept.state, kept.output, kept.refused, kept.entry_id) == ("ruled", AMENDED, None, None)
    later.close()
