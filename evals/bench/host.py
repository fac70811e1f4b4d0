"""The host as a person meets it: time to the first prompt, to the first answer, and of a warm turn with three tools."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

import pexpect

BIN = Path(sys.executable).parent
RUNS = 5
WARM_TURNS = 10
MESSAGE = (
    "Remember that fact {number} is nice and tell me what is on my calendar tomorrow "
    "and what do you know about fact {number}"
)


def main() -> int:
    """Prints medians over fresh homes, beside what starting Python and importing nothing takes here."""
    bare = statistics.median(_bare_start_ms() for _ in range(RUNS))
    firsts, answers, warm, inside = [], [], [], []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as home:
            first, answer, turns = _conversation(Path(home))
            inside.extend(_traced_ms(Path(home))[1:])
        firsts.append(first)
        answers.append(answer)
        warm.extend(turns)
    first, answer = statistics.median(firsts), statistics.median(answers)
    print(f"bare interpreter            {bare:7.0f} ms")
    print(f"first prompt, new home      {first:7.0f} ms   ({first / bare:.0f}x bare)")
    print(f"first tool answer, cold     {answer:7.0f} ms after the prompt")
    print(f"warm turn, three tool calls {_spread(warm)} at a terminal")
    print(f"                            {_spread(inside)} from message to signed receipt   (asked: 60 ms p50)")
    return 0


def _spread(turns_ms: list[float]) -> str:
    p95 = statistics.quantiles(turns_ms, n=20)[18]
    return f"{statistics.median(turns_ms):7.0f} ms p50, {p95:.0f} ms p95 ({len(turns_ms)} turns)"


def _traced_ms(home: Path) -> list[float]:
    """Returns how long each turn took by its trace, from the message to the receipt's answer."""
    begun: dict[str, datetime] = {}
    lasted = []
    traces = sorted((home / "host" / "traces").glob("*.jsonl"))  # two at midnight
    for line in (line for trace in traces for line in trace.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        if row["type"] == "turn_start":
            begun[row["turn_id"]] = datetime.fromisoformat(row["ts"])
        elif row["type"] == "receipt":
            lasted.append((datetime.fromisoformat(row["ts"]) - begun[row["turn_id"]]).total_seconds() * 1000)
    return lasted


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
