"""Runs the everyday messages of `offline_messages.yaml` through the offline provider and says which it does not meet.

Each case is a conversation with a fixed clock. Expected are the tool calls, in their order, each with the arguments
that matter, and words of the reply. Run it with `python -m evals.deterministic.offline_messages`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import yaml

from agent_host.providers.offline import OfflineProvider
from agent_host.providers.protocol import (
    Message,
    ModelReply,
    ModelRequest,
    Text,
    ToolResult,
    ToolSpec,
)
from evals.deterministic.scripted_tools import TOOLS, Answer, ScriptedTools

CASES = Path(__file__).with_suffix(".yaml")
_MOST_STEPS = 6


@dataclass(frozen=True)
class Expected:
    """One message of a conversation: the calls it must lead to, and what the reply must and must not hold."""

    say: str
    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    reply: tuple[str, ...]
    reply_not: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """One conversation, with the tools that are missing and what the others answer."""

    name: str
    now: datetime
    zone: ZoneInfo
    turns: tuple[Expected, ...]
    without: frozenset[str]
    answers: Mapping[str, Answer | Sequence[Answer]]


def _texts(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value or ())


def _expected(row: Mapping[str, Any]) -> Expected:
    calls = tuple((name, arguments or {}) for call in row.get("calls") or () for name, arguments in call.items())
    return Expected(row["say"], calls, _texts(row.get("reply")), _texts(row.get("reply_not")))


def load_cases(path: Path = CASES) -> tuple[Case, ...]:
    """Reads the cases; a case without a list of turns is one turn, and named by its message."""
    with path.open(encoding="utf-8") as file:
        data = yaml.load(file, Loader=yaml.CSafeLoader)
    zone = ZoneInfo(data["zone"])
    answers: Mapping[str, Any] = data["answers"]
    cases: list[Case] = []
    for row in data["cases"]:
        turns = tuple(_expected(turn) for turn in row.get("turns") or (row,))
        told = {
            name: answers[value] if isinstance(value, str) else value for name, value in row.get("tools", {}).items()
        }
        now = datetime.fromisoformat(row.get("now") or data["now"]).replace(tzinfo=zone)
        name = row.get("name") or turns[0].say[:80]
        cases.append(Case(name, now, zone, turns, frozenset(row.get("without") or ()), told))
    return tuple(cases)


async def _turn(
    provider: OfflineProvider, tools: ScriptedTools, messages: list[Message], offered: tuple[ToolSpec, ...]
) -> str:
    """Runs one turn as the host's loop does and returns the reply; `messages` grows by what the turn added."""
    for _ in range(_MOST_STEPS):
        request = ModelRequest("", tuple(messages), offered, "auto", 1024)
        items = [item async for item in provider.stream(request)]
        reply = items[-1]
        assert isinstance(reply, ModelReply)
        messages.append(Message("assistant", reply.blocks))
        if not reply.tool_uses:
            return reply.text
        results = ((use.id, *tools.call(use.name, use.arguments)) for use in reply.tool_uses)
        messages.append(Message("user", tuple(ToolResult(*result) for result in results)))
    return "(no reply: the steps ran out)"


def _call_problem(wanted: tuple[str, Mapping[str, Any]], made: tuple[str, Mapping[str, Any]]) -> str | None:
    name, arguments = wanted
    if name != made[0]:
        return f"called {made[0]} instead of {name}"
    missing = object()
    for key, value in arguments.items():
        found = made[1].get(key, missing)
        if found is missing and value is None:
            continue  # null in a case: the argument is not to be given
        if found != value:
            return f"{name}.{key} is {'missing' if found is missing else json.dumps(found)}, not {json.dumps(value)}"
    return None


def _problems(turn: Expected, made: Sequence[tuple[str, Mapping[str, Any]]], reply: str) -> list[str]:
    found = [
        problem for wanted, call in zip(turn.calls, made, strict=False) if (problem := _call_problem(wanted, call))
    ]
    if len(made) != len(turn.calls):
        found.append(f"made {len(made)} calls ({', '.join(name for name, _ in made)}), not {len(turn.calls)}")
    found += [f"the reply lacks {text!r}" for text in turn.reply if text not in reply]
    found += [f"the reply says {text!r}" for text in turn.reply_not if text in reply]
    return [f"{turn.say[:60]!r}: {problem}; the reply was {reply!r}" for problem in found]


async def run_case(case: Case) -> list[str]:
    """Runs a conversation and returns one sentence for each expectation it does not meet."""
    provider = OfflineProvider(lambda: case.now, case.zone)
    offered = tuple(ToolSpec(name, "", {"type": "object"}) for name in TOOLS if name not in case.without)
    tools = ScriptedTools(case.answers, case.zone)
    messages: list[Message] = []
    problems: list[str] = []
    for turn in case.turns:
        before = len(tools.called)
        messages.append(Message("user", (Text(turn.say),)))
        reply = await _turn(provider, tools, messages, offered)
        problems += _problems(turn, tools.called[before:], reply)
    return problems


def main() -> int:
    """Prints how many conversations are met and what the others lack; the exit code is 1 when any is not met."""
    cases = load_cases()
    failed = {case.name: problems for case in cases if (problems := asyncio.run(run_case(case)))}
    for name, problems in failed.items():
        print(f"{name}\n" + "\n".join(f"    {problem}" for problem in problems))
    turns = sum(len(case.turns) for case in cases)
    print(f"{len(cases) - len(failed)} of {len(cases)} conversations met ({turns} messages)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
