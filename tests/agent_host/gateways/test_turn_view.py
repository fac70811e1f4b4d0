"""The steps of a turn as lines, of what the host writes and of what nobody expects in a trace."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest

from agent_host.gateways.turn_view import turn_lines
from agent_host.tracing.reading import Row
from agent_host.tracing.traced_turn import TracedTurn


def steps(*lines: dict[str, Any]) -> list[str]:
    """Returns what is shown of a turn's lines, without what stands above and below them."""
    rows = tuple(Row(str(one["type"]), "t_1", 2, None, one, b"") for one in lines)
    shown = list(turn_lines(TracedTurn("t_1", rows, ()), (), UTC))
    return [line.strip() for line in shown[2:-3]]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            {"type": "permission", "tool": "notes_write", "granted": False, "reason": "untrusted", "answer": "no"},
            "permission notes_write: refused, reason untrusted, answer no",
        ),
        (
            {"type": "permission", "tool": "notes_write", "granted": False, "reason": "deny", "answer": None},
            "permission notes_write: refused, reason deny, answer not asked",
        ),
        (
            {"type": "permission", "tool": "raw_write", "granted": True, "reason": "write", "answer": "always"},
            "permission raw_write: granted, reason write, answer always",
        ),
        ({"type": "slots", "verdicts": [{"kept": True}, {"kept": False}, {}]}, "slots: 1 of 3 kept"),
        ({"type": "used", "entries": [{"id": "mem_1"}]}, "used: 1 from memory"),
        ({"type": "skills", "names": ["lessons", "tea"]}, "skills: lessons, tea"),
        ({"type": "tool", "tool": "x", "ok": False, "error": "gone", "duration_ms": 3}, "tool x: failed, 3 ms: gone"),
    ],
)
def test_each_step_is_a_line(line: dict[str, Any], shown: str) -> None:
    assert steps(line) == [shown]


def test_what_was_granted_without_a_question_is_no_step() -> None:
    assert steps({"type": "permission", "tool": "x", "granted": True, "reason": "read_only", "answer": None}) == []


@pytest.mark.parametrize("odd", [None, 7, "text", [1, None], {"a": 1}])
@pytest.mark.parametrize(
    ("kind", "member"),
    [
        ("permission", "granted"),
        ("slots", "verdicts"),
        ("used", "entries"),
        ("skills", "names"),
        ("llm", "usage"),
        ("tool", "error"),
        ("gate", "reason"),
    ],
)
def test_a_member_that_somebody_edited_crashes_nothing(kind: str, member: str, odd: object) -> None:
    assert len(steps({"type": kind, member: odd})) <= 1
