"""Every server as a real process, spoken to by the real MCP client, in both protocol eras, over both transports."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

from tests.tools_mcp.running import (
    ERAS,
    TOKEN,
    WHO,
    HttpServer,
    call,
    environment,
    over_http,
    over_stdio,
    text_of,
)
from tools_mcp.__main__ import main

SERVERS = ("calendar", "notes", "search")
NEVER_AT_THE_START = {"icalendar", "recurring_ical_events", "dateutil", "httpx", "ddgs", "primp", "lxml"}
NOISE = {"PYTHONIOENCODING": "cp1252", "LC_ALL": "C"}
DAY = {"start": "2026-12-01", "end": "2026-12-01"}
LONG_TITLE = "Ideas — ★ 🎉 中文"
EACH = 12


@asynccontextmanager
async def both_eras(server: str, home: Path) -> AsyncIterator[tuple[Client[Any], Client[Any]]]:
    """Two processes of a server on one home, one per protocol era; nothing but protocol may reach their stdout."""
    (home / ".env").write_text("PROMETHEUS_LOG_LEVEL=debug\n")
    legacy, modern = (over_stdio(server, home, era, **NOISE) for era in ERAS)
    async with AsyncExitStack() as stack:
        one, other = await asyncio.gather(stack.enter_async_context(legacy), stack.enter_async_context(modern))
        assert (one.protocol_version, other.protocol_version) == ("2025-11-25", "2026-07-28")
        yield one, other


async def test_two_calendar_servers_on_one_home_keep_every_event(tmp_path: Path) -> None:
    async def create(client: Client[Any], title: str) -> str:
        made = await call(client, "calendar_create_event", title=title, start="2026-12-01T09:00")
        return str(made["status"])

    async with both_eras("calendar", tmp_path) as clients:
        pairs = [(client, f"{at} {number}") for at, client in enumerate(clients) for number in range(EACH)]
        made = await asyncio.gather(*(create(client, title) for client, title in pairs))
        same = await asyncio.gather(*(create(client, "the same") for client in clients * 2))
        seen = [await call(client, "calendar_list_events", **DAY, limit=100) for client in clients]

    assert set(made) == {"created"}
    assert sorted(same) == ["created", "exists", "exists", "exists"]
    assert [len(listed["events"]) for listed in seen] == [2 * EACH + 1] * 2


async def test_two_notes_servers_on_one_home_lose_no_line(tmp_path: Path) -> None:
    async with both_eras("notes", tmp_path) as clients:
        lines = [(client, f"{at} {number} Привет") for at, client in enumerate(clients) for number in range(EACH)]
        await asyncio.gather(
            *(call(client, "notes_write", title=LONG_TITLE, body=f"{line}\n", mode="append") for client, line in lines)
        )
        read = await call(clients[1], "notes_read", title=LONG_TITLE)
        change = {"id": read["id"], "find": "0 3 Привет\n", "replace": "", "expected_hash": read["content_hash"]}
        edits = await asyncio.gather(
            *(client.call_tool("notes_edit", change, raise_on_error=False) for client in clients)
        )
        found = await call(clients[0], "notes_search", query="привет")

    assert sorted(read["body"].splitlines()) == sorted(line for _, line in lines)
    assert sorted(edit.is_error for edit in edits) == [False, True]
    assert "changed since it was read" in next(text_of(edit) for edit in edits if edit.is_error)
    assert [note["title"] for note in found["notes"]] == [LONG_TITLE]


async def test_the_search_server_works_over_its_pipes(tmp_path: Path) -> None:
    async with both_eras("search", tmp_path) as clients:
        states = [await call(client, "search_status") for client in clients]

    assert states == [{"providers": [{"name": "keyless"}]}] * 2


@pytest.mark.parametrize(
    ("server", "write", "read", "rows"),
    [
        ("calendar", ("calendar_create_event", {"title": "a", **DAY}), ("calendar_list_events", DAY), "events"),
        ("notes", ("notes_write", {"title": "a", "body": "b"}), ("notes_list", {}), "notes"),
        ("search", ("search_status", {}), ("search_status", {}), "providers"),
    ],
)
async def test_a_server_works_over_http_with_its_token(
    http: Mapping[str, HttpServer],
    server: str,
    write: tuple[str, dict[str, Any]],
    read: tuple[str, dict[str, Any]],
    rows: str,
) -> None:
    for era in ERAS:
        async with Client(http[server].url, auth=TOKEN, client_info=WHO, mode=era) as client:
            await call(client, write[0], **write[1])
            assert len((await call(client, read[0], **read[1]))[rows]) == 1


@pytest.mark.parametrize("server", SERVERS)
def test_what_is_heavy_is_not_imported_before_it_is_used(http: Mapping[str, HttpServer], server: str) -> None:
    assert http[server].url

    imported = http[server].imported
    assert f"tools_mcp.{server}.server" in imported
    assert imported & NEVER_AT_THE_START == set()


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, HttpServer]]:
    """Every server over HTTP, on one home."""
    with over_http(SERVERS, tmp_path_factory.mktemp("home")) as servers:
        yield servers


def test_the_command_line_lists_the_servers_without_the_sdk(tmp_path: Path) -> None:
    helped = run(tmp_path, "-X", "importtime", "-m", "tools_mcp", "--help")

    assert helped.returncode == 0
    assert [line.split()[0] for line in helped.stdout.splitlines() if line.startswith("  ")] == [*SERVERS]
    assert not any(f" {module}\n" in helped.stderr for module in ("fastmcp", "mcp", "pydantic", "tools_mcp.errors"))


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "usage: tools-mcp NAME"),
        (("--version",), 0, "tools-mcp 0."),
        (("calendar", "--check"), 0, "calendar: 0 events and series\n"),
        (("notes", "--check"), 0, "notes: 0 notes\n"),
        (("search", "--check"), 0, "search: would ask keyless\n"),
        (("notes", "--where"), 0, "notes\n"),
        (("reports",), 2, "tools-mcp: there is no server 'reports'; use one of calendar, notes, search.\n"),
    ],
)
def test_the_command_line_answers_in_a_line(
    command: "Command", arguments: tuple[str, ...], code: int, said: str
) -> None:
    status, printed = command(*arguments)

    assert status == code
    assert said in printed


@pytest.mark.parametrize(
    ("setting", "value", "server"),
    [
        ("PROMETHEUS_TIMEZONE", "Mars/Base", "calendar"),
        ("PROMETHEUS_SEARXNG_URL", "nowhere", "search"),
        ("PROMETHEUS_HOME", __file__, "notes"),
    ],
)
def test_a_setting_that_cannot_be_used_stops_the_start_in_one_line(
    command: "Command", monkeypatch: pytest.MonkeyPatch, setting: str, value: str, server: str
) -> None:
    monkeypatch.setenv(setting, value)
    code, said = command(server, "--check")

    assert code == 2
    assert said.startswith(f"tools-mcp {server}: ")
    assert said.count("\n") == 1


Command = Callable[..., tuple[int, str]]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`tools-mcp` in this process: takes its arguments, gives its exit status and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging.root, "handlers", [])
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)

    def run_here(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["tools-mcp", *arguments])
        code = main()
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return run_here


def run(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment(home, **more),
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
