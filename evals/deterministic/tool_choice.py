"""Runs the cases of `tool_choice.jsonl`, each as a turn of a real host on a home of its own.

With nothing else told the offline rules answer, so that the outcome is certain. Run it with
`python -m evals.deterministic.tool_choice`.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent_host.app import Host
from agent_host.constrained.options import CallOptions
from agent_host.gateways.turns import find_turn, trace_folder
from agent_host.mcp_clients.approval import Answer, Question
from agent_host.tracing.events import ToolCalled, TurnEvent
from agent_host.tracing.traced_turn import TracedTurn
from agent_host.turn_judge import Judgement, judge
from evals.scoring import Case, ToolCall, load_cases, problems
from service_runtime.settings import load_settings

CASES: Final = Path(__file__).with_suffix(".jsonl")
_ZONE: Final = {"PROMETHEUS_TIMEZONE": "Europe/Berlin"}


class _Yes:
    """Lets every call be made: a case says what should be called, not what a person would allow."""

    is_person: Final = False

    async def ask(self, question: Question) -> Answer:
        del question
        return "yes"


@dataclass(frozen=True)
class Ran:
    """One case after its turn: what is wrong with the calls, the turn as its trace has it, and a judge's marks."""

    case: Case
    problems: list[str]
    turn: TracedTurn
    marks: Judgement | None


async def run_case(case: Case, environ: Mapping[str, str], known: Path, *, judged: bool = False) -> Ran:
    """Runs one case on a home that is thrown away; `environ` says which model answers, and judges if one is to.

    `known` keeps the tool lists of the servers from one case to the next: a server that is known starts when it is
    called, which makes the second case and all later ones three times as fast.
    """
    with tempfile.TemporaryDirectory(prefix="pe-") as folder:
        pinned = Path(folder) / "host" / "manifests"
        _copy(known, pinned)
        settings = load_settings({**_ZONE, **environ}, Path(folder), folder)
        host = Host(settings, "eval", environ, _Yes())
        seen: list[TurnEvent] = []
        try:
            parts = await host.start()
            if case.setup_fact is not None:
                await parts.tools.call("memory_remember", {"body": case.setup_fact}, {})
            result = await host.turn(case.input, seen.append)
            turn = find_turn(trace_folder(settings), result.receipt.turn_id)
            asked = CallOptions(ledger=parts.receipts, provider=parts.provider, cost=parts.cost)
            marks = await judge(turn, asked) if judged else None
        finally:
            await host.close()
        _copy(pinned, known)
    own = [event for event in seen if isinstance(event, ToolCalled) and not (event.read_first or event.gated)]
    return Ran(case, problems(case, [ToolCall(event.name, event.arguments) for event in own]), turn, marks)


def _copy(source: Path, target: Path) -> None:
    """Copies a folder that is there to where none is."""
    if source.exists() and not target.exists():
        shutil.copytree(source, target)


def run_cases(environ: Mapping[str, str], *, judged: bool = False) -> list[Ran]:
    """Runs every case, one after the other."""
    with tempfile.TemporaryDirectory(prefix="pe-") as folder:
        known = Path(folder) / "manifests"
        return [asyncio.run(run_case(case, environ, known, judged=judged)) for case in load_cases(CASES)]


def main() -> int:
    """Prints how many cases are met and what the others lack; the exit code is 1 when any is not met."""
    ran = run_cases({})
    for one in ran:
        for problem in one.problems:
            print(f"{one.case.id}: {problem}; the reply was {one.turn.reply!r}")
    failed = sum(bool(one.problems) for one in ran)
    print(f"{len(ran) - failed} of {len(ran)} cases met")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
