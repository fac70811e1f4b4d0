"""Consolidates in the background: after a reply, one run at a time, never in the person's way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from agent_host.consolidation.batch import Batch
from agent_host.consolidation.facts import Proposed, capped, episode, proposed_facts, without
from agent_host.consolidation.sending import has_memory, send_pending
from agent_host.consolidation.store import ConsolidationStore
from agent_host.constrained.call import run_constrained_ai
from agent_host.constrained.options import CallOptions
from agent_host.constrained.restating import restated
from agent_host.constrained.specs import CODE_IDENTITY, shipped_spec
from agent_host.identifiers import new_batch_id
from agent_host.mcp_clients.protocol import ToolBox
from agent_host.providers.protocol import JsonValue, Provider
from agent_host.tracing.events import Consolidated, KeptFact
from agent_host.tracing.jsonl import TraceFile
from agent_host.tracing.spans import NoSpans, Spans
from agent_host.tracing.turn_events import TurnEvents

PATIENCE_S: Final = 5.0
"""How long a host that closes waits for a run; what is not done by then stays open for the next one."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ConsolidationParts:
    """What a consolidation works with. `every` is in exchanges: a run begins at twice as many open rows."""

    store: ConsolidationStore
    tools: ToolBox
    provider: Provider
    calls: CallOptions
    every: int
    traces: Path
    now: Callable[[], datetime]
    spans: Spans = field(default_factory=NoSpans)


class Consolidator:
    """Runs at most one consolidation at a time, each in a task of its own."""

    def __init__(self, parts: ConsolidationParts) -> None:
        self._parts = parts
        self._running: asyncio.Task[None] | None = None
        self._closed = False

    def after_turn(self, turn_id: str) -> None:
        """Begins a run, unless one is on its way; waits for nothing. The trace has it under the turn it came after."""
        if not self._closed and (self._running is None or self._running.done()):
            self._running = asyncio.create_task(self._run_quietly(turn_id))

    async def close(self, patience_s: float = PATIENCE_S) -> None:
        """Waits for the run on its way, and cancels it when it takes longer; safe to call twice."""
        self._closed = True
        if self._running is None:
            return
        try:
            await asyncio.wait({self._running}, timeout=patience_s)
        finally:  # also when whoever closes is told to hurry
            self._running.cancel()
            await asyncio.wait({self._running})

    async def _run_quietly(self, turn_id: str) -> None:
        try:
            await run(self._parts, turn_id)
        except Exception:  # what happens after the reply must not reach the person; the log has it
            logger.exception("the consolidation after %s failed", turn_id)


async def run(parts: ConsolidationParts, turn_id: str) -> None:
    """Sends what waits, then consolidates the next batch when there is one."""
    trace = TraceFile(parts.traces, parts.now())
    events = TurnEvents(turn_id, trace, lambda: int(parts.now().timestamp() * 1000), parts.spans.watch)
    batch = parts.store.next_batch(2 * parts.every)
    if batch is None and not parts.store.pending():
        return
    with parts.spans.background("consolidate", turn_id):
        await _consolidate(parts, batch, events)


async def _consolidate(parts: ConsolidationParts, batch: Batch | None, events: TurnEvents) -> None:
    reachable = await has_memory(parts.tools)
    if reachable:
        await send_pending(parts.store, parts.tools, events)
    if batch is None:
        return
    memories = await _memories(parts, batch, events)
    if memories is None:
        return
    batch_id = new_batch_id()
    parts.store.keep(batch_id, batch, memories)
    sent = await send_pending(parts.store, parts.tools, events) if reachable and memories else {}
    kept = (_kept(one, f"{batch_id}-{at}", sent, reachable=reachable) for at, one in enumerate(memories))
    events.emit(Consolidated(batch_id, len(batch.exchanges), tuple(kept)))


async def _memories(parts: ConsolidationParts, batch: Batch, events: TurnEvents) -> tuple[Proposed, ...] | None:
    """Returns what a batch leaves; None when no model could say, and the batch stays open and rests for a while."""
    today = parts.now().date().isoformat()
    spec = shipped_spec("consolidation", parts.provider.identity)
    options = replace(
        parts.calls,
        provider=parts.provider,
        kind="consolidation",
        emit=events.emit,
        meter=lambda event, _: parts.calls.meter(event, events.turn_id),  # of no turn on the ledger: that has ended
    )
    parts.store.pause(parts.every)  # stands when this process dies in the call, so that no restart repeats it at once
    decision = await run_constrained_ai(spec, batch.values(today), options)
    if not decision.is_models:
        # No warning, which would stand between two replies: the next run reads them, and the trace has the decision.
        logger.info("a batch of exchanges stays open: %s", decision.reason)
        return None
    facts = proposed_facts(decision.output, batch)
    facts = await _not_restated(facts, batch.read, options)
    facts = capped(await _worth_keeping(facts, options, parts.provider), batch)
    day = datetime.fromtimestamp(batch.exchanges[-1].at_ms / 1000, tz=parts.now().tzinfo).date().isoformat()
    return (*facts, *episode(decision.output, batch, day))


async def _not_restated(facts: tuple[Proposed, ...], read: Sequence[str], options: CallOptions) -> tuple[Proposed, ...]:
    """Drops facts that only repeat what was read; by code, under its own spec."""
    if not facts or not read:
        return facts
    by_code = replace(options, provider=None, code=restated)
    spec = shipped_spec("restates", CODE_IDENTITY)
    decision = await run_constrained_ai(spec, {"facts": _numbered(facts), "read": list(read)}, by_code)
    return without(facts, decision.output)


async def _worth_keeping(facts: tuple[Proposed, ...], options: CallOptions, provider: Provider) -> tuple[Proposed, ...]:
    """Drops facts that the keep gate calls needless; when it fails, it drops none."""
    if not facts:
        return facts
    spec = shipped_spec("keep-gate", provider.identity)
    decision = await run_constrained_ai(spec, {"facts": _numbered(facts)}, replace(options, kind="gate"))
    return without(facts, decision.output)


def _numbered(facts: tuple[Proposed, ...]) -> list[JsonValue]:
    return [
        {"number": number, "subject": fact.subject, "content": fact.content}
        for number, fact in enumerate(facts, start=1)
    ]


def _kept(memory: Proposed, key: str, sent: dict[str, str | None], *, reachable: bool) -> KeptFact:
    return KeptFact(
        kind=memory.kind,
        subject=memory.subject,
        content=memory.content,
        scope=memory.scope,
        memory_id=sent.get(key),
        sent=key in sent if reachable else None,
    )
