"""`agent-host chat`: a conversation at a terminal or over a pipe."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Mapping

from agent_host.app import Host, first_screen
from agent_host.gateways.conversation import converse
from agent_host.gateways.readers import PipeReader, PromptReader
from agent_host.gateways.screen import Screen
from service_runtime.settings import Settings


async def chat(settings: Settings, environ: Mapping[str, str], *, plain: bool) -> int:
    """Talks until the end of input; returns 0, or 143 when it was told to stop.

    Raises:
        HostError, SetupError: the host cannot run on this home.
    """
    host = Host(settings, "cli", environ)
    screen = Screen(sys.stdout, live=not plain)
    screen.say(first_screen(host.host_settings))
    conversation = asyncio.ensure_future(_talk(host, screen, plain=plain))
    loop = asyncio.get_running_loop()
    for told in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(told, conversation.cancel)
    try:
        await conversation
    except asyncio.CancelledError:
        return 128 + signal.SIGTERM
    finally:
        await host.close()
    return 0


async def _talk(host: Host, screen: Screen, *, plain: bool) -> None:
    reader = PipeReader(sys.stdin.buffer) if plain else PromptReader("you > ", on_ready=host.start)
    if plain:
        host.start()
    await converse(host, reader, screen)
