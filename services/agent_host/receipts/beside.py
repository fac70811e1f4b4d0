"""The ledger of calls beside a host that holds the home: signed at once or not at all, as the spool has one owner."""

from __future__ import annotations

import errno
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from typing import TypeVar

from agent_host.errors import ReceiptRefusedError, WriterUnavailableError
from agent_host.receipts.commitments import Opening
from agent_host.receipts.drafts import DecisionDraft, SpecDraft
from agent_host.receipts.openings import OpeningStore
from agent_host.receipts.protocol import Writer

Result = TypeVar("Result")

logger = logging.getLogger(__name__)


class LedgerBeside:
    """A `CallLedger` without a spool; `ensure_writer` finds the writer that runs, or brings one up.

    A draft is sent twice at most, the writer asked for before each time. What is not signed then is told as an
    `OSError`, like a spool that the disk refuses: a decision fails closed, and a spec is registered by the next call.
    """

    def __init__(self, writer: Writer, openings: OpeningStore, ensure_writer: Callable[[], Awaitable[None]]) -> None:
        self._writer = writer
        self._openings = openings
        self._ensure_writer = ensure_writer

    async def register_spec(self, draft: SpecDraft) -> None:
        """Registers a spec now.

        Raises:
            OSError: it is not registered, or that is not known.
        """
        await _or_no_room(self._sent(lambda: self._writer.append_spec(draft)))

    async def append_decision(self, draft: DecisionDraft, openings: tuple[Opening, ...]) -> int | None:
        """Records one model call now; returns its entry id.

        Raises:
            OSError: it is not signed, or that is not known.
        """
        return await _or_no_room(self.sign_decision(draft, openings))

    async def sign_decision(self, draft: DecisionDraft, openings: tuple[Opening, ...]) -> int:
        """Records one model call now; returns its entry id.

        Raises:
            WriterUnavailableError, ReceiptRefusedError: it is not signed, or that is not known.
        """
        entry = await self._sent(lambda: self._writer.append_decision(draft))
        try:
            self._openings.keep(*openings)
        except sqlite3.Error as error:  # the commitment stands, and can only not be revealed
            logger.warning("the openings of %s could not be kept: %s", draft.call_id, error)
        return entry.id

    async def _sent(self, send: Callable[[], Awaitable[Result]]) -> Result:
        await self._ensure_writer()
        try:
            return await send()
        except WriterUnavailableError:  # it may be recorded all the same: asked again, an append says so
            await self._ensure_writer()
            return await send()


async def _or_no_room(sent: Awaitable[Result]) -> Result:
    try:
        return await sent
    except (WriterUnavailableError, ReceiptRefusedError) as error:
        raise OSError(errno.EBUSY, f"{error} The spool belongs to the host that holds the home") from error
