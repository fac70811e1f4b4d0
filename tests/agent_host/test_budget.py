"""What a turn and a day may cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_host.budget import Budget, BudgetedModel, BudgetedTools, Limits, limits, unpriced
from agent_host.errors import BudgetSpentError, ConfigurationError
from agent_host.mcp_clients.protocol import ToolOutcome
from agent_host.providers.protocol import Identity, JsonValue, Message, ModelRequest, Text, Usage
from agent_host.tracing.events import ModelCalled, Notice, ToolCalled, TurnEvent
from service_runtime.settings import load_settings
from tests.agent_host.test_loop import Scripted, said
from tests.fakes.toolbox import FakeToolBox

WHO = Identity("openai-compatible", "qwen3", "qwen3")
REQUEST = ModelRequest("", (Message("user", (Text("hello"),)),), (), "auto", 100)


def called(cost: int | None) -> ModelCalled:
    return ModelCalled("loop", WHO, "end_turn", Usage(1, 1), cost, 5, "ok", "c_1", 1)


def told(tmp_path: Path, **environ: str) -> Limits:
    return limits(load_settings(environ, tmp_path, str(tmp_path / "home")))


def test_a_turn_may_cost_a_dollar_and_a_day_anything_unless_told_otherwise(tmp_path: Path) -> None:
    assert told(tmp_path) == Limits(1_000_000, None, asked_for=False)
    both = told(tmp_path, PROMETHEUS_TURN_BUDGET_USD="0.25", PROMETHEUS_DAY_BUDGET_USD="$5")
    assert both == Limits(250_000, 5_000_000, asked_for=True)


@pytest.mark.parametrize("amount", ["0", "$0", "0.0"])
def test_nothing_is_no_limit(tmp_path: Path, amount: str) -> None:
    assert told(tmp_path, PROMETHEUS_TURN_BUDGET_USD=amount).turn_micro_usd is None


@pytest.mark.parametrize("amount", ["much", "NaN", "inf", "1,50", "1e99", "-1", "-0.01"])
def test_what_is_no_amount_is_refused_by_its_name(tmp_path: Path, amount: str) -> None:
    with pytest.raises(ConfigurationError, match="PROMETHEUS_DAY_BUDGET_USD"):
        told(tmp_path, PROMETHEUS_DAY_BUDGET_USD=amount)


def test_a_turn_that_passes_its_budget_is_told_which_and_how_much() -> None:
    budget = Budget(Limits(1_000_000, None, asked_for=False))
    budget.check([called(999_999), called(1)], _nobody)
    with pytest.raises(BudgetSpentError) as caught:
        budget.check([called(1_000_000), called(30_000), called(None)], _nobody)
    assert str(caught.value) == (
        "I stopped before the next model call: this turn has cost about $1.03 (1 call without a known price not "
        "counted), more than PROMETHEUS_TURN_BUDGET_USD allows ($1.00); the receipt has the rest."
    )


def test_a_day_that_passes_its_budget_stops_before_the_first_call() -> None:
    budget = Budget(Limits(None, 5_000_000, asked_for=True), lambda: 5_000_001)
    with pytest.raises(BudgetSpentError, match=r"today has cost about \$5.00.* PROMETHEUS_DAY_BUDGET_USD"):
        budget.check([], _nobody)


@pytest.mark.parametrize(("asked_for", "models", "notices"), [(True, (WHO,), 1), (False, (WHO,), 0), (True, (), 0)])
def test_calls_without_a_price_do_not_count_and_whoever_set_a_budget_hears_it_once(
    asked_for: bool, models: tuple[Identity, ...], notices: int
) -> None:
    budget = Budget(Limits(1, 1, asked_for=asked_for), unpriced=unpriced(*models))
    events: list[TurnEvent] = []
    for _ in range(3):
        budget.check([called(None)], events.append)
    assert [type(event) for event in events] == [Notice] * notices


def test_every_model_without_a_price_is_named_once_the_small_one_too() -> None:
    small, priced = Identity("anthropic", "claude-zzz", "zzz"), Identity("anthropic", "claude-haiku-5-5", "5-5")
    events: list[TurnEvent] = []
    for models in ((priced, small), (WHO, small), (WHO, WHO), (priced, priced)):
        Budget(Limits(1, None, asked_for=True), unpriced=unpriced(*models)).check([], events.append)
    assert events == [
        Notice("No price is known for claude-zzz: its calls count towards no budget."),
        Notice("No price is known for qwen3 and claude-zzz: their calls count towards no budget."),
        Notice("No price is known for qwen3: its calls count towards no budget."),
    ]


def test_a_day_that_is_spent_is_spent_for_calls_outside_a_turn_too() -> None:
    Budget(Limits(1, None, asked_for=True), lambda: 9).check_day()
    with pytest.raises(BudgetSpentError) as caught:
        Budget(Limits(None, 100_000, asked_for=True), lambda: 210_000).check_day()
    assert str(caught.value) == (
        "I stopped before the next model call: today has cost about $0.21, more than PROMETHEUS_DAY_BUDGET_USD allows "
        "($0.10); `agent-host cost` has the rest."
    )


async def test_no_call_is_made_once_the_budget_is_spent() -> None:
    model = Scripted(said("one"), said("two"))
    budget = Budget(Limits(10, None, asked_for=True))
    events: list[TurnEvent] = []
    budgeted = BudgetedModel(model, lambda: budget.check(events, events.append))

    assert (await budgeted.reply(REQUEST, "loop", _shown)).text == "one"
    events.append(called(11))
    with pytest.raises(BudgetSpentError):
        await budgeted.reply(REQUEST, "loop", _shown)
    assert model.kinds == ["loop"]


def test_what_tools_charged_counts_towards_the_turn() -> None:
    budget = Budget(Limits(1_000_000, None, asked_for=False))
    budget.check([called(500_000), paid(0.5)], _nobody)
    with pytest.raises(BudgetSpentError, match=r"this turn has cost about \$1\.01"):
        budget.check([called(500_000), paid(0.5), paid(0.01, failed=True)], _nobody)


@pytest.mark.parametrize("price", [-1, "2", True, None])
def test_a_price_that_is_none_counts_for_nothing(price: JsonValue) -> None:
    Budget(Limits(1, None, asked_for=True)).check([paid(price)], _nobody)


async def test_no_tool_is_called_once_the_budget_is_spent() -> None:
    box = FakeToolBox({"shop_buy": lambda _: {"cost_usd": 2}})
    events: list[TurnEvent] = []
    budget = Budget(Limits(1_000_000, None, asked_for=True))
    tools = BudgetedTools(box, lambda: budget.check(events, events.append))
    events.append(ToolCalled("u_1", "shop_buy", {}, await tools.call("shop_buy", {}, {})))
    second = await tools.call("shop_buy", {}, {})
    assert len(box.calls) == 1
    assert second.is_error
    assert second.content == "shop_buy was not called: what this turn or this day may cost is spent."


def paid(price: JsonValue, *, failed: bool = False) -> ToolCalled:
    return ToolCalled("u_1", "buy", {}, ToolOutcome("shop", "buy", "", {"cost_usd": price}, failed, 3))


def _nobody(_: TurnEvent) -> None:
    return


def _shown(_: str) -> None:
    return
