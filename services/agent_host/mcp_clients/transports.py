"""How bytes get to a server and back, made honest where the SDK's own transports are not.

Over stdio, the end of the server's output is reported the moment it is read. Over HTTP, a request that fails is
answered by a JSON-RPC error of its own instead of tearing the whole connection down, so that it is known for each call
whether it can have been carried out (`http_answers`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self, TextIO

import anyio
import httpx2
from mcp import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from agent_host.mcp_clients import http_answers, listing
from agent_host.mcp_clients.config import ServerConfig
from agent_host.mcp_clients.oauth.folder import LoginFolder
from agent_host.mcp_clients.oauth.stored import LoggedInTransport, LoginServerError, StoredLogin


@asynccontextmanager
async def stdio(
    config: ServerConfig, command: str, log: TextIO, ended: Callable[[], None]
) -> AsyncIterator[tuple[_Watched, Any]]:
    """Starts a server and yields its streams; `log` gets its standard error, `ended` is called when its output ends."""
    parameters = StdioServerParameters(
        command=command,
        args=list(config.args),
        env=dict(config.env),
        cwd=config.cwd,
        encoding_error_handler="replace",  # a server that writes other bytes loses a character, not its connection
    )
    async with stdio_client(parameters, errlog=log) as (read, write):
        yield _Watched(read, ended), write


class _Watched:
    """A read stream that tells when it ends, and puts lists of tools in order."""

    def __init__(self, inner: Any, ended: Callable[[], None]) -> None:
        self._inner = inner
        self._ended = ended

    async def receive(self) -> Any:
        try:
            return listing.in_order(await self._inner.receive())
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._ended()
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


@asynccontextmanager
async def http(
    url: str, config: ServerConfig, logins: LoginFolder | None = None
) -> AsyncIterator[tuple[_Watched, Any]]:
    """Yields the streams of a server that runs elsewhere, with the login that `logins` keeps for it."""
    headers = dict(config.headers)
    if config.token is not None:
        headers["Authorization"] = f"Bearer {config.token}"
    timeout = httpx2.Timeout(30.0, read=None)  # a call has its own clock, and a stream may be silent for long
    inner: httpx2.AsyncBaseTransport = httpx2.AsyncHTTPTransport()
    if config.oauth is not None and logins is not None:
        inner = LoggedInTransport(inner, StoredLogin(url, logins))
    transport = _OneErrorPerRequest(inner, config)
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers, timeout=timeout) as client,
        streamable_http_client(url, http_client=client) as (read, write),
    ):
        yield _Watched(read, lambda: None), write


class _OneErrorPerRequest(httpx2.AsyncBaseTransport):
    """Answers a failed request with a JSON-RPC error that says how far it got."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, config: ServerConfig) -> None:
        self._inner = inner
        self._config = config

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            await request.aread()  # one that follows a redirect has its body as a stream only
            response = await self._inner.handle_async_request(request)
            return await http_answers.honest(request, response, self._config)
        except LoginServerError as error:
            return http_answers.error_response(http_answers.LOGIN_TROUBLE, str(error))
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout):
            return http_answers.error_response(http_answers.NOT_SENT, "nobody answers there")
        except httpx2.TransportError:
            return http_answers.error_response(http_answers.BROKEN, "the connection broke")

    async def aclose(self) -> None:
        await self._inner.aclose()
