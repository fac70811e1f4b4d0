"""The gRPC face: messages in, messages out. The only package that knows the generated stubs."""

import asyncio
from pathlib import Path
from typing import Protocol

import grpc.aio

from receipt_writer.checking import Checks
from receipt_writer.query import Queries
from receipt_writer.rpc.appending import Appending
from receipt_writer.rpc.handlers import CONTRACT, Behaviour, make_handlers
from receipt_writer.rpc.reading import Reading
from receipt_writer.rpc.streaming import Streaming
from receipt_writer.rpc.verifying import Verifying
from receipt_writer.rpc.watching import Watching
from receipt_writer.state import State
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
    def folder(self) -> Path:
        """Where the ledger is."""
        ...


def register(server: grpc.aio.Server, served: Served, leaving: asyncio.Event) -> None:
    """Add every RPC of the contract to a server; open streams end themselves once `leaving` is set."""
    handlers = make_handlers(_behaviours(served, Checks(), leaving))
    server.add_registered_method_handlers(
        SERVICE_NAME, {path.rpartition("/")[2]: one for path, one in handlers.items()}
    )


def _behaviours(served: Served, checks: Checks, leaving: asyncio.Event) -> dict[str, Behaviour]:
    appending = Appending(served.writer)
    reading = Reading(served.queries, served.state, leaving)
    return {
        "BeginTurn": appending.begin_turn,
        "AppendTurn": appending.append_turn,
        "AppendDecision": appending.append_decision,
        "Append": appending.append,
        "AppendStream": Streaming(served.writer, leaving).append_stream,
        "GetEntry": reading.get_entry,
        "ListEntries": reading.list_entries,
        "GetHead": reading.get_head,
        "Watch": Watching(served.queries, leaving).watch,
        "GetCheckpoint": reading.get_checkpoint,
        "ProveInclusion": reading.prove_inclusion,
        "ProveConsistency": reading.prove_consistency,
        "GetState": reading.get_state,
        "VerifyChain": Verifying(checks, served.folder, leaving).verify_chain,
    }
