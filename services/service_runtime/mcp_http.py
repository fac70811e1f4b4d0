"""Serving MCP over streamable HTTP behind `http_gate`, with health, until a signal."""

import argparse
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import anyio.to_thread
import uvicorn
from fastmcp import FastMCP
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse

from service_runtime.errors import ServiceError, SetupError
from service_runtime.http_gate import HEALTH_PATH, MCP_PATH, READY_PATH, Gate, RateLimit
from service_runtime.settings import Settings
from service_runtime.shutdown import leave_within

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
    told = settings.get("MCP_ALLOWED_HOSTS") or ""
    hosts = [*options.allowed_host, *(host.strip() for host in told.split(",") if host.strip())]
    listener = _listen(options.host, options.port)
    server = build()
    _add_health(server, check)
    app = server.http_app(
        path=MCP_PATH,
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
    sys.stderr.write(f"listening on http://{f'[{host}]' if ':' in host else host}:{port}{MCP_PATH}\n")
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


def _add_health(server: FastMCP[Any], check: Callable[[], str]) -> None:
    @server.custom_route(HEALTH_PATH, methods=["GET"])
    async def healthz(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    @server.custom_route(READY_PATH, methods=["GET"])
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
        number = getattr(error, "errno", None) or 0
        why = os.strerror(number).lower() if number > 0 else "the name is unknown"
        raise SetupError(f"Cannot listen on {host} port {port}: {why}; pass another --host or --port.") from error


class _Server(uvicorn.Server):
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        leave_within(_LEAVE_S)
        super().handle_exit(sig, frame)


def _stopped(*_: object) -> None:
    """Do nothing: the server is closed already, and the status of an orderly end is 0."""
