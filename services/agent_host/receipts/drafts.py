"""What the host asks the receipt writer to record: drafts, without id, time and signature.

The members are the ledger's (receipts.md section 3), in the language's own spelling; `client.py` maps them to the
wire and `spool.py` to disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_host.providers.protocol import Identity
from agent_host.tracing.events import ExitState, Outcome

PRODUCT_ID = "prometheus-agent"

Verdict: TypeAlias = Literal["approved", "rejected", "amended"]


@dataclass(frozen=True)
class TurnIntent:
    """A turn that starts; it becomes an `interrupted` entry when nothing follows."""

    turn_id: str
    session_id: str
    gateway: str
    input_hash: str
    commitment: str
    model_id: str


@dataclass(frozen=True)
class SpecDraft:
    """A spec to register, for the L2 chain; `spec_bytes` is how many RFC 8785 bytes it has."""

    spec_id: str
    spec_hash: str
    category: str
    identity: Identity
    schema_version: str
    spec_bytes: int


@dataclass(frozen=True)
class DecisionDraft:
    """One model call, for the L12 chain."""

    spec_id: str
    spec_hash: str
    category: str
    input_hash: str
    output_canonical_hash: str
    commitment: str
    identity: Identity
    latency_ms: int
    schema_valid: bool
    fallback_triggered: bool
    turn_id: str | None  # None outside a turn
    call_id: str
    exit_state: ExitState
    reviewer_verdict: Verdict | None = None


@dataclass(frozen=True)
class CallCount:
    """How many model calls of one kind a turn made."""

    kind: str
    n: int


@dataclass(frozen=True)
class ModelUsage:
    """A turn's tokens and money. A call without a known price adds 0."""

    id: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_micro_usd: int
    estimated: bool
    priced: bool  # every call's price is known; for the receipt line, not on the ledger
    calls: tuple[CallCount, ...]
    uncounted: int = 0  # calls whose price or tokens nobody knows; like `priced`, not on the ledger


@dataclass(frozen=True)
class ToolUsage:
    """How often a turn used one tool with one outcome."""

    tool: str
    provider: str
    status: Literal["ok", "error"]
    n: int
    cost_micro_usd: int | None


@dataclass(frozen=True)
class MemoryUsage:
    """What a turn read from and wrote to memory."""

    searches: int
    used: int
    kept: int
    unsent: int
    report_id: str | None


@dataclass(frozen=True)
class DecisionRef:
    """One model call of a turn and its L12 entry, None while that waits in the spool."""

    call_id: str
    entry_id: int | None


@dataclass(frozen=True)
class TurnReceipt:
    """One turn, for the L10 chain: names, counts, money and ids; never an argument, an output or a message."""

    turn_id: str
    session_id: str
    gateway: str
    outcome: Outcome
    iterations: int
    input_hash: str
    reply_hash: str
    commitment: str
    model: ModelUsage
    tools: tuple[ToolUsage, ...]
    memory: MemoryUsage
    decisions: tuple[DecisionRef, ...]
    total_micro_usd: int
    trace_hash: str


Draft: TypeAlias = TurnIntent | SpecDraft | DecisionDraft | TurnReceipt
