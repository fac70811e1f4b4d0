"""The retrieval gate: does this turn need memory, and what is to be searched for (agent.md row 28).

A rule answers where it plainly can, a model under the spec `retrieval-gate` elsewhere. Whatever goes wrong, the turn
retrieves, with the raw message as the query.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from agent_host.constrained.call import run_constrained_ai
from agent_host.constrained.options import CallOptions
from agent_host.constrained.specs import shipped_spec
from agent_host.gates.rules import needless
from agent_host.tracing.events import GateDecided
from agent_host.tracing.turn_events import TurnEvents

MESSAGE_CHARACTERS: Final = 4_000
"""How much of a message the gate reads, and a query may have: the memory server takes no more."""
HISTORY_CHARACTERS: Final = 500
"""How much of each earlier message the gate reads."""
NO_RULE: Final = "no rule says that this needs no memory"
FAILED: Final = "the gate failed"

logger = logging.getLogger(__name__)


async def decide(message: str, history: Sequence[str], calls: CallOptions | None, events: TurnEvents) -> GateDecided:
    """Decides for one message; without `calls` by rule alone. `history` is the messages before it, oldest first."""
    if reason := needless(message, calendar=calls is None):
        return GateDecided("skip", "", reason)
    if calls is None:
        return GateDecided("retrieve", _query(message), NO_RULE)
    try:
        return await _ask(message, history, calls, events)
    except Exception:  # a gate that cannot be asked is no reason to forget anything, or to fail a turn
        logger.exception("the retrieval gate of %s failed", events.turn_id)
        return GateDecided("retrieve", _query(message), FAILED)


async def _ask(message: str, history: Sequence[str], calls: CallOptions, events: TurnEvents) -> GateDecided:
    if calls.provider is None:
        raise TypeError("the gate needs a provider to ask")
    spec = shipped_spec("retrieval-gate", calls.provider.identity)
    earlier = [text[:HISTORY_CHARACTERS] for text in history]
    options = replace(calls, kind="gate", turn_id=events.turn_id, emit=events.emit)
    decision = await run_constrained_ai(spec, {"message": _query(message), "history": earlier}, options)
    output = decision.output if isinstance(decision.output, Mapping) else {}
    reason = str(output.get("reason", "")) or decision.reason
    if output.get("decision") == "skip":  # the spec's default retrieves: only a model says this
        return GateDecided("skip", "", reason)
    return GateDecided("retrieve", str(output.get("query", "")).strip() or _query(message), reason)


def _query(message: str) -> str:
    return message.strip()[:MESSAGE_CHARACTERS]
