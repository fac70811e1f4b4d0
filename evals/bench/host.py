"""The host as a person meets it: time to the first prompt, to the first answer, and of a warm turn with two tools."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pexpect

BIN = Path(sys.executable).parent
RUNS = 5
WARM_TURNS = 10
MESSAGE = "Remember that fact {number} is nice and tell me what is on my calendar tomorrow"


def main() -> int:
    """Prints medians over fresh homes, beside what starting Python and importing nothing takes here."""
    bare = statistics.median(_bare_start_ms() for _ in range(RUNS))
    firsts, answers, warm = [], [], []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as home:
            first, answer, turns = _conversation(Path(home))
        firsts.append(first)
        answers.append(answer)
        warm.extend(turns)
    first, answer = statistics.median(firsts), statistics.median(answers)
    p50, p95 = statistics.median(warm), statistics.quantiles(warm, n=20)[18]
    print(f"bare interpreter            {bare:7.0f} ms")
    print(f"first prompt, new home      {first:7.0f} ms   ({first / bare:.0f}x bare)")
    print(f"first tool answer, cold     {answer:7.0f} ms after the prompt")
    print(f"warm turn, two tool calls   {p50:7.0f} ms p50, {p95:.0f} ms p95 ({len(warm)} turns)")
    return 0


def _bare_start_ms() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", ""], check=True)
    return (time.perf_counter() - started) * 1000


def _conversation(home: Path) -> tuple[float, float, list[float]]:
    """Returns milliseconds to the first prompt, to the first answer after it, and of each warm turn."""
    environ = {**os.environ, "PROMETHEUS_HOME": str(home), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
    started = time.perf_counter()
    child = pexpect.spawn(str(BIN / "agent-host"), ["chat"], env=environ, encoding="utf-8", timeout=60)
    child.delaybeforesend = None
    child.expect("you >")
    first = (time.perf_counter() - started) * 1000
    answer = _turn(child, 1)
    turns = [_turn(child, number) for number in range(2, WARM_TURNS + 2)]
    child.sendline("/quit")
    child.expect(pexpect.EOF)
    child.close()
    return first, answer, turns


def _turn(child: pexpect.spawn[str], number: int) -> float:
    started = time.perf_counter()
    child.sendline(MESSAGE.format(number=number))
    child.expect(f"receipt {number} signed")
    return (time.perf_counter() - started) * 1000
