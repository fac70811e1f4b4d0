"""Serving MCP over streamable HTTP: bearer token, host guard, body and rate limits, health ("Rules for all tools")."""

import argparse
import hmac
import signal
import socket
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import anyio.to_thread
import uvicorn
from fastmcp import FastMCP
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from service_runtime.errors import ServiceError, SetupError
from service_runtime.settings import Settings
from service_runtime.shutdown import leave_within

_PATH = "/mcp"
_OPEN = ("/healthz", "/readyz")
_MAX_BODY_BYTES = 4 * 1024 * 1024
_MAX_DRAIN_BYTES = 64 * 1024 * 1024
_MIN_TOKEN_CHARACTERS = 16
_LEAVE_S = 1.8


def serve(server: "FastMCP[Any]", options: argparse.Namespace, settings: Settings, check: Callable[[], str]) -> None:
    """Serve until SIGTERM or SIGINT, then close the lifespan and return within two seconds.

    Raises:
        SetupError: No token, or the address cannot be used.
    """
    token = bearer_token(settings, options.token_file)
    told = settings.get("MCP_ALLOWED_HOSTS") or ""
    hosts = [*options.allowed_host, *(host.strip() for host in told.split(",") if host.strip())]
    listener = _listen(options.host, options.port)
    _add_health(server, check)
    app = server.http_app(
        path=_PATH,
        middleware=[Middleware(Gate, token=token, limit=RateLimit(time.monotonic))],
        host_origin_protection=True,
        allowed_hosts=hosts,
    )
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, ws="none", timeout_graceful_shutdown=1
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stopped)  # uvicorn raises the signal again once it has closed everything
    host, port = listener.getsockname()[:2]
    sys.stderr.write(f"listening on http://{f'[{host}]' if ':' in host else host}:{port}{_PATH}\n")
    sys.stderr.flush()
    _Server(config).run(sockets=[listener])


def bearer_token(settings: Settings, token_file: str | None) -> str:
    """Return the token callers must send, from `--token-file` or `PROMETHEUS_MCP_TOKEN`; never from the command line.

    Raises:
        SetupError: There is none, it is too short to be safe, or the file cannot be read.
    """
    token = settings.get("MCP_TOKEN") or ""
    if token_file:
        try:
            token = Path(token_file).expanduser().read_text(encoding="ascii")
        except (OSError, ValueError, RuntimeError) as error:
            raise SetupError(
                f"The token file {token_file!r} cannot be read as plain ASCII text; pass --token-file with one."
            ) from error
    token = token.strip()
    if len(token) < _MIN_TOKEN_CHARACTERS or not token.isascii():
        raise SetupError(
            f"HTTP needs a bearer token of at least {_MIN_TOKEN_CHARACTERS} ASCII characters; "
            "set PROMETHEUS_MCP_TOKEN or pass --token-file FILE."
        )
    return token


@dataclass
class RateLimit:
    """One token bucket per caller: `burst` requests at once, refilled `per_second`; old callers are forgotten."""

    clock: Callable[[], float]
    per_second: float = 50
    burst: float = 200
    callers: int = 10_000
    _buckets: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def wait(self, caller: str) -> float:
        """Return 0 when the caller may go on, else the seconds until it may."""
        now = self.clock()
        left, then = self._buckets.pop(caller, (self.burst, now))
        left = min(self.burst, left + (now - then) * self.per_second)
        allowed = left >= 1
        self._buckets[caller] = (left - 1 if allowed else left, now)
        if len(self._buckets) > self.callers:
            self._buckets.popitem(last=False)
        return 0 if allowed else (1 - left) / self.per_second


@dataclass
class Gate:
    """ASGI middleware in front of `/mcp`: rate, path, token, then size; each refusal is JSON with one sentence."""

    app: ASGIApp
    token: str
    limit: RateLimit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the refusal, or let the request through."""
        refusal = await self._refusal(scope, receive) if scope["type"] == "http" else None
        await (refusal or self.app)(scope, receive, send)

    async def _refusal(self, scope: Scope, receive: Receive) -> JSONResponse | None:
        caller = (scope.get("client") or ("unknown",))[0]
        if wait := self.limit.wait(caller):
            later = {"Retry-After": str(int(wait) + 1)}
            return _refuse(429, "rate_limited", "Too many requests; wait and send fewer per second.", later)
        path = scope["path"].rstrip("/")
        if path in _OPEN:
            return None
        if path != _PATH:
            return _refuse(404, "not_found", f"Nothing is here; send MCP requests to {_PATH}.")
        headers = Headers(scope=scope)
        scheme, _, sent = headers.get("authorization", "").partition(" ")
        if not hmac.compare_digest(sent.strip().encode(), self.token.encode()) or scheme.lower() != "bearer":
            challenge = 'Bearer error="invalid_token"' if sent else "Bearer"
            sentence = "Send the server's token in the header 'Authorization: Bearer …'."
            return _refuse(401, "unauthorized", sentence, {"WWW-Authenticate": challenge})
        size = headers.get("content-length", "0")
        if not size.isdigit() or int(size) > _MAX_BODY_BYTES:  # a body without a length is limited by the SDK
            await _drain(receive)
            return _refuse(413, "too_large", f"The body is larger than {_MAX_BODY_BYTES} bytes; send less at once.")
        return None


def _refuse(status: int, code: str, sentence: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": code, "error_description": sentence}, status, headers)


async def _drain(receive: Receive) -> None:
    """Read a refused body to its end: most clients send all of it before they look at the answer."""
    size = 0
    while size < _MAX_DRAIN_BYTES:
        message = await receive()
        size += len(message.get("body", b""))
        if not message.get("more_body", False):
            return


def _add_health(server: "FastMCP[Any]", check: Callable[[], str]) -> None:
    @server.custom_route("/healthz", methods=["GET"])
    async def healthz(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    @server.custom_route("/readyz", methods=["GET"])
    async def readyz(_: Request) -> JSONResponse:
        try:
            await anyio.to_thread.run_sync(check)
        except ServiceError:
            return JSONResponse({"status": "not ready"}, 503)
        return JSONResponse({"status": "ready"})


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=128)
    except (OSError, UnicodeError) as error:
        why = (getattr(error, "strerror", None) or "the name is not possible").lower()
        raise SetupError(f"Cannot listen on {host} port {port}: {why}; pass another --host or --port.") from error


class _Server(uvicorn.Server):
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        leave_within(_LEAVE_S)
        super().handle_exit(sig, frame)


def _stopped(*_: object) -> None:
    """Do nothing: the server is closed already, and the status of an orderly end is 0."""
