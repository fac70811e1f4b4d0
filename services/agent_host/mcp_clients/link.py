"""One life of a connection, held open by a task of its own.

The SDK's client has to be entered and left in the same task, so each life is a task: it enters the client, lists the
tools, waits to be told to leave, and leaves. Calls go through the open client from any task.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Mapping
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Final, TextIO

from agent_host.mcp_clients.oauth.folder import LoginFolder
from agent_host.mcp_clients.remote import Failure, RemoteResult, RemoteTool
from agent_host.mcp_clients.server_config import ServerConfig
from agent_host.providers.protocol import JsonValue

if TYPE_CHECKING:
    from mcp import Client

    from agent_host.mcp_clients.sdk import CancelScope

_ENDED: Final = Failure("not_sent", "the connection had ended")


@dataclass(frozen=True)
class LinkOptions:
    """What all links of a host share. `version` is told to servers; `log` is a real file; times in seconds.

    `context` is what a link lives in, not that of the call it happened to be made for: it outlives the call.

    `sdk_loaded` is done once the SDK has been imported; `logins` are those of the home.
    """

    version: str
    log: TextIO
    sdk_loaded: asyncio.Future[None]
    startup_timeout_s: float = 60.0
    call_timeout_s: float = 120.0
    logins: LoginFolder | None = None
    context: Context = field(default_factory=copy_context)


class Link:
    """A connection from its start to its end; made inside a running event loop.

    `tools` is what the server listed; `failure`, once set, is the rest of a sentence on why nothing can be listed.
    """

    def __init__(self, config: ServerConfig, options: LinkOptions) -> None:
        self.tools: tuple[RemoteTool, ...] = ()
        self.failure: str | None = None
        self._config = config
        self._options = options
        self._client: Client | None = None
        self._scope: CancelScope | None = None
        self._settled = asyncio.Event()  # open, or failed
        self._leave = asyncio.Event()
        self._relisted = asyncio.Event()  # the server said that its tools changed
        self._ended = False
        self._calls = 0
        self._timeout_s = config.startup_timeout_s or options.startup_timeout_s
        self._deadline = asyncio.get_running_loop().time() + self._timeout_s
        self._begun: float | None = None  # when the server itself was first waited for
        self._task = asyncio.create_task(self._hold(), name=f"mcp server {config.name}", context=options.context.copy())
        self._task.add_done_callback(_note_failure)

    @property
    def usable(self) -> bool:
        """Whether it is worth waiting for, or calling through."""
        return not self._ended and self.failure is None

    @property
    def opened(self) -> bool:
        """Whether the tools have been listed."""
        return self._client is not None

    @property
    def done(self) -> bool:
        """Whether it is over and nothing is left of it."""
        return self._task.done()

    @property
    def starting(self) -> bool:
        """Whether it is neither open yet nor over."""
        return not self._settled.is_set()

    async def wait_settled(self, patience_s: float = math.inf) -> None:
        """Waits until the connection is open or has failed; not longer than the server may take to start.

        `patience_s` is counted from when the SDK was there and the server's own start began, however often it is
        waited for.
        """
        if self._settled.is_set():
            return
        clock = asyncio.get_running_loop().time
        await asyncio.wait({self._options.sdk_loaded}, timeout=max(self._deadline - clock(), 0.0))
        self._begun = self._begun or clock()
        until = min(self._deadline, self._begun + patience_s)
        try:
            await asyncio.wait_for(self._settled.wait(), max(until - clock(), 0.0))
        except TimeoutError:
            if not self._settled.is_set() and clock() >= self._deadline:
                self._too_slow()

    async def call(
        self, tool: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str]
    ) -> RemoteResult | Failure:
        """Calls a tool over the open connection."""
        if self._config.command is not None:
            await _take_in()
        if self._client is None or not self.usable:
            return _ENDED
        from agent_host.mcp_clients import sdk

        self._calls += 1
        try:
            return await sdk.call_tool(self._client, tool, arguments, meta, self._options.call_timeout_s)
        finally:
            self._calls -= 1
            if self._ended and not self._calls:
                self._leave.set()

    def look_again(self) -> None:
        """Begins to list the tools again; not every server says when they change."""
        if self.opened:
            self._relisted.set()

    def retire(self) -> None:
        """Takes no more calls; the connection is left once the calls under way are done."""
        self._ended = True
        if not self._calls:
            self._leave.set()

    async def close(self, patience_s: float) -> None:
        """Leaves the connection, which ends a server that was started for it; by force after `patience_s`."""
        self._ended = True
        self._leave.set()
        if not self.opened:
            self._cancel()  # still starting
        _, pending = await asyncio.wait({self._task}, timeout=patience_s)
        if pending:
            self._cancel()
            await asyncio.wait({self._task})

    def _cancel(self) -> None:
        """Cancels by scope once there is one: only that reaches every part of the SDK and lets it clean up."""
        if self._scope is None:
            self._task.cancel()
        else:
            self._scope.cancel()

    def _too_slow(self) -> None:
        self.failure = f"it did not list its tools within {self._timeout_s:g} s"
        self._settled.set()

    def _output_ended(self) -> None:
        """A stdio server's output ended: the process is gone or going, so leave, which reaps it."""
        self._ended = True
        self._leave.set()

    async def _hold(self) -> None:
        try:
            await asyncio.shield(self._options.sdk_loaded)
            self._begun = self._begun or asyncio.get_running_loop().time()
            await self._live()
        except ImportError as error:
            self.failure = f"the module {error.name} is missing; install prometheus-agent[host]"
        finally:
            self._ended = True
            if not self.opened and self.failure is None:
                self.failure = "it was stopped while it was starting"
            self._settled.set()

    async def _live(self) -> None:
        from agent_host.mcp_clients import sdk

        shared = self._options
        try:
            with sdk.CancelScope(deadline=self._deadline) as self._scope:
                opening = sdk.open_client(self._config, shared, self._output_ended, self._relisted.set)
                async with opening as client:
                    self.tools = await sdk.list_tools(client)
                    self._client = client
                    self._scope.deadline = math.inf
                    self._settled.set()
                    await self._stay(client)
        except sdk.FAILURES as error:
            self.failure = (
                None if self.opened else self.failure or sdk.why_not_connected(error, self._config, shared.log)
            )
        if not self.opened and not self._leave.is_set() and self.failure is None:
            self._too_slow()

    async def _stay(self, client: Client) -> None:
        """Waits to be told to leave; lists the tools again when the server says that they changed, or when asked to."""
        from agent_host.mcp_clients import sdk

        leaving = asyncio.ensure_future(self._leave.wait())
        try:
            while not leaving.done():
                changed = asyncio.ensure_future(self._relisted.wait())
                await asyncio.wait({leaving, changed}, return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
                if self._relisted.is_set() and not leaving.done():
                    self._relisted.clear()
                    self.tools = await sdk.list_again(client) or self.tools
        finally:
            leaving.cancel()


async def _take_in() -> None:
    """Lets the event loop deliver what has arrived already, above all the end of a server that died since.

    Such an end takes up to five rounds from the pipe to `_output_ended`; by then a call is known not to have been sent.
    """
    for _ in range(2 * 5):
        await asyncio.sleep(0)


def load_sdk() -> None:
    """Imports the SDK, which takes long; meant for a worker thread."""
    import_module("agent_host.mcp_clients.sdk")


def _note_failure(task: asyncio.Task[None]) -> None:
    """Puts an error nobody foresaw into the log, so that it ends up there and not on the terminal."""
    if not task.cancelled() and (error := task.exception()) is not None:
        logging.getLogger("mcp").error("%s ended unexpectedly", task.get_name(), exc_info=error)
