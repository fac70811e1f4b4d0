"""The tools of all servers as one `ToolBox`."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

from agent_host.errors import ConfigurationError
from agent_host.mcp_clients.approval import NobodyToAsk, ToolsQuestion
from agent_host.mcp_clients.connection import ServerConnection
from agent_host.mcp_clients.guard import Guard, refusal
from agent_host.mcp_clients.ledger import ManifestLedger
from agent_host.mcp_clients.link import LinkOptions, load_sdk
from agent_host.mcp_clients.naming import ToolKey, may_be_of, model_names, plain_name
from agent_host.mcp_clients.oauth.folder import LoginFolder
from agent_host.mcp_clients.permissions import EVERY_TOOL, brings_others_words, word_for
from agent_host.mcp_clients.pin import Pin
from agent_host.mcp_clients.pinning import ManifestFolder
from agent_host.mcp_clients.protocol import BY_HOST, Permission, ToolOutcome
from agent_host.mcp_clients.remote import Failure, RemoteResult, RemoteTool
from agent_host.mcp_clients.server_config import ServerConfig
from agent_host.providers.protocol import JsonValue, ToolSpec

META_PREFIX: Final = "prometheus-agent/"
_LOG_BYTES: Final = 1_000_000
_PATIENCE_S: Final = 3.0
GRACE_S: Final = 2.0
"""How long a person waits for a server of somebody else's that is seen for the first time."""


@dataclass(frozen=True)
class ToolRules:
    """What a person's rules say about tools.

    Without a `guard` every call is allowed, for a box that no model calls. Without `manifests` nothing is pinned. Tools
    named in `unavailable`, as a model would call them, are not offered; `elsewhere` names those that are no server's.
    `lazy`: a server whose tools are pinned starts at its first call. `logins` are what the person logged in to.
    """

    guard: Guard | None = None
    manifests: ManifestFolder | None = None
    ledger: ManifestLedger | None = None
    unavailable: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()
    lazy: bool = True
    logins: LoginFolder | None = None


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
        rules: ToolRules | None = None,
    ) -> None:
        self._servers = tuple(server for server in servers if server.problem is None)
        self._faults = tuple(server.problem for server in servers if server.problem is not None)
        self._version = version
        self._rules = rules or ToolRules()
        self._recording: asyncio.Task[None] | None = None
        self._log = log
        self._startup_timeout_s = startup_timeout_s
        self._call_timeout_s = call_timeout_s
        self._connections: tuple[ServerConnection, ...] | None = None
        self._names: dict[ToolKey, str] = {}
        self._files = ExitStack()
        self._closed = False
        self._settling = asyncio.Lock()

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
        rules = self._rules
        options = LinkOptions(self._version, log, loaded, self._startup_timeout_s, self._call_timeout_s, rules.logins)
        self._connections = tuple(
            ServerConnection(server, options, Pin(server, rules.manifests, self._version), lazy=rules.lazy)
            for server in self._servers
        )

    async def specs(self) -> tuple[ToolSpec, ...]:
        """Returns the tools of the servers that can be used, each server's sorted by name.

        Waits for servers that are starting, each for its start-up time; where a person waits, for servers of others
        only `GRACE_S` seconds. One that is not there by then is left out and named by `problems`. Asks about what a
        server changed since its tools were accepted.
        """
        self.start()
        connections = self._connections or ()
        for connection in connections:
            connection.pin.refresh()
            connection.retry_if_failed()
            await connection.wait_started(self._patience_s(connection))
            connection.look_again()
            await self._settle_change(connection)
        self._name_tools(connections)
        self._record_soon()
        return tuple(spec for connection in connections for spec in self._specs_of(connection))

    async def call(self, name: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str]) -> ToolOutcome:
        """Calls a tool by its model-facing name; `meta` goes along under `prometheus-agent/…`. Never raises."""
        started = time.monotonic()
        self.start()
        connections = self._connections or ()
        server, tool = await self._key_of(name, connections)
        connection = next((one for one in connections if one.config.name == server), None)
        if connection is None or self._is_unavailable(server, tool):
            words = (
                "The tools are closed." if self._closed else f"There is no tool named {name}; use one that is offered."
            )
            return ToolOutcome("", name, words, None, is_error=True, duration_ms=0)
        decided: Permission | None = None

        async def consent() -> str | None:
            nonlocal decided
            await self._settle_change(connection)
            decided = await self._decide(connection, tool, arguments, meta)
            return None if decided is None or decided.granted else refusal(connection.config, tool, decided)

        wire_meta = {META_PREFIX + key: value for key, value in meta.items()}
        answer = await connection.call(tool, arguments, wire_meta, consent)
        outside = self._take_note(connection, answer, meta)
        result = connection.error(tool, arguments, answer) if isinstance(answer, Failure) else answer
        elapsed_ms = round(1000 * (time.monotonic() - started))
        return ToolOutcome(
            server, tool, result.content, result.structured, result.is_error, elapsed_ms, decided, outside
        )

    def problems(self) -> tuple[str, ...]:
        """Returns one sentence for each server that cannot be used as it should, or that changed its tools."""
        connections = self._connections or ()
        found = (connection.problem for connection in connections)
        return (*self._faults, *(problem for problem in found if problem is not None), *self._unknown_names())

    async def close(self) -> None:
        """Leaves every server and ends those this host started; safe to call twice."""
        self._closed = True
        connections, self._connections = self._connections or (), ()
        if self._recording is not None:
            self._recording.cancel()
        try:
            await asyncio.gather(*(connection.close(_PATIENCE_S) for connection in connections))
        finally:
            self._files.close()

    def _patience_s(self, connection: ServerConnection) -> float:
        """A person who waits gets an answer without the tools of a stranger that is slow; a script needs them all."""
        guard = self._rules.guard
        waits = guard is not None and guard.approver.is_person and not connection.config.builtin
        return GRACE_S if waits else math.inf

    async def _key_of(self, name: str, connections: Sequence[ServerConnection]) -> ToolKey:
        """Returns whose tool a model-facing name is; waits for no server but those that could have it."""
        if name not in self._names.values():
            await asyncio.gather(*(one.wait_started() for one in connections if may_be_of(name, one.config.name)))
            self._name_tools(connections)
        return next((key for key, known in self._names.items() if known == name), ("", name))

    async def _decide(
        self, connection: ServerConnection, tool: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str]
    ) -> Permission | None:
        known = connection.tools.get(tool)
        if self._rules.guard is None or known is None:  # nothing is known of a tool that is held back
            return None
        by_host = meta.items() >= BY_HOST.items()
        turn_id = meta.get("turn_id", "")
        return await self._rules.guard.decide(connection.config, known, arguments, turn_id, by_host=by_host)

    def _take_note(self, connection: ServerConnection, answer: RemoteResult | Failure, meta: Mapping[str, str]) -> bool:
        """Tells the guard, and the caller, when a server's words are somebody else's; refusals are its words too."""
        if isinstance(answer, Failure) and answer.kind != "refused":
            return False
        config, structured = connection.config, answer.structured if isinstance(answer, RemoteResult) else None
        outside = brings_others_words(config.name, structured, builtin=config.builtin)
        if outside and self._rules.guard is not None:
            self._rules.guard.shown_others_words(meta.get("turn_id", ""))
        return outside

    async def _settle_change(self, connection: ServerConnection) -> None:
        """Asks about what a server changed, once; nobody's answer leaves it open."""
        pin = connection.pin
        approver = NobodyToAsk() if self._rules.guard is None else self._rules.guard.approver
        async with self._settling:
            if not pin.wants_answer:
                return
            answer = await approver.ask(ToolsQuestion(connection.config.name, str(pin.change), pin.changed_lines))
            if answer != "unasked":
                pin.answer(yes=answer != "no")
        self._record_soon()

    def _record_soon(self) -> None:
        """Begins to tell the ledger what it does not know yet; a turn waits for none of it."""
        waiting = any(one.pin.unrecorded() for one in self._connections or ())
        if waiting and self._rules.ledger is not None and (self._recording is None or self._recording.done()):
            self._recording = asyncio.create_task(self._record(self._rules.ledger), name="tool manifests")

    async def _record(self, ledger: ManifestLedger) -> None:
        for connection in self._connections or ():
            for version in connection.pin.unrecorded():
                if not await ledger.record(version):
                    return
                connection.pin.recorded(version)

    def _specs_of(self, connection: ServerConnection) -> list[ToolSpec]:
        named = ((self._names[connection.config.name, name], tool) for name, tool in connection.tools.items())
        specs = (
            ToolSpec(name, tool.description, tool.input_schema, tool.read_only)
            for name, tool in named
            if self._is_offered(tool, connection.config)
        )
        return sorted(specs, key=lambda spec: spec.name)

    def _is_offered(self, tool: RemoteTool, config: ServerConfig) -> bool:
        """Tells whether a model hears of a tool; one that may never be called would only cost words."""
        word = word_for(config.permissions, config.name, tool.name) or config.permissions.get(EVERY_TOOL)
        return word != "deny" and not self._is_unavailable(config.name, tool.name)

    def _is_unavailable(self, server: str, tool: str) -> bool:
        """Tells whether a tool is not to be offered; what was meant to be left out is, though its name has a hash."""
        return not self._rules.unavailable.isdisjoint(self._all_names(server, tool))

    def _unknown_names(self) -> Iterator[str]:
        """Yields a sentence for each name of a tool to be left out that no tool has, once all are known."""
        connections = self._connections or ()
        if not all(one.tools for one in connections):
            return
        known = {name for one in connections for tool in one.tools for name in self._all_names(one.config.name, tool)}
        for name in sorted(self._rules.unavailable - self._rules.elsewhere - known):
            yield f"PROMETHEUS_UNAVAILABLE_TOOLS names {name!r}, and there is no such tool; /tools shows their names."

    def _all_names(self, server: str, tool: str) -> tuple[str, ...]:
        return self._names.get((server, tool), ""), plain_name(server, tool)

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
