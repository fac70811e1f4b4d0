"""The spool on a real disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_host.providers.protocol import Identity
from agent_host.receipts.drafts import (
    CallCount,
    DecisionDraft,
    DecisionRef,
    Draft,
    MemoryUsage,
    ModelUsage,
    SpecDraft,
    ToolUsage,
    TurnIntent,
    TurnReceipt,
)
from agent_host.receipts.spool import Spool, decode_draft, encode_draft, waiting_receipts

INTENT = TurnIntent("t_1", "s_1", "cli", "a" * 64, "hmac-sha256", "offline-rules")
SPEC = SpecDraft(
    spec_id="reply-drafter",
    spec_hash="b" * 64,
    category="drafter",
    identity=Identity("offline", "offline-rules", "1"),
    schema_version="prometheus-runtime-ai-spec-1.0",
    spec_bytes=1900,
)
DECISION = DecisionDraft(
    spec_id="reply-drafter",
    spec_hash="b" * 64,
    category="drafter",
    input_hash="c" * 64,
    output_canonical_hash="d" * 64,
    commitment="hmac-sha256",
    identity=Identity("offline", "offline-rules", "1"),
    latency_ms=3,
    schema_valid=True,
    fallback_triggered=False,
    turn_id="t_1",
    call_id="c_1",
    exit_state="ok",
)
RECEIPT = TurnReceipt(
    turn_id="t_1",
    session_id="s_1",
    gateway="cli",
    outcome="replied",
    iterations=1,
    input_hash="a" * 64,
    reply_hash="e" * 64,
    commitment="hmac-sha256",
    model=ModelUsage("offline-rules", 0, 0, 0, 0, 0, estimated=False, priced=True, calls=(CallCount("loop", 1),)),
    tools=(ToolUsage("memory_search", "memory", "ok", 1, None),),
    memory=MemoryUsage(1, 2, 0, 0, None),
    decisions=(DecisionRef("c_1", None),),
    total_micro_usd=0,
    trace_hash="f" * 64,
)


@pytest.mark.parametrize("draft", [INTENT, SPEC, DECISION, RECEIPT])
def test_a_draft_survives_the_way_to_disk_and_back(draft: Draft) -> None:
    assert decode_draft(encode_draft(draft)) == draft


def test_a_spool_opened_again_holds_what_was_appended_in_order(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool.jsonl")
    for draft in (INTENT, DECISION, RECEIPT):
        spool.append(draft)

    again = Spool(tmp_path / "spool.jsonl")

    assert again.drafts() == (INTENT, DECISION, RECEIPT)
    assert (len(again), again.receipts) == (3, 1)
    assert (tmp_path / "spool.jsonl").stat().st_mode & 0o777 == 0o600


def test_waiting_receipts_are_counted_without_touching_the_spool(tmp_path: Path) -> None:
    path = tmp_path / "spool.jsonl"
    assert waiting_receipts(path) == 0
    for draft in (INTENT, DECISION, RECEIPT):
        Spool(path).append(draft)
    before = path.read_bytes()

    assert waiting_receipts(path) == 1
    assert path.read_bytes() == before


def test_an_append_cut_short_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "spool.jsonl"
    Spool(path).append(INTENT)
    path.write_bytes(path.read_bytes() + encode_draft(DECISION)[:40])

    reopened = Spool(path)
    reopened.append(RECEIPT)

    assert Spool(path).drafts() == (INTENT, RECEIPT)


def test_replace_leaves_exactly_the_given_drafts(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool.jsonl")
    spool.append(INTENT)
    spool.append(RECEIPT)

    spool.replace([RECEIPT])

    assert Spool(tmp_path / "spool.jsonl").drafts() == (RECEIPT,)


def test_a_refused_draft_is_kept_aside_with_its_reason(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool.jsonl")

    spool.set_aside(DECISION, "call_id was appended before with other fields")

    row = json.loads((tmp_path / "spool.refused.jsonl").read_text())
    assert row["reason"].startswith("call_id was appended")
    assert row["draft"]["call_id"] == "c_1"
    assert len(spool) == 0


@pytest.mark.parametrize("line", [b'{"kind":"gift"}', b"{", b'{"kind":"intent","turn_id":"t_1"}', b"[]", b"\xff"])
def test_a_line_that_is_no_draft_is_kept_aside_and_blocks_nothing(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "spool.jsonl"
    path.write_bytes(encode_draft(INTENT) + line + b"\n" + encode_draft(RECEIPT))

    spool = Spool(path)

    assert spool.drafts() == (INTENT, RECEIPT)
    assert (tmp_path / "spool.broken").read_bytes() == line + b"\n"
    assert spool.problems == ("1 lines of the spool were no drafts and are kept in spool.broken.",)
    assert Spool(path).problems == ()
