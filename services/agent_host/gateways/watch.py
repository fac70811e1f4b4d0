"""`agent-host watch`: the ledger verified while it grows."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack, aclosing, suppress
from pathlib import Path

from agent_host.app import open_desk
from agent_host.errors import UsageError, WriterUnavailableError
from agent_host.gateways.screen import printable
from agent_host.receipts.client import CHAINS
from agent_host.receipts.protocol import StoredEntry
from agent_host.receipts.verification import trust_of
from agent_host.receipts.watching import ContinuousVerification, lasting
from agent_host.writer_link import WriterLink
from service_runtime.settings import Settings

CANNOT_LOOK = 2
_AGAIN_S = 1.0
_SHOWN = ("specId", "outcome", "verdict", "exitState", "callId", "turnId")


async def watch_chain(settings: Settings, environ: Mapping[str, str], chain: str, policy: Path | None) -> int:
    """Prints each entry of a chain once it is verified; goes on with the next writer when one ends.

    Returns 0 when it is told to stop, 1 when an entry does not hold, 2 when there is no writer to look at.

    Raises:
        UsageError: there is no such chain, or no policy that says whom to trust.
        ReceiptRefusedError: the writer's chain got shorter.
    """
    if chain not in CHAINS:
        raise UsageError(f"There is no chain {chain[:40]!r} to watch; there are {', '.join(CHAINS)}.")
    stopped = asyncio.Event()
    for told in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(told, stopped.set)
    async with AsyncExitStack() as resources:
        desk = open_desk(settings, environ, resources)
        try:
            await desk.link.connect()
        except WriterUnavailableError as error:
            sys.stderr.write(f"agent-host: {printable(str(error))}\n")
            return CANNOT_LOOK
        trust = trust_of(settings.home.path / "receipts", chain, policy)
        copy = settings.home.folder("host") / f"watched-{chain}-{os.getpid()}.jsonl"
        sys.stdout.write(f"Watching {chain}; Ctrl-C ends it.\n")
        sys.stdout.flush()
        stream = lasting(lambda from_id: desk.link.client.watch(chain, from_id), lambda: _until_a_writer(desk.link))
        entries = await resources.enter_async_context(aclosing(stream))
        watching = asyncio.ensure_future(ContinuousVerification(copy, trust, desk.openings, _tell).run(entries))
        stopping = asyncio.ensure_future(stopped.wait())
        await asyncio.wait({watching, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not watching.done():
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
            return 0
        sys.stdout.write(printable(watching.result()) + "\n")
    return 1


async def _until_a_writer(link: WriterLink) -> None:
    """Waits for a writer; a home's own is started, as soon as the one that ends has let go of the ledger."""
    told = False
    while True:
        try:
            await link.connect()
        except WriterUnavailableError as error:
            if not told:
                sys.stderr.write(f"agent-host: {printable(str(error))} Watching goes on once one answers.\n")
            told = True
            await asyncio.sleep(_AGAIN_S)
        else:
            return


def _tell(entry: StoredEntry) -> None:
    body = json.loads(entry.line)
    named = "  ".join(str(body[name]) for name in _SHOWN if name in body)
    sys.stdout.write(printable(f"#{entry.id}  {body['recordedAtIso']}  {named}  holds") + "\n")
    sys.stdout.flush()
