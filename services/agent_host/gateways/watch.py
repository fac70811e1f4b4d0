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
from agent_host.errors import UsageError
from agent_host.gateways.screen import printable
from agent_host.receipts.client import CHAINS
from agent_host.receipts.protocol import StoredEntry
from agent_host.receipts.verification import trust_of
from agent_host.receipts.watching import ContinuousVerification
from service_runtime.settings import Settings

_SHOWN = ("specId", "outcome", "verdict", "exitState", "callId", "turnId")


async def watch_chain(settings: Settings, environ: Mapping[str, str], chain: str, policy: Path | None) -> int:
    """Prints each entry of a chain once it is verified, until it is told to stop (0) or something is wrong (1).

    Raises:
        UsageError: there is no such chain, or no policy that says whom to trust.
        WriterUnavailableError: no writer runs and none can be started, or it went away.
    """
    if chain not in CHAINS:
        raise UsageError(f"There is no chain {chain[:40]!r} to watch; there are {', '.join(CHAINS)}.")
    stopped = asyncio.Event()
    for told in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(told, stopped.set)
    async with AsyncExitStack() as resources:
        desk = open_desk(settings, environ, resources)
        await desk.link.connect()
        trust = trust_of(settings.home.path / "receipts", chain, policy)
        copy = settings.home.folder("host") / f"watched-{chain}-{os.getpid()}.jsonl"
        sys.stdout.write(f"Watching {chain}; Ctrl-C ends it.\n")
        sys.stdout.flush()
        entries = await resources.enter_async_context(aclosing(desk.link.client.watch(chain)))
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


def _tell(entry: StoredEntry) -> None:
    body = json.loads(entry.line)
    named = "  ".join(str(body[name]) for name in _SHOWN if name in body)
    sys.stdout.write(printable(f"#{entry.id}  {body['recordedAtIso']}  {named}  holds") + "\n")
    sys.stdout.flush()
