"""A whole turn under a budget, and the rows its model calls leave in the usage ledger."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from agent_host.budget import Budget, Limits
from agent_host.charges import ChargedTools
from agent_host.constrained import run_constrained_ai
from agent_host.providers.protocol import ToolUse
from agent_host.receipts.line import receipt_line
from agent_host.session import Session
from agent_host.tracing.events import ModelCalled
from agent_host.turn import TurnResult, run_turn
from agent_host.usage import UsageFile
from tests.agent_host.constrained.parts import DEFAULT, GOOD, MESSAGE, Desk, spec
from tests.agent_host.test_turn import SEARCH, Room
from tests.fakes.scripted_provider import ScriptedProvider, asks, says
from tests.fakes.toolbox import FakeToolBox

FIND, FREE = ToolUse("u_1", "shop_find", {}), ToolUse("u_2", "shop_free", {})
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


async def test_what_a_tool_charges_is_in_the_receipt_its_line_the_trace_the_ledger_and_both_budgets(
    tmp_path: Path,
) -> None:
    room = Room(tmp_path)
    shop = FakeToolBox({"shop_find": lambda _: {"cost_usd": 0.02, "rows": []}, "shop_free": lambda _: "nothing"})
    usage = UsageFile(tmp_path / "usage.jsonl", lambda: NOW)
    provider = ScriptedProvider(asks(FIND, FREE), asks(FIND, FIND), says("never asked for"))
    budget = Budget(Limits(30_000, 45_000, asked_for=True), usage.spent_today_micro_usd)
    parts = replace(
        room.parts(provider), tools=ChargedTools(shop, usage.charge), budget=budget, meter=usage.add, cost=lambda _: 24
    )

    result = await run_turn("find it", room.session, "cli", parts, room.events.append)
    room.close()

    assert (result.outcome, len(provider.requests)) == ("limit_reached", 2)
    assert "this turn has cost about $0.04" in result.reply
    assert [call.name for call in shop.calls] == ["shop_find", "shop_free", "shop_find"]  # the fourth was not made
    paid, free, refused = result.receipt.tools
    assert (paid.provider, paid.n, paid.cost_micro_usd) == ("shop", 2, 40_000)
    assert (free.cost_micro_usd, refused.status, refused.cost_micro_usd) == (None, "error", None)
    assert result.receipt.total_micro_usd == 40_000 + 48
    assert " | shop 2 · $0.040 | $0.040" in receipt_line(result.receipt, result.status)
    assert (tmp_path / "2026-11-30.jsonl").read_text().count('"cost_micro_usd":20000') == 2
    rows = [row for row in UsageFile(tmp_path / "usage.jsonl", lambda: NOW).rows() if row.kind == "tool"]
    assert [(row.provider, row.model, row.cost_micro_usd, row.turn_id) for row in rows] == [
        ("shop", "find", 20_000, result.receipt.turn_id)
    ] * 2
    assert usage.spent_today_micro_usd() == 40_000
    usage.charge("shop", "find", 20_000, None)
    assert budget.day_is_spent()


async def test_a_constrained_call_leaves_a_row_of_its_kind_and_an_answer_of_code_none(tmp_path: Path) -> None:
    usage = UsageFile(tmp_path / "usage.jsonl", lambda: NOW)
    desk = Desk(tmp_path)

    await run_constrained_ai(spec(), MESSAGE, desk.saying(GOOD, kind="gate", turn_id="t_1", meter=usage.add))
    await run_constrained_ai(spec(), MESSAGE, desk.options(None, code=lambda _: DEFAULT, meter=usage.add))
    desk.close()

    assert [(row.kind, row.turn_id) for row in usage.rows()] == [("gate", "t_1")]
