"""A receipt as a table: a tool that charged says how much, signed or not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agent_host.gateways.receipt_rows import draft_rows, entry_rows
from agent_host.receipts.drafts import ToolUsage
from agent_host.receipts.protocol import StoredEntry
from tests.agent_host.receipts.test_line import PLAIN

MODEL = {"id": "m", "inputTokens": 1, "outputTokens": 1, "costMicroUsd": 0, "estimated": False}
NAMES = ("recordedAtIso", "turnId", "sessionId", "gateway", "outcome", "iterations", "inputHash", "commitment")


@pytest.mark.parametrize(
    ("price", "shown"),
    [
        (4_000, "search_web (search): 2 ok, $0.004"),
        (0, "search_web (search): 2 ok, $0.000"),
        (None, "search_web (search): 2 ok"),
    ],
)
def test_a_tool_that_charged_says_how_much_and_no_other_does(price: int | None, shown: str) -> None:
    usage = ToolUsage("search_web", "search", "ok", 2, price)
    assert dict(draft_rows(replace(PLAIN, tools=(usage,))))["tool"] == shown
    tool = {"tool": "search_web", "provider": "search", "n": 2, "status": "ok", "costMicroUsd": price}
    body = dict.fromkeys((*NAMES, "replyHash", "traceHash", "prevHash"), "x") | {
        "model": MODEL,
        "memory": {"searches": 0, "used": 0, "kept": 0},
        "tools": [tool],
        "totalMicroUsd": 0,
        "attestation": {"publicKey": "k"},
    }
    assert dict(entry_rows(StoredEntry(1, "h", 0, json.dumps(body))))["tool"] == shown
