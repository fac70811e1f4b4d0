"""Trace lines and the file they go to."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_host.mcp_clients.protocol import Permission, ToolOutcome
from agent_host.providers.protocol import Identity, JsonValue, Usage
from agent_host.receipts.drafts import CallCount, DecisionRef, MemoryUsage, ModelUsage, ToolUsage, TurnReceipt
from agent_host.receipts.protocol import ReceiptStatus, StoredEntry
from agent_host.tracing.events import (
    CallKind,
    Consolidated,
    GateDecided,
    KeptFact,
    ModelCalled,
    Notice,
    PermissionDecided,
    ReceiptMade,
    ReplyDelta,
    SlotsDecided,
    SlotVerdict,
    ToolCalled,
    ToolStarted,
    TurnEnded,
    TurnScored,
    TurnStarted,
)
from agent_host.tracing.jsonl import TraceFile
from agent_host.tracing.lines import trace_line
from agent_host.tracing.tool_lines import ARGUMENTS_LIMIT, OUTPUT_LIMIT

AT_MS = 1_764_607_125_386
SECRET = "sk-abcdefghijklmnop1234"


def parsed(line: bytes | None) -> dict[str, Any]:
    assert line is not None
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    row: dict[str, Any] = json.loads(line)
    return row


def tool(content: str, arguments: dict[str, Any] | None = None, *, failed: bool = False) -> ToolCalled:
    outcome = ToolOutcome("memory", "memory_search", content, None, failed, 12)
    return ToolCalled("use-1", "memory_search", arguments or {}, outcome)


def test_every_line_has_a_utc_time_with_milliseconds_and_its_turn() -> None:
    row = parsed(trace_line(TurnStarted("t_1", "s_1", "cli", "hi"), "t_1", AT_MS))

    assert row["ts"] == "2025-12-01T16:38:45.386Z"
    assert (row["turn_id"], row["type"], row["user_message"]) == ("t_1", "turn_start", "hi")


def test_a_model_call_states_tokens_money_and_its_entry() -> None:
    event = ModelCalled(
        kind="loop",
        identity=Identity("anthropic", "claude-sonnet-5-5", "1"),
        stop_reason="tool_use",
        usage=Usage(10, 20, 30, 40),
        cost_micro_usd=None,
        latency_ms=7,
        exit_state="ok",
        call_id="c_1",
        entry_id=3,
    )

    row = parsed(trace_line(event, "t_1", AT_MS))

    assert row["usage"] == {"in": 10, "out": 20, "cache_read": 30, "cache_write": 40}
    assert (row["cost_micro_usd"], row["entry_id"], row["stop_reason"]) == (None, 3, "tool_use")


def test_a_tool_call_keeps_the_hash_of_what_is_cut_and_hidden() -> None:
    content = "Bearer abcdefgh12345678 " + "x" * OUTPUT_LIMIT

    row = parsed(trace_line(tool(content), "t_1", AT_MS))

    assert len(row["output"]) == OUTPUT_LIMIT
    assert "abcdefgh12345678" not in row["output"]
    assert row["output_sha256"] == hashlib.sha256(content.encode()).hexdigest()
    assert "error" not in row


def test_secrets_in_structured_output_are_hidden_by_name() -> None:
    structured = {"password": "hunter2", "city": "Oslo"}
    event = ToolCalled(
        "u1", "x", {}, ToolOutcome("s", "x", json.dumps(structured), structured, is_error=False, duration_ms=1)
    )

    row = parsed(trace_line(event, "t_1", AT_MS))

    assert row["output"] == '{"password":"***","city":"Oslo"}'


def test_long_arguments_become_one_cut_string() -> None:
    row = parsed(trace_line(tool("ok", {"body": "y" * 1_000}), "t_1", AT_MS))

    assert isinstance(row["args"], str)
    assert len(row["args"]) == ARGUMENTS_LIMIT


def test_secret_arguments_are_hidden() -> None:
    row = parsed(trace_line(tool("ok", {"api_key": "k", "q": "a"}), "t_1", AT_MS))

    assert row["args"] == {"api_key": "***", "q": "a"}


def test_a_failed_tool_call_says_why() -> None:
    row = parsed(trace_line(tool("no such memory", failed=True), "t_1", AT_MS))

    assert (row["ok"], row["error"]) == (False, "no such memory")


@pytest.mark.parametrize("event", [ReplyDelta("word"), ToolStarted("memory_search")])
def test_what_is_only_for_the_eye_is_not_traced(event: ReplyDelta | ToolStarted) -> None:
    assert trace_line(event, "t_1", AT_MS) is None


def test_broken_text_is_traced_without_an_error() -> None:
    assert parsed(trace_line(Notice("half \ud83d"), "t_1", AT_MS))["type"] == "notice"
    assert parsed(trace_line(TurnEnded("replied", "ok", 1), "t_1", AT_MS))["iterations"] == 1


def test_the_trace_hash_covers_exactly_the_bytes_on_disk(tmp_path: Path) -> None:
    trace = TraceFile(tmp_path, datetime(2026, 11, 30, 23, 59, tzinfo=UTC))
    trace.write(b'{"n":1}\n')
    trace.write(b'{"n":2}\n')

    written = (tmp_path / "2026-11-30.jsonl").read_bytes()

    assert written == b'{"n":1}\n{"n":2}\n'
    assert trace.sha256 == hashlib.sha256(written).hexdigest()


def test_a_trace_that_cannot_be_written_warns_once_and_never_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trace = TraceFile(tmp_path / "missing", datetime(2026, 11, 30, tzinfo=UTC))

    with caplog.at_level(logging.WARNING):
        trace.write(b"a\n")
        trace.write(b"b\n")

    assert len(caplog.records) == 1
    assert trace.sha256 == hashlib.sha256(b"a\nb\n").hexdigest()


def test_a_search_of_memory_is_a_retrieval_with_its_query_and_the_ids_it_found() -> None:
    answer: JsonValue = {
        "entries": [{"id": "mem_1", "snippet": "x"}, {"id": "mem_2"}, "odd"],
        "retrieval_trace_id": "r_1",
    }
    outcome = ToolOutcome("memory", "memory_search", "…", answer, is_error=False, duration_ms=2)

    row = parsed(trace_line(ToolCalled("u1", "memory_search", {"query": "x" * 999}, outcome, gated=True), "t_1", AT_MS))

    assert (row["span"], row["gated"], row["results"]) == ("retrieval", True, 2)
    assert (row["memory_ids"], row["retrieval_trace_id"], len(row["query"])) == (["mem_1", "mem_2"], "r_1", 200)


@pytest.mark.parametrize(("name", "span"), [("memory_remember", "memory_write"), ("notes_write", "tool")])
def test_what_a_tool_does_to_memory_is_its_span(name: str, span: str) -> None:
    outcome = ToolOutcome("x", name, "done", None, is_error=False, duration_ms=1)

    assert parsed(trace_line(ToolCalled("u1", name, {}, outcome), "t_1", AT_MS))["span"] == span


def test_a_gates_word_is_a_line_without_secrets() -> None:
    row = parsed(trace_line(GateDecided("retrieve", "sk-abcdefghijklmnop1234", "why"), "t_1", AT_MS))

    assert (row["type"], row["decision"], row["query"], row["reason"]) == ("gate", "retrieve", "***", "why")


def test_slots_name_each_memory_with_its_score() -> None:
    row = parsed(trace_line(SlotsDecided((SlotVerdict("mem_1", 4200, kept=False),)), "t_1", AT_MS))

    assert row["verdicts"] == [{"memory_id": "mem_1", "score_bp": 4200, "kept": False}]


def test_a_consolidation_counts_facts_and_hides_secrets_in_them() -> None:
    kept = (
        KeptFact("fact", "Ana", "Her key is sk-abcdefghijklmnop1234", "global", "mem_1", sent=True),
        KeptFact("episode", "", "They met.", "global", None, sent=None),
    )

    row = parsed(trace_line(Consolidated("b_1", 6, kept), "t_1", AT_MS))

    assert (row["type"], row["new_facts"], row["exchanges"]) == ("consolidation", 1, 6)
    assert [(one["content"], one["sent"]) for one in row["kept"]] == [("Her key is ***", True), ("They met.", None)]


def test_a_decision_about_a_call_is_traced_with_its_reason_and_the_persons_answer() -> None:
    event = PermissionDecided("u_1", "far_write", Permission(granted=False, reason="untrusted", answer="no"))
    row = parsed(trace_line(event, "t_1", AT_MS))
    assert (row["type"], row["tool"], row["gen_ai.tool.call.id"]) == ("permission", "far_write", "u_1")
    assert (row["granted"], row["reason"], row["answer"]) == (False, "untrusted", "no")


def receipt_made(entry: StoredEntry | None) -> ReceiptMade:
    model = ModelUsage("m", 900, 40, 0, 0, 3_300, estimated=True, priced=True, calls=(CallCount("loop", 1),))
    receipt = TurnReceipt(
        turn_id="t_1",
        session_id="s_1",
        gateway="cli",
        outcome="replied",
        iterations=1,
        input_hash="1" * 64,
        reply_hash="2" * 64,
        commitment="hmac-sha256",
        model=model,
        tools=(ToolUsage("find", "market", "ok", 2, 30_000),),
        memory=MemoryUsage(1, 2, 0, 0, None),
        decisions=(DecisionRef("c_1", 1),),
        total_micro_usd=33_300,
        trace_hash="3" * 64,
    )
    return ReceiptMade(receipt, ReceiptStatus(entry, queued=0 if entry else 3))


def test_a_receipt_is_a_line_with_its_entry_or_how_many_wait() -> None:
    signed = parsed(trace_line(receipt_made(StoredEntry(7, "a" * 64, AT_MS, "{}")), "t_1", AT_MS))
    queued = parsed(trace_line(receipt_made(None), "t_1", AT_MS))

    assert signed["entry"] == {"id": 7, "hash": "a" * 64}
    assert (queued["entry"], queued["queued"]) == (None, 3)
    assert signed["turn_receipt"] == queued["turn_receipt"]


def test_a_receipts_members_are_a_closed_set_at_every_level() -> None:
    made = parsed(trace_line(receipt_made(None), "t_1", AT_MS))["turn_receipt"]

    assert set(made) == {field.name for field in fields(TurnReceipt)}
    assert set(made["model"]) == {field.name for field in fields(ModelUsage)}
    assert made["tools"] == [{"tool": "find", "provider": "market", "status": "ok", "n": 2, "cost_micro_usd": 30_000}]
    assert made["decisions"] == [{"call_id": "c_1", "entry_id": 1}]


def test_a_score_says_who_gave_it_and_what_for() -> None:
    judged = TurnScored("judge", "grounded", 700, f"No {SECRET} in it.", Identity("anthropic", "claude", "1"), 120)

    row = parsed(trace_line(judged, "t_1", AT_MS))

    assert (row["source"], row["name"], row["value"], row["note"]) == ("judge", "grounded", 0.7, "No *** in it.")
    assert (row["judge"], row["cost_micro_usd"]) == ("anthropic/claude", 120)
    assert parsed(trace_line(TurnScored("human", "liked", 1_000, ""), "t_1", AT_MS))["judge"] is None


@pytest.mark.parametrize(("kind", "iteration"), [("loop", 3), ("final", 3), ("gate", None)])
def test_a_call_of_the_loop_says_which_it_was(kind: CallKind, iteration: int | None) -> None:
    called = ModelCalled(kind, Identity("mock", "b", "1"), "end_turn", Usage(), 0, 1, "ok", "c_1", None)

    row = parsed(trace_line(called, "t_1", AT_MS, iteration=3))

    assert row.get("iteration") == iteration
    assert row.get("final_answer") is (True if kind == "final" else None)
    assert row["v"] == 2
