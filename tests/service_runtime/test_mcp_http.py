import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import httpx
import pytest
from starlette.responses import PlainTextResponse

from service_runtime.errors import SetupError
from service_runtime.home import Home
from service_runtime.mcp_http import Gate, RateLimit, bearer_token
from service_runtime.mcp_server import run_service
from service_runtime.settings import Settings
from tests.service_runtime.demo_mcp.service import SERVICE
from tests.service_runtime.processes import MODERN, PATIENCE_S, TOKEN, Demo

BEARER = {"Authorization": f"Bearer {TOKEN}"}
JSON = {**BEARER, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def base(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with demo.http(tmp_path_factory.mktemp("home"), "--allowed-host", "memory") as (_, url):
        yield url


@pytest.mark.parametrize(
    ("authorization", "challenge"),
    [
        (None, "Bearer"),
        ("Basic dXNlcjpwYXNz", "Bearer"),
        (TOKEN, "Bearer"),
        ("Bearer", 'Bearer error="invalid_token"'),
        ("Bearer wrong", 'Bearer error="invalid_token"'),
        (f"Bearer {TOKEN}x", 'Bearer error="invalid_token"'),
        (f"Bearer {TOKEN[:-1]}", 'Bearer error="invalid_token"'),
        ("Bearer tökén", 'Bearer error="invalid_token"'),
    ],
)
def test_without_the_token_the_answer_is_401_with_a_challenge_in_json(
    base: str, authorization: str | None, challenge: str
) -> None:
    headers = [(b"Authorization", authorization.encode("latin-1"))] if authorization else []
    answer = httpx.post(f"{base}/mcp", headers=headers, json={})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == challenge
    assert answer.json()["error"] == "unauthorized"
    assert TOKEN not in answer.text


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_is_open(base: str, path: str) -> None:
    assert httpx.get(base + path).status_code == 200


@pytest.mark.parametrize("path", ["/", "/.well-known/oauth-protected-resource", "/.well-known/openid-configuration"])
@pytest.mark.parametrize("headers", [{}, BEARER])
def test_other_paths_are_404_in_json_so_that_clients_do_not_wait_for_oauth(
    base: str, path: str, headers: dict[str, str]
) -> None:
    answer = httpx.get(base + path, headers=headers)
    assert answer.status_code == 404
    assert answer.json()["error"] == "not_found"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "memory:8931"}, 400),
        ({"Host": "localhost", "Origin": "http://localhost:3000"}, 400),
    ],
)
def test_only_known_hosts_and_origins_reach_the_server(base: str, headers: dict[str, str], status: int) -> None:
    assert httpx.post(f"{base}/mcp", headers=JSON | headers, content=b"{}").status_code == status


def test_the_host_guard_covers_health_too(base: str) -> None:
    assert httpx.get(f"{base}/healthz", headers={"Host": "evil.example"}).status_code == 421


def test_a_body_over_4_mib_is_refused_with_413_and_the_server_stays(base: str) -> None:
    assert httpx.post(f"{base}/mcp", headers=JSON, content=b" " * (4 * 1024 * 1024 + 1)).status_code == 413
    assert httpx.post(f"{base}/mcp", headers=JSON, content=b" " * (4 * 1024 * 1024)).status_code == 400


def test_a_large_body_without_a_length_is_refused_too(base: str) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(5):
            yield b" " * (1024 * 1024)

    assert httpx.post(f"{base}/mcp", headers=JSON, content=chunks()).status_code == 413


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b"no JSON", b"", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":["secret"]}']
)
def test_a_body_that_is_no_request_is_refused_in_one_sentence(base: str, body: bytes) -> None:
    answer = httpx.post(f"{base}/mcp", headers=JSON, content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "The body is no JSON-RPC 2.0 message; send one MCP request."


def test_a_stale_session_is_404_so_that_the_client_starts_a_new_one(base: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    answer = httpx.post(f"{base}/mcp", headers=JSON | {"Mcp-Session-Id": "0" * 32}, json=body)
    assert answer.status_code == 404


def test_a_flood_is_answered_429_with_the_time_to_wait(demo: Demo, tmp_path: Path) -> None:
    request = b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    with demo.http(tmp_path) as (_, base), socket.create_connection(("127.0.0.1", httpx.URL(base).port or 0)) as flood:
        flood.sendall(request * 599 + last)
        answers = b"".join(iter(lambda: flood.recv(65536), b""))
    assert answers.count(b"HTTP/1.1 404 ") >= 200
    assert answers.count(b"HTTP/1.1 429 ") == 600 - answers.count(b"HTTP/1.1 404 ")
    refused = answers.split(b"HTTP/1.1 429 ")[-1].lower()
    assert b"retry-after: 1\r\n" in refused
    assert b'"error":"rate_limited"' in refused


def settings(folder: Path, token: str | None) -> Settings:
    return Settings(Home(folder), {"PROMETHEUS_MCP_TOKEN": token} if token else {})


def test_the_token_file_wins_over_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n", encoding="ascii")
    assert bearer_token(settings(tmp_path, "x" * 16), str(file)) == TOKEN
    assert bearer_token(settings(tmp_path, "x" * 16), None) == "x" * 16


@pytest.mark.parametrize("token", [None, "short", " " * 20, "tökén-tökén-tökén"])
def test_without_a_safe_token_nothing_is_served(tmp_path: Path, token: str | None) -> None:
    with pytest.raises(SetupError, match=r"HTTP needs a bearer token of at least 16 ASCII characters"):
        bearer_token(settings(tmp_path, token), None)


def test_a_token_file_that_cannot_be_read_is_refused_without_quoting_it(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(b"secret \xff")
    for path in (file, tmp_path / "missing", tmp_path, "~nobody-here/token"):
        with pytest.raises(SetupError, match="cannot be read as plain ASCII text") as raised:
            bearer_token(settings(tmp_path, None), str(path))
        assert "secret" not in str(raised.value)


def served(home: Path, *arguments: str) -> int:
    """Run the demo over HTTP in this process, which is refused before anything is served."""
    return run_service(SERVICE, ["--transport", "http", "--home", str(home), *arguments])


@pytest.mark.usefixtures("root_logger")
def test_an_address_that_cannot_be_used_is_one_sentence_and_no_store_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PROMETHEUS_MCP_TOKEN", TOKEN)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert served(tmp_path, "--port", port) == 2
    assert served(tmp_path, "--host", "x" * 70) == 2
    assert served(tmp_path, "--port", "65536") == 2
    advice = "pass another --host or --port."
    assert capsys.readouterr().err.splitlines() == [
        f"demo-mcp: Cannot listen on 127.0.0.1 port {port}: address already in use; {advice}",
        f"demo-mcp: Cannot listen on {'x' * 70} port 8931: there is no such address; {advice}",
        f"demo-mcp: Cannot listen on 127.0.0.1 port 65536: there is no such address; {advice}",
    ]
    assert not (tmp_path / "demo").exists()


def test_ready_is_honest_and_says_nothing_about_the_inside(demo: Demo, tmp_path: Path) -> None:
    with demo.http(tmp_path) as (_, base):
        assert httpx.get(f"{base}/readyz").json() == {"status": "ready"}
        (tmp_path / "broken").touch()
        answer = httpx.get(f"{base}/readyz")
        assert (answer.status_code, answer.json()) == (503, {"status": "not ready"})
        assert httpx.get(f"{base}/healthz").status_code == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_closes_the_store_and_the_process(demo: Demo, tmp_path: Path, number: signal.Signals) -> None:
    with demo.http(tmp_path, "--host", "::1" if socket.has_ipv6 else "127.0.0.1") as (process, base):
        assert httpx.get(f"{base}/healthz").status_code == 200
        process.send_signal(number)
        assert process.wait(timeout=PATIENCE_S) == 0
    assert (tmp_path / "demo" / "store.txt").read_text() == "closed"


def test_a_blocked_tool_does_not_keep_the_process_alive(demo: Demo, tmp_path: Path) -> None:
    headers = {
        "Authorization": f"Bearer {TOKEN}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "demo_block",
    }
    params = {"_meta": MODERN, "name": "demo_block", "arguments": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    with demo.http(tmp_path) as (process, base), httpx.Client() as client:
        request = client.build_request("POST", f"{base}/mcp", headers=headers, json=body, timeout=0.5)
        with pytest.raises(httpx.ReadTimeout):
            client.send(request)
        assert "blocking\n" in iter(cast("IO[str]", process.stderr).readline, "")
        process.terminate()
        assert process.wait(timeout=PATIENCE_S) == 1


class Clock:
    """A clock that stands until it is told to move."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_caller_may_burst_and_then_goes_at_the_rate() -> None:
    clock = Clock()
    limit = RateLimit(clock, per_second=2, burst=3)
    assert [limit.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]
    clock.now_s = 0.25
    assert limit.wait("a") == 0.25
    clock.now_s = 0.5
    assert [limit.wait("a"), limit.wait("a")] == [0, 0.5]
    clock.now_s = 1000
    assert [limit.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]


def test_callers_do_not_share_a_limit_and_the_oldest_is_forgotten() -> None:
    limit = RateLimit(Clock(), per_second=1, burst=1, callers=2)
    assert [limit.wait(caller) for caller in "aab"] == [0, 1, 0]
    assert limit.wait("c") == 0
    assert len(limit._due_s) == 2
    assert limit.wait("a") == 0


async def test_who_has_no_token_uses_up_neither_the_rate_of_who_has_it_nor_that_of_health() -> None:
    gate = Gate(PlainTextResponse("inside"), TOKEN, RateLimit(Clock(), per_second=1, burst=2))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(gate), base_url="http://localhost") as client:
        strangers = [(await client.post("/mcp")).status_code for _ in range(3)]
        holder = [(await client.post("/mcp", headers=BEARER)).status_code for _ in range(3)]
        health = [(await client.get("/healthz")).status_code for _ in range(3)]
        ready = [(await client.get("/readyz")).status_code for _ in range(3)]
    assert (strangers, holder) == ([401, 401, 429], [200, 200, 429])
    assert (health, ready) == ([200] * 3, [200, 200, 429])


@pytest.mark.parametrize("path", ["/healthz%3F/mcp", "/healthz%23/mcp", "/healthz/mcp"])
async def test_a_path_that_only_begins_like_health_is_not_open(path: str) -> None:
    gate = Gate(PlainTextResponse("inside"), TOKEN, RateLimit(Clock()))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(gate), base_url="http://localhost") as client:
        answer = await client.post(path)
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
