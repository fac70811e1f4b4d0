"""Scores which tools a turn called against what its case expects (agent.md row 95). Pure but for reading the cases.

A case is one JSON line: `id`, `input`, and any of `expect_tool` (null: no tool may be called), `expect_in_args` (texts
that the arguments of the expected tool's calls hold, in any case), `expect_min_tool_calls`, `setup_fact` (remembered
before), `expect_not_tools` (tools that may not be called whatever else happens).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_MEMBERS: Final = {
    "id",
    "input",
    "expect_tool",
    "expect_in_args",
    "expect_min_tool_calls",
    "setup_fact",
    "expect_not_tools",
}


@dataclass(frozen=True)
class Case:
    """One message and the tool calls it should lead to. `expects_none`: no tool may be called at all."""

    id: str
    input: str
    expect_tool: str | None = None
    expects_none: bool = False
    expect_in_args: tuple[str, ...] = ()
    expect_min_tool_calls: int = 0
    setup_fact: str | None = None
    expect_not_tools: tuple[str, ...] = ()


@dataclass(frozen=True)
class ToolCall:
    """One tool call that a model made."""

    tool: str
    arguments: Mapping[str, Any]


def load_cases(path: Path) -> tuple[Case, ...]:
    """Reads the cases of a file.

    Raises:
        ValueError: a line is no case, has a member nobody knows, or an id that another has; the message names the line.
    """
    cases: dict[str, Case] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            case = _case(json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"Line {number} of {path.name} is no case: {error}.") from error
        if case.id in cases:
            raise ValueError(f"Line {number} of {path.name} has the id {case.id!r} of another case.")
        cases[case.id] = case
    return tuple(cases.values())


def problems(case: Case, calls: Sequence[ToolCall]) -> list[str]:
    """Returns one sentence for each expectation that the calls do not meet."""
    made = ", ".join(call.tool for call in calls) or "none"
    if case.expects_none:
        return [f"no tool may be called; called: {made}"] if calls else []
    found = []
    expected = [call for call in calls if case.expect_tool in {None, call.tool}]
    if case.expect_tool and not expected:
        found.append(f"{case.expect_tool} was not called; called: {made}")
    elif missing := [text for text in case.expect_in_args if not _holds(expected, text)]:
        found.append(
            f"no call of {case.expect_tool or 'any tool'} has {', '.join(map(repr, missing))} in its arguments"
        )
    if len(calls) < case.expect_min_tool_calls:
        found.append(f"{len(calls)} calls, fewer than {case.expect_min_tool_calls}: {made}")
    found += [f"{call.tool} may not be called" for call in calls if call.tool in case.expect_not_tools]
    return found


def _holds(calls: Sequence[ToolCall], text: str) -> bool:
    return any(text.casefold() in json.dumps(dict(call.arguments), ensure_ascii=False).casefold() for call in calls)


def _case(told: Mapping[str, Any]) -> Case:
    unknown = set(told) - _MEMBERS
    if unknown:
        raise ValueError(f"unknown members {', '.join(sorted(unknown))}")
    return Case(
        id=str(told["id"]),
        input=str(told["input"]),
        expect_tool=told.get("expect_tool"),
        expects_none="expect_tool" in told and told["expect_tool"] is None,
        expect_in_args=tuple(told.get("expect_in_args") or ()),
        expect_min_tool_calls=int(told.get("expect_min_tool_calls") or 0),
        setup_fact=told.get("setup_fact"),
        expect_not_tools=tuple(told.get("expect_not_tools") or ()),
    )
