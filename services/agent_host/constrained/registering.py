"""Specs on the ledger: kept by their hash, and registered as one L2 entry each (constrained-ai.md, RuntimeAISpec).

Whatever is registered goes through the host's ledger, so that a spec whose writer is away waits in the spool in front
of the decisions that were made under it. The writer knows a spec by its hash and answers a second registration with the
first entry, so that restarts, several hosts and retries leave one.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable

from agent_host.cancellation import to_the_end
from agent_host.constrained.spec import RuntimeAISpec
from agent_host.receipts.drafts import SpecDraft
from agent_host.receipts.protocol import CallLedger

logger = logging.getLogger(__name__)


class SpecLog:
    """A `SpecRegistry` over a ledger; `keep` stores a spec's bytes by their hash, before the entry is asked for.

    Each hash is handed to the ledger once in a process; from then on registering it costs one look into a set. A spec
    that could not even be spooled is handed over again by its next call.
    """

    def __init__(self, ledger: CallLedger, keep: Callable[[RuntimeAISpec], None]) -> None:
        self._ledger = ledger
        self._keep = keep
        self._handed_over: set[str] = set()
        self._handing = asyncio.Lock()

    async def register(self, spec: RuntimeAISpec) -> None:
        """Registers a spec that this process has not registered yet; a cancellation is raised once that is done."""
        if spec.spec_hash in self._handed_over:
            return
        _, cancelled = await to_the_end(self._hand_over(spec))
        if cancelled:
            raise asyncio.CancelledError

    async def _hand_over(self, spec: RuntimeAISpec) -> None:
        async with self._handing:
            if spec.spec_hash in self._handed_over:
                return
            try:
                self._keep(spec)
                await self._ledger.register_spec(spec_draft(spec))
            except (sqlite3.Error, OSError) as error:
                logger.warning("the spec %s is not registered yet: %s", spec.spec_id, error)
                return
            self._handed_over.add(spec.spec_hash)


def spec_draft(spec: RuntimeAISpec) -> SpecDraft:
    """Returns the L2 draft of a spec. Pure: it follows from the spec's bytes, so two drafts of one hash are equal."""
    return SpecDraft(
        spec_id=spec.spec_id,
        spec_hash=spec.spec_hash,
        category=spec.category,
        identity=spec.model_identity,
        schema_version=spec.schema_version,
        spec_bytes=len(spec.spec_bytes),
    )
