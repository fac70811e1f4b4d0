"""Hears where the browser comes back to after a login: one address on this computer, for as long as that takes.

RFC 8252, 7.3: a loopback address and a port of the moment. Whatever does not carry the state of this very login is
answered and not listened to, so that no page a person has open can end a login or slip in another's.
"""

from __future__ import annotations

import asyncio
import html
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Final, Self
from urllib.parse import parse_qsl, urlsplit

from agent_host.errors import LoginError

HOST: Final = "127.0.0.1"
PATH: Final = "/callback"
_HEAD_BYTES: Final = 16_384
_HEAD_S: Final = 10.0
_HEADERS: Final = (
    "Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
    "Content-Security-Policy: default-src 'none'\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n"
)


class RedirectListener:
    """Listens while entered. `name` is the server that the login is for, `port` 0 for any that is free."""

    def __init__(self, name: str, port: int = 0) -> None:
        self._name = name
        self._port = port
        self._state: str | None = None
        self._heard: asyncio.Future[Mapping[str, str]] | None = None
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        """Begins to listen.

        Raises:
            LoginError: the port is taken.
        """
        self._heard = asyncio.get_running_loop().create_future()
        try:
            self._server = await asyncio.start_server(self._serve, HOST, self._port, limit=_HEAD_BYTES)
        except OSError as error:
            reason = os.strerror(error.errno).lower() if error.errno else "it cannot be had"
            raise LoginError(
                f"Port {self._port} of this computer cannot be listened at ({reason}); free it, or set another "
                f"`redirect_port` for {self._name}."
            ) from error
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    @property
    def address(self) -> str:
        """Where the browser is to come back to."""
        return f"http://{HOST}:{self._port}{PATH}"

    def expect(self, state: str) -> None:
        """Says which state the answer will carry; nothing counts before."""
        self._state = state

    async def answer(self, timeout_s: float) -> Mapping[str, str]:
        """Returns the parameters the browser came back with: a `code`, or an `error`.

        Raises:
            TimeoutError: it did not come back in time.
            TypeError: the listener was not entered.
        """
        if self._heard is None:
            raise TypeError("nothing listens yet")
        return await asyncio.wait_for(asyncio.shield(self._heard), timeout_s)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_S)
            status, words = self._judge(head.decode("latin-1"))
            page = f"<!doctype html><meta charset=utf-8><title>{words}</title><p>{words}</p>".encode()
            writer.write(f"HTTP/1.1 {status}\r\n{_HEADERS}Content-Length: {len(page)}\r\n\r\n".encode() + page)
            await writer.drain()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    def _judge(self, head: str) -> tuple[str, str]:
        """Returns what the browser is told, and takes in what it brings."""
        line, *rest = head.split("\r\n")
        method, _, target = line.partition(" ")
        parts = urlsplit(target.partition(" ")[0])
        hosts = [one.partition(":")[2].strip() for one in rest if one.lower().startswith("host:")]
        if method != "GET" or parts.path != PATH or hosts != [f"{HOST}:{self._port}"]:
            return "404 Not Found", "There is nothing here."
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        told = dict(pairs)
        known = self._state is not None and secrets.compare_digest(told.get("state", "").encode(), self._state.encode())
        if not known or len(told) != len(pairs) or not {"code", "error"} & set(told):
            return "400 Bad Request", "This is not the login that is waited for."
        if self._heard is not None and not self._heard.done():
            self._heard.set_result(told)
        said = "was refused" if "error" in told else "is done"
        return "200 OK", f"The login to {html.escape(self._name)} {said}. You can close this page."
