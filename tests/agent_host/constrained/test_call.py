"""`run_constrained_ai` from end to end, over a scripted model and an in-memory writer."""

from __future__ import annotations

import asyncio
import json
from enum import IntEnum
from types import MappingProxyType
from typing import Any, get_args

import pytest

from agent_host.constrained import RuntimeAISpec, run_constrained_ai
from agent_host.constrained.options import Values
from agent_host.errors import CallError, NoDecisionError, ProviderRefusedError, ProviderUnavailableError
from agent_host.identifiers import new_call_id
from agent_host.providers.protocol import Identity, JsonValue, ModelReply, ModelRequest, Text, Usage
from agent_host.tracing.events import ExitState, ModelCalled
from tests.agent_host.constrained.parts import DEFAULT, GOOD, MESSAGE, Desk, spec
from tests.fakes.scripted_provider import IDENTITY, Line, ScriptedProvider, says

REFUSED = ProviderRefusedError("The key is not accepted.")
AWAY = ProviderUnavailableError("Overloaded.", Usage(5, 1))


async def test_a_valid_output_is_the_decision_and_leaves_one_entry(desk: Desk) -> None:
    decision = await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD, turn_id="t_1"))

    assert decision.output == {"mood": "glad", "note": "as it seems"}
    assert (decision.exit_state, decision.entry_id, decision.reason) == ("ok", 1, "")
    entry = desk.entry
    assert (entry.call_id, entry.turn_id, entry.exit_state) == (decision.call_id, "t_1", "ok")
    assert (entry.schema_valid, entry.fallback_triggered, entry.reviewer_verdict) == (True, False, None)
    assert entry.spec_hash == spec().spec_hash == decision.spec_hash


async def test_the_entry_holds_no_word_of_input_or_output_and_the_openings_do(desk: Desk) -> None:
    decision = await run_constrained_ai(spec(), MESSAGE, desk.saying('{"mood": "sad", "note": "stripes"}'))

    assert "zebra" not in repr(desk.entry)
    assert "stripes" not in repr(desk.entry)
    said = desk.openings.find(decision.call_id, "outputCanonicalHash")
    asked = desk.openings.find(decision.call_id, "inputHash")
    assert said is not None
    assert asked is not None
    assert (json.loads(asked.value), json.loads(said.value)) == (MESSAGE, decision.output)


async def test_the_entry_is_durable_before_the_decision_is_returned(desk: Desk) -> None:
    order: list[str] = []
    decision = await run_constrained_ai(
        spec(), MESSAGE, desk.saying(GOOD, emit=lambda _: order.append(f"{len(desk.writer.decisions)} recorded"))
    )
    assert order == ["1 recorded"]
    assert decision.entry_id == 1


async def test_the_model_is_given_the_schema_the_input_as_data_and_no_tools(desk: Desk) -> None:
    model = ScriptedProvider(says(GOOD))
    await run_constrained_ai(spec(), {"message": 'say "{{lines}}"', "lines": 3}, desk.options(model))

    (request,) = model.requests
    assert request.output_schema == spec().output_schema
    assert (request.tools, request.tool_choice) == ((), "none")
    assert request.messages[0].blocks == (Text('Message: "say \\"{{lines}}\\""'),)
    assert request.system.startswith("You read moods.")
    assert '"enum":["glad","sad","unknown"]' in request.system


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({}, "lacks the field 'message'"),
        ({"message": 3}, "/message is no string"),
        ({"message": "hi", "more": 1}, "extra field 'more'"),
        ({"message": "x" * 2001}, "2001 characters"),
        ("words", "the value is no object"),
        (None, "the value is null"),
        ({"message": object()}, "/message is no string"),
    ],
)
async def test_a_bad_input_is_the_callers_error_before_any_call_and_entry(desk: Desk, values: object, why: str) -> None:
    model = ScriptedProvider(says(GOOD))
    with pytest.raises(CallError, match=why):
        await run_constrained_ai(spec(), values, desk.options(model))  # type: ignore[arg-type]
    assert (model.requests, desk.writer.decisions) == ([], [])


async def test_options_that_do_not_fit_are_the_callers_error(desk: Desk) -> None:
    other = spec(model_identity=Identity("anthropic", "claude-haiku-5-5", "5-5"))
    with pytest.raises(CallError, match=r"is for anthropic/claude-haiku-5-5 .*the provider is mock/scripted"):
        await run_constrained_ai(other, MESSAGE, desk.saying(GOOD))
    with pytest.raises(CallError, match="either a provider or code"):
        await run_constrained_ai(spec(), MESSAGE, desk.options(None))
    with pytest.raises(CallError, match="call_id must be c_ and a ULID"):
        await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD, call_id="mine"))
    assert desk.writer.decisions == []


async def test_an_invalid_output_is_asked_for_once_more_with_what_was_wrong(desk: Desk) -> None:
    model = ScriptedProvider(says('{"mood": "furious", "note": ""}'), says(GOOD))
    decision = await run_constrained_ai(spec(), MESSAGE, desk.options(model))

    assert decision.exit_state == "ok"
    refused, told = model.requests[1].messages[1:]
    assert refused.blocks == (Text('{"mood": "furious", "note": ""}'),)
    assert told.blocks == (
        Text(
            "That answer cannot be used: /mood is none of its closed list of words. "
            "Answer again with the JSON value alone."
        ),
    )
    assert desk.usage == Usage(24, 66)  # both attempts are paid for


async def test_a_second_invalid_output_is_the_default(desk: Desk) -> None:
    model = ScriptedProvider(says("no"), says("no"), says(GOOD))
    decision = await run_constrained_ai(spec(), MESSAGE, desk.options(model))

    assert (decision.output, decision.exit_state) == (DEFAULT, "fallback_schema")
    assert decision.reason == "The model's output was refused: the output is not one JSON value."
    assert len(model.requests) == 2
    assert (desk.entry.schema_valid, desk.entry.fallback_triggered) == (False, True)


async def test_a_spec_that_goes_straight_to_its_default_asks_once(desk: Desk) -> None:
    model = ScriptedProvider(says("no"), says(GOOD))
    quick = spec(fallback_behavior="deterministic-default")

    assert (await run_constrained_ai(quick, MESSAGE, desk.options(model))).exit_state == "fallback_schema"
    assert len(model.requests) == 1


async def test_a_repair_sends_no_long_or_empty_answer_back(desk: Desk) -> None:
    for said in ("", "x" * 5_000):
        model = ScriptedProvider(says(said), says(GOOD))
        await run_constrained_ai(spec(), MESSAGE, desk.options(model))
        (row,) = model.requests[1].messages
        assert [block.text[:11] for block in row.blocks if isinstance(block, Text)] == ['Message: "z', "That answer"]


@pytest.mark.parametrize(
    ("line", "state"),
    [
        (REFUSED, "fallback_provider"),
        (says("", "refusal"), "fallback_provider"),
        (says("", "context_full"), "fallback_provider"),
        (says(GOOD, "max_tokens"), "fallback_schema"),
        (says("[]"), "fallback_schema"),
    ],
)
async def test_a_model_that_gives_nothing_usable_leaves_the_default_and_a_reason(
    desk: Desk, line: ModelReply | ProviderRefusedError, state: str
) -> None:
    quick = spec(fallback_behavior="deterministic-default")
    decision = await run_constrained_ai(quick, MESSAGE, desk.saying(line))

    assert (decision.output, decision.exit_state, decision.is_models) == (DEFAULT, state, False)
    assert decision.reason.endswith(".")
    assert desk.entry.exit_state == state


async def test_a_fault_of_a_providers_code_is_a_fallback_and_no_exception(desk: Desk) -> None:
    def crash(_: ModelRequest) -> ModelReply:
        raise ZeroDivisionError

    decision = await run_constrained_ai(spec(), MESSAGE, desk.saying(crash))
    assert decision.exit_state == "fallback_provider"
    assert decision.reason == "An error of this program ended the call (ZeroDivisionError)."


async def test_a_spec_that_says_raise_raises_after_its_entry(desk: Desk) -> None:
    strict = spec(fallback_behavior="raise", deterministic_default=None)
    with pytest.raises(NoDecisionError, match="No usable decision under mood-reader") as caught:
        await run_constrained_ai(strict, MESSAGE, desk.saying(REFUSED))

    assert (caught.value.decision.call_id, caught.value.decision.exit_state) == (
        desk.entry.call_id,
        "fallback_provider",
    )


async def test_a_cancelled_call_has_its_entry_too(desk: Desk) -> None:
    asked = asyncio.Event()

    def hang(_: ModelRequest) -> asyncio.Event:
        asked.set()
        return asyncio.Event()

    running = asyncio.create_task(run_constrained_ai(spec(), MESSAGE, desk.options(ScriptedProvider(hang))))
    await asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (desk.entry.exit_state, desk.entry.schema_valid, desk.entry.fallback_triggered) == (
        "failed_closed",
        False,
        True,
    )


async def test_code_can_answer_in_a_models_place_and_is_checked_like_one(desk: Desk) -> None:
    coded = spec(model_identity=Identity("offline", "mood-rules", "1"))
    good = await run_constrained_ai(coded, MESSAGE, desk.options(None, code=lambda _: {"mood": "sad", "note": ""}))
    bad = await run_constrained_ai(coded, MESSAGE, desk.options(None, code=lambda _: {"mood": "angry"}))
    broken = await run_constrained_ai(coded, MESSAGE, desk.options(None, code=lambda values: values["nothing"]))

    assert [one.exit_state for one in (good, bad, broken)] == ["ok", "fallback_schema", "fallback_provider"]
    assert [draft.identity.model for draft in desk.writer.decisions] == ["mood-rules"] * 3


@pytest.mark.parametrize("said", [{1: 2}, {"mood": "glad", 2: ""}, object(), float("nan"), (1, 2), None])
async def test_whatever_code_returns_is_a_decision_and_an_entry(desk: Desk, said: Any) -> None:
    coded = spec(model_identity=Identity("offline", "mood-rules", "1"))
    decision = await run_constrained_ai(coded, MESSAGE, desk.options(None, code=lambda _: said))
    assert (decision.output, decision.exit_state) == (DEFAULT, "fallback_schema")
    assert desk.entry.call_id == decision.call_id


@pytest.mark.parametrize("values", [{1: "x"}, [], None, "abc", {"message": "x", "lines": 2**60}])
async def test_whatever_is_no_input_is_the_callers_error(desk: Desk, values: Any) -> None:
    with pytest.raises(CallError, match="does not satisfy the input_schema of mood-reader"):
        await run_constrained_ai(spec(), values, desk.saying(GOOD))
    assert desk.writer.decisions == []


async def test_what_only_looks_like_json_is_taken_as_the_json_that_it_is(desk: Desk) -> None:
    class Number(IntEnum):
        THREE = 3

    values: Values = MappingProxyType({"message": "x", "lines": Number.THREE})
    decision = await run_constrained_ai(spec(), values, desk.saying(GOOD, call_id=new_call_id()))
    asked = desk.openings.find(decision.call_id, "inputHash")
    assert asked is not None
    assert asked.value == b'{"lines":3,"message":"x"}'


async def test_code_that_changes_its_input_changes_no_commitment(desk: Desk) -> None:
    def change(values: Values) -> JsonValue:
        values["message"] = "changed"  # type: ignore[index]  # careless code
        return {"mood": "sad", "note": ""}

    coded = spec(model_identity=Identity("offline", "mood-rules", "1"))
    decision = await run_constrained_ai(coded, MESSAGE, desk.options(None, code=change))
    asked = desk.openings.find(decision.call_id, "inputHash")
    assert asked is not None
    assert json.loads(asked.value) == MESSAGE


async def test_what_is_done_with_a_decision_changes_neither_the_spec_nor_the_next_one(desk: Desk) -> None:
    made = spec()
    first = await run_constrained_ai(made, MESSAGE, desk.saying(REFUSED))
    assert isinstance(first.output, dict)
    first.output["mood"] = "furious"
    assert (await run_constrained_ai(made, MESSAGE, desk.saying(REFUSED))).output == DEFAULT


async def test_what_is_committed_to_is_what_was_asked_whatever_the_caller_changes_meanwhile(desk: Desk) -> None:
    values: dict[str, JsonValue] = {"message": "as it was"}

    def change(_: ModelRequest) -> ModelReply:
        values["message"] = "as it is now"
        return says(GOOD)

    decision = await run_constrained_ai(spec(), values, desk.saying(change))
    opening = desk.openings.find(decision.call_id, "inputHash")
    assert opening is not None
    assert opening.value == b'{"message":"as it was"}'


async def test_a_store_that_cannot_tell_whether_a_call_id_was_used_stops_the_call(desk: Desk) -> None:
    desk.store.close()
    with pytest.raises(CallError, match="cannot be told whether c_"):
        await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD, call_id=new_call_id()))
    assert (
        await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD))
    ).exit_state == "ok"  # it costs the replay alone


async def test_the_event_of_a_call_names_its_kind_cost_and_entry(desk: Desk) -> None:
    decision = await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD, kind="gate"))
    assert desk.events == [
        ModelCalled("gate", IDENTITY, "end_turn", Usage(12, 33), 12, 0, "ok", decision.call_id, decision.entry_id)
    ]


async def test_nothing_but_the_seven_states_comes_back(desk: Desk) -> None:
    lines: list[Line] = [says(GOOD), says("{"), REFUSED, AWAY, says(GOOD, "pause"), says("null"), says('{"mood": 1}')]
    states = set()
    for line in lines:
        decision = await run_constrained_ai(_quick(), MESSAGE, desk.saying(line, line, line, call_id=new_call_id()))
        states.add(decision.exit_state)
    assert states <= set(get_args(ExitState))
    assert len(desk.writer.decisions) == len(lines)


def _quick() -> RuntimeAISpec:
    return spec(fallback_behavior="deterministic-default")
