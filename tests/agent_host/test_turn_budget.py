"""A whole turn under a budget, and the rows its model calls leave in the usage ledger."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from agent_host.budget import Budget, Limits
from agent_host.constrained import run_constrained_ai
from agent_host.session import Session
from agent_host.tracing.events import ModelCalled
from agent_host.turn import TurnResult, run_turn
from agent_host.usage import UsageFile
from tests.agent_host.constrained.parts import DEFAULT, GOOD, MESSAGE, Desk, spec
from tests.agent_host.test_turn import SEARCH, Room
from tests.fakes.scripted_provider import ScriptedProvider, says

NOW = datetime(2026, 12, 1, 9, 0, tzinfo=ZoneInfo("Europe/Berlin"))


async def _turn(room: Room, provider: ScriptedProvider, budget: Budget) -> TurnResult:
    usage = UsageFile(room.folder / "usage.jsonl", lambda: NOW)
    parts = replace(room.parts(provider), budget=budget, meter=usage.add)
    return await run_turn("hello", room.session, "cli", parts, room.events.append)


async def test_a_turn_over_its_budget_stops_in_words_before_the_next_call_and_has_its_receipt(tmp_path: Path) -> None:
    room = Room(tmp_path)
    provider = ScriptedProvider(SEARCH, says("never asked for"))

    result = await _turn(room, provider, Budget(Limits(23, None, asked_for=True)))  # the first call costs 24
    room.close()

    assert len(provider.requests) == 1
    assert result.outcome == "limit_reached"
    assert "PROMETHEUS_TURN_BUDGET_USD" in result.reply
    assert result.receipt.model.cost_micro_usd == 24
    assert room.writer.turns == [result.receipt]


async def test_a_day_over_its_budget_asks_no_model_at_all_and_the_next_session_still_can(tmp_path: Path) -> None:
    room = Room(tmp_path)
    provider = ScriptedProvider(says("hello"))

    stopped = await _turn(room, provider, Budget(Limits(None, 5, asked_for=True), lambda: 6))
    assert (len(provider.requests), stopped.outcome) == (0, "limit_reached")
    assert "PROMETHEUS_DAY_BUDGET_USD" in stopped.reply
    room.session = Session("s_2", history_turns=12)
    answered = await _turn(room, provider, Budget(Limits(None, 5, asked_for=True), lambda: 5))
    room.close()

    assert answered.reply == "hello"


async def test_what_can_wait_is_not_begun_on_a_day_whose_budget_is_spent(tmp_path: Path) -> None:
    room, begun = Room(tmp_path), list[str]()
    for spent in (5, 6):
        budget = Budget(Limits(None, 5, asked_for=True), lambda spent=spent: spent)  # type: ignore[misc]
        parts = replace(room.parts(ScriptedProvider(says("hi"))), budget=budget, after_turn=begun.append)
        await run_turn("hello", room.session, "cli", parts, room.events.append)
    room.close()

    assert len(begun) == 1


async def test_each_model_call_of_a_turn_leaves_one_row_with_the_turns_id(tmp_path: Path) -> None:
    room = Room(tmp_path)

    result = await _turn(room, ScriptedProvider(SEARCH, says("Mornings.")), Budget(Limits(None, None, asked_for=False)))
    room.close()

    rows = list(UsageFile(tmp_path / "usage.jsonl", lambda: NOW).rows())
    assert [(row.kind, row.turn_id) for row in rows] == [("loop", result.receipt.turn_id)] * 2
    assert [row.usage for row in rows] == [event.usage for event in room.events if isinstance(event, ModelCalled)]


async def test_a_constrained_call_leaves_a_row_of_its_kind_and_an_answer_of_code_none(tmp_path: Path) -> None:
    usage = UsageFile(tmp_path / "usage.jsonl", lambda: NOW)
    desk = Desk(tmp_path)

    await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD, kind="gate", turn_id="t_1", meter=usage.add))
    await run_constrained_ai(spec(), MESSAGE, desk.options(None, code=lambda _: DEFAULT, meter=usage.add))
    desk.close()

    assert [(row.kind, row.turn_id) for row in usage.rows()] == [("gate", "t_1")]
