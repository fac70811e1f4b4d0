"""The receipt line under every reply (agent.md 2.5). Pure."""

from __future__ import annotations

from agent_host.receipts.drafts import ModelUsage, ToolUsage, TurnReceipt
from agent_host.receipts.protocol import ReceiptStatus

_KILO = 1_000
_MICRO = 1_000_000


def receipt_line(receipt: TurnReceipt, status: ReceiptStatus) -> str:
    """Returns the parts that apply, joined by ` | `: model, priced tools, memory, total, what became of the receipt."""
    parts = (_model(receipt), _priced_tools(receipt.tools), _memory(receipt), _total(receipt), _status(status))
    return " | ".join(part for part in parts if part)


def tokens(count: int) -> str:
    """Returns a token count: as it is below 1,000, else with one decimal and k (12,410 → 12.4k)."""
    return str(count) if count < _KILO else f"{count / _KILO:.1f}k"


def dollars(micro_usd: int) -> str:
    """Returns micro-dollars as dollars with three decimals."""
    return f"${micro_usd / _MICRO:.3f}"


def price(model: ModelUsage) -> str:
    """Returns what a turn's model calls cost, and how many are not in that; an unknown price is never shown as free."""
    known = dollars(model.cost_micro_usd) + (" est" if model.estimated else "")
    if model.priced:
        return known
    calls = "1 call" if model.uncounted == 1 else f"{model.uncounted} calls"
    return f"{known} + {calls} not counted" if model.cost_micro_usd else "no price known"


def _model(receipt: TurnReceipt) -> str:
    model = receipt.model
    return f"{model.id} · {tokens(model.input_tokens)} in / {tokens(model.output_tokens)} out · {price(model)}"


def _priced_tools(tools: tuple[ToolUsage, ...]) -> str:
    priced: dict[str, list[ToolUsage]] = {}
    for row in tools:
        if row.cost_micro_usd is not None:
            priced.setdefault(row.provider, []).append(row)
    return ", ".join(
        f"{provider} {sum(row.n for row in rows)} · {dollars(sum(row.cost_micro_usd or 0 for row in rows))}"
        for provider, rows in priced.items()
    )


def _memory(receipt: TurnReceipt) -> str:
    memory = receipt.memory
    if not (memory.searches or memory.kept or memory.used):
        return ""
    unsent = f", {memory.unsent} on this agent only" if memory.unsent else ""
    report = " · report saved" if memory.report_id else ""
    return f"memory {memory.used} used · {memory.kept} kept{unsent}{report}"


def _total(receipt: TurnReceipt) -> str:
    """The sum, where it is known."""
    return dollars(receipt.total_micro_usd) if receipt.model.priced else ""


def _status(status: ReceiptStatus) -> str:
    if status.entry is not None:
        return f"receipt {status.entry.id} signed"
    if status.lost is not None:
        return f"unsigned and not kept: {status.lost}"
    if status.refused is not None:
        return "unsigned, refused by the writer and set aside"
    return f"unsigned, queued ({status.queued})"
