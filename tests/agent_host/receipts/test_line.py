"""The receipt line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_host.receipts.drafts import MemoryUsage, ModelUsage, ToolUsage, TurnReceipt
from agent_host.receipts.line import dollars, receipt_line, tokens
from agent_host.receipts.protocol import ReceiptStatus, StoredEntry

PLAIN = TurnReceipt(
    turn_id="t_1",
    session_id="s_1",
    gateway="cli",
    outcome="replied",
    iterations=1,
    input_hash="",
    reply_hash="",
    commitment="hmac-sha256",
    model=ModelUsage("claude-sonnet-5-5", 900, 40, 0, 0, 3_300, estimated=True, priced=True, calls=()),
    tools=(),
    memory=MemoryUsage(0, 0, 0, 0, None),
    decisions=(),
    total_micro_usd=3_300,
    trace_hash="",
)
SIGNED = ReceiptStatus(StoredEntry(12, "ab", 0, "{}"), 0)


def test_a_turn_without_tools_or_memory_shows_model_total_and_receipt() -> None:
    line = receipt_line(PLAIN, SIGNED)

    assert line == "claude-sonnet-5-5 · 900 in / 40 out · $0.003 est | $0.003 | receipt 12 signed"


def test_memory_and_priced_tools_show_when_there_are_any() -> None:
    rich = replace(
        PLAIN,
        tools=(
            ToolUsage("find", "market", "ok", 2, 30_000),
            ToolUsage("look", "market", "error", 1, 1_000),
            ToolUsage("memory_search", "memory", "ok", 1, None),
        ),
        memory=MemoryUsage(1, 3, 2, 1, "m_9"),
    )

    parts = receipt_line(rich, SIGNED).split(" | ")

    assert parts[1] == "market 3 · $0.031"
    assert parts[2] == "memory 3 used · 2 kept, 1 on this agent only · report saved"


def test_a_search_that_found_nothing_is_still_shown() -> None:
    line = receipt_line(replace(PLAIN, memory=MemoryUsage(1, 0, 0, 0, None)), SIGNED)

    assert "memory 0 used · 0 kept" in line


def test_a_model_without_a_price_is_not_shown_as_free() -> None:
    unpriced = replace(PLAIN, model=replace(PLAIN.model, cost_micro_usd=0, priced=False), total_micro_usd=0)

    line = receipt_line(unpriced, SIGNED)

    assert "no price known" in line
    assert "$0" not in line


@pytest.mark.parametrize(("uncounted", "words"), [(1, "1 call not counted"), (2, "2 calls not counted")])
def test_what_is_known_is_shown_with_the_calls_that_are_not_in_it(uncounted: int, words: str) -> None:
    part = replace(PLAIN.model, priced=False, uncounted=uncounted)
    line = receipt_line(replace(PLAIN, model=part), SIGNED)

    assert line == f"claude-sonnet-5-5 · 900 in / 40 out · $0.003 est + {words} | receipt 12 signed"


def test_a_call_that_used_no_tokens_of_a_priced_model_cost_nothing() -> None:
    line = receipt_line(replace(PLAIN, model=replace(PLAIN.model, cost_micro_usd=0), total_micro_usd=0), SIGNED)

    assert "no price known" not in line


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (SIGNED, "receipt 12 signed"),
        (ReceiptStatus(None, 3), "unsigned, queued (3)"),
        (ReceiptStatus(None, 0, refused="bad"), "unsigned, refused by the writer and set aside"),
        (ReceiptStatus(None, 0, lost="No space left on device"), "unsigned and not kept: No space left on device"),
    ],
)
def test_the_last_part_says_what_became_of_the_receipt(status: ReceiptStatus, words: str) -> None:
    assert receipt_line(PLAIN, status).split(" | ")[-1] == words


@pytest.mark.parametrize(("count", "shown"), [(0, "0"), (999, "999"), (1_000, "1.0k"), (12_410, "12.4k")])
def test_tokens_are_shortened_from_a_thousand_on(count: int, shown: str) -> None:
    assert tokens(count) == shown


@pytest.mark.parametrize(
    ("micro", "shown"), [(0, "$0.000"), (3_300, "$0.003"), (94_420, "$0.094"), (1_500_000, "$1.500")]
)
def test_dollars_have_three_decimals(micro: int, shown: str) -> None:
    assert dollars(micro) == shown
