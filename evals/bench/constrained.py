"""A constrained call without its model and without fsync: what the contract itself costs, stage by stage.

The model answers at once and the ledger takes drafts in memory, so what is left is ours: checking the input, rendering
the prompt, strict JSON, the schema, two commitments and the draft. Beside it runs what any caller who commits to both
sides would do by hand: `json.loads`, a validator that does nothing, and two HMACs over RFC 8785 bytes.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import statistics
import time
from collections.abc import AsyncIterator

import rfc8785

from agent_host.constrained import CallOptions, RuntimeAISpec, run_constrained_ai, shipped_spec
from agent_host.constrained.registering import SpecLog
from agent_host.providers.protocol import Identity, JsonValue, ModelReply, ModelRequest, Text, TextDelta, Usage
from agent_host.receipts.commitments import Opening
from agent_host.receipts.drafts import DecisionDraft, SpecDraft, TurnIntent, TurnReceipt
from agent_host.receipts.protocol import ReceiptStatus

RUNS = 2_000
TARGET_MS = 1.0
IDENTITY = Identity("mock", "instant", "1")
EXCHANGES: list[JsonValue] = [
    {"person": "What did Ana say about the offsite? " * 8, "assistant": "She prefers the week of 7 June. " * 12}
] * 6
CASES: dict[str, tuple[dict[str, JsonValue], str]] = {
    "retrieval-gate": (
        {"message": "what did Ana say about the offsite?", "history": ["hi", "hello"]},
        '{"decision": "retrieve", "query": "Ana offsite", "reason": "a person and an earlier talk"}',
    ),
    "consolidation": (
        {"exchanges": EXCHANGES, "read": "Ana leads the design team. " * 40, "today": "2026-11-30"},
        json.dumps(
            {
                "facts": [{"subject": "Ana", "content": "Ana prefers the week of 7 June for the offsite."}] * 12,
                "episode": "They planned the offsite.",
                "company_research": False,
            }
        ),
    ),
}


class InstantModel:
    """Answers at once, always the same."""

    def __init__(self, said: str) -> None:
        self._reply = ModelReply((Text(said),), "end_turn", Usage(100, 20), IDENTITY.model)

    @property
    def identity(self) -> Identity:
        """Who answers."""
        return IDENTITY

    async def stream(self, _: ModelRequest) -> AsyncIterator[TextDelta | ModelReply]:
        """Streams the one reply."""
        yield TextDelta(self._reply.text)
        yield self._reply

    async def close(self) -> None:
        """Does nothing."""


class MemoryLedger:
    """Counts drafts and keeps none: no disk, no writer."""

    def __init__(self) -> None:
        self.entries = 0

    def problems(self) -> tuple[str, ...]:
        """Has none."""
        return ()

    async def begin_turn(self, intent: TurnIntent, opening: Opening) -> None:
        """Is not asked here."""

    async def register_spec(self, draft: SpecDraft) -> None:
        """Keeps none."""

    async def append_decision(self, _draft: DecisionDraft, _openings: tuple[Opening, ...]) -> int:
        """Numbers a draft."""
        self.entries += 1
        return self.entries

    async def sign_decision(self, draft: DecisionDraft, openings: tuple[Opening, ...]) -> int:
        """Numbers a draft."""
        return await self.append_decision(draft, openings)

    async def append_turn(self, _receipt: TurnReceipt, _opening: Opening) -> ReceiptStatus:
        """Is not asked here."""
        return ReceiptStatus(None, 0)


def main() -> int:
    """Prints the overhead of a call under a small and a large spec, beside the same work done by hand."""
    for name, (values, said) in CASES.items():
        spec = shipped_spec(name, IDENTITY)
        ours, by_hand = asyncio.run(_calls(spec, values, said)), _by_hand(values, said)
        p50, p95 = statistics.median(ours), statistics.quantiles(ours, n=20)[18]
        bare = statistics.median(by_hand)
        print(
            f"{name:15} {p50:6.3f} ms p50, {p95:6.3f} ms p95 of CPU   ({p50 / bare:.1f}x two bare commitments; "
            f"{p50 / TARGET_MS:.2f} of the target of {TARGET_MS:g} ms)"
        )
    return 0


async def _calls(spec: RuntimeAISpec, values: dict[str, JsonValue], said: str) -> list[float]:
    ledger = MemoryLedger()
    options = CallOptions(ledger=ledger, provider=InstantModel(said), registry=SpecLog(ledger, lambda _: None))
    spent = []
    for _ in range(RUNS):
        started = time.process_time_ns()
        decision = await run_constrained_ai(spec, values, options)
        spent.append((time.process_time_ns() - started) / 1e6)
        assert decision.exit_state == "ok"
    assert ledger.entries == RUNS
    return spent


def _by_hand(values: dict[str, JsonValue], said: str) -> list[float]:
    spent = []
    for _ in range(RUNS):
        started = time.process_time_ns()
        for value in (values, json.loads(said)):
            hmac.digest(secrets.token_bytes(32), rfc8785.dumps(value), "sha256")
        spent.append((time.process_time_ns() - started) / 1e6)
    return spent
