"""One call id used twice: at the same time, by two processes, after a person's verdict, and after it was forgotten."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from agent_host.constrained import CallOptions, Decision, Ruling, RuntimeAISpec, run_constrained_ai
from agent_host.constrained.drafter import ReplyDrafter
from agent_host.constrained.specs import reply_drafter
from agent_host.constrained.verdicts import rule
from agent_host.errors import CallError, NoDecisionError
from agent_host.identifiers import new_call_id
from agent_host.providers.protocol import JsonValue, ModelReply, ModelRequest, TextDelta, Usage
from agent_host.receipts.commitments import digest_of
from agent_host.tracing.events import ModelCalled
from tests.agent_host.constrained.parts import DEFAULT, GOOD, MESSAGE, Desk, spec
from tests.fakes.scripted_provider import ScriptedProvider, says

SAD = '{"mood": "sad", "note": ""}'
PROPOSED: JsonValue = {"mood": "glad", "note": "as it seems"}
AMENDED: JsonValue = {"mood": "sad", "note": "He was."}
ALWAYS = spec(reviewer_gate="always", fallback_behavior="queue-for-review")


async def test_two_calls_with_one_id_at_once_ask_one_model_and_get_one_decision(desk: Desk) -> None:
    model = ScriptedProvider(says(GOOD), says(SAD))
    options = desk.options(model, call_id=new_call_id())
    first, second = await asyncio.gather(*(run_constrained_ai(spec(), MESSAGE, options) for _ in range(2)))

    assert first == second
    assert len(model.requests) == len(desk.writer.decisions) == 1


async def test_two_calls_with_one_id_and_other_inputs_are_one_call_and_one_error(desk: Desk) -> None:
    options = desk.saying(GOOD, SAD, call_id=new_call_id())
    inputs = (MESSAGE, {"message": "else"})
    done = await asyncio.gather(
        *(run_constrained_ai(spec(), values, options) for values in inputs), return_exceptions=True
    )
    assert [type(one) for one in done] == [Decision, CallError]


async def test_what_another_process_kept_meanwhile_stands_and_what_was_paid_is_metered(desk: Desk) -> None:
    call_id, other = new_call_id(), Desk(desk.folder)
    metered: list[ModelCalled] = []
    is_asked, may_answer = asyncio.Event(), asyncio.Event()

    class Slow(ScriptedProvider):
        async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelReply]:
            self.requests.append(request)
            is_asked.set()
            await may_answer.wait()
            yield says(SAD)

    options = desk.options(Slow(), call_id=call_id, meter=lambda event, _: metered.append(event))
    late = asyncio.create_task(run_constrained_ai(spec(), MESSAGE, options))
    await is_asked.wait()
    theirs = replace(other.saying(GOOD, call_id=call_id), ledger=desk.ledger)
    first = await run_constrained_ai(spec(), MESSAGE, theirs)
    may_answer.set()
    second = await late

    assert (first.output, second) == (PROPOSED, first)
    opening = desk.openings.find(call_id, "outputCanonicalHash")
    assert opening is not None
    assert digest_of(opening) == desk.entry.output_canonical_hash
    assert [event.usage for event in metered] == [Usage(12, 33)]
    other.close()


async def queued(desk: Desk, made: RuntimeAISpec = ALWAYS) -> CallOptions:
    """Makes a call that waits for a person; returns the options that ask the same again, of a model that is gone."""
    call_id = new_call_id()
    waiting = await run_constrained_ai(made, MESSAGE, desk.saying(GOOD, call_id=call_id))
    assert (waiting.exit_state, waiting.output, waiting.awaits_review) == ("failed_closed", DEFAULT, True)
    return desk.saying(call_id=call_id)


@pytest.mark.parametrize(
    ("ruling", "state", "output"),
    [
        (Ruling("approved", "Ana"), "ok", PROPOSED),
        (Ruling("amended", "Ana", AMENDED), "ok_amended", AMENDED),
        (Ruling("rejected", "Ana"), "rejected_by_reviewer", DEFAULT),
    ],
)
async def test_a_later_verdict_reaches_whoever_asks_again(
    desk: Desk, ruling: Ruling, state: str, output: JsonValue
) -> None:
    options = await queued(desk)
    before = await run_constrained_ai(ALWAYS, MESSAGE, options)
    assert (before.awaits_review, before.output) == (True, DEFAULT)

    rule(desk.store, desk.openings, before.call_id, ruling)
    kept = await run_constrained_ai(ALWAYS, MESSAGE, options)
    desk.store.recorded(before.call_id, 7)
    again = await run_constrained_ai(ALWAYS, MESSAGE, options)

    assert (again.exit_state, again.output, again.verdict) == (state, output, ruling.verdict)
    assert (again.awaits_review, again.entry_id, again.review_entry_id) == (False, 1, 7)
    assert kept == replace(again, review_entry_id=None)
    assert len(desk.writer.decisions) == 1


async def test_where_a_receipt_is_required_a_verdict_counts_once_it_is_on_the_ledger(desk: Desk) -> None:
    strict = replace(ALWAYS, require_receipt=True)
    options = await queued(desk, strict)
    rule(desk.store, desk.openings, str(options.call_id), Ruling("approved", "Ana"))
    assert (await run_constrained_ai(strict, MESSAGE, options)).output == DEFAULT
    desk.store.recorded(str(options.call_id), 1)
    assert (await run_constrained_ai(strict, MESSAGE, options)).output == PROPOSED


async def test_a_spec_that_raises_gives_what_a_person_let_through_later(desk: Desk) -> None:
    raising = spec(reviewer_gate="always", fallback_behavior="raise", deterministic_default=None)
    options = desk.saying(GOOD, call_id=new_call_id())
    with pytest.raises(NoDecisionError):
        await run_constrained_ai(raising, MESSAGE, options)
    rule(desk.store, desk.openings, str(options.call_id), Ruling("approved", "Ana"))
    assert (await run_constrained_ai(raising, MESSAGE, options)).output == PROPOSED


async def test_an_approved_output_that_was_changed_in_the_file_is_not_let_through(desk: Desk) -> None:
    options = await queued(desk)
    rule(desk.store, desk.openings, str(options.call_id), Ruling("amended", "Ana", AMENDED))
    with closing(sqlite3.connect(desk.folder / "calls.db")) as other, other:
        other.execute("""UPDATE reviews SET output = '{"mood": "evil", "note": ""}'""")
    assert (await run_constrained_ai(ALWAYS, MESSAGE, options)).output == DEFAULT


async def test_a_kept_decision_that_cannot_be_read_is_the_callers_error_and_asks_no_model(desk: Desk) -> None:
    options = await queued(desk)
    with closing(sqlite3.connect(desk.folder / "calls.db")) as other, other:
        other.execute("""UPDATE calls SET decision = '{"of": "another build"}'""")
    with pytest.raises(CallError, match=r"It cannot be told whether c_.* was used before"):
        await run_constrained_ai(ALWAYS, MESSAGE, options)


async def test_a_call_id_that_was_forgotten_stands_for_nothing_else(desk: Desk) -> None:
    options = await queued(desk)
    assert desk.store.forget(str(options.call_id)) == 2
    with pytest.raises(CallError, match="was used before and forgotten; take a new call id"):
        await run_constrained_ai(ALWAYS, MESSAGE, options)
    assert desk.store.forget(str(options.call_id)) == 0


# What the caller passes in, and its faults


@pytest.mark.parametrize("broken", ["emit", "meter", "cost"])
async def test_whoever_watches_or_prices_a_call_cannot_lose_its_decision(desk: Desk, broken: str) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    told: list[ModelCalled] = []
    changes: dict[str, Any] = {"meter": lambda event, _: told.append(event), broken: fail}
    decision = await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD, **changes))

    assert (decision.exit_state, decision.entry_id) == ("ok", 1)
    assert len(desk.events) == (broken != "emit")
    assert len(told) == (broken != "meter")


async def test_a_call_that_dies_before_its_entry_is_in_the_usage_ledger_all_the_same(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    class CrashError(BaseException):
        """The end of this process, as far as the call is concerned."""

    async def crash(_: object) -> None:
        raise CrashError

    metered: list[Usage] = []
    options = desk.saying(GOOD, call_id=new_call_id(), meter=lambda event, _: metered.append(event.usage))
    monkeypatch.setattr(desk.writer, "append_decision", crash)
    with pytest.raises(CrashError):
        await run_constrained_ai(spec(), MESSAGE, options)
    monkeypatch.undo()
    await run_constrained_ai(spec(), MESSAGE, options)
    assert metered == [Usage(12, 33)]  # one paid call, one row


async def test_a_reply_whose_entry_finds_no_disk_is_in_the_usage_ledger_all_the_same(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    metered: list[Usage] = []
    monkeypatch.setattr(desk.ledger, "append_decision", full)
    provider = ScriptedProvider(says("Hello."))
    drafter = ReplyDrafter(
        provider,
        reply_drafter(provider.identity, 60_000),
        desk.ledger,
        desk.events.append,
        turn_id="t_1",
        now_ms=desk.clock.now_ms,
        cost=lambda _: 0,
        meter=lambda event, _: metered.append(event.usage),
    )
    with pytest.raises(OSError, match="No space left"):
        await drafter.reply(ModelRequest("", (), (), "auto", 100), "loop", lambda _: None)
    assert metered == [Usage(12, 33)]
