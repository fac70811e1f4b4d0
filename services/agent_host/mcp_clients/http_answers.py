"""What an HTTP answer that is no MCP means: in its place an error of ours, which says how far the request got.

Such an error is known as ours by a secret that never leaves this process: a server may use the same codes for what it
likes.
"""

from __future__ import annotations

import json
import secrets
from http import HTTPStatus
from typing import Final

import httpx2
from mcp import MCPError
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.types import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter

from agent_host.mcp_clients.remote import one_line
from agent_host.mcp_clients.server_config import ServerConfig

# Error codes of our own, in the range that JSON-RPC leaves to implementations.
NOT_SENT: Final = -32090
BROKEN: Final = -32091
SESSION_LOST: Final = -32092
UNAUTHORIZED: Final = -32093
FORBIDDEN: Final = -32094
LOGIN_TROUBLE: Final = -32095
REFUSED: Final = -32096
TOO_LONG: Final = -32097
_OURS: Final = secrets.token_hex(16)
MOST_BYTES: Final = 10_000_000
"""Of an answer that is read at all: a model gets 200,000 characters of it at most, and parsing more stops the host."""
_SAID_BYTES: Final = 1000  # of an answer in plain text that is quoted


def own_code(error: MCPError) -> int | None:
    """Returns the code of an error made here, None for one that a server sent."""
    return error.code if error.data == _OURS else None


def error_response(code: int, message: str) -> httpx2.Response:
    """Returns an error of ours as a server would send it."""
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message, "data": _OURS}}
    return httpx2.Response(HTTPStatus.BAD_GATEWAY, json=error)


async def honest(request: httpx2.Request, response: httpx2.Response, config: ServerConfig) -> httpx2.Response:
    """Returns the response, or an error of ours in place of one that MCP has no words for."""
    status, kind = response.status_code, response.headers.get("content-type", "").lower()
    error: httpx2.Response | None = None
    if status == HTTPStatus.UNAUTHORIZED:
        error = error_response(UNAUTHORIZED, _unauthorized(config))
    elif status == HTTPStatus.FORBIDDEN:
        error = error_response(FORBIDDEN, await _forbidden(request, response, config))
    elif status == HTTPStatus.NOT_FOUND and "mcp-session-id" in request.headers:
        error = error_response(SESSION_LOST, "the server does not know this session any more")
    elif kind.startswith("application/json"):
        whole = await _whole(response)
        response = response if whole is None else whole
        if whole is None:
            error = error_response(TOO_LONG, f"it has more than {MOST_BYTES // 1_000_000} MB; ask for less at a time")
        elif not _is_answer(whole):
            error = await _no_answer(request, whole)
    elif not (response.is_success and kind.startswith("text/event-stream")):
        error = await _no_answer(request, response)
    if error is None:
        return response
    await response.aclose()
    return error


def _unauthorized(config: ServerConfig) -> str:
    if config.oauth is not None:
        return config.needs_login
    if config.token is not None:
        return "it does not accept the token; check `token_env` or `token_file` in mcp.json"
    if any(name.lower() == "authorization" for name in config.headers):
        return "it does not accept the `Authorization` among the `headers` in mcp.json; correct it"
    return "it wants a token; set `token_env` or `token_file` in mcp.json"


async def _forbidden(request: httpx2.Request, response: httpx2.Response, config: ServerConfig) -> str:
    """A login may be widened, which the person does (RFC 6750, 3.1); without any token it may not be the token."""
    if config.oauth is not None and extract_field_from_www_auth(response, "error") == "insufficient_scope":
        return f"the login does not reach so far; run `agent-host mcp login {config.name}` to widen it"
    said = await _said(response)
    if "authorization" not in request.headers:
        return f"it forbids that{said}; it may want a token or a login, or not expect to be called by this name"
    if config.oauth is not None:
        return f"it forbids that to this login{said}; run `agent-host mcp login {config.name}` to log in as another"
    return f"it forbids that to this token{said}; check the token in mcp.json, and which hosts the server allows"


async def _no_answer(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response | None:
    """Returns the error for an answer that is none; None for what the SDK has to see, such as one to a notification."""
    status, method = response.status_code, _method(request)
    if _may_have_worked(method, status):
        words = f"it answers with HTTP {status}"
        return error_response(BROKEN, words if status >= HTTPStatus.BAD_REQUEST else f"{words} and no MCP")
    if method is None or HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return None
    if status < HTTPStatus.BAD_REQUEST:
        kind = response.headers.get("content-type", "").partition(";")[0] or "nothing"
        return None if status == HTTPStatus.ACCEPTED else error_response(REFUSED, f"it answers with {kind} and no MCP")
    wait = response.headers.get("retry-after", "")
    later = f"; it asks to wait {wait} s" if wait.isascii() and wait.isdigit() else ""
    return error_response(REFUSED, f"it answers with HTTP {status}{_phrase(status)}{await _said(response)}{later}")


def _phrase(status: int) -> str:
    known = {one.value: one.phrase for one in HTTPStatus}
    return f" ({known[status]})" if status in known else ""


async def _said(response: httpx2.Response) -> str:
    """Returns what an answer says in a few plain words, to be put into a sentence."""
    length = response.headers.get("content-length", "")
    if not response.headers.get("content-type", "").lower().startswith("text/plain"):
        return ""
    if not length.isascii() or not length.isdigit() or not 0 < int(length) <= _SAID_BYTES:
        return ""
    await response.aread()
    return f": {one_line(response.text)[:200]}"


def _may_have_worked(method: str | None, status: int) -> bool:
    """Whether a request may have been carried out though its answer is none: a gateway gave up, or a call was taken."""
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT:
        return True
    return status < HTTPStatus.MULTIPLE_CHOICES and method == "tools/call"


def _method(request: httpx2.Request) -> str | None:
    """Returns what a request asks for, None for one that wants no answer."""
    message = json.loads(request.content) if request.method == "POST" else {}
    return str(message["method"]) if "id" in message and "method" in message else None


def _is_answer(response: httpx2.Response) -> bool:
    try:
        message = jsonrpc_message_adapter.validate_json(response.content, by_name=False)
    except ValueError:
        return False
    return isinstance(message, JSONRPCError) or (response.is_success and isinstance(message, JSONRPCResponse))


async def _whole(response: httpx2.Response) -> httpx2.Response | None:
    """Reads a JSON body here, where a connection that breaks in mid-body can still be told for this request alone.

    None when it is longer than `MOST_BYTES`.
    """
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > MOST_BYTES:
            return None
    await response.aclose()
    kept = {
        name: value for name, value in response.headers.items() if name not in {"content-encoding", "content-length"}
    }
    return httpx2.Response(response.status_code, headers=kept, content=bytes(body))
