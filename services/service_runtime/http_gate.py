"""The gate in front of `/mcp`: rate, path, token, then size ("Rules for all tools", HTTP). Each refusal is JSON."""

import hmac
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MCP_PATH = "/mcp"
HEALTH_PATH, READY_PATH = "/healthz", "/readyz"
_MAX_BODY_BYTES = 4 * 1024 * 1024
_MAX_DRAIN_BYTES = 64 * 1024 * 1024
_BAD_REQUEST = 400


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
    """ASGI middleware that answers what must not reach the server; only health is open without the token."""

    app: ASGIApp
    token: str
    limit: RateLimit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the refusal, or let the request through."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif refusal := self._refusal(scope):
            if refusal.status_code == 413:  # noqa: PLR2004 - most clients send the whole body before they look up
                await _drain(receive)
            await refusal(scope, receive, send)
        else:
            await self.app(scope, receive, _without_details(scope, receive, send))

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        caller = (scope.get("client") or ("unknown",))[0]
        if wait := self.limit.wait(caller):
            later = {"Retry-After": str(int(wait) + 1)}
            return _refuse(429, "rate_limited", "Too many requests; wait and send fewer per second.", later)
        path = scope["path"].rstrip("/")
        if path in (HEALTH_PATH, READY_PATH):
            return None
        if path != MCP_PATH:
            return _refuse(404, "not_found", f"Nothing is here; send MCP requests to {MCP_PATH}.")
        headers = Headers(scope=scope)
        scheme, _, sent = headers.get("authorization", "").partition(" ")
        bearer = scheme.lower() == "bearer"
        if not hmac.compare_digest(sent.strip().encode(), self.token.encode()) or not bearer:
            challenge = 'Bearer error="invalid_token"' if bearer else "Bearer"  # RFC 6750 section 3.1
            sentence = "Send the server's token in the header 'Authorization: Bearer …'."
            return _refuse(401, "unauthorized", sentence, {"WWW-Authenticate": challenge})
        size = headers.get("content-length", "0")
        if not size.isdigit() or int(size) > _MAX_BODY_BYTES:  # a body without a length is limited by the SDK
            return _refuse(413, "too_large", f"The body is larger than {_MAX_BODY_BYTES} bytes; send less at once.")
        return None


def _refuse(status: int, code: str, sentence: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": code, "error_description": sentence}, status, headers)


async def _drain(receive: Receive) -> None:
    size = 0
    while size < _MAX_DRAIN_BYTES:
        message = await receive()
        size += len(message.get("body", b""))
        if not message.get("more_body", False):
            return


def _without_details(scope: Scope, receive: Receive, send: Send) -> Send:
    """Replace the SDK's account of a body that is no JSON-RPC, which quotes the body and its own types."""
    held: list[Message] = []

    async def plain(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == _BAD_REQUEST:
            held.append(message)
            return
        if held and b"Validation error" in message.get("body", b""):
            error = {"code": -32600, "message": "The body is no JSON-RPC 2.0 message; send one MCP request."}
            await JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, _BAD_REQUEST)(scope, receive, send)
            return
        while held:
            await send(held.pop())
        await send(message)

    return plain
