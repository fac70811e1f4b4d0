"""A writer process: it serves its ledgers until it is told to leave, and ends within two seconds then."""

import asyncio
import logging
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from receipt_writer.app import Service, make_tenants, open_service
from receipt_writer.errors import ListenError, TakenOverError
from receipt_writer.identity import chains_folder
from receipt_writer.listen import Address, UnixAddress, make_way
from receipt_writer.parent import parent_process, when_stdin_ends
from receipt_writer.recovery import sizes_of
from receipt_writer.signers.source import KeySource
from receipt_writer.state import STATE_EVERY_MS
from receipt_writer.storage.filesystem import OsFileSystem
from receipt_writer.storage.lock import running_holder
from receipt_writer.tenants import Tenants
from service_runtime.shutdown import leave_within

if TYPE_CHECKING:
    import grpc.aio

_log = logging.getLogger("receipt_writer")
DRAIN_S = 2.0
"""How long a process may take to leave; then it ends itself, with status 1."""


@dataclass(frozen=True)
class ServeOptions:
    """How a writer process serves.

    With `exit_with_stdin` the host that holds the pipe rules: a Ctrl-C at its terminal is the host's affair. With
    `take_over` a writer that hangs loses the folder, and its socket. With a `certificate` and its key, both PEM, the
    server speaks TLS only. `is_traced`: the process exports spans, so calls get one each.
    """

    exit_with_stdin: bool = False
    take_over: bool = False
    is_token_required: bool = False
    state_every_ms: int = STATE_EVERY_MS
    certificate: tuple[bytes, bytes] | None = None
    is_traced: bool = False


async def run_service(
    tenants: Tenants[Service],
    address: Address,
    leave: asyncio.Event,
    certificate: tuple[bytes, bytes] | None = None,
    *,
    gates: "Sequence[grpc.aio.ServerInterceptor]" = (),
) -> int:
    """Serve until `leave` is set (status 0) or a storage fails (status 1); every acknowledged entry is on disk then.

    With a certificate and its key, both PEM, the server speaks TLS only. Calls go through `gates` first.

    Raises:
        ListenError: The address is taken or cannot be used; nothing was served.
    """
    from receipt_writer.rpc import SERVICE_NAME, make_gate
    from receipt_writer.server import ReceiptServer

    closing = asyncio.Event()
    server = ReceiptServer(SERVICE_NAME, (*gates, make_gate(tenants, closing)), closing)
    tenants.start()
    try:
        bound = await server.start(address, certificate)
        _log.info("ready: receipt-writer serves %s on %s", sizes_of(tenants.own.ledger.indexes), bound)
        ends = [asyncio.create_task(event.wait()) for event in (tenants.ended, leave)]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
        await server.refuse_new_work()
        await tenants.finish()
        await server.stop()
    finally:
        tenants.close()
    return 1 if tenants.failure else 0


def serve_process(folder: Path, address: Address, options: ServeOptions, source: KeySource | None = None) -> int:
    """Serve as a process of its own: signals, or the end of stdin, end it within two seconds.

    Raises:
        ServiceError: The service could not start.
    """

    async def serve() -> int:
        leave = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, leave.set)
        loop.add_signal_handler(signal.SIGINT, _ignore if options.exit_with_stdin else leave.set)
        if options.exit_with_stdin:
            when_stdin_ends(lambda: loop.call_soon_threadsafe(leave.set))
        _require_address(address, folder, take_over=options.take_over)
        host, every_ms = parent_process() if options.exit_with_stdin else "", options.state_every_ms
        service = open_service(folder, host=host, state_every_ms=every_ms, source=source, take_over=options.take_over)
        if options.take_over:
            _take_socket(address)
        limit = asyncio.create_task(_limit_drain(leave))
        required = options.is_token_required
        tenants = make_tenants(service, source=source, take_over=options.take_over, is_token_required=required)
        lost = asyncio.create_task(_leave_to_the_next(tenants))
        gates = _spans() if options.is_traced else ()
        status = await run_service(tenants, address, leave, options.certificate, gates=gates)
        limit.cancel()
        lost.cancel()
        return status

    # An append wakes the loop some three times, which uvloop does for a tenth of an append's CPU less.
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(serve())


def _spans() -> "Sequence[grpc.aio.ServerInterceptor]":
    from receipt_writer.rpc.spans import CallSpans

    return (CallSpans(),)


def _require_address(address: Address, folder: Path, *, take_over: bool) -> None:
    """Refuse an address that cannot be had before anything is made, or taken from another writer.

    Raises:
        ListenError: It is taken. Where the ledger's own writer may hold it, the sentence names the process.
    """
    if take_over and isinstance(address, UnixAddress):
        return  # the last holder's socket is removed
    try:
        make_way(address)
    except ListenError as taken:
        try:
            holder = running_holder(OsFileSystem(), chains_folder(folder))
        except OSError:
            holder = None
        if holder is None:
            raise
        if take_over:
            raise ListenError(
                f"{taken} Process {holder} owns the ledger; end it (kill -9 {holder}) and start again. Nothing was "
                "taken over."
            ) from taken
        # Else the start says that the ledger has a writer, which is what matters.


def _take_socket(address: Address) -> None:
    if isinstance(address, UnixAddress):
        address.path.unlink(missing_ok=True)  # the last holder still listens there, and will never answer


async def _leave_to_the_next(tenants: Tenants[Service]) -> None:
    """End the process when another took over: an orderly end would remove the socket file, which is the other's now."""
    await tenants.ended.wait()
    if isinstance(tenants.failure, TakenOverError):
        logging.shutdown()
        os._exit(1)


async def _limit_drain(leave: asyncio.Event) -> None:
    await leave.wait()
    leave_within(DRAIN_S)  # a disk that hangs must not keep the process


def _ignore() -> None:
    """Let a signal pass."""
