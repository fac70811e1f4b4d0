"""Ledgers at work: the writer's own, and one for each tenant, open from its first call until nobody has used it long.

    receipts/                     the ledger of no tenant
    receipts/tokens.json          whose token is whose
    receipts/tenants/<tenantId>/  the same layout again, with keys of its own

A tenant's ledger is a whole object graph of its own, and a call gets the one that its credential names, so there is no
place where two tenants meet. What they share is the process: when the storage of one fails, all of them stop, loudly
and with a status of 1, since a medium that loses one tenant's bytes is not one to write another's to. A ledger that
cannot be opened concerns its own callers only: nothing was acknowledged for it yet.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from receipt_writer.errors import (
    CredentialRefusedError,
    LedgerDamagedError,
    ReceiptError,
    StorageFailedError,
    WriterStoppedError,
)
from receipt_writer.state import State
from receipt_writer.storage.protocol import EntryStore
from receipt_writer.tokens import Tokens
from receipt_writer.upkeep import Checkpoints, Upkeep
from receipt_writer.uses import Uses
from receipt_writer.writer import Writer
from service_runtime.errors import ServiceError

TENANTS_NAME = "tenants"

IDLE_S = 900.0
"""A tenant's ledger is closed when it had no call for so many seconds, and nothing in it waits for its time."""

_LOOK_S = 60.0

_log = logging.getLogger(__name__)


class Opened(Protocol):
    """What working on an opened ledger needs of it."""

    @property
    def writer(self) -> Writer:
        """Records."""
        ...

    @property
    def upkeep(self) -> Upkeep:
        """Does what nobody asks for."""
        ...

    @property
    def checkpoints(self) -> Checkpoints:
        """Makes checkpoints."""
        ...

    @property
    def state(self) -> State:
        """Makes states."""
        ...

    @property
    def store(self) -> EntryStore:
        """Keeps the entries."""
        ...

    @property
    def uses(self) -> Uses:
        """Counts its open calls."""
        ...


_Ledger = TypeVar("_Ledger", bound=Opened)


def tenant_folder(folder: Path, tenant_id: str) -> Path:
    """Return where a tenant's ledger is, in the receipts folder of all."""
    return folder / TENANTS_NAME / tenant_id


class Working(Generic[_Ledger]):
    """One opened ledger with its committer and its upkeep running."""

    def __init__(self, ledger: _Ledger, on_end: Callable[[], object]) -> None:
        """Start both; `on_end` is called when either ends by itself, whatever the reason."""
        self.ledger = ledger
        self._is_retiring = False
        self._committer = asyncio.create_task(ledger.writer.run(ledger.upkeep.after_commit))
        self._keeper = asyncio.create_task(ledger.upkeep.run())
        for task in (self._committer, self._keeper):
            task.add_done_callback(lambda _: None if self._is_retiring else on_end())

    @property
    def failure(self) -> StorageFailedError | None:
        """What ended the writer, None when nothing did."""
        return self.ledger.writer.failure

    async def finish(self) -> None:
        """Answer what waits, and leave everything durable with a checkpoint over it."""
        writer = self.ledger.writer
        if self._keeper.done() and not self._keeper.cancelled() and writer.failure is None:
            # Without it there are no checkpoints, and silence leaves no trace.
            _log.critical("The upkeep of checkpoints and deadlines ended.", exc_info=self._keeper.exception())
            writer.fail(StorageFailedError("The writer's upkeep ended unexpectedly; restart it."))
        self._keeper.cancel()
        await writer.drain()
        await self._committer
        try:
            if writer.failure is None:
                await self.ledger.checkpoints.write_all_new()
        except StorageFailedError as failure:
            writer.fail(failure)
        await self.ledger.checkpoints.rest()
        await self.ledger.state.rest()

    def may_retire(self, idle_s: float) -> bool:
        """Say whether nobody used the ledger for so long, and it need not be open for something that has its time.

        That is an open turn's deadline, and a state that is due once what has grown is old enough.
        """
        if not self.ledger.uses.are_none_for(idle_s) or self.failure or self.ledger.writer.ledger.intents:
            return False
        try:
            return not self.ledger.state.is_behind()
        except ReceiptError:  # the newest state cannot be read back, which the upkeep tells of
            return False

    async def retire(self) -> None:
        """Finish and close a ledger, whose uses are over, while others go on; a failing storage is its `failure`."""
        self._is_retiring = True
        await self.finish()
        try:
            await asyncio.to_thread(self.ledger.store.close)
        except StorageFailedError as failure:
            self.ledger.writer.fail(failure)

    def close(self) -> None:
        """Let another process have the ledger; what was not finished is ended."""
        self._keeper.cancel()
        self._committer.cancel()
        self.ledger.store.close()


class Tenants(Generic[_Ledger]):
    """Every ledger of one writer process. All methods belong to the event loop.

    A tenant's ledger that nobody uses is closed, so that others have its memory, files and thread; the next call opens
    it again. The writer's own stays open.

    Attributes:
        own: The ledger of no tenant.
        ended: Set when one of the ledgers stopped working; then all are to be finished.
    """

    def __init__(
        self,
        own: _Ledger,
        tokens: Tokens,
        open_tenant: Callable[[str], _Ledger],
        *,
        is_token_required: bool = False,
        idle_s: float = IDLE_S,
    ) -> None:
        """Serve `own` to callers without a token, unless one is required; `open_tenant` may take long and block.

        `idle_s` is how long nobody uses a ledger before it is closed, in seconds.
        """
        self.ended = asyncio.Event()
        self.own = own
        self._tokens, self._open_tenant = tokens, open_tenant
        self._is_token_required, self._idle_s = is_token_required, idle_s
        self._working: list[Working[_Ledger]] = []
        self._by_tenant: dict[str, asyncio.Task[Working[_Ledger]]] = {}
        self._closing: dict[str, asyncio.Task[None]] = {}
        self._told_of_closed: list[Callable[[_Ledger], None]] = []
        self._looking: asyncio.Task[None] | None = None
        self._is_leaving = False

    @property
    def failure(self) -> StorageFailedError | None:
        """The storage failure that ended a ledger's writer, None when none did."""
        return next((one.failure for one in self._working if one.failure), None)

    def start(self) -> None:
        """Begin to work on the ledger of no tenant, and to look for tenants' ledgers that nobody uses."""
        self._begin(self.own)
        self._looking = asyncio.create_task(self._look_again_and_again())

    def when_closed(self, tell: Callable[[_Ledger], None]) -> None:
        """Have `tell` called with each ledger that is closed, since nobody used it."""
        self._told_of_closed.append(tell)

    async def of(self, credential: str | None) -> _Ledger:
        """Return the ledger of a token's tenant, or that of no tenant for None.

        Raises:
            CredentialRefusedError: No tenant has this token, or one is required.
            LedgerDamagedError, StorageFailedError: The tenant's ledger cannot be opened.
            WriterStoppedError: The writer is leaving.
        """
        if credential is None:
            if self._is_token_required:
                raise CredentialRefusedError(
                    "This writer takes no caller without a token; send `authorization: Bearer TOKEN`."
                )
            return self.own
        tenant_id = self._tokens.tenant_of(credential)
        if tenant_id is None:
            raise CredentialRefusedError("No tenant has this token; ask whoever runs the writer for one.")
        while True:
            if tenant_id not in self._by_tenant:
                if self._is_leaving:
                    raise WriterStoppedError("The writer is shutting down; send this again when it is back.")
                self._by_tenant[tenant_id] = asyncio.create_task(self._open(tenant_id))
            opening = self._by_tenant[tenant_id]
            ledger = (await asyncio.shield(opening)).ledger  # callers share it: one that leaves ends nothing
            if not ledger.uses.are_over:
                return ledger

    def close_idle(self) -> None:
        """Begin to close the tenants' ledgers that nobody uses; a call that comes meanwhile has to wait for that."""
        for tenant_id, opening in list(self._by_tenant.items()):
            if opening.done() and not opening.exception() and (working := opening.result()).may_retire(self._idle_s):
                working.ledger.uses.end()  # at once, so that no call begins between the look and the end
                del self._by_tenant[tenant_id]
                self._closing[tenant_id] = asyncio.create_task(self._close(tenant_id, working))

    async def finish(self) -> None:
        """Take no new tenant, answer what waits, and leave every ledger durable."""
        self._is_leaving = True
        if self._looking:
            self._looking.cancel()
        await asyncio.gather(*self._by_tenant.values(), *self._closing.values(), return_exceptions=True)
        await asyncio.gather(*(one.finish() for one in self._working))

    def close(self) -> None:
        """Let another process have every ledger."""
        if self._looking:
            self._looking.cancel()
        for one in self._working:
            one.close()

    async def _look_again_and_again(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            self.close_idle()

    async def _close(self, tenant_id: str, working: Working[_Ledger]) -> None:
        is_closed = False
        try:
            await working.retire()
            is_closed = working.failure is None
        finally:
            del self._closing[tenant_id]
            if not is_closed:
                self.ended.set()  # it stays among those that work, so the end of all tells of it
        if is_closed:
            self._working.remove(working)
            for tell in self._told_of_closed:
                tell(working.ledger)
            _log.info("The ledger of tenant %s is closed: nobody used it.", tenant_id)

    async def _open(self, tenant_id: str) -> Working[_Ledger]:
        if tenant_id in self._closing:
            await asyncio.wait({self._closing[tenant_id]})
        try:
            ledger = await asyncio.to_thread(self._open_tenant, tenant_id)
        except LedgerDamagedError as error:
            del self._by_tenant[tenant_id]  # the next call tries again: somebody may have put a good copy back
            _log.critical("The ledger of tenant %s cannot be opened: %s", tenant_id, error)
            raise
        except (ServiceError, OSError) as error:
            del self._by_tenant[tenant_id]
            _log.critical("The ledger of tenant %s cannot be opened: %s", tenant_id, error)
            raise StorageFailedError(
                "Your ledger cannot be opened for now; whoever runs the writer finds the reason in its log."
            ) from error
        _log.info("The ledger of tenant %s is open.", tenant_id)
        return self._begin(ledger)

    def _begin(self, ledger: _Ledger) -> Working[_Ledger]:
        working = Working(ledger, self.ended.set)
        self._working.append(working)
        return working
