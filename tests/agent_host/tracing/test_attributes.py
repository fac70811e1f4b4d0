"""The map of agent.md 2.7, attribute by attribute."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agent_host.mcp_clients.protocol import Permission, ToolOutcome
from agent_host.providers.protocol import Identity, JsonValue, Usage
from agent_host.receipts.drafts import MemoryUsage, ModelUsage, TurnReceipt
from agent_host.receipts.protocol import ReceiptStatus, StoredEntry
from agent_host.tracing import otel_names
from agent_host.tracing.attributes import (
    added_attributes,
    model_attributes,
    model_name,
    started_attributes,
    tool_attributes,
    tool_name,
    turn_attributes,
    turn_name,
)
from agent_host.tracing.events import (
    Consolidated,
    GateDecided,
    ModelCalled,
    Notice,
    PermissionDecided,
    ReceiptMade,
    ReplyDelta,
    ToolCalled,
    TurnEnded,
    TurnStarted,
)

WORDS = "my doctor is Ana"
CALL = ModelCalled(
    "loop",
    Identity("anthropic", "claude-sonnet-5-5", "1"),
    "tool_use",
    Usage(12, 33, cache_read_tokens=2000, cache_write_tokens=100),
    1_234_567,
    900,
    "ok",
    "c_1",
    7,
)
RECEIPT = TurnReceipt(
    turn_id="t_1",
    session_id="s_1",
    gateway="cli",
    outcome="replied",
    iterations=2,
    input_hash="a",
    reply_hash="b",
    model=ModelUsage("claude-sonnet-5-5", 1, 2, 0, 0, 1_500_000, estimated=True, priced=True, calls=()),
    tools=(),
    memory=MemoryUsage(0, 0, 0, 0, None),
    decisions=(),
    total_micro_usd=1_500_000,
    trace_hash="c",
    commitment="x",
)


def searched(*, failed: bool = False, **more: Any) -> ToolCalled:
    structured: JsonValue = {"entries": [{"id": "m_1", "body": WORDS}], "retrieval_trace_id": "rt_1"}
    outcome = ToolOutcome("memory", "memory_search", json.dumps(structured), structured, failed, 12)
    return ToolCalled("use_1", "memory_search", {"query": WORDS}, outcome, **more)


def called(server: str, tool: str) -> ToolCalled:
    return ToolCalled(
        "use_1", tool, {"title": WORDS}, ToolOutcome(server, tool, WORDS, None, is_error=False, duration_ms=1)
    )


def test_a_turn_is_an_agent_that_was_invoked() -> None:
    assert turn_name() == "invoke_agent prometheus-agent"
    assert turn_attributes(TurnStarted("t_1", "s_1", "cli", WORDS)) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "prometheus-agent",
        "gen_ai.conversation.id": "s_1",
        "prometheus.turn_id": "t_1",
        "prometheus.gateway": "cli",
    }


def test_a_model_call_is_a_chat_with_its_tokens_and_its_money() -> None:
    assert model_name(CALL) == "chat claude-sonnet-5-5"
    assert model_attributes(CALL) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-sonnet-5-5",
        "gen_ai.response.finish_reasons": ["tool_use"],
        "gen_ai.usage.input_tokens": 2112,  # cached ones are input too, by the conventions
        "gen_ai.usage.output_tokens": 33,
        "gen_ai.usage.cache_read.input_tokens": 2000,
        "gen_ai.usage.cache_write.input_tokens": 100,
        "prometheus.cost.usd": 1.234567,
        "prometheus.call.kind": "loop",
        "prometheus.call.id": "c_1",
        "prometheus.call.exit_state": "ok",
        "prometheus.receipt.entry_id": 7,
    }


def test_a_call_without_a_price_or_an_answer_claims_neither() -> None:
    told = model_attributes(
        replace(CALL, stop_reason=None, cost_micro_usd=None, entry_id=None, exit_state="fallback_timeout")
    )

    assert told["error.type"] == "fallback_timeout"
    assert (
        told.keys() & {"prometheus.cost.usd", "gen_ai.response.finish_reasons", "prometheus.receipt.entry_id"} == set()
    )


@pytest.mark.parametrize("state", ["ok", "ok_amended", "rejected_by_reviewer"])
def test_what_a_reviewer_decides_is_no_error(state: Any) -> None:
    assert "error.type" not in model_attributes(replace(CALL, exit_state=state))


def test_a_search_of_memory_says_how_much_it_found_and_not_what_for() -> None:
    assert tool_name("memory_search") == "search_memory memory_search"
    assert tool_attributes(searched(gated=True), with_queries=False) == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.tool.name": "memory_search",
        "gen_ai.tool.type": "datastore",
        "gen_ai.tool.call.id": "use_1",
        "gen_ai.memory.store.id": "memory",
        "gen_ai.memory.record.count": 1,
        "mcp.method.name": "tools/call",
        "prometheus.tool.server": "memory",
        "prometheus.tool.gated": True,
        "prometheus.memory.retrieval_trace_id": "rt_1",
    }


def test_what_was_searched_for_is_told_when_the_person_asks_for_that_without_secrets() -> None:
    event = replace(searched(), arguments={"query": "the key sk-abcdefghijklmnop1234"})

    assert tool_attributes(event, with_queries=True)["gen_ai.memory.query.text"] == "the key ***"


@pytest.mark.parametrize(
    ("server", "tool", "operation", "kind"),
    [
        ("memory", "memory_remember", "create_memory", "datastore"),
        ("memory", "memory_get", "execute_tool", "datastore"),
        ("notes", "notes_write", "execute_tool", "extension"),
        ("", "nothing_like_it", "execute_tool", "function"),
    ],
)
def test_a_tool_is_what_the_conventions_call_it(server: str, tool: str, operation: str, kind: str) -> None:
    told = tool_attributes(called(server, tool), with_queries=True)

    assert (told["gen_ai.operation.name"], told["gen_ai.tool.type"]) == (operation, kind)
    assert tool_name(tool) == f"{operation} {tool}"
    assert started_attributes(tool) == {"gen_ai.operation.name": operation, "gen_ai.tool.name": tool}
    assert ("mcp.method.name" in told) is bool(server)


def test_a_tool_that_failed_is_an_error_without_its_words() -> None:
    told = tool_attributes(searched(failed=True), with_queries=False)

    assert told["error.type"] == "tool_error"
    assert WORDS not in str(told)


@pytest.mark.parametrize(
    ("event", "added"),
    [
        (GateDecided("skip", WORDS, WORDS), {"prometheus.gate.decision": "skip"}),
        (
            PermissionDecided("use_1", "notes_write", Permission(granted=False, reason="write", answer="no")),
            {"prometheus.permission.granted": False},
        ),
        (TurnEnded("replied", WORDS, 2), {"prometheus.outcome": "replied", "prometheus.iterations": 2}),
        (
            TurnEnded("failed", WORDS, 0),
            {"prometheus.outcome": "failed", "prometheus.iterations": 0, "error.type": "failed"},
        ),
        (
            ReceiptMade(RECEIPT, ReceiptStatus(StoredEntry(3, "ff", 1, "{}"), 0)),
            {
                "prometheus.receipt.entry_id": 3,
                "prometheus.receipt.entry_hash": "ff",
                "prometheus.receipt.queued": 0,
                "prometheus.turn.cost.usd": 1.5,
            },
        ),
        (
            ReceiptMade(replace(RECEIPT, model=replace(RECEIPT.model, priced=False)), ReceiptStatus(None, 2)),
            {"prometheus.receipt.queued": 2},
        ),
        (
            Consolidated("b_1", 6, ()),
            {
                "prometheus.consolidation.batch_id": "b_1",
                "prometheus.consolidation.exchanges": 6,
                "prometheus.consolidation.kept": 0,
            },
        ),
        (Notice(WORDS), {}),
        (ReplyDelta(WORDS), {}),
    ],
)
def test_other_events_add_to_the_span_they_happen_in(event: Any, added: dict[str, Any]) -> None:
    assert added_attributes(event) == added


def test_every_name_is_one_of_the_conventions_or_ours() -> None:
    names = {value for name, value in vars(otel_names).items() if name.isupper()}

    assert {name for name in names if not name.startswith("prometheus.")} == {
        "error.type",
        "gen_ai.agent.name",
        "gen_ai.conversation.id",
        "gen_ai.memory.query.text",
        "gen_ai.memory.record.count",
        "gen_ai.memory.store.id",
        "gen_ai.operation.name",
        "gen_ai.provider.name",
        "gen_ai.request.model",
        "gen_ai.response.finish_reasons",
        "gen_ai.tool.call.id",
        "gen_ai.tool.name",
        "gen_ai.tool.type",
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.output_tokens",
        "mcp.method.name",
    }
