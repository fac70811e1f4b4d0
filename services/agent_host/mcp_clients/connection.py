"""One server over time: its present link, the next one when that ends, and what may be sent again.

A call is sent a second time, over a new link, only when the first certainly was not carried out, or when carrying it
out twice changes nothing (a read-only tool, or an idempotency key). Anything else is reported, never replayed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from agent_host.mcp_clients.config import ServerConfig
from agent_host.mcp_clients.link import Link, LinkOptions
from agent_host.mcp_clients.remote import Failure, RemoteResult, RemoteTool, unsendable
from agent_host.providers.protocol import JsonValue

_RETRY_AFTER_S: Final = 30.0


class ServerConnection:
    """A server this host uses; made inside the running event loop, and connecting from then on."""

    def __init__(self, config: ServerConfig, options: LinkOptions) -> None:
        self.config = config
        self._options = options
        self._links: list[Link] = []
        self._known: dict[str, RemoteTool] = {}
        self._closed = False
        self._tried_at = 0.0
        self._last_failure: str | None = None
        self._link = self._first = self._connect()

    @property
    def tools(self) -> Mapping[str, RemoteTool]:
        """The tools it listed last, by their own names; they stay known when the connection is lost."""
        if self._link.opened:
            self._known = {tool.name: tool for tool in self._link.tools}
        return self._known

    @property
    def problem(self) -> str | None:
        """One sentence when the server could not be connected, None while it can be used or is starting."""
        starting = not self._link.opened and self._link.failure is None
        failure = self._last_failure if starting else self._link.failure
        return None if failure is None else f"The server {self.config.name!r} cannot be used: {failure}."

    async def wait_started(self) -> None:
        """Waits until the first connection is made or has failed; later ones are waited for by calls only."""
        await self._first.wait_settled()

    def retry_if_failed(self) -> None:
        """Tries a server again that could not be connected a while ago, without anybody waiting for it."""
        now = asyncio.get_running_loop().time()
        if self._link.failure is not None and now - self._tried_at >= _RETRY_AFTER_S:
            self._reconnect()

    async def call(self, tool: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str]) -> RemoteResult:
        """Calls a tool; whatever fails becomes a result that says what happened and what is safe to do."""
        if problem := unsendable(arguments):
            return _error(f"{tool} was not called: {problem}.")
        known = self.tools.get(tool)
        repeatable = known is not None and known.may_repeat(arguments)
        reconnected = not self._link.usable
        result = await self._attempt(tool, arguments, meta)
        again = isinstance(result, Failure) and (result.kind == "not_sent" or (result.kind == "unclear" and repeatable))
        if again and not reconnected:
            result = await self._attempt(tool, arguments, meta)
        return result if isinstance(result, RemoteResult) else _error(self._sentence(tool, result, repeatable))

    async def close(self, patience_s: float) -> None:
        """Leaves every connection, which ends the server if it was started by this host; none is made after that."""
        self._closed = True
        await asyncio.gather(*(link.close(patience_s) for link in self._links))

    def _connect(self) -> Link:
        self._tried_at = asyncio.get_running_loop().time()
        self._links = [link for link in self._links if not link.done]
        self._links.append(Link(self.config, self._options))
        return self._links[-1]

    def _reconnect(self) -> None:
        self._last_failure = self._link.failure
        self._link = self._connect()

    async def _attempt(
        self, tool: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str]
    ) -> RemoteResult | Failure:
        if self._closed:
            return Failure("unreachable", "its connection was closed")
        if not self._link.usable:
            self._reconnect()
        link = self._link
        await link.wait_settled()
        if link.failure is not None:
            return Failure("unreachable", link.failure)
        result = await link.call(tool, arguments, meta)
        if isinstance(result, Failure) and result.kind in {"not_sent", "unclear"}:
            link.retire()
        return result

    def _sentence(self, tool: str, failure: Failure, repeatable: bool) -> str:
        server = self.config.name
        match failure.kind:
            case "late":
                return (
                    f"{server} did not answer {tool} within {self._options.call_timeout_s:g} s. It may still finish, "
                    "and a paid call may still be charged; check before calling it again."
                )
            case "unclear" if repeatable:
                return f"{server} did not answer {tool}: {failure.words}; calling it again is safe."
            case "unclear":
                return (
                    f"{server} did not answer {tool}: {failure.words}. It may or may not have been carried out, so it "
                    "was not sent again; check before calling it again."
                )
            case "refused":
                return f"{server} refused {tool}: {failure.words}."
            case "unreadable":
                return f"{server} carried out {tool}, but its answer cannot be read: {failure.words}."
            case "unreachable" | "not_sent":
                return f"{tool} was not carried out: {server} cannot be used, {failure.words}."


def _error(words: str) -> RemoteResult:
    return RemoteResult(words, None, is_error=True)
