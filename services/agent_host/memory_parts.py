"""Makes what brings memory into a turn and what takes it out of one afterwards; `app` calls it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from agent_host.consolidation.consolidator import ConsolidationParts, Consolidator
from agent_host.consolidation.store import ConsolidationStore
from agent_host.constrained.options import CallOptions
from agent_host.constrained.registering import SpecLog
from agent_host.constrained.store import CallStore
from agent_host.gates.remembering import Retrieval
from agent_host.gates.slots import ModelScorer, ShareScorer, SlotScorer
from agent_host.mcp_clients.protocol import ToolBox
from agent_host.memory_settings import MemorySettings
from agent_host.tracing.spans import Spans


def open_small_calls(folder: Path, calls: CallOptions, resources: AsyncExitStack) -> CallOptions:
    """Returns the calls of gates, consolidation and other small questions; specs are kept here and registered.

    Raises:
        ConfigurationError: the store there cannot be used.
    """
    store = CallStore(folder / "calls.db")
    resources.callback(store.close)
    return replace(calls, store=store, registry=SpecLog(calls.ledger, store.keep_spec))


def retrieval_of(told: MemorySettings, calls: CallOptions) -> Retrieval:
    """Returns how memory comes into a prompt, by the settings."""
    scorer: SlotScorer | None = None
    if told.slot_gate != "off":
        scorer = ShareScorer() if told.slot_gate == "local" else ModelScorer(calls)
    return Retrieval(
        mode=told.retrieval_gate,
        top_k=told.retrieval_top_k,
        calls=calls,
        scorer=scorer,
        keep_bp=told.slot_gate_keep_bp,
    )


def open_consolidator(
    folder: Path,
    calls: CallOptions,
    tools: ToolBox,
    resources: AsyncExitStack,
    *,
    told: MemorySettings,
    zone: ZoneInfo,
    spans: Spans,
) -> Consolidator:
    """Returns the consolidation of a home; `resources` ends it before its store, its tools and its provider.

    Raises:
        ConfigurationError: the chat log in the host's folder cannot be used.
        ValueError: `calls` has no provider to ask.
    """
    if calls.provider is None:
        raise ValueError("a consolidation needs a provider to ask")
    store = ConsolidationStore(folder / "sessions.db")
    resources.callback(store.close)
    consolidator = Consolidator(
        ConsolidationParts(
            store=store,
            tools=tools,
            provider=calls.provider,
            calls=calls,
            every=told.consolidate_every,
            traces=folder / "traces",
            now=lambda: datetime.now(zone),
            spans=spans,
        )
    )
    resources.push_async_callback(consolidator.close)
    return consolidator


def nothing_after(_: str) -> None:
    """Begins nothing after a turn."""
