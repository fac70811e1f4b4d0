"""Runs the checks over a turn. Nothing is stored: the same trace gives the same results, every time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from agent_host.tracing.traced_turn import TracedTurn
from agent_host.turn_checks.errors_handled import errors_handled
from agent_host.turn_checks.grounded_numbers import grounded_numbers
from agent_host.turn_checks.one_report import one_report
from agent_host.turn_checks.spend_claim import spend_claim
from agent_host.turn_checks.under_budget import under_budget
from agent_host.turn_checks.verdict import Finding, Result, not_applicable

Check: TypeAlias = Callable[[TracedTurn], Finding]
NAMES: Final = ("spend_claim", "one_report", "grounded_numbers", "errors_handled", "under_budget")

logger = logging.getLogger(__name__)


def checks(limit_micro_usd: int | None) -> Mapping[str, Check]:
    """Returns the five checks by name; `limit_micro_usd` is what a turn may cost, None for no limit."""
    five: tuple[Check, ...] = (
        spend_claim,
        one_report,
        grounded_numbers,
        errors_handled,
        lambda turn: under_budget(turn, limit_micro_usd),
    )
    return dict(zip(NAMES, five, strict=True))


def run_checks(turn: TracedTurn, to_run: Mapping[str, Check]) -> tuple[Result, ...]:
    """Returns what each check says of a turn; one that raises does not apply, and says `check error`."""
    return tuple(_run(name, check, turn) for name, check in to_run.items())


def _run(name: str, check: Check, turn: TracedTurn) -> Result:
    if not turn.has_ended:
        return Result(name, None, "the turn has not ended")
    try:
        finding = check(turn)
    except Exception:  # a trace may hold anything; one turn that a check cannot take must not hide the others
        logger.debug("the check %s of %s failed", name, turn.turn_id, exc_info=True)
        finding = not_applicable("check error")
    return Result(name, finding.value, " ".join(finding.note.split()))
