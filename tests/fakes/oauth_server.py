"""A tool server behind OAuth, whole and real: FastMCP's resource server and authorization server on one port."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Self

import httpx
import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from mcp.server.auth.provider import (
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    RefreshToken,
    TokenError,
)
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
SCOPES = ("read", "write")


class Keys(InMemoryOAuthProvider):
    """Gives tokens; says no when told to. `lifetime_s` is that of access tokens, `refreshed` counts refreshes."""

    def __init__(self, url: str, *, registers: bool = True) -> None:
        super().__init__(
            base_url=url,
            client_registration_options=ClientRegistrationOptions(enabled=registers, valid_scopes=list(SCOPES)),
            revocation_options=RevocationOptions(enabled=True),
            required_scopes=["read"],
        )
        self.denies = False
        self.lifetime_s = 3600
        self.refuses_refresh = False
        self.refreshed = 0
        self.issued: list[OAuthToken] = []

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        """Lets the person in, or not."""
        if self.denies:
            raise AuthorizeError("access_denied", "you said no")
        return await super().authorize(client, params)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        """Gives the first tokens."""
        return self._timed(await super().exchange_authorization_code(client, authorization_code))

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        """Gives the next ones; the refresh token of before counts no more."""
        if self.refuses_refresh:
            raise TokenError("invalid_grant", "the login has ended")
        await asyncio.sleep(0.05)  # long enough for others who would refresh too
        self.refreshed += 1
        return self._timed(await super().exchange_refresh_token(client, refresh_token, scopes))

    def revoke_access(self) -> None:
        """Makes every access token count no more; refresh tokens still do."""
        self.access_tokens.clear()

    def revoke_all(self) -> None:
        """Ends every login."""
        self.access_tokens.clear()
        self.refresh_tokens.clear()

    def _timed(self, token: OAuthToken) -> OAuthToken:
        timed = token.model_copy(update={"expires_in": self.lifetime_s})
        self.issued.append(timed)
        return timed


class OAuthServer:
    """Runs in a thread on one port. `asked` counts requests by path, `shown` the tokens shown to it.

    `token_status` answers the token endpoint in its place; `moved_to` answers `/mcp` with a redirect. `legacy` hides
    the modern era; `offers_pkce` is what its metadata says, and `endpoints` are those it names in place of its own.
    Answers are JSON, whole, and not streams.
    """

    def __init__(
        self,
        *,
        registers: bool = True,
        legacy: bool = False,
        offers_pkce: bool = True,
        endpoints: Mapping[str, str] | None = None,
    ) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.base = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.keys = Keys(self.base, registers=registers)
        self.asked: Counter[str] = Counter()
        self.shown: set[str] = set()
        self.written = 0
        self.token_status: int | None = None
        self.moved_to: str | None = None
        self._mcp: FastMCP[Any] = FastMCP("shop", auth=self.keys)
        self._legacy = legacy
        self._offers_pkce = offers_pkce
        self._endpoints = endpoints or {}
        self._here = 0
        self._mcp.tool(self.meet, output_schema=None)
        self._mcp.tool(self.look, output_schema=None)
        self._mcp.tool(self.write, output_schema=None)
        self._app = self._mcp.http_app(path="/mcp", json_response=True)
        self._server = uvicorn.Server(
            uvicorn.Config(self._gate, interface="asgi3", log_config=None, lifespan="on", timeout_graceful_shutdown=0)
        )
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def url(self) -> str:
        """Where its MCP is."""
        return f"{self.base}/mcp"

    async def look(self) -> str:
        """Looks."""
        return "seen"

    async def write(self) -> str:
        """Writes; needs the scope `write`."""
        self.written += 1
        return f"written {self.written}"

    async def meet(self) -> str:
        """Waits until two callers are here."""
        self._here += 1
        while self._here < 2:  # noqa: ASYNC110 - two calls of a test, side by side
            await asyncio.sleep(0.01)
        return "met"

    def start(self) -> Self:
        """Starts it."""
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise RuntimeError("the server did not start")
            threading.Event().wait(0.01)
        return self

    def stop(self) -> None:
        """Stops it."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    async def _gate(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path, headers = scope["path"], dict(scope["headers"])
        self.asked[path] += 1
        token = headers.get(b"authorization", b"").decode().removeprefix("Bearer ")
        if token:
            self.shown.add(token)
        body = await _whole(receive)
        if path == "/token" and self.token_status is not None:
            await _answer(send, self.token_status, {})
        elif self._legacy and headers.get(b"mcp-method") == b"server/discover" and token:
            await _answer(send, 404, {})
        elif path == "/.well-known/oauth-authorization-server" and (self._endpoints or not self._offers_pkce):
            await _answer(send, 200, {"content-type": "application/json"}, json.dumps(self._metadata()).encode())
        elif path == "/mcp" and self.moved_to is not None:
            await _answer(send, 307, {"location": self.moved_to})
        elif path == "/mcp" and self._needs_more(token, body):
            await _answer(send, 403, {"www-authenticate": 'Bearer error="insufficient_scope", scope="write"'})
        else:
            await self._app(scope, _again(body, receive), send)

    def _metadata(self) -> dict[str, Any]:
        paths = {"authorization_endpoint": "authorize", "token_endpoint": "token", "registration_endpoint": "register"}
        endpoints = {name: f"{self.base}/{path}" for name, path in paths.items()}
        pkce = {"code_challenge_methods_supported": ["S256"]} if self._offers_pkce else {}
        return {
            "issuer": f"{self.base}/",
            "response_types_supported": ["code"],
            **pkce,
            **endpoints,
            **self._endpoints,
        }

    def _needs_more(self, token: str, body: bytes) -> bool:
        known = self.keys.access_tokens.get(token)
        message = json.loads(body or b"{}")
        is_write = message.get("method") == "tools/call" and message["params"]["name"] == "write"
        return known is not None and is_write and "write" not in known.scopes


class Browser:
    """Goes where it is sent and follows redirects, as a person's browser whose person clicks yes. Keeps what it saw."""

    def __init__(self) -> None:
        self.address = ""
        self.pages: list[httpx.Response] = []

    async def __call__(self, address: str) -> None:
        """Opens an address."""
        self.address = address
        async with httpx.AsyncClient(follow_redirects=True) as client:
            self.pages.append(await client.get(address))


async def nobody(_: str) -> None:
    """A person who opens nothing."""


async def _whole(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += bytes(message.get("body", b""))
        if not message.get("more_body"):
            return body


def _again(body: bytes, receive: Receive) -> Receive:
    told = False

    async def replay() -> MutableMapping[str, Any]:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def _answer(send: Send, status: int, headers: dict[str, str], body: bytes = b"") -> None:
    rows = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": rows})
    await send({"type": "http.response.body", "body": body})
