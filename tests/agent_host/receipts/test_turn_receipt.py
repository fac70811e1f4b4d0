"""From events to a receipt."""

from __future__ import annotations

import pytest

from agent_host.mcp_clients.protocol import ToolOutcome
from agent_host.providers.protocol import Identity, JsonValue, Usage
from agent_host.receipts.drafts import CallCount, DecisionRef, ToolUsage, TurnReceipt
from agent_host.receipts.turn_receipt import turn_receipt
from agent_host.tracing.events import CallKind, ModelCalled, ReplyDelta, ToolCalled, TurnEnded, TurnEvent, TurnStarted

ANTHROPIC = Identity("anthropic", "claude-sonnet-5-5", "1")
OFFLINE = Identity("offline", "offline-rules", "1")
START = TurnStarted("t_1", "s_1", "cli", "hello")
END = TurnEnded("replied", "bye", 2)


def model_called(
    kind: CallKind = "loop", usage: Usage | None = None, cost: int | None = 10, entry: int | None = 1
) -> ModelCalled:
    return ModelCalled(
        kind, ANTHROPIC, "end_turn", usage or Usage(), cost, 5, "ok", call_id=f"c_{entry}", entry_id=entry
    )


def tool_called(tool: str, server: str = "memory", structured: JsonValue = None, *, failed: bool = False) -> ToolCalled:
    return ToolCalled("use-1", tool, {}, ToolOutcome(server, tool, "text", structured, failed, 3))


def receipt(*events: TurnEvent, identity: Identity = ANTHROPIC) -> TurnReceipt:
    return turn_receipt(
        [START, *events, END],
        identity,
        input_hash="1" * 64,
        reply_hash="2" * 64,
        commitment="hmac-sha256",
        trace_hash="3" * 64,
    )


def test_tokens_and_money_are_summed_with_cached_tokens_apart() -> None:
    made = receipt(
        model_called(usage=Usage(12_000, 1_850, 100, 2_000), cost=63_750),
        model_called(usage=Usage(410, 52), cost=670),
    )

    assert (made.model.input_tokens, made.model.output_tokens) == (12_410, 1_902)
    assert (made.model.cache_read_tokens, made.model.cache_write_tokens) == (100, 2_000)
    assert made.model.cost_micro_usd == 64_420
    assert made.model.estimated


def test_the_golden_turn_with_two_priced_calls_comes_to_its_known_total() -> None:
    made = receipt(
        model_called(cost=63_750),
        model_called(cost=670),
        tool_called("find", "market", {"cost_usd": 0.010}),
        tool_called("find", "market", {"cost_usd": 0.020}),
    )

    assert made.tools == (ToolUsage("find", "market", "ok", 2, 30_000),)
    assert made.total_micro_usd == 94_420


def test_calls_are_counted_by_kind_in_the_order_first_seen() -> None:
    made = receipt(model_called("loop"), model_called("loop"), model_called("final"))

    assert made.model.calls == (CallCount("loop", 2), CallCount("final", 1))


def test_an_unknown_price_is_zero_and_estimated_never_simply_free() -> None:
    made = receipt(model_called(cost=None))

    assert (made.model.cost_micro_usd, made.model.estimated, made.model.priced) == (0, True, False)
    assert made.model.uncounted == 1


def test_the_offline_model_is_exactly_free() -> None:
    made = receipt(model_called(cost=0), identity=OFFLINE)

    assert (made.model.cost_micro_usd, made.model.estimated) == (0, False)


def test_tools_are_grouped_by_name_server_and_status() -> None:
    made = receipt(
        tool_called("memory_search"),
        tool_called("memory_search", failed=True),
        tool_called("memory_search"),
        tool_called("calendar_now", "calendar"),
    )

    assert [(row.tool, row.provider, row.status, row.n) for row in made.tools] == [
        ("memory_search", "memory", "ok", 2),
        ("memory_search", "memory", "error", 1),
        ("calendar_now", "calendar", "ok", 1),
    ]


@pytest.mark.parametrize("name", ["tell ana: it is cancer", "x" * 65, "", "naïve", "a\nb"])
def test_free_text_never_gets_onto_the_ledger_as_a_name(name: str) -> None:
    made = receipt(tool_called(name, server=name, failed=True))

    assert [(row.tool, row.provider) for row in made.tools] == [("unknown", "unknown")]


def test_memory_counts_come_from_structured_answers_of_calls_that_worked() -> None:
    made = receipt(
        tool_called("memory_search", structured={"entries": [{"id": "a"}, {"id": "b"}]}),
        tool_called("memory_search", structured={"entries": []}),
        tool_called("memory_search", failed=True),
        tool_called("memory_remember", structured={"deduped": False}),
        tool_called("memory_remember", structured={"deduped": True}),
        tool_called("memory_search", server="elsewhere", structured={"entries": [{}]}),
    )

    assert (made.memory.searches, made.memory.used, made.memory.kept) == (2, 2, 1)


def test_a_memory_that_two_searches_found_was_used_once() -> None:
    made = receipt(
        tool_called("memory_search", structured={"entries": [{"id": "a"}, {"id": "b"}, {}]}),
        tool_called("memory_search", structured={"entries": [{"id": "b"}, {"id": "c"}, 7]}),
    )

    assert (made.memory.searches, made.memory.used) == (2, 5)


@pytest.mark.parametrize(
    "structured",
    [
        None,
        "text",
        [1],
        {"cost_usd": -1},
        {"cost_usd": "0.5"},
        {"cost_usd": True},
        {"cost_usd": float("nan")},
        {"cost_usd": float("inf")},
        {"cost_usd": None},
        {"entries": 7},
    ],
)
def test_unusable_answers_still_make_a_receipt_without_a_price(structured: JsonValue) -> None:
    made = receipt(tool_called("memory_search", structured=structured))

    assert made.tools[0].cost_micro_usd is None
    assert made.total_micro_usd == 0


def test_decisions_are_named_by_call_and_entry() -> None:
    made = receipt(model_called(entry=7), model_called(entry=None))

    assert made.decisions == (DecisionRef("c_7", 7), DecisionRef("c_None", None))


def test_deltas_leave_no_trace_in_the_receipt() -> None:
    assert receipt(ReplyDelta("secret words")) == receipt()


def test_a_turn_without_an_end_has_no_receipt() -> None:
    with pytest.raises(ValueError, match="TurnEnded"):
        turn_receipt([START], OFFLINE, input_hash="", reply_hash="", commitment="", trace_hash="")
