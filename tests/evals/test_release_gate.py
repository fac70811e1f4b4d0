"""The gate is open only when everything that was to be tried was tried and passed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from agent_host.providers.protocol import Identity
from agent_host.turn_judge import Judgement
from evals.__main__ import main
from evals.deterministic.tool_choice import Ran
from evals.release_gate import Judged, Report, Suite, gate, judged_of, run_judge
from evals.scoring import Case
from tests.agent_host.turn_checks.turns import turn

GOOD = {"a": Suite(3, {}), "b": Suite(1, {})}
PASSED = Judged("passed", "each mark 0.6 or more", {"grounded": Fraction(2, 3)}, "mock/scripted")


def ran(question: int | None, grounded: int = 10, *, by_itself: bool = False) -> Ran:
    marks = None
    if question is not None:
        marks = Judgement(question, grounded, "", Identity("mock", "scripted", "1"), by_itself, cost_micro_usd=None)
    return Ran(Case("x", "y"), [], turn("z"), marks)


def run(folder: Path, suites: Mapping[str, Suite], judged: Judged, *, without_judge: bool = False) -> int:
    return gate(folder, without_judge=without_judge, deterministic=lambda: suites, judge=lambda _: judged)


def report(folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((folder / "eval_report.json").read_text())
    return told


def test_everything_passed_opens_it(tmp_path: Path) -> None:
    assert run(tmp_path, GOOD, PASSED) == 0
    assert (report(tmp_path)["gate"], report(tmp_path)["judge_means"]) == ("open", {"grounded": 0.66})


@pytest.mark.parametrize("suites", [{}, {"a": Suite(0, {})}, {"a": Suite(99, {"case": ["wrong"]})}])
def test_one_case_that_fails_or_none_at_all_shuts_it(tmp_path: Path, suites: dict[str, Suite]) -> None:
    assert run(tmp_path, suites, PASSED) == 1
    assert report(tmp_path)["deterministic"] == "failed"


def test_what_was_not_judged_shuts_it_unless_that_is_meant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nobody = Judged("not judged", "no model is set")

    assert run(tmp_path, GOOD, nobody) == 1
    assert "say --without-judge" in capsys.readouterr().err
    assert run(tmp_path, GOOD, nobody, without_judge=True) == 0
    assert (report(tmp_path)["judge"], report(tmp_path)["without_judge"]) == ("not judged", True)


def test_a_judge_that_said_no_is_never_excused() -> None:
    assert not Report(GOOD, Judged("failed", ""), without_judge=True).is_open


def test_every_run_is_a_line_and_the_report_is_the_last(tmp_path: Path) -> None:
    run(tmp_path, {"a": Suite(1, {"case": ["wrong"]})}, PASSED)
    run(tmp_path, GOOD, PASSED)

    runs = [json.loads(line) for line in (tmp_path / "eval_runs.jsonl").read_text().splitlines()]
    assert [one["gate"] for one in runs] == ["shut", "open"]
    assert runs[0]["suites"]["a"] == {"passed": 1, "failed": 1}
    assert report(tmp_path)["failures"] == {}


def test_each_mark_needs_six_of_ten_on_average() -> None:
    assert judged_of([ran(6, 10), ran(6, 10)]).verdict == "passed"
    failed = judged_of([ran(6, 10), ran(5, 10)])

    assert (failed.verdict, failed.why) == ("failed", "addresses_question below 0.6")


def test_one_turn_without_marks_leaves_the_tier_not_judged() -> None:
    assert judged_of([ran(10), ran(None)]).why == "the judge gave no usable marks for 1 of 2 turns"
    assert judged_of([]).verdict == "not judged"


def test_a_judge_that_is_the_agents_own_model_is_recorded() -> None:
    assert judged_of([ran(9, by_itself=True)]).judge == "mock/scripted, the model that answered"


@pytest.mark.parametrize("environ", [{}, {"PROMETHEUS_PROVIDER": ""}, {"PROMETHEUS_PROVIDER": "offline"}])
def test_without_a_model_nothing_is_judged(environ: dict[str, str]) -> None:
    assert run_judge(environ).verdict == "not judged"


@pytest.mark.parametrize(("arguments", "status"), [([], 2), (["nonsense"], 2), (["gate", "--help"], 0)])
def test_the_command_line_says_what_there_is(
    arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == status
    printed = capsys.readouterr()
    assert "usage: python -m evals" in printed.out + printed.err
