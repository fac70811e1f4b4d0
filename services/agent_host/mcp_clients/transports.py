"""How bytes get to a server and back, made honest where the SDK's own transports are not.

Over stdio, the end of the server's output is reported the moment it is read. Over HTTP, a request that fails is
answered by a JSON-RPC error of its own instead of tearing the whole connection down, so that it is known for each call
whether it can have been carried out. Such an error is known as ours by a secret that never leaves this process: a
server may use the same codes for what it likes.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self, TextIO

import anyio
import httpx2
from mcp import MCPError, StdioServerParameters, stdio_client
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.client.streamable_http import streamable_http_client
from mcp.types import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter

from agent_host.mcp_clients import listing
from agent_host.mcp_clients.config import ServerConfig
from agent_host.mcp_clients.oauth.folder import LoginFolder
from agent_host.mcp_clients.oauth.stored import LoggedInTransport, LoginServerError, StoredLogin

# Error codes of our own, in the range that JSON-RPC leaves to implementations.
NOT_SENT: Final = -32090
BROKEN: Final = -32091
SESSION_LOST: Final = -32092
UNAUTHORIZED: Final = -32093
FORBIDDEN: Final = -32094
LOGIN_TROUBLE: Final = -32095
_OURS: Final = secrets.token_hex(16)


def own_code(error: MCPError) -> int | None:
    """Returns the code of an error made here, None for one that a server sent."""
    return error.code if error.data == _OURS else None


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
            response = await self._inner.handle_async_request(request)
            return await _honest(request, response, self._config)
        except LoginServerError as error:
            return _error_response(LOGIN_TROUBLE, str(error))
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout):
            return _error_response(NOT_SENT, "nobody answers there")
        except httpx2.TransportError:
            return _error_response(BROKEN, "the connection broke")

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _honest(request: httpx2.Request, response: httpx2.Response, config: ServerConfig) -> httpx2.Response:
    """Returns the response, or an error of ours in place of one that MCP has no words for."""
    status, kind = response.status_code, response.headers.get("content-type", "").lower()
    error: httpx2.Response | None = None
    if status == HTTPStatus.UNAUTHORIZED:
        error = _error_response(UNAUTHORIZED, _unauthorized(config))
    elif status == HTTPStatus.FORBIDDEN:
        error = _error_response(FORBIDDEN, _forbidden(response, config))
    elif status == HTTPStatus.NOT_FOUND and "mcp-session-id" in request.headers:
        error = _error_response(SESSION_LOST, "the server does not know this session any more")
    elif kind.startswith("application/json"):
        response = await _whole(response)
        if _may_have_worked(request, status) and not _is_answer(response):
            error = _no_answer(status)
    elif _may_have_worked(request, status) and not (response.is_success and kind.startswith("text/event-stream")):
        error = _no_answer(status)
    if error is None:
        return response
    await response.aclose()
    return error


def _unauthorized(config: ServerConfig) -> str:
    if config.oauth is not None:
        return config.needs_login
    return "it does not accept the token; check `token_env` or `token_file` in mcp.json"


def _forbidden(response: httpx2.Response, config: ServerConfig) -> str:
    """A login may be widened, which the person does (RFC 6750, 3.1); a token of theirs is what it is."""
    if config.oauth is None:
        return "it forbids that to this token; check `token_env` or `token_file` in mcp.json"
    if extract_field_from_www_auth(response, "error") == "insufficient_scope":
        return f"the login does not reach so far; run `agent-host mcp login {config.name}` to widen it"
    return f"it forbids that to this login; run `agent-host mcp login {config.name}` to log in as somebody else"


def _may_have_worked(request: httpx2.Request, status: int) -> bool:
    """Whether a request may have been carried out though its answer is none: a gateway gave up, or a call was taken."""
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT:
        return True
    return status < HTTPStatus.MULTIPLE_CHOICES and request.method == "POST" and _method(request) == "tools/call"


def _method(request: httpx2.Request) -> str:
    return str(json.loads(request.content).get("method"))


def _is_answer(response: httpx2.Response) -> bool:
    try:
        message = jsonrpc_message_adapter.validate_json(response.content, by_name=False)
    except ValueError:
        return False
    return isinstance(message, JSONRPCError) or (response.is_success and isinstance(message, JSONRPCResponse))


def _no_answer(status: int) -> httpx2.Response:
    words = f"it answers with HTTP {status}"
    return _error_response(BROKEN, words if status >= HTTPStatus.BAD_REQUEST else f"{words} and no MCP")


async def _whole(response: httpx2.Response) -> httpx2.Response:
    """Reads a JSON body here, where a connection that breaks in mid-body can still be told for this request alone."""
    body = await response.aread()
    await response.aclose()
    kept = {
        name: value for name, value in response.headers.items() if name not in {"content-encoding", "content-length"}
    }
    return httpx2.Response(response.status_code, headers=kept, content=body)


def _error_response(code: int, message: str) -> httpx2.Response:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message, "data": _OURS}}
    return httpx2.Response(HTTPStatus.BAD_GATEWAY, json=error)
