"""`under_budget`: the turn cost no more than a turn may."""

from __future__ import annotations

from agent_host.tracing.traced_turn import TracedTurn
from agent_host.turn_checks.verdict import Finding, failed, not_applicable, passed

_MICRO = 1_000_000


def under_budget(turn: TracedTurn, limit_micro_usd: int | None) -> Finding:
    """Compares the known cost of a turn's model and tool calls with the limit.

    A call of a model without a known price makes a pass unknowable; a failure stands whatever such calls cost.
    """
    models = [call.cost_micro_usd for call in turn.calls]
    known = [cost for cost in (*models, *(tool.cost_micro_usd for tool in turn.tools)) if cost is not None]
    if limit_micro_usd is None:
        return not_applicable("no budget is set")
    if not known:
        return not_applicable("no cost is recorded")
    spent, unpriced = sum(known), models.count(None)
    note = f"{_dollars(spent)} of {_dollars(limit_micro_usd)}"
    if spent > limit_micro_usd:
        return failed(note)
    if unpriced:
        calls = "1 model call has" if unpriced == 1 else f"{unpriced} model calls have"
        return not_applicable(f"{calls} no known price; the rest is {note}")
    return passed(note)


def _dollars(micro_usd: int) -> str:
    return f"${micro_usd / _MICRO:.4f}"
