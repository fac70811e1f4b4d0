"""The cases over real hosts: the offline rules meet each, and a model's turns are scored and judged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evals.deterministic.tool_choice import CASES, run_case
from evals.scoring import Case, load_cases
from tests.fakes.openai_server import Answer, call, openai_server

pytestmark = pytest.mark.slow  # starts many processes

MARKS = '{"verdict": "judged", "addresses_question": 9, "grounded": 8, "note": "Fine."}'
NOTE = call("c1", "notes_write", '{"title": "Shopping", "body": "milk"}')


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("known") / "manifests"


@pytest.mark.parametrize("case", load_cases(CASES), ids=lambda case: case.id)
async def test_the_offline_rules_choose_the_tools_a_person_would_expect(case: Case, known: Path) -> None:
    ran = await run_case(case, {}, known)

    assert ran.problems == [], ran.turn.reply


async def test_a_models_turn_is_scored_and_judged_by_the_same_runner(known: Path) -> None:
    def answer(body: Mapping[str, Any]) -> Answer:
        if "You mark one finished turn" in str(body["messages"]):
            return Answer(MARKS)
        return Answer("Noted.") if body["messages"][-1]["role"] == "tool" else Answer("", [NOTE], "tool_calls")

    case = Case("x", "Note milk", expect_tool="notes_write", expect_in_args=("bread",))
    async with openai_server(answer) as server:
        environ = {
            "PROMETHEUS_PROVIDER": "openai-compatible",
            "PROMETHEUS_BASE_URL": server.url,
            "PROMETHEUS_MODEL": "qwen3",
        }
        ran = await run_case(case, environ, known, judged=True)

    assert ran.problems == ["no call of notes_write has 'bread' in its arguments"]
    assert ran.turn.reply == "Noted."
    assert ran.marks is not None
    assert (ran.marks.addresses_question, ran.marks.grounded, ran.marks.by_itself) == (9, 8, True)
