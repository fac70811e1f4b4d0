"""What every turn of a host works with; `app` makes it once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from agent_host.budget import Budget, Limits, unpriced
from agent_host.chat_log import ChatLog
from agent_host.constrained.drafter import ReplyDrafter
from agent_host.constrained.options import SpecRegistry
from agent_host.constrained.retrying import Patience
from agent_host.constrained.spec import RuntimeAISpec
from agent_host.constrained.specs import reply_drafter
from agent_host.gates.remembering import Retrieval
from agent_host.mcp_clients.protocol import ToolBox
from agent_host.providers.protocol import Provider, Usage
from agent_host.receipts.protocol import Ledger
from agent_host.skills.loading import SkillFolder
from agent_host.tracing.events import Emit
from agent_host.tracing.spans import NoSpans, Spans
from agent_host.usage import Meter, unmetered


def _nothing(_: str) -> None:
    """Does nothing about a turn."""


@dataclass(frozen=True)
class TurnParts:
    """The seams and limits of a turn.

    `cost` prices a model call in micro-dollars, None when no price is known. `after_turn` begins what is done in the
    background once the reply is there, by the turn's id; it waits for nothing. `patience` is how often a model that
    gives no answer is asked again; its breakers are those of the small calls too. `shows_outside` is told, by its id,
    of a turn whose prompt shows words of somebody else than the person.
    """

    provider: Provider
    spec: RuntimeAISpec
    tools: ToolBox
    receipts: Ledger
    chat_log: ChatLog
    traces: Path
    soul: Callable[[], str]
    now: Callable[[], datetime]
    zone_name: str
    cost: Callable[[Usage], int | None]
    max_iterations: int
    max_tokens: int
    retrieval: Retrieval = field(default_factory=Retrieval)
    after_turn: Callable[[str], None] = _nothing
    skills: SkillFolder = field(default_factory=lambda: SkillFolder(()))
    budget: Budget = field(default_factory=lambda: Budget(Limits(None, None, asked_for=False)))
    meter: Meter = unmetered
    registry: SpecRegistry | None = None
    spans: Spans = field(default_factory=NoSpans)
    patience: Patience = field(default_factory=Patience)
    shows_outside: Callable[[str], None] = _nothing

    def drafter(self, emit: Emit, turn_id: str) -> ReplyDrafter:
        """Returns the model of one turn's loop: every call of it is a decision under the spec."""
        return ReplyDrafter(
            self.provider,
            self.spec,
            self.receipts,
            emit,
            turn_id=turn_id,
            now_ms=self.now_ms,
            cost=self.cost,
            meter=self.meter,
            registry=self.registry,
            patience=self.patience,
        )

    def now_ms(self) -> int:
        """Returns the present in milliseconds since the Unix epoch."""
        return int(self.now().timestamp() * 1000)


def answered_by(
    parts: TurnParts, provider: Provider, cost: Callable[[Usage], int | None], deadline_ms: int
) -> TurnParts:
    """Returns the parts of turns that another model answers; gates and consolidation keep theirs."""
    who, small = provider.identity, parts.retrieval.calls.provider if parts.retrieval.calls else None
    budget = replace(parts.budget, unpriced=unpriced(who, *([small.identity] if small else [])))
    return replace(parts, provider=provider, cost=cost, spec=reply_drafter(who, deadline_ms), budget=budget)
