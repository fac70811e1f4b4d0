"""What a constrained call is made with, and what it comes to."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from agent_host.constrained.breaker import Breakers
from agent_host.constrained.spec import RuntimeAISpec
from agent_host.providers.protocol import JsonValue, Provider, Usage
from agent_host.receipts.drafts import Verdict
from agent_host.receipts.protocol import CallLedger
from agent_host.tracing.events import CallKind, Emit, ExitState, TurnEvent
from agent_host.usage import Meter, unmetered

if TYPE_CHECKING:
    from agent_host.constrained.store import CallStore

Values: TypeAlias = Mapping[str, JsonValue]


@dataclass(frozen=True)
class ReviewCase:
    """What a reviewer is asked about. `proposal` is the model's valid output, None when there was none."""

    call_id: str
    spec: RuntimeAISpec
    input: Values
    proposal: JsonValue
    reason: str


@dataclass(frozen=True)
class Ruling:
    """A reviewer's answer; `output` goes with `amended`, and must satisfy the spec's output_schema.

    `reviewer` is a name of at most 200 printable characters: a later verdict's is signed into the ledger.
    """

    verdict: Verdict
    reviewer: str
    output: JsonValue = None
    comment: str = ""


Reviewer: TypeAlias = Callable[[ReviewCase], Awaitable[Ruling | None]]
"""Rules on a case, or leaves it to the queue with None. He gets a case of his own, which he may change."""


class SpecRegistry(Protocol):
    """Where a spec is registered on the ledger (L2), once for each hash."""

    async def register(self, spec: RuntimeAISpec) -> None:
        """Registers a spec that was not registered before; never fails a call: what went wrong is logged."""
        ...


def _nobody(_: TurnEvent) -> None:
    """Watches a call that nobody watches."""


def _no_price(_: Usage) -> int | None:
    """Prices a call whose price nobody told."""
    return None


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class CallOptions:
    """What calls are made with: a host makes one value, and `dataclasses.replace` fits it to each call.

    `provider` answers; `code` answers in its place for a spec that needs no model. `call_id` (`c_` and a ULID) is the
    idempotency key: with `store`, the same id again gives the same decision, across crashes too. `reviewer` rules at
    once, within the spec's deadline; without one, or when he does not, a case goes to the queue in `store`. `retries`
    bounds the further requests to a provider that gave no answer. `may_ask` is asked before each, and raises
    `BudgetSpentError` where none may be sent: the default stands then. `meter` takes each model call into the usage
    ledger. Clock, randomness and sleep are passed in.
    """

    ledger: CallLedger
    provider: Provider | None = None
    code: Callable[[Values], JsonValue] | None = None
    store: CallStore | None = None
    registry: SpecRegistry | None = None
    reviewer: Reviewer | None = None
    turn_id: str | None = None
    call_id: str | None = None
    kind: CallKind = "call"
    emit: Emit = _nobody
    cost: Callable[[Usage], int | None] = _no_price
    meter: Meter = unmetered
    breakers: Breakers = field(default_factory=Breakers)
    retries: int = 1
    may_ask: Callable[[], None] = lambda: None
    now_ms: Callable[[], int] = _wall_ms
    draw: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass(frozen=True)
class Decision:
    """What a constrained call came to. `output` satisfies the spec's output_schema; it is None in a NoDecisionError.

    `reason` says in one sentence why `output` is not the model's, and is empty when it is. `entry_id` is the L12 entry,
    None while that waits in the spool. `awaits_review` means that a person will still be asked; asked again under the
    same call id, the decision is what his verdict made of it, and `review_entry_id` is that verdict's L6 entry.
    """

    output: JsonValue
    exit_state: ExitState
    call_id: str
    spec_hash: str
    entry_id: int | None
    reason: str = ""
    verdict: Verdict | None = None
    awaits_review: bool = False
    latency_ms: int = 0
    review_entry_id: int | None = None

    @property
    def is_models(self) -> bool:
        """Whether a model, or a reviewer who amended it, made the output: otherwise it is the spec's default."""
        return self.exit_state in {"ok", "ok_amended"}
