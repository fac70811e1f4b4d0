"""A FastMCP server for tests: `lab.py` over stdio; `LabOverHttp` runs it in a thread of the test's own process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Self

import uvicorn
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel

READ_ONLY = ToolAnnotations(read_only_hint=True)
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Echo(BaseModel):
    """What was said, and by whom."""

    text: str
    client: str
    meta: dict[str, Any]


class Lab:
    """The server and what happened in it. `released` lets `wait` answer; `cancelled` counts calls that were."""

    def __init__(self) -> None:
        self.mcp: FastMCP[Any] = FastMCP("lab")
        self.written = 0
        self.waiting = 0
        self.cancelled = 0
        self.released = threading.Event()
        self.mcp.tool(annotations=READ_ONLY)(self.lab_echo)
        self.mcp.tool(self.write, output_schema=None)  # text alone
        self.mcp.tool(self.fail)
        self.mcp.tool(self.wait)

    async def lab_echo(self, text: str, ctx: Context) -> Echo:
        """Says it again."""
        params = ctx.session.client_params
        told = ctx.request_context.meta if ctx.request_context else None
        client = params.client_info.name if params and params.client_info else ""
        return Echo(text=text, client=client, meta=dict(told or {}))

    async def write(self) -> str:
        """Counts."""
        self.written += 1
        return f"written {self.written}"

    async def fail(self) -> str:
        """Fails."""
        raise ToolError("Müller is not there; name someone else.")

    async def wait(self) -> str:
        """Waits until it is released."""
        self.waiting += 1
        self.written += 1
        try:
            while not self.released.is_set():  # noqa: ASYNC110 - released from another thread
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return "released"


class LabOverHttp:
    """A lab behind HTTP on one port, to be stopped and started again. `legacy` hides the modern era from clients.

    Requests need `token` when there is one.
    """

    def __init__(self, *, legacy: bool = False, token: str | None = None, port: int = 0) -> None:
        self.lab = Lab()
        self.port = port
        self._legacy = legacy
        self._token = token
        self._thread: threading.Thread | None = None
        self._server: uvicorn.Server | None = None

    @property
    def url(self) -> str:
        """Where the server is."""
        return f"http://127.0.0.1:{self.port}/mcp"

    def start(self) -> Self:
        """Starts it, on the port it had before if any."""
        app = self.lab.mcp.http_app(path="/mcp")

        async def gate(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
            headers = dict(scope.get("headers", ()))
            if scope["type"] != "http":
                await app(scope, receive, send)
            elif self._token and headers.get(b"authorization") != f"Bearer {self._token}".encode():
                await _refuse(send, 401)
            elif self._legacy and headers.get(b"mcp-method") == b"server/discover":
                await _refuse(send, 404)
            else:
                await app(scope, receive, send)

        config = uvicorn.Config(
            gate, host="127.0.0.1", port=self.port, log_config=None, lifespan="on", timeout_graceful_shutdown=0
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, args=(self._server,), daemon=True)
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise RuntimeError("the lab did not start")
            threading.Event().wait(0.01)
        self.port = self._server.servers[0].sockets[0].getsockname()[1]
        return self

    def stop(self, *, at_once: bool = False) -> None:
        """Stops it; `at_once` cuts the connections of calls under way."""
        assert self._server is not None
        assert self._thread is not None
        self._server.force_exit = at_once
        self._server.should_exit = True
        self._thread.join()

    @staticmethod
    def _run(server: uvicorn.Server) -> None:
        asyncio.run(server.serve())


async def _refuse(send: Send, status: int) -> None:
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": b""})


if __name__ == "__main__":
    Lab().mcp.run(show_banner=False)
