"""The ledger seam: what a turn needs of the receipt writer, whether it answers now or later."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from agent_host.receipts.commitments import Opening
from agent_host.receipts.drafts import DecisionDraft, SpecDraft, TurnIntent, TurnReceipt


@dataclass(frozen=True)
class StoredEntry:
    """One entry as the writer stored it: `line` is the truth, byte for byte, without its line break."""

    id: int
    hash: str
    recorded_at_ms: int
    line: str


@dataclass(frozen=True)
class ReceiptStatus:
    """What became of a turn's receipt: signed as `entry`, or one of `queued` in the spool, or set aside with a reason.

    `refused` is the writer's reason, `lost` the disk's when even the spool could not keep it.
    """

    entry: StoredEntry | None
    queued: int
    refused: str | None = None
    lost: str | None = None


class Writer(Protocol):
    """The receipt writer itself: answers now, or raises.

    Every method raises `WriterUnavailableError` when it is not known whether the draft was recorded; sending it again
    is then right, appends are idempotent. `ReceiptRefusedError` means that the same draft will be refused again.
    """

    async def begin_turn(self, intent: TurnIntent) -> None:
        """Records durably that a turn started."""
        ...

    async def append_spec(self, draft: SpecDraft) -> StoredEntry:
        """Registers a spec and returns its L2 entry once it is durable: of one hash always the same."""
        ...

    async def append_decision(self, draft: DecisionDraft) -> StoredEntry:
        """Appends one L12 entry and returns it once it is durable."""
        ...

    async def append_turn(self, receipt: TurnReceipt) -> StoredEntry:
        """Appends one L10 entry and returns it once it is durable."""
        ...


class CallLedger(Protocol):
    """Records specs and decisions of calls: on the chain, or where they wait for it; `OSError` where neither goes."""

    async def register_spec(self, draft: SpecDraft) -> None:
        """Registers a spec durably: on the chain, or in the spool in front of what comes after it.

        Raises:
            OSError: the disk refused the spool.
        """
        ...

    async def append_decision(self, draft: DecisionDraft, openings: tuple[Opening, ...]) -> int | None:
        """Records one model call durably; returns its entry id, None when it waits in the spool.

        Raises:
            OSError: the disk refused the spool.
        """
        ...

    async def sign_decision(self, draft: DecisionDraft, openings: tuple[Opening, ...]) -> int:
        """Records one model call now and returns its entry id; nothing waits in the spool when that fails.

        Raises:
            WriterUnavailableError, ReceiptRefusedError: it is not signed, or that is not known.
            OSError: the disk refused the spool, whose drafts have to go first.
        """
        ...


class Ledger(CallLedger, Protocol):
    """Records what a turn did. No method fails because the writer is away: what cannot be sent waits in the spool."""

    def problems(self) -> tuple[str, ...]:
        """Returns one sentence for each reason why receipts are not signed now."""
        ...

    async def begin_turn(self, intent: TurnIntent, opening: Opening) -> None:
        """Records durably that a turn starts.

        Raises:
            OSError: the disk refused the spool.
        """
        ...

    async def append_turn(self, receipt: TurnReceipt, opening: Opening) -> ReceiptStatus:
        """Records a turn's receipt and says what became of it; never fails."""
        ...


class LedgerReader(Protocol):
    """Reads entries of the ledger; every method raises `WriterUnavailableError` when the writer does not answer."""

    async def entry(self, chain: str, entry_id: int) -> StoredEntry | None:
        """Returns one entry of a chain by its number, None when there is none."""
        ...

    def entries(
        self, chain: str, *, turn_id: str = "", newest_first: bool = False, limit: int = 0
    ) -> AsyncIterator[StoredEntry]:
        """Yields entries of a chain, those of one turn alone when it is named; `limit` 0 means all."""
        ...
