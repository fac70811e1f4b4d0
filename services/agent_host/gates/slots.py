"""The slot gate: which memories that were found earn a place in the prompt (agent.md row 29, section 4.19).

Off unless `PROMETHEUS_SLOT_GATE` says who scores: `local` needs no model, `model` asks one under the spec `slot-gate`.
Any failure keeps every memory.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from agent_host.constrained.call import run_constrained_ai
from agent_host.constrained.options import CallOptions
from agent_host.constrained.specs import shipped_spec
from agent_host.gates.hits import Hit
from agent_host.providers.protocol import JsonValue
from agent_host.tracing.events import SlotsDecided, SlotVerdict
from agent_host.tracing.turn_events import TurnEvents

FULL_BP: Final = 10_000
TIMEOUT_S: Final = 10.0

logger = logging.getLogger(__name__)


class SlotScorer(Protocol):
    """Says how much each memory matters for the answer to a message."""

    async def scores(self, message: str, hits: Sequence[Hit], events: TurnEvents) -> Sequence[int]:
        """Returns a score for each hit, in their order: 0 (leaving it out changes nothing) to 10,000.

        May raise anything: a scorer that fails keeps every hit.
        """
        ...


class ShareScorer:
    """Scores by the words alone: a hit's search score as a share of the best one's. The same hits, the same scores.

    A search ranks what fits best first, and what merely shares a word with the message far below it. A hit whose score
    the server did not tell counts in full.
    """

    async def scores(self, message: str, hits: Sequence[Hit], events: TurnEvents) -> Sequence[int]:
        """Returns each hit's share of the best score."""
        del message, events
        best = max((hit.score for hit in hits if hit.score is not None), default=0.0)
        return [
            FULL_BP if hit.score is None or best <= 0 else max(0, round(FULL_BP * hit.score / best)) for hit in hits
        ]


class ModelScorer:
    """Asks a model under the spec `slot-gate`: what it names as needless scores 0, all else in full."""

    def __init__(self, calls: CallOptions) -> None:
        self._calls = calls

    async def scores(self, message: str, hits: Sequence[Hit], events: TurnEvents) -> Sequence[int]:
        """Returns 0 for each hit the model drops; its default keeps them all."""
        if self._calls.provider is None:
            raise TypeError("the slot gate needs a provider to ask")
        spec = shipped_spec("slot-gate", self._calls.provider.identity)
        numbered: list[JsonValue] = [{"number": number, "text": hit.text} for number, hit in enumerate(hits, start=1)]
        options = replace(self._calls, kind="gate", turn_id=events.turn_id, emit=events.emit)
        decision = await run_constrained_ai(spec, {"message": message, "hits": numbered}, options)
        dropped = decision.output.get("dropped") if isinstance(decision.output, Mapping) else None
        numbers = set(dropped) if isinstance(dropped, list | tuple) else set()
        return [0 if number in numbers else FULL_BP for number in range(1, len(hits) + 1)]


async def earned(
    message: str, hits: tuple[Hit, ...], scorer: SlotScorer, keep_bp: int, events: TurnEvents
) -> tuple[Hit, ...]:
    """Returns the hits that score at least `keep_bp`, and emits the verdicts; all of them when scoring fails."""
    if not hits:
        return hits
    try:
        async with asyncio.timeout(TIMEOUT_S):
            scores = await scorer.scores(message, hits, events)
        verdicts = tuple(
            SlotVerdict(hit.memory_id, score, kept=score >= keep_bp) for hit, score in zip(hits, scores, strict=True)
        )
    except Exception:  # whoever wrote the scorer, the person's memories are not lost by it
        logger.exception("the slot gate of %s failed", events.turn_id)
        return hits
    events.emit(SlotsDecided(verdicts))
    return tuple(hit for hit, verdict in zip(hits, verdicts, strict=True) if verdict.kept)
