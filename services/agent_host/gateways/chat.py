"""`agent-host chat`: a conversation at a terminal or over a pipe."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import tzinfo
from typing import Literal

from agent_host.app import Host, first_screen
from agent_host.gateways.approving import TerminalApprover
from agent_host.gateways.commands.command import Desk
from agent_host.gateways.conversation import converse
from agent_host.gateways.overview import SHOWN_SESSIONS, chosen, recap, resumed_text, sessions_text
from agent_host.gateways.plain_screen import PlainScreen
from agent_host.gateways.readers import PipeReader, PromptedLines, Reader
from agent_host.gateways.screen import Screen
from agent_host.gateways.terminal.keys import unseen_typing
from agent_host.gateways.terminal.log_lines import logs_on
from agent_host.gateways.terminal.rich_screen import RichScreen, preload
from service_runtime.settings import Settings

PROMPT = "you > "
STOPPED = 128 + signal.SIGTERM
_DUMB = frozenset({"dumb", "unknown", ""})


async def chat(settings: Settings, environ: Mapping[str, str], *, plain: bool, resume: str | None = None) -> int:
    """Talks until the end of input; returns 0, or 143 when it was told to stop.

    A terminal gets line editing and a live screen, unless `plain`. `resume` names the session to go on with, by its
    number in the list or its id; an empty one shows the list.

    Raises:
        UsageError: there is no such session.
        HostError, SetupError: the host cannot run on this home.
    """
    way = _way(environ, plain=plain)
    screen: Screen = RichScreen(sys.stdout) if way == "rich" else PlainScreen(sys.stdout, live=way == "lines")
    prompted = _prompted_lines() if way == "lines" else None
    approver = None
    if way != "plain":
        approver = TerminalApprover(screen, _answer if prompted is None else prompted.answer)
    host = Host(settings, "cli", environ, approver)
    desk = Desk(host, settings, environ)
    try:
        resumed = None if resume is None else _resume(host, resume, settings.zone())
        screen.say(first_screen(host.host_settings))
        if resumed is not None:
            screen.say(resumed + (recap(host.said(host.session_id)) if way != "plain" else ""))
        if way != "rich":
            host.start()
        lines: Reader = prompted or PipeReader(sys.stdin.fileno())
        reader = _prompt(desk, host) if way == "rich" else lines
        with ExitStack() as ending:
            if way == "rich":
                ending.enter_context(unseen_typing())
            if way == "rich" and sys.stderr.isatty():
                ending.enter_context(logs_on(screen))
            ended_by_itself = await converse(desk, reader, screen)
    finally:
        await host.close()
    return 0 if ended_by_itself else STOPPED


def _way(environ: Mapping[str, str], *, plain: bool) -> Literal["plain", "lines", "rich"]:
    """Says how to talk: line by line without a word too many, with a prompt, or with all a terminal can do."""
    if plain or not sys.stdin.isatty():
        return "plain"
    if not sys.stdout.isatty() or environ.get("TERM", "").lower() in _DUMB:
        return "lines"
    return "rich"


def _prompted_lines() -> PromptedLines:
    return PromptedLines(PROMPT, sys.stdout if sys.stdout.isatty() else sys.stderr, PipeReader(sys.stdin.fileno()))


async def _answer(prompt: str) -> str | None:
    from agent_host.gateways.terminal.prompt import read_answer

    return await read_answer(prompt)


def _prompt(desk: Desk, host: Host) -> Reader:
    from agent_host.gateways.commands.table import COMMANDS
    from agent_host.gateways.terminal.completion import SlashCompleter
    from agent_host.gateways.terminal.history import HistoryFile
    from agent_host.gateways.terminal.prompt import PromptReader

    loading: list[asyncio.Future[None]] = []

    def on_ready() -> None:
        host.start()
        loading.append(asyncio.ensure_future(asyncio.to_thread(preload)))

    history = HistoryFile(desk.settings.home.folder("host") / "history.jsonl")
    return PromptReader(PROMPT, on_ready, history, SlashCompleter(COMMANDS, desk))


def _resume(host: Host, told: str, zone: tzinfo) -> str:
    """Goes on with a session and says with which; without a name it only lists them."""
    if not told:
        return f"{sessions_text(host.sessions(SHOWN_SESSIONS), zone)}\nType /resume and a number to go on with one."
    session = chosen(host.sessions(-1), told)
    host.resume(session.session_id)
    return resumed_text(session)
