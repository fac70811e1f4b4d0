"""Composition root of the host: the only module that names concrete providers, stores and servers.

`Host` is cheap to make: it loads no SDK, so that the first prompt does not wait. Everything else is made in the
background, or at the latest by the first turn.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from agent_host.home_lock import HomeLock
from agent_host.identifiers import new_session_id
from agent_host.session import Session
from agent_host.settings import HostSettings, host_settings
from agent_host.tracing.events import Emit
from service_runtime.settings import Settings

if TYPE_CHECKING:
    from agent_host.mcp_clients.manager import McpToolBox
    from agent_host.providers.protocol import Provider, Usage
    from agent_host.turn import TurnParts, TurnResult
    from agent_host.writer_link import WriterLink

MODEL_KEYS = ("PROMETHEUS_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY")


class Host:
    """One running agent host on one home folder."""

    def __init__(self, settings: Settings, gateway: str, environ: Mapping[str, str]) -> None:
        """Takes the home.

        Raises:
            HomeInUseError, ConfigurationError, SetupError: the host cannot run here; the message says what to change.
        """
        self.host_settings = host_settings(settings)
        self._settings = settings
        self._environment = child_environment(environ, settings)
        self._zone = settings.zone()
        self._gateway = gateway
        self._folder = settings.home.folder("host")
        self._lock = HomeLock(self._folder / "lock", settings.home.path)
        self._session = Session(new_session_id(), self.host_settings.history_turns)
        self._resources = contextlib.AsyncExitStack()
        self._resources.callback(self._lock.release)
        self._parts: asyncio.Future[TurnParts] | None = None

    def start(self) -> asyncio.Future[TurnParts]:
        """Begins, once, to start servers and to load what a turn needs; does not wait for any of it."""
        if self._parts is None:
            self._parts = asyncio.ensure_future(self._assemble())
        return self._parts

    async def turn(self, text: str, watch: Emit) -> TurnResult:
        """Runs one turn of this host's conversation; cancelling it ends it early.

        Raises:
            HostError, SetupError: a part the turn needs cannot be made.
            OSError: the disk refused a write.
        """
        parts = await asyncio.shield(self.start())
        from agent_host.turn import run_turn

        return await run_turn(text, self._session, self._gateway, parts, watch)

    async def tool_names(self) -> tuple[str, ...]:
        """Returns the names of the tools that can be used now."""
        parts = await asyncio.shield(self.start())
        return tuple(spec.name for spec in await parts.tools.specs())

    async def close(self) -> None:
        """Ends every process this host started and lets the home go."""
        if self._parts is not None:
            self._parts.cancel()
            await asyncio.wait({self._parts})
        await self._resources.aclose()

    async def _assemble(self) -> TurnParts:
        """Makes what turns work with; the heavy imports run in a thread, beside the prompt."""
        tools = self._start_tools()
        link = await asyncio.to_thread(open_writer, self._settings, self._environment)
        self._resources.push_async_callback(link.close)
        link.start()
        return await self._parts_with(tools, link)
