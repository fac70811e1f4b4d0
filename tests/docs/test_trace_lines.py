"""The reference of trace lines names every member that a line can have."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest

from agent_host.mcp_clients.protocol import Permission, ToolOutcome
from agent_host.providers.protocol import Identity, JsonValue, Usage
from agent_host.tracing.events import (
    Consolidated,
    GateDecided,
    KnowledgeUsed,
    ModelCalled,
    Notice,
    PermissionDecided,
    ReceiptMade,
    ReplyDelta,
    ReportSaved,
    SkillsChosen,
    SlotsDecided,
    SlotVerdict,
    ToolCalled,
    ToolStarted,
    TurnEnded,
    TurnEvent,
    TurnScored,
    TurnStarted,
)
from agent_host.tracing.lines import trace_line
from agent_host.tracing.tool_lines import OUTPUT_LIMIT
from agent_host.turn_checks.running import NAMES
from tests.agent_host.tracing.test_lines import receipt_made

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "trace-lines.md").read_text()
PRICED: JsonValue = {"cost_usd": 1, "provider": "Acme", "endpoint_id": "a", "status": 500, "retrieval_trace_id": "r"}
FOUND = ToolOutcome("memory", "memory_search", "x" * (OUTPUT_LIMIT + 1), PRICED, is_error=True, duration_ms=1)
LONG = ToolOutcome("x", "find", "x" * (OUTPUT_LIMIT + 1), None, is_error=False, duration_ms=1)
IDENTITY = Identity("mock", "m", "1")
EVENTS: tuple[TurnEvent, ...] = (
    TurnStarted("t_1", "s_1", "cli", "hi"),
    SkillsChosen(("a",)),
    GateDecided("skip", "", "no need"),
    KnowledgeUsed(({"id": "m"},)),
    SlotsDecided((SlotVerdict("m", 1, kept=True),)),
    PermissionDecided("u", "x", Permission(granted=True, reason="read_only", answer=None)),
    ToolCalled("u", "memory_search", {"query": "q"}, FOUND, read_first=True, gated=True),
    ToolCalled("u", "x_find", {}, LONG),
    ModelCalled("final", IDENTITY, "end_turn", Usage(), 0, 1, "ok", "c", 1),
    ReportSaved("t", "m", "global", ()),
    Notice("x"),
    TurnEnded("replied", "x", 1),
    receipt_made(None),
    Consolidated("b", 1, ()),
    TurnScored("human", "x", 0, ""),
)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_member_of_a_line_is_in_the_reference(event: TurnEvent) -> None:
    row = json.loads(trace_line(event, "t_1", 0, iteration=1) or b"{}")

    assert [name for name in (row["type"], *row) if f"`{name}`" not in PAGE] == []


def test_every_event_that_is_traced_was_looked_at() -> None:
    untraced = {ReplyDelta, ToolStarted}

    assert {type(event) for event in EVENTS} | untraced == set(get_args(TurnEvent))
    assert ReceiptMade in {type(event) for event in EVENTS}


def test_the_how_to_names_each_check_once() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (DOCS / "how-to" / "look-back-at-turns.md").read_text(), flags=re.MULTILINE)

    assert tuple(rows) == NAMES
