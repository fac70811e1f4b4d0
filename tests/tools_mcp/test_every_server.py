"""Every server as a process ("Rules for all tools"): both eras, both transports, clean output, orderly ends, guards."""

import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

import httpx
import pytest
from fastmcp import Client

from tests.tools_mcp.every_tool import EXAMPLES, SERVERS, server_of
from tests.tools_mcp.processes import PATIENCE_S, Forked, Piped
from tests.tools_mcp.running import ERAS, TOKEN, WHO, call

pytestmark = pytest.mark.slow  # starts many processes

every_server = pytest.mark.parametrize("server", SERVERS)
NOISE = {"PYTHONIOENCODING": "cp1252", "LC_ALL": "C"}
READS: dict[str, tuple[str, dict[str, Any]]] = {
    "memory": ("memory_list", {}),
    "calendar": ("calendar_list_events", {}),
    "notes": ("notes_list", {}),
    "search": ("search_status", {}),
    "reports": ("report_list", {}),
    "messages": ("message_list", {}),
}
"""A tool per server that needs nothing and opens the store."""


@pytest.fixture(scope="module")
def urls(forked: Forked, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """Every server over HTTP, all on one home."""
    with forked.http([*SERVERS], tmp_path_factory.mktemp("home")) as addresses:
        yield addresses


@every_server
@pytest.mark.parametrize(("era", "ending"), [(ERAS[0], "its input ends"), (ERAS[1], "SIGTERM")])
def test_a_server_speaks_nothing_but_protocol_and_ends_in_order(
    forked: Forked, tmp_path: Path, server: str, era: str, ending: str
) -> None:
    (tmp_path / ".env").write_text("PROMETHEUS_LOG_LEVEL=debug\n")
    with forked.piped(server, tmp_path, era, **NOISE) as piped:
        listed = piped.ask("tools/list", {})["result"]["tools"]
        assert {tool["name"] for tool in listed} == {tool for tool in EXAMPLES if server_of(tool) == server}
        for tool in listed:
            ask_everything(piped, tool)
        if ending == "SIGTERM":
            piped.process.send_signal(signal.SIGTERM)
        else:
            cast("IO[bytes]", piped.process.stdin).close()
        assert piped.process.wait(timeout=PATIENCE_S) == 0
        assert piped.rest() == b""

    assert all(line["jsonrpc"] == "2.0" for line in piped.lines)
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(("-wal", "-shm", ".tmp"))]


def ask_everything(piped: Piped, tool: dict[str, Any]) -> None:
    """Call a tool as it wants to be called, and with what the SDK itself would never answer."""
    name, example = tool["name"], EXAMPLES[tool["name"]]
    assert piped.call(name, example)["content"]
    assert piped.call(name, example | {"colour": "red"})["isError"]
    refused = piped.call(name, example | {"colour": "\ud83d"})
    assert "half of a surrogate pair" in refused["message"]


@every_server
async def test_a_server_speaks_both_eras_over_http(urls: Mapping[str, str], server: str) -> None:
    names = []
    for era in ERAS:
        async with Client(urls[server], auth=TOKEN, client_info=WHO, mode=era, timeout=PATIENCE_S) as client:
            names.append([tool.name for tool in await client.list_tools()])
            await call(client, READS[server][0], **READS[server][1])
    assert names[0] == names[1]


@every_server
def test_only_who_has_the_token_and_comes_from_here_is_served(urls: Mapping[str, str], server: str) -> None:
    url = urls[server]
    known = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    with httpx.Client(timeout=PATIENCE_S) as http:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}):
            refused = http.post(url, json=body, headers=headers)
            assert refused.status_code == 401
            assert refused.headers["WWW-Authenticate"].startswith("Bearer")
            assert refused.json()["error_description"].endswith(".")
        for headers, status in (({"Host": "evil.example"}, 421), ({"Origin": "https://evil.example"}, 403)):
            assert http.post(url, json=body, headers=known | headers).status_code == status
        base = url.removesuffix("/mcp")
        for path in ("/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server", "/register"):
            for headers in ({}, known):
                missing = http.get(base + path, headers=headers)
                assert (missing.status_code, missing.json()["error"]) == (404, "not_found")
        assert http.get(f"{base}/healthz").json() == {"status": "ok"}
        assert http.get(f"{base}/readyz").json() == {"status": "ready"}


def test_every_server_is_read_here() -> None:
    assert READS.keys() == SERVERS.keys()
    assert {tool for tool, _ in READS.values()} <= EXAMPLES.keys()
