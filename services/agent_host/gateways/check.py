"""`agent-host check`: does the writer answer, does every server, and which tools are there."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from agent_host.app import open_tools, open_writer
from agent_host.errors import HostError
from agent_host.gateways.screen import printable
from service_runtime.settings import Settings

WATCH_EVERY_S = 15.0


@dataclass(frozen=True)
class Health:
    """What answers: the sentences to show, and whether all is well."""

    lines: tuple[str, ...]
    ok: bool


async def check(settings: Settings, environ: Mapping[str, str]) -> int:
    """Prints what answers; returns 0 when everything does, else 1.

    Raises:
        ConfigurationError, SetupError: the settings cannot be used.
    """
    health = await look(settings, environ)
    sys.stdout.write(printable("\n".join(health.lines)) + "\n")
    return 0 if health.ok else 1


async def watch(settings: Settings, environ: Mapping[str, str], status_file: Path | None) -> int:
    """Looks every `WATCH_EVERY_S` seconds until it is told to stop; prints changes.

    `status_file` exists while all is well, which is what a container's health check wants to know.
    """
    stopped = asyncio.Event()
    for told in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(told, stopped.set)
    shown: Health | None = None
    stopping = asyncio.ensure_future(stopped.wait())
    while not stopped.is_set():
        looking = asyncio.ensure_future(look(settings, environ))
        await asyncio.wait({looking, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not looking.done():
            looking.cancel()
            await asyncio.wait({looking})
            break
        health = looking.result()
        if health != shown:
            shown = health
            sys.stdout.write(printable("\n".join(health.lines)) + "\n")
            sys.stdout.flush()
        _mark(status_file, ok=health.ok)
        await asyncio.wait({stopping}, timeout=WATCH_EVERY_S)
    stopping.cancel()
    return 0


async def look(settings: Settings, environ: Mapping[str, str]) -> Health:
    """Asks the writer and every server once; the first line is about the writer, the second counts the tools.

    Raises:
        ConfigurationError, SetupError: the settings cannot be used.
    """
    async with AsyncExitStack() as resources:
        link = open_writer(settings, environ, resources)
        tools = open_tools(settings, environ, resources, lazy=False)
        try:
            await link.connect()
            writer = "writer: ok"
        except HostError as error:
            writer = f"writer: {error}"
        names = [spec.name for spec in await tools.specs()]
        problems = tools.problems()
    lines = (writer, f"tools: {len(names)}", *problems)
    return Health(lines, ok=writer == "writer: ok" and not problems)


def _mark(status_file: Path | None, *, ok: bool) -> None:
    if status_file is None:
        return
    if ok:
        status_file.touch()
    else:
        status_file.unlink(missing_ok=True)
