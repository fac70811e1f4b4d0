"""What an HTTP server may answer to a call that is no answer: never a refusal when the call may have worked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agent_host.mcp_clients import http_answers
from agent_host.mcp_clients.config import ServerConfig
from agent_host.mcp_clients.manager import McpToolBox

JSON = "application/json"
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "shop", "version": "1"},
}
TOOLS = {"tools": [{"name": "pay", "inputSchema": {"type": "object"}}]}


class Shop:
    """Speaks the older era and answers `tools/call` with the same bytes each time; `paid` counts the calls.

    `headers` are those of that answer. `closed` answers everything so. What is posted to /old is sent on to /mcp.
    """

    def __init__(self, status: int, kind: str, body: str, headers: str = "", *, closed: bool = False) -> None:
        self.paid = 0
        self._answer = (status, kind, body)
        self._headers = headers
        self._closed = closed

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection until it ends."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = next((line for line in head.split("\r\n") if line.startswith("content-length:")), ": 0")
                body = await reader.readexactly(int(length.partition(":")[2]))
                status, kind, text = self._respond(json.loads(body or b"{}"))
                more = self._headers if (status, kind) == self._answer[:2] else ""
                if head.startswith("post /old "):
                    status, text, more = 307, "", "Location: /mcp\r\n"
                lines = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(text.encode())}\r\n"
                writer.write((f"{lines}{more}\r\n{text}").encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _respond(self, message: dict[str, Any]) -> tuple[int, str, str]:
        if self._closed:
            return self._answer
        match message.get("method"):
            case "initialize":
                return 200, JSON, _result(message, HELLO)
            case "tools/list":
                return 200, JSON, _result(message, TOOLS)
            case "tools/call":
                self.paid += 1
                status, kind, text = self._answer
                return status, kind, text.replace("ID", str(message["id"]))
            case "notifications/initialized":
                return 202, JSON, ""
            case _:
                return 404, "text/plain", ""


def _result(message: dict[str, Any], result: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})


@asynccontextmanager
async def _open(shop: Shop, path: str = "/mcp", **more: Any) -> AsyncIterator[McpToolBox]:
    server = await asyncio.start_server(shop.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{path}"
    box = McpToolBox([ServerConfig("shop", url=url, **more)], "0.1.0", call_timeout_s=20.0)
    await box.specs()
    yield box
    await box.close()
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize(
    ("status", "kind", "body", "words"),
    [
        (504, JSON, '{"message": "Endpoint request timed out"}', "it answers with HTTP 504"),
        (504, JSON, '{"jsonrpc": "2.0", "id": ID, "result": {}}', "it answers with HTTP 504"),
        (502, "text/html", "<html>", "it answers with HTTP 502"),
        (500, "text/event-stream", "data: x\n\n", "it answers with HTTP 500"),
        (408, "text/plain", "", "it answers with HTTP 408"),
        (200, "text/html", "<html>", "it answers with HTTP 200 and no MCP"),
        (202, "text/plain", "", "it answers with HTTP 202 and no MCP"),
        (200, JSON, '{"oops": 1}', "it answers with HTTP 200 and no MCP"),
        (200, JSON, "half of {", "it answers with HTTP 200 and no MCP"),
        (200, "text/event-stream", "data: {}\n\n", "its answer is no MCP"),
        (200, "text/event-stream", ": nothing\n\n", "the connection broke"),
    ],
)
async def test_a_call_that_may_have_worked_is_never_told_as_refused(
    status: int, kind: str, body: str, words: str
) -> None:
    shop = Shop(status, kind, body)
    async with _open(shop) as box:
        outcome = await box.call("shop_pay", {}, {})
    assert outcome.is_error
    assert outcome.content == (
        f"shop did not answer pay: {words}. It may or may not have been carried out, so it was not sent again; "
        "check before calling it again."
    )
    assert shop.paid == 1


@pytest.mark.parametrize("code", [-32090, -32091, -32092, -32093])
@pytest.mark.parametrize("status", [200, 500])
async def test_a_servers_own_error_is_a_refusal_whatever_its_code_and_status(status: int, code: int) -> None:
    body = f'{{"jsonrpc": "2.0", "id": ID, "error": {{"code": {code}, "message": "no money"}}}}'
    shop = Shop(status, JSON, body)
    async with _open(shop) as box:
        outcome = await box.call("shop_pay", {}, {})
    assert outcome.content == "shop refused pay: no money."
    assert shop.paid == 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((429, JSON, '{"error": "slow down"}'), "it answers with HTTP 429 (Too Many Requests)"),
        (
            (429, "text/plain", "Slow\ndown", "Retry-After: 7\r\n"),
            "Requests): Slow down; it asks to wait 7 s.",
        ),
        ((400, "text/html", "<html>"), "it answers with HTTP 400 (Bad Request)"),
        ((499, "text/plain", "x" * 1_001), "it answers with HTTP 499"),
        ((403, "text/plain", "Host not allowed"), "it forbids that: Host not allowed; it may want a token or a login"),
        (
            (307, "text/plain", "", "Location: http://127.0.0.1:1/evil?k=1\r\n"),
            "it redirects to http://127.0.0.1:1/evil,",
        ),
    ],
)
async def test_a_call_that_was_refused_says_with_what(answer: tuple[Any, ...], words: str) -> None:
    async with _open(Shop(*answer)) as box:
        outcome = await box.call("shop_pay", {}, {})
    assert outcome.content.startswith("shop refused pay: ")
    assert words in outcome.content
    assert len(outcome.content) < 200


async def test_an_answer_that_is_too_long_is_not_read_to_its_end_and_not_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_answers, "MOST_BYTES", 1_000_000)
    shop = Shop(200, JSON, '{"jsonrpc": "2.0", "id": ID, "result": {"content": [], "x": "' + "y" * 1_000_000 + '"}}')
    async with _open(shop) as box:
        outcome = await box.call("shop_pay", {}, {})
    assert outcome.is_error
    assert outcome.content == (
        "shop answered pay, but its answer is of no use: it has more than 1 MB; ask for less at a time. It may have "
        "been carried out; check before calling it again."
    )
    assert shop.paid == 1


async def test_a_redirect_within_a_server_is_followed() -> None:
    async with _open(Shop(200, JSON, '{"jsonrpc": "2.0", "id": ID, "result": {"content": []}}'), "/old") as box:
        assert box.problems() == ()
        assert not (await box.call("shop_pay", {}, {})).is_error


TOKEN = {"token": "t0ken"}
HEADER = {"headers": {"authorization": "Basic x"}}


@pytest.mark.parametrize(
    ("answer", "config", "words"),
    [
        ((401, JSON, "{}"), {}, "it wants a token; set `token_env`"),
        ((401, JSON, "{}"), TOKEN, "it does not accept the token; check `token_env`"),
        ((401, JSON, "{}"), HEADER, "it does not accept the `Authorization` among the `headers`"),
        ((403, "text/plain", "Host not allowed"), {}, "it forbids that: Host not allowed; it may want a token"),
        ((403, "text/plain", "no"), TOKEN, "it forbids that to this token: no; check the token"),
        ((200, "text/html", "<html>login"), {}, "it answers with text/html and no MCP; check `url` in mcp.json"),
        ((404, "text/plain", "not found"), {}, "HTTP 404 (Not Found): not found; check `url` in mcp.json"),
        ((405, "text/plain", ""), {}, "HTTP 405 (Method Not Allowed); check `url` in mcp.json"),
        ((308, "text/plain", "", "Location: https://a.example/mcp\r\n"), {}, "it redirects to https://a.example/mcp,"),
        ((500, "text/plain", "oops"), {}, "it answers with HTTP 500; look into its log"),
    ],
)
async def test_a_server_that_lets_nobody_in_is_named_with_the_cause(
    answer: tuple[Any, ...], config: dict[str, Any], words: str
) -> None:
    async with _open(Shop(*answer, closed=True), **config) as box:
        (problem,) = box.problems()
    assert words in problem
    assert "t0ken" not in problem
