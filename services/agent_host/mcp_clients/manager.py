"""The tools of all servers as one `ToolBox`."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, TextIO

from agent_host.errors import ConfigurationError
from agent_host.mcp_clients.config import ServerConfig
from agent_host.mcp_clients.connection import ServerConnection
from agent_host.mcp_clients.link import LinkOptions, load_sdk
from agent_host.mcp_clients.naming import ToolKey, model_names
from agent_host.mcp_clients.protocol import ToolOutcome
from agent_host.providers.protocol import JsonValue, ToolSpec

META_PREFIX: Final = "prometheus-agent/"
_LOG_BYTES: Final = 1_000_000
_PATIENCE_S: Final = 3.0


class McpToolBox:
    """MCP servers, connected in the background from `start()` on, each in a task of its own.

    `version` is what servers are told beside the name `prometheus-agent`. `log` is where the standard error of stdio
    servers goes (appended; started anew beyond 1 MB), nowhere when None. Times in seconds; a server may have its own
    start-up time in its configuration.
    """

    def __init__(
        self,
        servers: Sequence[ServerConfig],
        version: str,
        *,
        log: Path | None = None,
        startup_timeout_s: float = 60.0,
        call_timeout_s: float = 120.0,
    ) -> None:
        self._servers = tuple(servers)
        self._version = version
        self._log = log
        self._startup_timeout_s = startup_timeout_s
        self._call_timeout_s = call_timeout_s
        self._connections: tuple[ServerConnection, ...] | None = None
        self._names: dict[ToolKey, str] = {}
        self._files = ExitStack()
        self._closed = False

    def start(self) -> None:
        """Begins to connect every server, once, inside the running event loop; waits for none of them.

        Raises:
            ConfigurationError: the log file cannot be opened.
        """
        if self._connections is not None or self._closed:
            return
        log = self._files.enter_context(_open_log(self._log))
        self._files.enter_context(_sdk_log_to(log))
        if not self._servers:
            self._connections = ()
            return
        loaded = asyncio.ensure_future(asyncio.to_thread(load_sdk))
        options = LinkOptions(self._version, log, loaded, self._startup_timeout_s, self._call_timeout_s)
        self._connections = tuple(ServerConnection(server, options) for server in self._servers)

    async def specs(self) -> tuple[ToolSpec, ...]:
        """Returns the tools of the servers that can be used, each server's sorted by name.

        Waits for servers that are starting, each for its start-up time; one that is not there by then is left out and
        named by `problems`.
        """
        connections = await self._started()
        for connection in connections:
            connection.retry_if_failed()
        self._name_tools(connections)
        return tuple(spec for connection in connections for spec in self._specs_of(connection))

    async def call(self, name: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str]) -> ToolOutcome:
        """Calls a tool by its model-facing name; `meta` goes along under `prometheus-agent/…`. Never raises."""
        started = time.monotonic()
        connections = await self._started()
        if not self._names:
            self._name_tools(connections)
        server, tool = next((key for key, known in self._names.items() if known == name), ("", name))
        connection = next((one for one in connections if one.config.name == server), None)
        if connection is None:
            words = (
                "The tools are closed." if self._closed else f"There is no tool named {name}; use one that is offered."
            )
            return ToolOutcome("", name, words, None, is_error=True, duration_ms=0)
        result = await connection.call(tool, arguments, {META_PREFIX + key: value for key, value in meta.items()})
        elapsed_ms = round(1000 * (time.monotonic() - started))
        return ToolOutcome(
            server, tool, result.content, result.structured, is_error=result.is_error, duration_ms=elapsed_ms
        )

    def problems(self) -> tuple[str, ...]:
        """Returns one sentence for each server that could not be connected."""
        connections = self._connections or ()
        return tuple(problem for connection in connections if (problem := connection.problem) is not None)

    async def close(self) -> None:
        """Leaves every server and ends those this host started; safe to call twice."""
        self._closed = True
        connections, self._connections = self._connections or (), ()
        try:
            await asyncio.gather(*(connection.close(_PATIENCE_S) for connection in connections))
        finally:
            self._files.close()

    async def _started(self) -> tuple[ServerConnection, ...]:
        self.start()
        connections = self._connections or ()
        await asyncio.gather(*(connection.wait_started() for connection in connections))
        return connections

    def _specs_of(self, connection: ServerConnection) -> list[ToolSpec]:
        named = ((self._names[connection.config.name, name], tool) for name, tool in connection.tools.items())
        specs = (ToolSpec(name, tool.description, tool.input_schema) for name, tool in named)
        return sorted(specs, key=lambda spec: spec.name)

    def _name_tools(self, connections: Sequence[ServerConnection]) -> None:
        self._names = model_names((one.config.name, tool) for one in connections for tool in one.tools)


def _open_log(path: Path | None) -> TextIO:
    """Opens the servers' log for appending, readable by its owner only.

    Raises:
        ConfigurationError: it cannot be opened.
    """
    if path is None:
        return Path(os.devnull).open("a", encoding="utf-8")
    try:
        path.touch(mode=0o600, exist_ok=True)
        if path.stat().st_size > _LOG_BYTES:
            os.truncate(path, 0)
        return path.open("a", encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigurationError(
            f"The servers' log {path} cannot be written ({error.strerror}); make it so."
        ) from error


@contextmanager
def _sdk_log_to(log: TextIO) -> Iterator[None]:
    """Sends the SDK's own log lines to `log` while entered: they are about servers, and no matter for a terminal."""
    logger = logging.getLogger("mcp")
    handler = logging.StreamHandler(log)
    logger.addHandler(handler)
    propagated, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.propagate = propagated
        logger.removeHandler(handler)
