"""The reliability means of a constrained call, each shown; replay and watching have files of their own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_host.constrained import run_constrained_ai
from agent_host.constrained.breaker import Breakers
from agent_host.errors import (
    CallError,
    NoDecisionError,
    ProviderRefusedError,
    ProviderUnavailableError,
    ReceiptRefusedError,
)
from agent_host.identifiers import new_call_id
from agent_host.providers.protocol import Identity, ModelReply, ModelRequest, Usage
from agent_host.receipts.drafts import DecisionDraft
from agent_host.receipts.protocol import StoredEntry
from agent_host.receipts.spool import Spool
from tests.agent_host.constrained.parts import DEFAULT, GOOD, MESSAGE, Desk, spec
from tests.fakes.scripted_provider import IDENTITY, ScriptedProvider, says

AWAY = ProviderUnavailableError("Overloaded; try again.", Usage(5, 1))


# 1. Idempotency


async def test_the_same_call_id_gives_the_same_decision_and_asks_no_model_again(desk: Desk) -> None:
    call_id = new_call_id()
    model = ScriptedProvider(says(GOOD), says('{"mood": "sad", "note": ""}'))
    options = desk.options(model, call_id=call_id)

    first, again = [await run_constrained_ai(spec(), MESSAGE, options) for _ in range(2)]

    assert first == again
    assert len(model.requests) == len(desk.writer.decisions) == 1


async def test_the_same_call_id_holds_across_a_crash_before_the_entry_was_appended(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    class CrashError(BaseException):
        """The end of this process, as far as the call is concerned."""

    async def crash(_: object) -> None:
        raise CrashError

    call_id = new_call_id()
    monkeypatch.setattr(desk.writer, "append_decision", crash)
    with pytest.raises(CrashError):
        await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD, call_id=call_id))
    assert desk.writer.decisions == []

    restarted = Desk(desk.folder)
    decision = await run_constrained_ai(spec(), MESSAGE, restarted.saying(AWAY, call_id=call_id))
    assert (decision.output, decision.entry_id) == ({"mood": "glad", "note": "as it seems"}, 1)
    assert restarted.entry.call_id == call_id
    restarted.close()


async def test_a_call_id_under_a_spec_that_raises_raises_again(desk: Desk) -> None:
    strict = spec(fallback_behavior="raise", deterministic_default=None)
    options = desk.saying("no", "no", GOOD, call_id=new_call_id())
    for _ in range(2):
        with pytest.raises(NoDecisionError, match="not one JSON value"):
            await run_constrained_ai(strict, MESSAGE, options)
    assert desk.entry.exit_state == "fallback_schema"


async def test_a_call_id_whose_call_was_cancelled_stands_for_the_default(desk: Desk) -> None:
    call_id = new_call_id()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await run_constrained_ai(spec(), MESSAGE, desk.saying(asyncio.Event(), call_id=call_id))
    decision = await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD, call_id=call_id))
    assert (decision.output, decision.exit_state, decision.entry_id) == (DEFAULT, "failed_closed", 1)


async def test_a_kept_decision_that_requires_a_receipt_is_not_given_without_one(desk: Desk) -> None:
    strict, call_id = spec(require_receipt=True), new_call_id()
    await run_constrained_ai(strict, MESSAGE, desk.saying(GOOD, call_id=call_id))
    desk.writer.away = True
    closed = await run_constrained_ai(strict, MESSAGE, desk.saying(GOOD, call_id=call_id))
    assert (closed.output, closed.exit_state, len(desk.spool)) == (DEFAULT, "failed_closed", 0)
    desk.writer.away = False
    again = await run_constrained_ai(strict, MESSAGE, desk.saying(GOOD, call_id=call_id))
    assert (again.exit_state, again.entry_id, len(desk.writer.decisions)) == ("ok", 1, 1)


async def test_a_call_id_stands_for_one_input_and_one_spec(desk: Desk) -> None:
    call_id = new_call_id()
    await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD, call_id=call_id))
    for other, values in ((spec(), {"message": "else"}), (spec(max_latency_ms=7), MESSAGE)):
        with pytest.raises(CallError, match=f"{call_id} was used before with another input or spec"):
            await run_constrained_ai(other, values, desk.saying(GOOD, call_id=call_id))


# 2. A deadline over everything


async def test_a_model_that_hangs_is_given_up_at_the_deadline(desk: Desk) -> None:
    decision = await run_constrained_ai(spec(max_latency_ms=20), MESSAGE, desk.saying(asyncio.Event()))
    assert (decision.output, decision.exit_state) == (DEFAULT, "fallback_timeout")
    assert decision.reason == "The model gave no usable answer within 20 ms."


async def test_retries_and_the_repair_share_the_one_deadline(desk: Desk) -> None:
    async def for_ever(_: float) -> None:
        await asyncio.Event().wait()

    waiting = desk.saying(AWAY, GOOD, sleep=for_ever)
    repairing = desk.saying("no", asyncio.Event())
    for options in (waiting, repairing):
        decision = await run_constrained_ai(spec(max_latency_ms=20), MESSAGE, options)
        assert decision.exit_state == "fallback_timeout"


# 3. Bounded retry with jitter


async def test_a_provider_that_gives_no_answer_is_asked_again_after_a_drawn_wait(desk: Desk) -> None:
    desk.draws = [0.25]
    decision = await run_constrained_ai(spec(), MESSAGE, desk.saying(AWAY, AWAY, AWAY, GOOD, retries=3))

    assert decision.exit_state == "ok"
    assert desk.clock.waits == [0.05, 0.1, 0.2]  # a quarter of 0.2, 0.4, 0.8 s
    assert decision.latency_ms == 350
    assert desk.usage == Usage(12 + 3 * 5, 33 + 3)


async def test_waits_never_pass_their_bound(desk: Desk) -> None:
    desk.draws = [1.0]
    script = [AWAY] * 9
    await run_constrained_ai(spec(), MESSAGE, desk.saying(*script, retries=8, breakers=Breakers(failures=99)))
    assert desk.clock.waits == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]


async def test_retries_end_and_a_refusal_is_never_asked_again(desk: Desk) -> None:
    for line, requests in ((AWAY, 2), (ProviderRefusedError("No such model."), 1)):
        model = ScriptedProvider(line, line, says(GOOD))
        decision = await run_constrained_ai(spec(), MESSAGE, desk.options(model))
        assert (decision.exit_state, decision.reason) == ("fallback_provider", str(line))
        assert len(model.requests) == requests


# 4. A circuit breaker per provider


async def test_a_provider_that_fails_in_a_row_is_left_alone_until_it_has_cooled_down(desk: Desk) -> None:
    breakers = Breakers(failures=3, cool_down_ms=1000)
    model = ScriptedProvider(AWAY, AWAY, AWAY, says(GOOD))
    options = desk.options(model, breakers=breakers, retries=0)
    for _ in range(3):
        await run_constrained_ai(spec(), MESSAGE, options)

    spared = await run_constrained_ai(spec(), MESSAGE, options)
    assert (spared.exit_state, len(model.requests)) == ("fallback_provider", 3)
    assert spared.reason == "scripted failed too often just now and is left alone for up to 1 s."

    desk.clock.ms += 1000
    assert (await run_constrained_ai(spec(), MESSAGE, options)).exit_state == "ok"
    assert len(desk.writer.decisions) == 5  # also the one that asked nobody


def test_one_call_tries_after_the_cool_down_and_the_others_wait_for_it() -> None:
    breakers = Breakers(failures=1, cool_down_ms=100)
    breakers.failed(IDENTITY, 0)
    assert [breakers.allows(IDENTITY, now) for now in (99, 100, 101, 199, 200)] == [False, True, False, False, True]
    breakers.answered(IDENTITY)
    assert breakers.allows(IDENTITY, 201)


def test_one_providers_failures_do_not_close_another() -> None:
    breakers = Breakers(failures=1)
    breakers.failed(IDENTITY, 0)
    assert breakers.allows(Identity("anthropic", "claude-haiku-5-5", "5-5"), 1)


async def test_failures_that_are_not_in_a_row_open_no_circuit(desk: Desk) -> None:
    options = desk.saying(AWAY, GOOD, AWAY, GOOD, AWAY, GOOD, breakers=Breakers(failures=2), retries=0)
    states = [(await run_constrained_ai(spec(), MESSAGE, options)).exit_state for _ in range(6)]
    assert states == ["fallback_provider", "ok"] * 3


async def test_a_model_that_answers_nonsense_is_there_and_opens_no_circuit(desk: Desk) -> None:
    options = desk.saying(*["no"] * 8, breakers=Breakers(failures=1))
    states = [(await run_constrained_ai(spec(), MESSAGE, options)).exit_state for _ in range(4)]
    assert states == ["fallback_schema"] * 4


# 5. A deterministic fallback


async def test_the_fallback_is_the_same_value_whatever_went_wrong(desk: Desk) -> None:
    for line in (AWAY, "no", says("", "refusal")):
        decision = await run_constrained_ai(spec(), MESSAGE, desk.saying(line, line))
        assert decision.output == DEFAULT


# 6. A durable append


async def test_a_writer_that_is_away_costs_no_entry(desk: Desk) -> None:
    desk.writer.away = True
    decision = await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD))

    assert (decision.exit_state, decision.entry_id) == ("ok", None)
    (waiting,) = Spool(desk.folder / "spool.jsonl").drafts()
    assert getattr(waiting, "call_id", None) == decision.call_id


async def test_a_spec_that_requires_a_receipt_fails_closed_without_one(desk: Desk) -> None:
    desk.writer.away = True
    strict = spec(require_receipt=True)
    decision = await run_constrained_ai(strict, MESSAGE, desk.saying(GOOD))

    assert (decision.output, decision.exit_state) == (DEFAULT, "failed_closed")
    (waiting,) = desk.spool.drafts()
    assert getattr(waiting, "exit_state", None) == "failed_closed"  # what is signed later says what was returned


async def test_a_failed_closed_call_can_be_revealed_as_it_was_returned(desk: Desk) -> None:
    desk.writer.away = True
    decision = await run_constrained_ai(spec(require_receipt=True), MESSAGE, desk.saying(GOOD))
    opening = desk.openings.find(decision.call_id, "outputCanonicalHash")
    assert opening is not None
    assert opening.value == b'{"mood":"unknown","note":""}'


async def test_a_spec_that_requires_a_receipt_gets_one_from_a_writer_that_is_back(desk: Desk) -> None:
    desk.writer.away = True
    await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD))
    desk.writer.away = False
    decision = await run_constrained_ai(spec(require_receipt=True), MESSAGE, desk.saying(GOOD))

    assert (decision.exit_state, decision.entry_id) == ("ok", 2)  # after the one that waited
    assert len(desk.spool) == 0


async def test_a_refused_draft_fails_a_spec_closed_that_requires_a_receipt(desk: Desk) -> None:
    call_id = new_call_id()
    desk.writer.refuses.add(call_id)
    strict = spec(require_receipt=True, fallback_behavior="raise", deterministic_default=None)
    with pytest.raises(NoDecisionError) as caught:
        await run_constrained_ai(strict, MESSAGE, desk.saying(GOOD, call_id=call_id))
    assert caught.value.decision.exit_state == "failed_closed"
    assert not isinstance(caught.value, ReceiptRefusedError)


async def test_a_disk_that_refuses_even_the_spool_fails_closed_and_raises_nothing(desk: Desk, tmp_path: Path) -> None:
    desk.writer.away = True
    desk.spool._path = tmp_path / "none" / "spool.jsonl"
    decision = await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD))
    assert (decision.output, decision.exit_state, decision.entry_id) == (DEFAULT, "failed_closed", None)


async def test_a_call_cancelled_while_its_entry_is_written_has_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, go_on, append = asyncio.Event(), asyncio.Event(), desk.writer.append_decision

    async def slow(draft: DecisionDraft) -> StoredEntry:
        entered.set()
        await go_on.wait()
        return await append(draft)

    monkeypatch.setattr(desk.writer, "append_decision", slow)
    running = asyncio.create_task(run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD)))
    await entered.wait()
    running.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert desk.entry.exit_state == "ok"


async def test_a_callers_own_time_limit_is_a_time_limit_and_the_call_has_its_entry(desk: Desk) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await run_constrained_ai(spec(), MESSAGE, desk.saying(asyncio.Event()))
    assert desk.entry.exit_state == "failed_closed"


async def test_calls_at_the_same_time_leave_an_entry_each(desk: Desk) -> None:
    def answer(request: ModelRequest) -> ModelReply:
        return says(f'{{"mood": "glad", "note": "{len(str(request.messages))}"}}')

    options = desk.options(ScriptedProvider(answer))
    made = await asyncio.gather(*(run_constrained_ai(spec(), {"message": "x" * n}, options) for n in range(20)))
    assert len({decision.call_id for decision in made}) == len(desk.writer.decisions) == 20
