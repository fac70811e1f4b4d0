"""What happens in a turn, as values. Receipts and traces are computed from these and from nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from agent_host.mcp_clients.protocol import Permission, ToolOutcome
from agent_host.providers.protocol import Identity, JsonValue, StopReason, Usage

if TYPE_CHECKING:
    from agent_host.receipts.drafts import TurnReceipt
    from agent_host.receipts.protocol import ReceiptStatus

CallKind: TypeAlias = Literal["loop", "final", "gate", "consolidation", "report", "judge", "call"]
Outcome: TypeAlias = Literal["replied", "limit_reached", "cancelled", "failed"]
ScoreSource: TypeAlias = Literal["code", "judge", "human"]
ExitState: TypeAlias = Literal[
    "ok",
    "ok_amended",
    "fallback_schema",
    "fallback_timeout",
    "fallback_provider",
    "rejected_by_reviewer",
    "failed_closed",
]


@dataclass(frozen=True)
class TurnStarted:
    """A person's message was taken up."""

    turn_id: str
    session_id: str
    gateway: str
    text: str


@dataclass(frozen=True)
class ReplyDelta:
    """A piece of the reply's text, for whoever is watching; never traced."""

    text: str


@dataclass(frozen=True)
class ModelCalled:
    """One model call ended. `entry_id` is its L12 entry, None while that waits in the spool."""

    kind: CallKind
    identity: Identity
    stop_reason: StopReason | None
    usage: Usage
    cost_micro_usd: int | None
    latency_ms: int
    exit_state: ExitState
    call_id: str
    entry_id: int | None


@dataclass(frozen=True)
class ToolStarted:
    """A tool call was sent; for whoever is watching, never traced."""

    name: str


@dataclass(frozen=True)
class ToolCalled:
    """One tool call ended. `read_first`: the host made it before it asked a model (agent.md row 51).

    `read_only`: the tool says that it changes nothing.
    """

    call_id: str
    name: str
    arguments: Mapping[str, JsonValue]
    outcome: ToolOutcome
    read_first: bool = False
    gated: bool = False  # the host's own search, by word of the retrieval gate
    read_only: bool = False


@dataclass(frozen=True)
class PermissionDecided:
    """Whether a tool call could be made; it comes before the `ToolCalled` of that call."""

    call_id: str
    name: str
    permission: Permission


@dataclass(frozen=True)
class GateDecided:
    """Whether the turn needs memory, and what it is searched for; `reason` says why, in the decider's words."""

    decision: Literal["retrieve", "skip"]
    query: str
    reason: str


@dataclass(frozen=True)
class SlotVerdict:
    """What the slot gate said of one memory; the score is in basis points of what a memory can matter."""

    memory_id: str
    score_bp: int
    kept: bool


@dataclass(frozen=True)
class SlotsDecided:
    """Which of the memories found earned a place in the prompt."""

    verdicts: tuple[SlotVerdict, ...]


@dataclass(frozen=True)
class KeptFact:
    """One memory out of a batch. `sent` is None where there is no memory server, and the memory waits on this host."""

    kind: Literal["fact", "reference", "episode"]
    subject: str
    content: str
    scope: str
    memory_id: str | None
    sent: bool | None


@dataclass(frozen=True)
class Consolidated:
    """A batch of exchanges was read for what will still matter; it comes after the reply."""

    batch_id: str
    exchanges: int
    kept: tuple[KeptFact, ...]


@dataclass(frozen=True)
class SkillsChosen:
    """The skills that joined the turn's prompt, by name; not emitted when there are none."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class KnowledgeUsed:
    """What memory held about the subject of a research turn, as the prompt has it (agent.md row 55)."""

    entries: tuple[Mapping[str, JsonValue], ...]


@dataclass(frozen=True)
class ReportSaved:
    """The report in the reply went to memory, whole (agent.md row 57)."""

    title: str
    memory_id: str
    scope: str
    summary: tuple[str, ...]


@dataclass(frozen=True)
class Notice:
    """Something a person should know that does not stop the turn, such as a server that cannot be reached."""

    text: str


@dataclass(frozen=True)
class TurnEnded:
    """The reply is known. The turn's trace hash covers every line up to and with this one."""

    outcome: Outcome
    reply: str
    iterations: int  # model calls of the loop, the final one at the cap included


@dataclass(frozen=True)
class ReceiptMade:
    """The turn's receipt, and what became of it. It holds the trace hash, which therefore cannot cover its line."""

    receipt: TurnReceipt
    status: ReceiptStatus


@dataclass(frozen=True)
class TurnScored:
    """A finished turn was scored, possibly days later (agent.md row 93). `value` is in thousandths, 0 to 1,000.

    `judge` names the model that scored; a score by code or a person has none. Its cost is None when no price is known.
    """

    source: ScoreSource
    name: str
    value_permille: int
    note: str
    judge: Identity | None = None
    cost_micro_usd: int | None = None


TurnEvent: TypeAlias = (
    TurnStarted
    | ReplyDelta
    | ModelCalled
    | ToolStarted
    | ToolCalled
    | PermissionDecided
    | SkillsChosen
    | KnowledgeUsed
    | ReportSaved
    | GateDecided
    | SlotsDecided
    | Consolidated
    | Notice
    | TurnEnded
    | ReceiptMade
    | TurnScored
)
Emit: TypeAlias = Callable[[TurnEvent], None]
