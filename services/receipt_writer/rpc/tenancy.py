"""Whose ledger a call is about: its credential says so, and nothing in its request can."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

import grpc
import grpc.aio

from receipt_writer.credentials import bearer_token
from receipt_writer.errors import ReceiptError
from receipt_writer.rpc.handlers import PREFIX, Handler, refusing_handler

_Ledger = TypeVar("_Ledger")
_Ledger_co = TypeVar("_Ledger_co", covariant=True)


class Tenants(Protocol[_Ledger_co]):
    """Finds a caller's ledger."""

    async def of(self, credential: str | None) -> _Ledger_co:
        """Return the ledger of a token's tenant, or that of no tenant for None.

        Raises:
            CredentialRefusedError: No tenant has this token, or one is required.
            ReceiptError: The ledger cannot be opened.
        """
        ...

    def when_closed(self, tell: Callable[[_Ledger_co], None]) -> None:
        """Have `tell` called with each ledger that is closed, since nobody used it."""
        ...


class TenantGate(grpc.aio.ServerInterceptor, Generic[_Ledger]):
    """Gives every call of the contract the handlers of its caller's own ledger, or refuses it.

    Handlers know one ledger each, so a call can reach no other. Health and reflection tell nothing of any ledger and
    pass.
    """

    def __init__(self, tenants: Tenants[_Ledger], make: Callable[[_Ledger], dict[str, Handler]]) -> None:
        """Find ledgers with `tenants`; `make` gives the handlers of one, by path, and is called once for each."""
        self._tenants, self._make = tenants, make
        self._made: dict[int, tuple[_Ledger, dict[str, Handler]]] = {}  # a ledger is held, so its id stays its own
        tenants.when_closed(self._forget)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Choose the handler of a call."""
        path = handler_call_details.method
        if not path.startswith(PREFIX):
            return await continuation(handler_call_details)
        try:
            ledger = await self._tenants.of(bearer_token(handler_call_details.invocation_metadata))
        except ReceiptError as refusal:
            return refusing_handler(path, refusal) or await continuation(handler_call_details)
        return self._handlers(ledger).get(path) or await continuation(handler_call_details)

    def _handlers(self, ledger: _Ledger) -> dict[str, Handler]:
        made = self._made.get(id(ledger))
        if made is None:
            made = self._made[id(ledger)] = ledger, self._make(ledger)
        return made[1]

    def _forget(self, ledger: _Ledger) -> None:
        self._made.pop(id(ledger), None)
