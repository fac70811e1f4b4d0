"""One server over time: its present link, the next one when that ends, and what may be sent again.

A call is sent a second time, over a new link, only when the first certainly was not carried out, or when carrying it
out twice changes nothing (a read-only tool, or an idempotency key). Anything else is reported, never replayed.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from agent_host.mcp_clients.link import Link, LinkOptions
from agent_host.mcp_clients.permissions import rules_for_nothing
from agent_host.mcp_clients.pin import Pin
from agent_host.mcp_clients.remote import Failure, RemoteResult, RemoteTool, unsendable
from agent_host.mcp_clients.server_config import ServerConfig
from agent_host.providers.protocol import JsonValue

_RETRY_AFTER_S: Final = 30.0
Consent: TypeAlias = "Callable[[], Awaitable[str | None]]"
"""Asked once the server is there and before anything is sent; returns why the call may not be made, or None."""


class ServerConnection:
    """A server this host uses; made inside the running event loop.

    It connects from then on; with `lazy` only at the first call, when its pin says what its tools are.
    """

    def __init__(self, config: ServerConfig, options: LinkOptions, pin: Pin, *, lazy: bool) -> None:
        self.config = config
        self.pin = pin
        self._options = options
        self._links: list[Link] = []
        self._closed = False
        self._tried_at = 0.0
        self._last_failure: str | None = None
        self._link = None if lazy and pin.known else self._connect()
        self._first = self._link
        self._looked_at: Link | None = None

    @property
    def tools(self) -> Mapping[str, RemoteTool]:
        """The tools that may be offered, by their own names; they stay known when the connection is lost."""
        if self._link is not None and self._link.opened:
            self.pin.observe(self._link.tools)
        return {tool.name: tool for tool in self.pin.tools}

    @property
    def problem(self) -> str | None:
        """Sentences when the server cannot be used as it should, None while it can, or waits."""
        failure = self._failure()
        if failure is not None:
            return f"The server {self.config.name!r} cannot be used: {failure}."
        if self._first is not None and self._first is self._link and self._link.starting:
            return f"The server {self.config.name!r} is still starting; its tools join the first turn after that."
        if self.pin.wants_answer:
            return (
                f"The server {self.config.name!r} changed its tools ({self.pin.change}); what is not as it was is held "
                f"back: read it with `agent-host mcp diff {self.config.name}`, then run `agent-host mcp accept "
                f"{self.config.name}`."
            )
        if not self.pin.tools:
            return None  # nothing is known of them
        listed = [tool.name for tool in (*self.pin.tools, *self.pin.pending)]
        return " ".join(rules_for_nothing(self.config.permissions, self.config.name, listed)) or None

    async def wait_started(self, patience_s: float = math.inf) -> None:
        """Waits until the first connection is made or has failed, if one was begun; later ones wait for calls only."""
        if self._first is not None:
            await self._first.wait_settled(patience_s)

    def look_again(self) -> None:
        """Begins to list a stranger's tools again, for the next turn; this product's own change with its version."""
        if self._link is not None and self._link is self._looked_at and not self.config.builtin:
            self._link.look_again()
        self._looked_at = self._link  # what has just been connected has just been listed

    def retry_if_failed(self) -> None:
        """Tries a server again that could not be connected a while ago, without anybody waiting for it.

        One that wanted a login is tried at once when the person has logged in since, and that is waited for.
        """
        now = asyncio.get_running_loop().time()
        failure = None if self._link is None else self._link.failure
        logins, url = self._options.logins, self.config.url or ""
        logged_in = failure == self.config.needs_login and logins is not None and logins.holds(url)
        if logged_in:
            self._first = self._reconnect()
        elif failure is not None and now - self._tried_at >= _RETRY_AFTER_S:
            self._reconnect()

    async def call(
        self, tool: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str], consent: Consent
    ) -> RemoteResult | Failure:
        """Calls a tool; `sentence` says of a failure what happened and what is safe to do."""
        if problem := unsendable(arguments):
            return Failure("withheld", f"{tool} was not called: {problem}.")
        reconnected = self._link is None or not self._link.usable
        result = await self._attempt(tool, arguments, meta, consent)
        again = isinstance(result, Failure) and (
            result.kind == "not_sent" or (result.kind == "unclear" and self._may_repeat(tool, arguments))
        )
        if again and not reconnected:
            result = await self._attempt(tool, arguments, meta, _consented)
        return result

    def error(self, tool: str, arguments: Mapping[str, JsonValue], failure: Failure) -> RemoteResult:
        """Returns a failure as the result a model reads."""
        if failure.kind == "withheld":
            return RemoteResult(failure.words, None, is_error=True)
        return RemoteResult(self._sentence(tool, failure, self._may_repeat(tool, arguments)), None, is_error=True)

    async def close(self, patience_s: float) -> None:
        """Leaves every connection, which ends the server if it was started by this host; none is made after that."""
        self._closed = True
        await asyncio.gather(*(link.close(patience_s) for link in self._links))

    def _wants_login(self) -> bool:
        logins = self._options.logins
        return self.config.oauth is not None and logins is not None and logins.wants_login(self.config.url or "")

    def _failure(self) -> str | None:
        if self._link is None:  # it waits for its first call, and that would fail
            return self.config.needs_login if self._wants_login() else None
        starting = not self._link.opened and self._link.failure is None
        return self._last_failure if starting else self._link.failure

    def _may_repeat(self, tool: str, arguments: Mapping[str, JsonValue]) -> bool:
        known = self.tools.get(tool)
        return known is not None and known.may_repeat(arguments)

    def _connect(self) -> Link:
        self._tried_at = asyncio.get_running_loop().time()
        self._links = [link for link in self._links if not link.done]
        self._links.append(Link(self.config, self._options))
        return self._links[-1]

    def _reconnect(self) -> Link:
        self._last_failure = None if self._link is None else self._link.failure
        self._link = self._connect()
        return self._link

    async def _attempt(
        self, tool: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str], consent: Consent
    ) -> RemoteResult | Failure:
        if self._closed:
            return Failure("unreachable", "its connection was closed")
        link = self._link if self._link is not None and self._link.usable else self._reconnect()
        await link.wait_settled()
        if link.failure is not None:
            return Failure("unreachable", link.failure)
        self.pin.observe(link.tools)
        if (forbidden := await consent()) is not None:
            return Failure("withheld", forbidden)
        if tool not in self.tools:
            return Failure("withheld", self._held_back(tool))
        result = await link.call(tool, arguments, meta)
        if isinstance(result, Failure) and result.kind in {"not_sent", "unclear"}:
            link.retire()
        return result

    def _held_back(self, tool: str) -> str:
        name = self.config.name
        return (
            f"{tool} was not called: {name} changed or withdrew it since its tools were accepted; the person can read "
            f"that with `agent-host mcp diff {name}` and take it with `agent-host mcp accept {name}`."
        )

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
                return (
                    f"{server} answered {tool}, but its answer is of no use: {failure.words}. It may have been carried "
                    "out; check before calling it again."
                )
            case _:
                return f"{tool} was not carried out: {server} cannot be used, {failure.words}."


async def _consented() -> None:
    """The consent of a call that has it already."""
