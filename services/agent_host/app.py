"""Composition root of the host: the only module that names concrete providers, stores and servers.

`Host.open` is cheap: it loads no SDK, so that the first prompt does not wait. Everything else is made in the
background, or at the latest by the first turn.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping

from agent_host.home_lock import HomeLock
from agent_host.identifiers import new_session_id
from agent_host.session import Session
from agent_host.settings import host_settings
from agent_host.tracing.events import Emit
from agent_host.turn import TurnParts, TurnResult, run_turn
from service_runtime.settings import Settings


class Host:
    """One running agent host on one home folder."""

    def __init__(self, settings: Settings, gateway: str, environ: Mapping[str, str]) -> None:
        """Takes the home; loads nothing heavy.

        Raises:
            HomeInUseError, ConfigurationError, SetupError: the host cannot run here; the message says what to change.
        """
        self.settings = settings
        self.host_settings = host_settings(settings)
        self._zone = settings.zone()
        self._gateway = gateway
        self._folder = settings.home.folder("host")
        self._lock = HomeLock(self._folder / "lock", settings.home.path)
        self._environment = child_environment(environ, settings)
        self._session = Session(new_session_id(), self.host_settings.history_turns)
        self._cleanup = contextlib.AsyncExitStack()
        self._parts: asyncio.Future[TurnParts] | None = None

    def start(self) -> None:
        """Begins, in the background, to start servers and load what a turn needs."""
        if self._parts is None:
            self._parts = asyncio.ensure_future(self._assemble())

    async def turn(self, text: str, watch: Emit) -> TurnResult:
        """Runs one turn of this host's conversation; cancelling it ends it early.

        Raises:
            HostError, SetupError: a part the turn needs cannot be made.
            OSError: the disk refused a write.
        """
        return await run_turn(text, self._session, self._gateway, await self._ready(), watch)

    async def tool_names(self) -> tuple[str, ...]:
        """Returns the names of the tools that can be used now."""
        parts = await self._ready()
        return tuple(spec.name for spec in await parts.tools.specs())

    async def close(self) -> None:
        """Ends every process this host started and lets the home go."""
        if self._parts is not None:
            self._parts.cancel()
            await asyncio.wait({self._parts})
        await self._cleanup.aclose()
        self._lock.release()

    @property
    def session_id(self) -> str:
        """The conversation's id."""
        return self._session.session_id

    async def _ready(self) -> TurnParts:
        self.start()
        assert self._parts is not None  # noqa: S101  # start() made it
        return await asyncio.shield(self._parts)

    async def _assemble(self) -> TurnParts:
        writer = self._cleanup
        del writer
        raise NotImplementedError


def child_environment(environ: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Returns what a child process may see: this process's environment without the model's keys, and our settings."""
    hidden = {"PROMETHEUS_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"}
    return {name: value for name, value in environ.items() if name not in hidden} | settings.environment()
