"""Where a turn's records go: to the receipt writer, or durably to the spool while it is away, always in order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from agent_host.errors import ReceiptRefusedError, WriterUnavailableError
from agent_host.receipts.commitments import Opening
from agent_host.receipts.drafts import DecisionDraft, DecisionRef, Draft, TurnIntent, TurnReceipt
from agent_host.receipts.openings import OpeningStore
from agent_host.receipts.protocol import ReceiptStatus, StoredEntry, Writer
from agent_host.receipts.spool import Spool


class ReceiptLog:
    """The `Ledger` of one host. Records intents, decisions and receipts for one host.

    `ensure_writer` brings the writer up, or raises `WriterUnavailableError`; it is asked once a turn. After a failure
    the rest of the turn goes to the spool without waiting again.
    """

    def __init__(
        self,
        writer: Writer,
        spool: Spool,
        openings: OpeningStore,
        ensure_writer: Callable[[], Awaitable[None]],
    ) -> None:
        self._writer = writer
        self._spool = spool
        self._openings = openings
        self._ensure_writer = ensure_writer
        self._away = False
        self._entry_ids: dict[str, int] = {}

    async def begin_turn(self, intent: TurnIntent, opening: Opening) -> None:
        """Records durably that a turn starts, sending first what waits from earlier turns."""
        self._openings.keep(opening)
        self._entry_ids.clear()
        try:
            await self._ensure_writer()
            self._away = False
        except WriterUnavailableError:
            self._away = True
        await self._deliver(intent)

    async def append_decision(self, draft: DecisionDraft, openings: tuple[Opening, ...]) -> int | None:
        """Records one model call durably; returns its entry id, None when it waits in the spool."""
        self._openings.keep(*openings)
        status = await self._deliver(draft)
        return status.entry.id if status.entry else None

    async def append_turn(self, receipt: TurnReceipt, opening: Opening) -> ReceiptStatus:
        """Records a turn's receipt durably and says what became of it."""
        self._openings.keep(opening)
        return await self._deliver(receipt)

    async def _deliver(self, draft: Draft) -> ReceiptStatus:
        if self._away or (len(self._spool) and not await self._drain()):
            return self._queue(draft)
        try:
            return ReceiptStatus(await self._send(draft), self._spool.receipts)
        except WriterUnavailableError:
            self._away = True
            return self._queue(draft)
        except ReceiptRefusedError as error:
            self._spool.set_aside(draft, str(error))
            return ReceiptStatus(None, self._spool.receipts, refused=str(error))

    def _queue(self, draft: Draft) -> ReceiptStatus:
        self._spool.append(draft)
        return ReceiptStatus(None, self._spool.receipts)

    async def _drain(self) -> bool:
        """Sends what waits, oldest first; returns whether nothing waits any more."""
        waiting = list(self._spool.drafts())
        while waiting:
            try:
                await self._send(waiting[0])
            except WriterUnavailableError:
                self._away = True
                break
            except ReceiptRefusedError as error:
                self._spool.set_aside(waiting[0], str(error))
            del waiting[0]
        self._spool.replace([self._resolved(draft) for draft in waiting])
        return not waiting

    async def _send(self, draft: Draft) -> StoredEntry | None:
        match draft:
            case TurnIntent():
                await self._writer.begin_turn(draft)
                return None
            case DecisionDraft():
                entry = await self._writer.append_decision(draft)
                self._entry_ids[draft.call_id] = entry.id
                return entry
            case TurnReceipt():
                return await self._writer.append_turn(self._with_entry_ids(draft))

    def _resolved(self, draft: Draft) -> Draft:
        return self._with_entry_ids(draft) if isinstance(draft, TurnReceipt) else draft

    def _with_entry_ids(self, draft: TurnReceipt) -> TurnReceipt:
        """Fills in the entry ids of decisions that were sent after the receipt was made."""
        known = (
            decision if decision.entry_id else DecisionRef(decision.call_id, self._entry_ids.get(decision.call_id))
            for decision in draft.decisions
        )
        return replace(draft, decisions=tuple(known))
