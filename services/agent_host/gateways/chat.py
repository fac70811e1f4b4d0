"""`agent-host chat`: a conversation at a terminal or over a pipe."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from functools import partial

from agent_host.app import Host, first_screen
from agent_host.gateways import mcp
from agent_host.gateways.approving import TerminalApprover
from agent_host.gateways.conversation import converse
from agent_host.gateways.overview import SHOWN_SESSIONS, chosen, resumed_text, sessions_text
from agent_host.gateways.readers import PipeReader, PromptReader, Reader, read_answer
from agent_host.gateways.screen import Screen
from service_runtime.settings import Settings

STOPPED = 128 + signal.SIGTERM


async def chat(settings: Settings, environ: Mapping[str, str], *, plain: bool, resume: str | None = None) -> int:
    """Talks until the end of input; returns 0, or 143 when it was told to stop.

    `resume` names the session to go on with, by its number in the list or its id; an empty one shows the list.

    Raises:
        UsageError: there is no such session.
        HostError, SetupError: the host cannot run on this home.
    """
    screen = Screen(sys.stdout, live=not plain)
    host = Host(settings, "cli", environ, None if plain else TerminalApprover(screen, read_answer))
    try:
        resumed = None if resume is None else _resume(host, resume)
        screen.say(first_screen(host.host_settings))
        if resumed is not None:
            screen.say(resumed)
        if plain:
            host.start()
            reader: Reader = PipeReader(sys.stdin.fileno())
        else:
            reader = PromptReader("you > ", on_ready=host.start)
        ended_by_itself = await converse(host, reader, screen, partial(mcp.command, settings, environ))
    finally:
        await host.close()
    return 0 if ended_by_itself else STOPPED


def _resume(host: Host, told: str) -> str:
    """Goes on with a session and says with which; without a name it only lists them."""
    if not told:
        return f"{sessions_text(host.sessions(SHOWN_SESSIONS))}\nType /resume and a number to go on with one."
    session = chosen(host.sessions(-1), told)
    host.resume(session.session_id)
    return resumed_text(session)
