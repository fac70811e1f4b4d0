"""Where a turn's records go: to the receipt writer, or durably to the spool while it is away, always in order."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from agent_host.errors import ReceiptRefusedError, WriterUnavailableError
from agent_host.receipts.commitments import Opening
from agent_host.receipts.drafts import DecisionDraft, DecisionRef, Draft, SpecDraft, TurnIntent, TurnReceipt
from agent_host.receipts.openings import OpeningStore
from agent_host.receipts.protocol import ReceiptStatus, StoredEntry, Writer
from agent_host.receipts.spool import Spool

FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 30.0


class ReceiptLog:
    """The `Ledger` of one host; calls at the same time are welcome.

    `ensure_writer` brings the writer up, or raises `WriterUnavailableError`; it is asked once a turn. After a failure
    the rest of the turn goes to the spool without waiting again. Calls outside any turn ask for it at once, and while
    it stays away after pauses that double, up to `LONGEST_PAUSE_S`; `now_s` is a clock that never goes back. Whatever
    touches the spool does so one after the other: what is queued while others are sent must neither be lost nor
    overtake them.
    """

    def __init__(
        self,
        writer: Writer,
        spool: Spool,
        openings: OpeningStore,
        ensure_writer: Callable[[], Awaitable[None]],
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._writer = writer
        self._spool = spool
        self._openings = openings
        self._ensure_writer = ensure_writer
        self._now_s = now_s
        self._away: str | None = None
        self._ask_again_at_s = 0.0
        self._pause_s = 0.0
        self._troubles: dict[str, None] = {}  # in order, each told once
        self._entry_ids: dict[str, int] = {}
        self._spooling = asyncio.Lock()

    def problems(self) -> tuple[str, ...]:
        """Returns why receipts wait, and what was refused or could not be kept since this was asked last."""
        troubles, self._troubles = self._troubles, {}
        away = (f"{self._away} Receipts wait and will be sent in order.",) if self._away else ()
        return (*self._spool.problems, *away, *troubles)

    async def begin_turn(self, intent: TurnIntent, opening: Opening) -> None:
        """Records durably that a turn starts, sending first what waits from earlier turns."""
        self._keep(opening)
        self._entry_ids.clear()
        await self._ask_again()
        await self._deliver(intent)

    async def register_spec(self, draft: SpecDraft) -> None:
        """Registers a spec durably: on the chain, or in the spool in front of the decisions under it."""
        await self._deliver(draft)

    async def append_decision(self, draft: DecisionDraft, openings: tuple[Opening, ...]) -> int | None:
        """Records one model call durably; returns its entry id, None when it waits in the spool."""
        self._keep(*openings)
        if self._away and draft.turn_id is None and self._now_s() >= self._ask_again_at_s:
            await self._ask_again()
        status = await self._deliver(draft)
        return status.entry.id if status.entry else None

    async def sign_decision(self, draft: DecisionDraft, openings: tuple[Opening, ...]) -> int:
        """Records one model call now and returns its entry id, asking for the writer again if it was away.

        Raises:
            WriterUnavailableError, ReceiptRefusedError: it is not signed, or that is not known.
        """
        await self._ensure_writer()
        self._away = None
        async with self._spooling:
            if len(self._spool) and not await self._drain():
                raise WriterUnavailableError(self._away or "The receipt writer does not answer.")
        try:
            entry = await self._writer.append_decision(draft)
        except WriterUnavailableError:  # it may be recorded all the same: asked again, an append says so
            await self._ensure_writer()
            entry = await self._writer.append_decision(draft)
        self._entry_ids[draft.call_id] = entry.id
        self._keep(*openings)
        return entry.id

    async def append_turn(self, receipt: TurnReceipt, opening: Opening) -> ReceiptStatus:
        """Records a turn's receipt and says what became of it."""
        self._keep(opening)
        try:
            return await self._deliver(receipt)
        except OSError as error:
            return ReceiptStatus(None, self._spool.receipts, lost=error.strerror or str(error))

    def _keep(self, *openings: Opening) -> None:
        """Keeps openings; without one a commitment stands, and can only not be revealed."""
        try:
            self._openings.keep(*openings)
        except sqlite3.Error as error:
            self._troubles[f"What was committed to can be verified but not revealed: it was not kept ({error})."] = None

    async def _ask_again(self) -> None:
        """Asks for the writer; calls outside a turn that come meanwhile do not."""
        self._ask_again_at_s = self._now_s() + LONGEST_PAUSE_S
        try:
            await self._ensure_writer()
            self._away = None
        except WriterUnavailableError as error:
            self._has_gone(error)

    def _has_gone(self, error: WriterUnavailableError) -> None:
        """Has what comes go to the spool; each failure since the last entry doubles the pause."""
        self._away = str(error)
        self._ask_again_at_s = self._now_s() + self._pause_s
        self._pause_s = min(LONGEST_PAUSE_S, 2 * self._pause_s or FIRST_PAUSE_S)

    async def _deliver(self, draft: Draft) -> ReceiptStatus:
        if self._away or len(self._spool):
            async with self._spooling:
                if self._away or (len(self._spool) and not await self._drain()):
                    return self._queue(draft)
        try:
            return ReceiptStatus(await self._send(draft), self._spool.receipts)
        except WriterUnavailableError as error:
            self._has_gone(error)
            async with self._spooling:
                return self._queue(draft)
        except ReceiptRefusedError as error:
            self._refuse(draft, error)
            return ReceiptStatus(None, self._spool.receipts, refused=str(error))

    def _queue(self, draft: Draft) -> ReceiptStatus:
        if not (isinstance(draft, SpecDraft) and draft in self._spool.drafts()):  # every process registers its specs
            self._spool.append(draft)
        return ReceiptStatus(None, self._spool.receipts)

    def _refuse(self, draft: Draft, error: ReceiptRefusedError) -> None:
        self._spool.set_aside(draft, str(error))
        self._troubles[f"A draft was set aside: {error}"] = None

    async def _drain(self) -> bool:
        """Sends what waits, oldest first; returns whether nothing waits any more."""
        waiting = list(self._spool.drafts())
        while waiting:
            try:
                await self._send(waiting[0])
            except WriterUnavailableError as error:
                self._has_gone(error)
                break
            except ReceiptRefusedError as error:
                self._refuse(waiting[0], error)
            del waiting[0]
        self._spool.replace([self._resolved(draft) for draft in waiting])
        return not waiting

    async def _send(self, draft: Draft) -> StoredEntry | None:
        entry = await self._sent(draft)
        self._pause_s = 0.0
        return entry

    async def _sent(self, draft: Draft) -> StoredEntry | None:
        match draft:
            case TurnIntent():
                await self._writer.begin_turn(draft)
                return None
            case SpecDraft():
                return await self._writer.append_spec(draft)
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
