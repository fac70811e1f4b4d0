"""`agent-host chat`: a conversation at a terminal or over a pipe."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping

from agent_host.app import Host, first_screen
from agent_host.gateways.conversation import converse
from agent_host.gateways.readers import PipeReader, PromptReader, Reader
from agent_host.gateways.screen import Screen
from service_runtime.settings import Settings

STOPPED = 128 + signal.SIGTERM


async def chat(settings: Settings, environ: Mapping[str, str], *, plain: bool) -> int:
    """Talks until the end of input; returns 0, or 143 when it was told to stop.

    Raises:
        HostError, SetupError: the host cannot run on this home.
    """
    host = Host(settings, "cli", environ)
    screen = Screen(sys.stdout, live=not plain)
    screen.say(first_screen(host.host_settings))
    try:
        if plain:
            host.start()
            reader: Reader = PipeReader(sys.stdin.fileno())
        else:
            reader = PromptReader("you > ", on_ready=host.start)
        ended_by_itself = await converse(host, reader, screen)
    finally:
        await host.close()
    return 0 if ended_by_itself else STOPPED
