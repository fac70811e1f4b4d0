"""Serving MCP over streamable HTTP: token, host guard, rate limit, health ("Rules for all tools" in spec/servers.md).

The SDK itself refuses a body over 4 MiB (413), and FastMCP, outermost, a foreign host (421) or origin (403).
"""

import argparse
import hmac
import json
import os
import signal
import socket
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from types import FrameType
from typing import Any

import anyio.to_thread
import uvicorn
from fastmcp import FastMCP
from mcp.types import INVALID_REQUEST
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service_runtime.errors import ServiceError, SetupError
from service_runtime.settings import Settings
from service_runtime.shutdown import STOPPING, leave_within

_PATH, _HEALTH, _READY = "/mcp", "/healthz", "/readyz"
_MIN_TOKEN_CHARACTERS = 16
_LEAVE_S = 1.8


def serve(
    build: Callable[[], FastMCP[Any]], options: argparse.Namespace, settings: Settings, check: Callable[[], str]
) -> None:
    """Serve until SIGTERM or SIGINT, then close the lifespan and return within two seconds.

    The server is built only when token and address are good, so that a wrong set-up opens no store.

    Raises:
        SetupError: No token, or the address cannot be used.
    """
    token = bearer_token(settings, options.token_file)
    hosts = [*options.allowed_host, *(settings.get("MCP_ALLOWED_HOSTS") or "").replace(",", " ").split()]
    listener = _listen(options.host, options.port)
    server = build()
    _add_health(server, check)
    gate = Middleware(Gate, token=token, limit=RateLimit(time.monotonic))
    app = server.http_app(path=_PATH, middleware=[gate], host_origin_protection=True, allowed_hosts=hosts)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, ws="none", timeout_graceful_shutdown=1
    )
    for number in STOPPING:
        signal.signal(number, lambda *_: None)  # uvicorn raises it again once all is closed: an orderly end is 0
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
            raise SetupError(f"The token file {token_file!r} cannot be read as plain ASCII text; pass one.") from error
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
    _due_s: OrderedDict[str, float] = field(default_factory=OrderedDict)

    def wait(self, caller: str) -> float:
        """Return 0 when the caller may go on, else the seconds until it may."""
        now = self.clock()
        due = max(self._due_s.pop(caller, now), now)  # when all that went before is paid off at the rate
        wait = max(due - now - (self.burst - 1) / self.per_second, 0)
        self._due_s[caller] = due if wait else due + 1 / self.per_second
        if len(self._due_s) > self.callers:
            self._due_s.popitem(last=False)
        return wait


@dataclass
class Gate:
    """ASGI middleware that answers what must not reach the server; only health is open without the token.

    Who has the token has a rate of its own, so that nobody without it can use that up, and so has `/readyz`;
    `/healthz` has none.
    """

    app: ASGIApp
    token: str
    limit: RateLimit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the refusal, or let the request through."""
        refusal = self._refusal(Request(scope)) if scope["type"] == "http" else None
        await (refusal or self.app)(scope, receive, _in_one_sentence(send))

    def _refusal(self, request: Request) -> JSONResponse | None:
        path = request.scope["path"].rstrip("/")  # `request.url` is built with the Host header, which may say anything
        if path == _HEALTH:
            return None
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        bearer = scheme.lower() == "bearer"
        known = bearer and hmac.compare_digest(sent.strip().encode(), self.token.encode())
        caller = (request.client.host if request.client else "unknown") + (path if path == _READY else "")
        if wait := self.limit.wait(f"{caller} with the token" if known else caller):
            later = {"Retry-After": str(int(wait) + 1)}
            return _refuse(429, "rate_limited", "Too many requests; wait and send fewer per second.", later)
        if path == _READY:
            return None
        if path != _PATH:  # in JSON, so that a client looking for OAuth does not trip over it
            return _refuse(404, "not_found", f"Nothing is here; send MCP requests to {_PATH}.")
        if known:
            return None
        challenge = 'Bearer error="invalid_token"' if bearer else "Bearer"  # RFC 6750 section 3.1
        sentence = "Send the server's token in the header 'Authorization: Bearer …'."
        return _refuse(401, "unauthorized", sentence, {"WWW-Authenticate": challenge})


def _in_one_sentence(send: Send) -> Send:
    """Shorten the SDK's answer to a body that is no JSON-RPC: it quotes the body and pydantic."""
    held: list[Message] = []

    async def shortened(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == HTTPStatus.BAD_REQUEST:
            held.append(message)  # its length is known with the body, which the SDK sends in one piece
            return
        if held and any(word in message["body"] for word in (b"Validation error", b"Parse error")):
            error = {"code": INVALID_REQUEST, "message": "The body is no JSON-RPC 2.0 message; send one MCP request."}
            message["body"] = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
            MutableHeaders(scope=held[0])["content-length"] = str(len(message["body"]))
        while held:
            await send(held.pop())
        await send(message)

    return shortened


def _refuse(status: int, code: str, sentence: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": code, "error_description": sentence}, status, headers)


def _add_health(server: FastMCP[Any], check: Callable[[], str]) -> None:
    @server.custom_route(_HEALTH, methods=["GET"])
    async def healthz(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    @server.custom_route(_READY, methods=["GET"])
    async def readyz(_: Request) -> JSONResponse:
        try:
            await anyio.to_thread.run_sync(check)
        except ServiceError:
            return JSONResponse({"status": "not ready"}, 503)
        return JSONResponse({"status": "ready"})


def _listen(host: str, port: int) -> socket.socket:
    try:
        port.to_bytes(2, "big")  # OverflowError: no port; the socket functions take it modulo 65,536, or leak
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server((address[0], port), family=family, backlog=128)
    except (OSError, UnicodeError, OverflowError) as error:
        number = getattr(error, "errno", None) or 0
        why = os.strerror(number).lower() if number > 0 else "there is no such address"
        raise SetupError(f"Cannot listen on {host} port {port}: {why}; pass another --host or --port.") from error


class _Server(uvicorn.Server):
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        leave_within(_LEAVE_S)
        super().handle_exit(sig, frame)
