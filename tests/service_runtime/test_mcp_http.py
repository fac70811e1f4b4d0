import signal
import socket
from pathlib import Path
from typing import IO, cast

import httpx
import pytest

from service_runtime.errors import SetupError
from service_runtime.home import Home
from service_runtime.mcp_http import bearer_token
from service_runtime.mcp_server import run_service
from service_runtime.settings import Settings
from tests.service_runtime.demo_mcp.service import SERVICE
from tests.service_runtime.processes import MODERN, PATIENCE_S, TOKEN, Demo


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
    advice = "pass another --host or --port."
    assert capsys.readouterr().err.splitlines() == [
        f"demo-mcp: Cannot listen on 127.0.0.1 port {port}: address already in use; {advice}",
        f"demo-mcp: Cannot listen on {'x' * 70} port 8931: the name is unknown; {advice}",
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
