"""The gRPC face: messages in, messages out. The only package that knows the generated stubs."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from receipt_writer.checking import Checks
from receipt_writer.query import Queries
from receipt_writer.rotation import Rotations
from receipt_writer.rpc.appending import Appending
from receipt_writer.rpc.budget import Budget
from receipt_writer.rpc.changing_keys import ChangingKeys
from receipt_writer.rpc.handlers import CONTRACT, Behaviour, Handler, make_handlers
from receipt_writer.rpc.reading import Reading
from receipt_writer.rpc.streaming import Streaming
from receipt_writer.rpc.tenancy import TenantGate, Tenants
from receipt_writer.rpc.verifying import Verifying
from receipt_writer.rpc.watching import Watching
from receipt_writer.state import State
from receipt_writer.uses import Uses
from receipt_writer.writer import Writer

SERVICE_NAME: str = CONTRACT.full_name
"""`prometheus.receipts.v1.ReceiptWriter`, for health and reflection."""


class Served(Protocol):
    """What the RPCs need of an opened ledger."""

    @property
    def writer(self) -> Writer:
        """Records."""
        ...

    @property
    def queries(self) -> Queries:
        """Tells what is recorded."""
        ...

    @property
    def state(self) -> State:
        """Makes states."""
        ...

    @property
    def rotations(self) -> Rotations:
        """Changes keys."""
        ...

    @property
    def folder(self) -> Path:
        """Where the ledger is."""
        ...

    @property
    def uses(self) -> Uses:
        """Counts its open calls."""
        ...


def make_gate(tenants: Tenants[Served], leaving: asyncio.Event) -> TenantGate[Served]:
    """Return what answers every RPC of the contract, each call from its caller's own ledger.

    Open streams end themselves once `leaving` is set. A call beyond those that may be open is refused, with the time
    after which it makes sense to try again.
    """
    budget = Budget()

    def handlers(served: Served) -> dict[str, Handler]:
        @contextmanager
        def admitted() -> Iterator[None]:
            with served.uses.a_use(), budget.a_call():
                yield

        return make_handlers(_behaviours(served, leaving, budget), admitted)

    return TenantGate(tenants, handlers)


def _behaviours(served: Served, leaving: asyncio.Event, budget: Budget) -> dict[str, Behaviour]:
    appending = Appending(served.writer)
    keys = ChangingKeys(served.rotations)
    reading = Reading(served.queries, served.state, leaving)
    return {
        "BeginTurn": appending.begin_turn,
        "AppendTurn": appending.append_turn,
        "AppendDecision": appending.append_decision,
        "Append": appending.append,
        "AppendStream": Streaming(served.writer, leaving, budget).append_stream,
        "GetEntry": reading.get_entry,
        "ListEntries": reading.list_entries,
        "GetHead": reading.get_head,
        "Watch": Watching(served.queries, leaving).watch,
        "GetCheckpoint": reading.get_checkpoint,
        "ProveInclusion": reading.prove_inclusion,
        "ProveConsistency": reading.prove_consistency,
        "GetState": reading.get_state,
        "RotateKey": keys.rotate_key,
        "RevokeKey": keys.revoke_key,
        "VerifyChain": Verifying(Checks(), served.folder, leaving).verify_chain,
    }
