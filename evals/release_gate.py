"""`python -m evals gate` says whether this may be released (agent.md row 94).

The deterministic suites must pass whole. The judge tier runs the same messages with the model that the environment
names and has it mark each turn: 0.6 or more on average for each of two marks. Where no model is set, nothing is judged,
and that keeps the gate shut unless `--without-judge` says that this is meant. What came out is `eval_report.json`, and
a line of `eval_runs.jsonl`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Final, Literal, TypeAlias

from evals.deterministic import offline_messages, tool_choice
from evals.deterministic.tool_choice import Ran

JUDGE_THRESHOLD: Final = Fraction(6, 10)
METRICS: Final = ("addresses_question", "grounded")
Verdict: TypeAlias = Literal["passed", "failed", "not judged"]


@dataclass(frozen=True)
class Suite:
    """How one suite went: `failures` says by case what was wrong."""

    passed: int
    failures: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Judged:
    """How the judge tier went, with the mean of each mark, and which model judged."""

    verdict: Verdict
    why: str
    means: Mapping[str, Fraction] = field(default_factory=dict)
    judge: str | None = None


@dataclass(frozen=True)
class Report:
    """What one run of the gate came to."""

    suites: Mapping[str, Suite]
    judged: Judged
    without_judge: bool

    @property
    def deterministic(self) -> Verdict:
        """Passed only when every case of every suite did, and there were cases."""
        whole = self.suites and all(suite.passed and not suite.failures for suite in self.suites.values())
        return "passed" if whole else "failed"

    @property
    def is_open(self) -> bool:
        """Whether this may be released."""
        excused = self.judged.verdict == "not judged" and self.without_judge
        return self.deterministic == "passed" and (self.judged.verdict == "passed" or excused)

    def as_json(self, ran_at: datetime) -> dict[str, object]:
        """Returns the report's members; a mean is rounded down, so that a miss never reads as a pass."""
        return {
            "ran_at": ran_at.astimezone(UTC).isoformat(timespec="seconds"),
            "deterministic": self.deterministic,
            "judge": self.judged.verdict,
            "judge_reason": self.judged.why,
            "judge_model": self.judged.judge,
            "judge_means": {name: int(100 * mean) / 100 for name, mean in self.judged.means.items()},
            "without_judge": self.without_judge,
            "gate": "open" if self.is_open else "shut",
            "suites": {
                name: {"passed": suite.passed, "failed": len(suite.failures)} for name, suite in self.suites.items()
            },
        }


def run_deterministic() -> dict[str, Suite]:
    """Runs the suites whose outcome is certain."""
    conversations = {case.name: asyncio.run(offline_messages.run_case(case)) for case in offline_messages.load_cases()}
    chosen = {one.case.id: one.problems for one in tool_choice.run_cases({})}
    return {"offline_messages": _suite(conversations), "tool_choice": _suite(chosen)}


def run_judge(environ: Mapping[str, str]) -> Judged:
    """Runs the judge tier with the model of the environment, where one is set."""
    provider = environ.get("PROMETHEUS_PROVIDER") or "offline"
    if provider == "offline":
        return Judged("not judged", "no model is set (PROMETHEUS_PROVIDER)")
    return judged_of(tool_choice.run_cases(environ, judged=True))


def judged_of(ran: Sequence[Ran]) -> Judged:
    """Returns the verdict over judged turns; one turn without marks leaves the tier not judged."""
    marks = [one.marks for one in ran if one.marks is not None]
    without = len(ran) - len(marks)
    if without or not marks:
        return Judged("not judged", f"the judge gave no usable marks for {without} of {len(ran)} turns")
    means = {
        "addresses_question": Fraction(sum(one.addresses_question for one in marks), 10 * len(marks)),
        "grounded": Fraction(sum(one.grounded for one in marks), 10 * len(marks)),
    }
    low = [name for name in METRICS if means[name] < JUDGE_THRESHOLD]
    own = ", the model that answered" if any(one.by_itself for one in marks) else ""
    who = f"{marks[0].judge.provider}/{marks[0].judge.model}{own}"
    why = f"{', '.join(low)} below {float(JUDGE_THRESHOLD)}" if low else f"each mark {float(JUDGE_THRESHOLD)} or more"
    return Judged("failed" if low else "passed", why, means, who)


def write(report: Report, folder: Path, ran_at: datetime) -> None:
    """Writes `eval_report.json` anew, the failures included, and appends to `eval_runs.jsonl`."""
    folder.mkdir(parents=True, exist_ok=True)
    told = report.as_json(ran_at)
    failures = {name: dict(suite.failures) for name, suite in report.suites.items() if suite.failures}
    (folder / "eval_report.json").write_text(json.dumps({**told, "failures": failures}, indent=2) + "\n")
    with (folder / "eval_runs.jsonl").open("a", encoding="utf-8") as runs:
        runs.write(json.dumps(told) + "\n")


def gate(
    folder: Path,
    *,
    without_judge: bool,
    deterministic: Callable[[], Mapping[str, Suite]] = run_deterministic,
    judge: Callable[[Mapping[str, str]], Judged] = run_judge,
) -> int:
    """Runs both tiers, writes and prints what came out; returns 0 when the gate is open, else 1."""
    suites = deterministic()
    judged = Judged("not judged", "--without-judge") if without_judge else judge(os.environ)
    report = Report(suites, judged, without_judge)
    write(report, folder, datetime.now(UTC))
    for name, suite in suites.items():
        print(f"{name}: {suite.passed} passed, {len(suite.failures)} failed")
        for case, found in suite.failures.items():
            print(f"  {case}: {'; '.join(found)}")
    print(f"judge: {judged.verdict} ({judged.why})")
    print(f"The gate is {'open' if report.is_open else 'shut'}; see {folder / 'eval_report.json'}.")
    if not report.is_open and report.deterministic == "passed" and judged.verdict == "not judged":
        sys.stderr.write("Set a model to judge with, or say --without-judge.\n")
    return 0 if report.is_open else 1


def _suite(found: Mapping[str, Sequence[str]]) -> Suite:
    failures = {name: list(problems) for name, problems in found.items() if problems}
    return Suite(len(found) - len(failures), failures)
