"""A model's marks for a finished turn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_host.errors import ProviderUnavailableError
from agent_host.tracing.events import ModelCalled
from agent_host.tracing.lines import trace_line
from agent_host.tracing.reading import Row
from agent_host.tracing.traced_turn import TracedTurn, traced_turns
from agent_host.turn_judge import (
    MESSAGE_CHARACTERS,
    OUTPUT_CHARACTERS,
    OUTPUTS_CHARACTERS,
    REPLY_CHARACTERS,
    Judgement,
    estimated_usage,
    judge,
    judged_values,
    rests_until,
)
from tests.agent_host.constrained.parts import Desk
from tests.agent_host.turn_checks.turns import AT, failing, llm, tool, turn
from tests.fakes.scripted_provider import IDENTITY

TURN = turn("It is 42.", tool("x_y", "42"), llm(provider="mock"), message="How many?")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


def marks(question: int, grounded: int, verdict: str = "judged") -> str:
    told = {"verdict": verdict, "addresses_question": question, "grounded": grounded, "note": "Fine."}
    return json.dumps(told)


async def test_the_lower_mark_is_the_score_and_seven_of_ten_pass(desk: Desk) -> None:
    good = await judge(TURN, desk.saying(marks(9, 7)))
    bad = await judge(TURN, desk.saying(marks(6, 10)))

    assert good is not None
    assert (good.permille, good.has_passed, good.judge, good.cost_micro_usd) == (700, True, IDENTITY, 12)
    assert bad is not None
    assert (bad.permille, bad.has_passed) == (600, False)


@pytest.mark.parametrize(
    "said", [marks(0, 0, "not-judged"), marks(11, 3), "Looks good to me!", '{"verdict": "judged"}']
)
async def test_a_judge_that_gives_no_marks_that_can_be_used_judges_nothing(desk: Desk, said: str) -> None:
    assert await judge(TURN, desk.saying(said, said)) is None


async def test_a_judge_that_is_away_judges_nothing(desk: Desk) -> None:
    gone = ProviderUnavailableError("away")

    assert await judge(TURN, desk.saying(gone, gone, gone)) is None


async def test_one_judging_is_one_entry_outside_any_turn_and_one_row_under_its_own_id(desk: Desk) -> None:
    rows: list[tuple[ModelCalled, str | None]] = []
    options = desk.saying(marks(9, 9), meter=lambda event, turn_id: rows.append((event, turn_id)))

    await judge(TURN, options)

    assert (desk.entry.spec_id, desk.entry.turn_id) == ("turn-judge", None)
    ((event, judge_id),) = rows
    assert event.kind == "judge"
    assert judge_id is not None
    assert judge_id.startswith("j_")
    assert len(judge_id) == 18


async def test_a_judge_sees_a_bounded_part_and_is_asked_for_few_tokens(desk: Desk) -> None:
    long = turn("r" * 9_000, *[tool("x_y", "o" * 5_000)] * 20, failing("z_z"), message="m" * 9_000)

    values = {name: str(value) for name, value in judged_values(long).items()}
    options = desk.saying(marks(9, 9))
    await judge(long, options)

    assert (len(values["message"]), len(values["reply"])) == (MESSAGE_CHARACTERS, REPLY_CHARACTERS)
    assert len(values["tools"]) == OUTPUTS_CHARACTERS
    assert values["tools"].split("\n")[0] == f"x_y: {'o' * OUTPUT_CHARACTERS}"
    (request,) = getattr(options.provider, "requests")  # noqa: B009 - the fake's own member
    assert request.max_tokens <= 300
    assert estimated_usage(judged_values(long)).input_tokens > 3_000


def test_the_trace_keeps_the_marks_and_says_when_a_model_judged_itself() -> None:
    found = Judgement(8, 9, "Fine.", IDENTITY, by_itself=True, cost_micro_usd=12)

    line = json.loads(trace_line(found.as_event(), "t_1", 0) or b"")

    assert (line["type"], line["source"], line["value"], line["judge"]) == ("score", "judge", 0.8, "mock/scripted")
    assert line["note"] == "addresses_question 8, grounded 9. Fine. The judge is the model that answered."


async def test_a_model_that_judges_its_own_turn_is_noticed(desk: Desk) -> None:
    own: dict[str, Any] = {"type": "llm", "provider": IDENTITY.provider, "model": IDENTITY.model}
    by_itself = await judge(turn("42", own), desk.saying(marks(9, 9)))
    by_another = await judge(TURN, desk.saying(marks(9, 9)))

    assert by_itself is not None
    assert by_another is not None
    assert (by_itself.by_itself, by_another.by_itself) == (True, False)


def test_a_turn_that_was_judged_rests_for_a_minute() -> None:
    score = Row("score", "t_1", 2, AT, {"source": "judge"}, b"")
    human = Row("score", "t_1", 2, AT + timedelta(days=1), {"source": "human"}, b"")
    found: TracedTurn
    (found,) = traced_turns([*TURN.rows, score, human])

    assert rests_until(TURN) is None
    assert rests_until(found) == AT + timedelta(seconds=60)
