"""Both verifiers at once: every test asks the two of them, and they must answer with the same bytes."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from verifier import verify

NOW_MS = 1_796_000_000_000  # 2026-11-30
SECONDS_AT_MOST = 1.0  # of processor time, of all threads, for one input: what others do on the machine changes nothing
DRIVER = Path(__file__).with_name("driver.mjs")


@dataclass(frozen=True)
class Outcome:
    """What a run printed and how it exited."""

    exit: int
    stdout: str
    stderr: str

    @property
    def report(self) -> dict[str, Any]:
        """The JSON report, empty after a usage error."""
        report: dict[str, Any] = json.loads(self.stdout) if self.stdout else {}
        return report

    @property
    def found(self) -> tuple[str | None, int | None, str | None]:
        """Verdict, id and check; all None after a usage error."""
        return self.report.get("verdict"), self.report.get("id"), self.report.get("check")


def run_python(
    args: Sequence[str], now_ms: int = NOW_MS, workers: int | None = None, *, module: Any = verify
) -> Outcome:
    """Run verify.py, or a changed copy of it, inside this process."""
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return Outcome(*module.run(args, now_ms, workers))
    except SystemExit as stopped:
        return Outcome(int(str(stopped.code)), "", complaint.getvalue())


@dataclass
class Verifiers:
    """verify.py in this process and verify.mjs in one Node process that lives as long as the test session."""

    node: subprocess.Popen[str]
    asked: int = field(default=0)

    def ask_node(self, **request: Any) -> Any:
        """Put one question to the Node process."""
        assert self.node.stdin is not None
        assert self.node.stdout is not None
        self.node.stdin.write(json.dumps(request) + "\n")
        self.node.stdin.flush()
        self.asked += 1
        answer = json.loads(self.node.stdout.readline())
        assert not (isinstance(answer, dict) and "error" in answer), answer["error"]
        return answer

    def run_node(self, args: Sequence[str], now_ms: int = NOW_MS, threads: int | None = None) -> Outcome:
        """Run verify.mjs inside the Node process."""
        return Outcome(**self.ask_node(ask="run", args=list(args), nowMs=now_ms, threads=threads))

    def run(self, args: Sequence[str], now_ms: int = NOW_MS) -> Outcome:
        """Run both with JSON and both with the text report; give the JSON outcome once all agree."""
        outcome = self.run_json(args, now_ms)
        text, text_of_node = run_python(args, now_ms), self.run_node(args, now_ms)
        assert (text.exit, text.stdout) == (text_of_node.exit, text_of_node.stdout)
        assert outcome.exit == text.exit
        return outcome

    def run_json(self, args: Sequence[str], now_ms: int = NOW_MS) -> Outcome:
        """Run both with JSON only, where there are many inputs to try."""
        outcome, outcome_of_node = (run([*args, "--json"], now_ms) for run in (run_python, self.run_node))
        assert (outcome.exit, outcome.stdout) == (outcome_of_node.exit, outcome_of_node.stdout)
        for one in (outcome, outcome_of_node):
            assert bool(one.stderr) == (one.exit == verify.EXITS.index("")), one
        return outcome

    def run_many(self, lists: Sequence[Sequence[str]], now_ms: int = NOW_MS) -> list[Outcome]:
        """Run many command lines with JSON in both at the same time; give the outcomes once all agree.

        No run may take either of them a second of processor time.
        """
        assert self.node.stdin is not None
        assert self.node.stdout is not None
        json_lists = [[*args, "--json"] for args in lists]
        self.node.stdin.write(json.dumps({"ask": "runs", "lists": json_lists, "nowMs": now_ms}) + "\n")
        self.node.stdin.flush()
        outcomes = []
        for args in json_lists:
            began = time.process_time()
            outcomes.append(run_python(args, now_ms))
            assert time.process_time() - began < SECONDS_AT_MOST, args
        answers = json.loads(self.node.stdout.readline())
        assert "error" not in answers, answers
        for outcome, answer, args in zip(outcomes, answers, json_lists, strict=True):
            assert (outcome.exit, outcome.stdout) == (answer["exit"], answer["stdout"]), args
            assert answer["seconds"] < SECONDS_AT_MOST, args
        return outcomes

    def alone(self, layer: str, lines: Sequence[bytes]) -> list[str]:
        """Judge lines alone, as RF-21 says: `sound`, or verdict and check; no line may take a second."""
        judged, longest = [], 0.0
        for line in lines:
            began = time.process_time()
            judged.append(
                "sound" if verify.read_line(line, layer) else " ".join(verify.diagnose(line, layer)),
            )
            longest = max(longest, time.process_time() - began)
        answer = self.ask_node(ask="alone", layer=layer, lines=[line.hex() for line in lines])
        assert judged == answer["judged"]
        assert max(longest, answer["longest"]) < SECONDS_AT_MOST
        return judged


def start() -> Iterator[Verifiers]:
    """Start the Node process, and end it when the session ends."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed: the two verifiers cannot be compared")
    with subprocess.Popen([node, str(DRIVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Verifiers(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=10) == 0
