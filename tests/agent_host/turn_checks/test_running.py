"""All five checks over one turn and over many, and the budget."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_host.providers.protocol import ToolUse
from agent_host.tracing.reading import read_folder
from agent_host.tracing.traced_turn import TracedTurn, traced_turns
from agent_host.turn_checks.running import NAMES, checks, run_checks
from agent_host.turn_checks.under_budget import under_budget
from agent_host.turn_checks.verdict import Finding, Rate, Result, rates
from tests.agent_host.test_turn import Room
from tests.agent_host.turn_checks.turns import llm, tool, turn
from tests.fakes.scripted_provider import ScriptedProvider, asks, says

DOLLAR = 1_000_000


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path)
    yield made
    made.close()


def test_a_turn_within_its_budget_passes_and_one_above_fails() -> None:
    assert under_budget(turn("x", llm(600_000), tool(cost_micro_usd=400_000)), DOLLAR).value == 1
    assert under_budget(turn("x", llm(600_000), tool(cost_micro_usd=400_001)), DOLLAR).value == 0


def test_a_budget_does_not_apply_without_a_cost_or_a_limit() -> None:
    assert under_budget(turn("x", llm(None), tool()), DOLLAR).value is None
    assert under_budget(turn("x"), DOLLAR).value is None
    assert under_budget(turn("x", llm(5)), None).value is None


def test_an_unknown_price_is_never_taken_for_free() -> None:
    assert under_budget(turn("x", llm(5), llm(None)), DOLLAR).value is None
    assert under_budget(turn("x", llm(DOLLAR + 1), llm(None)), DOLLAR).value == 0


async def test_a_real_turn_is_checked_and_twice_alike(room: Room) -> None:
    search = asks(ToolUse("u1", "memory_search", {"query": "team"}))
    await room.turn(ScriptedProvider(search, says("This turn was free. 11, 22, 33.")))
    (found,) = traced_turns(read_folder(room.folder).rows)

    first, second = (run_checks(found, checks(DOLLAR)) for _ in range(2))

    assert first == second
    assert {one.name: one.value for one in first} == {
        "spend_claim": 1,
        "one_report": None,
        "grounded_numbers": None,
        "errors_handled": None,
        "under_budget": 1,
    }


def test_a_turn_that_has_not_ended_is_judged_by_none() -> None:
    results = run_checks(turn(None, llm(9 * DOLLAR)), checks(DOLLAR))

    assert [(one.name, one.value, one.note) for one in results] == [
        (name, None, "the turn has not ended") for name in NAMES
    ]


def test_a_check_that_raises_does_not_apply_and_hides_no_other() -> None:
    def broken(_: TracedTurn) -> Finding:
        raise ZeroDivisionError

    results = run_checks(turn("x"), {"broken": broken, **checks(DOLLAR)})

    assert results[0] == Result("broken", None, "check error")
    assert len(results) == 6


@pytest.mark.parametrize("odd", [None, 7, [], {"a": 1}, "x" * 50_000, "\ud800", "(" * 5_000, "1" * 9_000, "`" * 5_000])
def test_lines_that_hold_anything_are_judged_all_the_same(odd: object) -> None:
    strange = {"type": "tool", "tool": odd, "output": odd, "args": odd, "ok": False, "endpoint_id": odd, "source": odd}
    reply = odd if isinstance(odd, str) else "It cost $1 in total, 11, 22, 33."

    results = run_checks(turn(reply, strange, {"type": "used", "entries": odd}), checks(DOLLAR))

    assert "check error" not in [one.note for one in results]


def test_notes_are_one_line() -> None:
    results = run_checks(turn("This turn\u2028cost $9\n 11 22 33", tool("a\nb", ok=False)), checks(DOLLAR))

    assert all("\n" not in one.note for one in results)


def test_one_failure_in_any_number_of_turns_is_never_a_hundred_percent() -> None:
    results = [Result("a", 1, "")] * 228 + [Result("a", 0, ""), Result("a", None, ""), Result("b", None, "")]

    assert rates(results) == [Rate("a", 228, 1, 1), Rate("b", 0, 0, 1)]
    assert [rate.percent for rate in rates(results)] == [99, None]
    assert Rate("c", 10**9, 1, 0).percent == 99
