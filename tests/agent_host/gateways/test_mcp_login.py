"""`agent-host mcp login|logout|list` as processes, and what a turn says of a server that needs a login."""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_host.errors import UsageError
from agent_host.gateways.mcp import servers_text
from agent_host.gateways.mcp_login import login, logout
from agent_host.mcp_clients.home_rules import logins_of
from agent_host.mcp_clients.oauth.record import Login
from service_runtime.settings import load_settings
from tests.agent_host.mcp_clients.servers.lab import LabOverHttp
from tests.fakes.oauth_server import Browser, OAuthServer

BIN = Path(sys.executable).parent
FAR = "https://tools.example.org/mcp"
BUILTIN = ("memory", "calendar", "notes", "search", "reports", "messages")


@pytest.fixture
def server() -> Iterator[OAuthServer]:
    running = OAuthServer().start()
    yield running
    running.stop()


def _home(tmp_path: Path, servers: dict[str, object]) -> dict[str, str]:
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    windows = {"BROWSER", "DISPLAY", "WAYLAND_DISPLAY"}
    kept = {name: value for name, value in os.environ.items() if name not in windows}
    return {**kept, "PROMETHEUS_HOME": str(tmp_path), "PROMETHEUS_PROVIDER": "offline"}


async def _run(environ: dict[str, str], *words: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        BIN / "agent-host", *words, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    return process.returncode or 0, said.decode()


@pytest.mark.slow
async def test_a_login_by_the_printed_address_a_turn_that_uses_it_and_a_logout(
    server: OAuthServer, tmp_path: Path
) -> None:
    off = {name: {"disabled": True} for name in BUILTIN}
    environ = _home(tmp_path, {"shop": {"url": server.url, "oauth": True}, **off})
    before, listed = await _run(environ, "ask", "hello"), await _run(environ, "mcp", "list")
    process = await asyncio.create_subprocess_exec(
        BIN / "agent-host", "mcp", "login", "shop", "--no-browser", env=environ, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    while not (line := (await process.stdout.readline()).decode()).startswith("http"):
        assert line
    await Browser()(line.strip())
    said, _ = await process.communicate()
    after, held = await _run(environ, "ask", "hello"), await _run(environ, "mcp", "list")
    out, again = await _run(environ, "mcp", "logout", "shop"), await _run(environ, "mcp", "logout", "shop")

    assert before[0] == 0
    assert "The server 'shop' cannot be used: it needs a login; run `agent-host mcp login shop`." in before[1]
    assert "needs a login; run `agent-host mcp login shop`" in listed[1]
    assert process.returncode == 0
    assert b"Logged in to shop at 127.0.0.1" in said
    assert "needs a login" not in after[1]
    assert re.search(r"shop .*3 tools, logged in at 127\.0\.0\.1:\d+ since 20\d\d-", held[1])
    assert out == (0, "Logged out of shop; its server took the tokens back.\n")
    assert again == (0, "You are not logged in to shop.\n")
    _no_secret_outside(tmp_path, server)


def _no_secret_outside(home: Path, server: OAuthServer) -> None:
    words = [word for one in server.keys.issued for word in (one.access_token, one.refresh_token or "-")]
    files = [path for path in home.rglob("*") if path.is_file() and path.parent.name != "logins"]
    texts = [path.read_bytes() for path in files]
    assert len(words) >= 2
    assert [word for word in words for text in texts if word.encode() in text] == []


@pytest.mark.slow
async def test_a_browser_is_opened_where_there_is_one_and_two_processes_share_what_it_brings(
    server: OAuthServer, tmp_path: Path
) -> None:
    off = {name: {"disabled": True} for name in BUILTIN}
    environ = _home(tmp_path, {"shop": {"url": server.url, "oauth": True}, **off})
    script = tmp_path / "browser"
    script.write_text(f"#!{sys.executable}\nimport httpx, sys\nhttpx.get(sys.argv[1], follow_redirects=True)\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    server.keys.lifetime_s = 1  # over before it can be used, given that a token is refreshed half a minute early
    status, said = await _run({**environ, "BROWSER": str(script)}, "mcp", "login", "shop", "--timeout", "60")
    assert (status, "Your browser opens this address" in said) == (0, True)
    server.keys.lifetime_s = 3600
    both = await asyncio.gather(*(_run(environ, "check") for _ in range(2)))
    assert ["tools: 3" in one[1] for one in both] == [True, True]
    assert server.keys.refreshed == 1


@pytest.mark.slow
async def test_a_login_that_is_denied_or_late_ends_with_a_sentence_and_status_1(
    server: OAuthServer, tmp_path: Path
) -> None:
    environ = _home(tmp_path, {"shop": {"url": server.url}})
    status, said = await _run(environ, "mcp", "login", "shop", "--no-browser", "--timeout", "1")
    assert status == 1
    assert said.endswith("agent-host: Nobody logged in to shop within 1 s; run the command again.\n")
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nobody", r"There is no server 'nobody'; `agent-host mcp list` names them\."),
        ("memory", r"The server 'memory' is started by this host and has no login\."),
        ("token", r"The server 'token' has another way to authenticate in mcp\.json"),
    ],
)
async def test_a_server_that_has_no_login_is_refused_in_a_sentence(tmp_path: Path, name: str, words: str) -> None:
    environ = {**_home(tmp_path, {"token": {"url": FAR, "token_env": "T"}}), "T": "x"}
    settings = load_settings(environ, tmp_path, None)
    with pytest.raises(UsageError, match=words):
        await login(settings, environ, name, open_browser=False, timeout_s=1)
    with pytest.raises(UsageError, match=words):
        await logout(settings, environ, name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("told", "rest"), [({}, "it can be used as it is"), ({"oauth": True}, "take `oauth` out of its entry in mcp.json")]
)
async def test_a_server_that_asks_for_no_login_is_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], told: dict[str, object], rest: str
) -> None:
    lab = LabOverHttp().start()
    environ = _home(tmp_path, {"lab": {"url": lab.url, **told}})
    settings = load_settings(environ, tmp_path, None)
    assert await login(settings, environ, "lab", open_browser=False, timeout_s=1) == 0
    lab.stop()
    assert capsys.readouterr().out == f"lab asks for no login; {rest}.\n"


def test_the_list_says_who_needs_a_login_without_asking_anybody(tmp_path: Path) -> None:
    servers: dict[str, object] = {
        "said": {"url": FAR, "oauth": True},
        "unsaid": {"url": f"{FAR}/2"},
        "asked": {"url": f"{FAR}/3"},
        "inside": {"url": f"{FAR}/4"},
    }
    environ = _home(tmp_path, servers)
    settings = load_settings(environ, tmp_path, None)
    logins = logins_of(settings.home.folder("host"))
    logins.write(Login(f"{FAR}/3"))
    tokens, issuer = {"access_token": "hush"}, {"issuer": "https://login.example.org/"}
    logins.write(Login(f"{FAR}/4", tokens, since_ms=1_796_000_000_000, server=issuer))
    text = servers_text(settings, environ)
    rows = {line.split()[0]: line.split(", ", 1)[1] for line in text.splitlines()}
    assert rows["said"] == "not started yet, needs a login; run `agent-host mcp login said`"
    assert rows["unsaid"] == "not started yet"
    assert rows["asked"] == "not started yet, needs a login; run `agent-host mcp login asked`"
    assert rows["inside"].startswith("not started yet, logged in at login.example.org since 2026-11-")
    assert "hush" not in text
