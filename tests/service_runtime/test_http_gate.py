import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from service_runtime.http_gate import RateLimit
from tests.service_runtime.processes import TOKEN, Demo

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
    answer = httpx.post(f"{base}/mcp", headers=JSON, content=b" " * (4 * 1024 * 1024 + 1))
    assert (answer.status_code, answer.json()["error"]) == (413, "too_large")
    assert httpx.post(f"{base}/mcp", headers=JSON, content=b" " * (4 * 1024 * 1024)).status_code == 400


def test_a_large_body_without_a_length_is_refused_too(base: str) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(5):
            yield b" " * (1024 * 1024)

    assert httpx.post(f"{base}/mcp", headers=JSON, content=chunks()).status_code == 413


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":["secret"]}'])
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
    assert len(limit._buckets) == 2
    assert limit.wait("a") == 0
