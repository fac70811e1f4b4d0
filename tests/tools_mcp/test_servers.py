"""The tool servers as their command line starts them, and two of them on one home. What holds for each is elsewhere."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

from tests.tools_mcp.processes import Forked
from tests.tools_mcp.reports.samples import report
from tests.tools_mcp.running import ERAS, call, environment, text_of
from tools_mcp.__main__ import main

SERVERS = ("calendar", "notes", "search", "reports", "messages")
NEVER_AT_THE_START = {"icalendar", "recurring_ical_events", "dateutil", "httpx", "ddgs", "primp", "lxml"}
DAY = {"start": "2026-12-01", "end": "2026-12-01"}
LONG_TITLE = "Ideas — ★ 🎉 中文"
EACH = 12


@asynccontextmanager
async def both_eras(forked: Forked, server: str, home: Path) -> AsyncIterator[tuple[Client[Any], Client[Any]]]:
    """Two processes of a server on one home, one per protocol era."""
    legacy, modern = (forked.client(server, home, era) for era in ERAS)
    async with AsyncExitStack() as stack:
        one, other = await asyncio.gather(stack.enter_async_context(legacy), stack.enter_async_context(modern))
        assert (one.protocol_version, other.protocol_version) == ("2025-11-25", "2026-07-28")
        yield one, other


async def test_two_calendar_servers_on_one_home_keep_every_event(forked: Forked, tmp_path: Path) -> None:
    async def create(client: Client[Any], title: str) -> str:
        made = await call(client, "calendar_create_event", title=title, start="2026-12-01T09:00")
        return str(made["status"])

    async with both_eras(forked, "calendar", tmp_path) as clients:
        pairs = [(client, f"{at} {number}") for at, client in enumerate(clients) for number in range(EACH)]
        made = await asyncio.gather(*(create(client, title) for client, title in pairs))
        same = await asyncio.gather(*(create(client, "the same") for client in clients * 2))
        seen = [await call(client, "calendar_list_events", **DAY, limit=100) for client in clients]

    assert set(made) == {"created"}
    assert sorted(same) == ["created", "exists", "exists", "exists"]
    assert [len(listed["events"]) for listed in seen] == [2 * EACH + 1] * 2


async def test_two_notes_servers_on_one_home_lose_no_line(forked: Forked, tmp_path: Path) -> None:
    async with both_eras(forked, "notes", tmp_path) as clients:
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
        moves = await asyncio.gather(
            *(
                client.call_tool("notes_move", {"id": read["id"], "title": f"Moved {at}"}, raise_on_error=False)
                for at, client in enumerate(clients)
            )
        )
        listed = await call(clients[1], "notes_list")

    assert sorted(read["body"].splitlines()) == sorted(line for _, line in lines)
    assert sorted(edit.is_error for edit in edits) == [False, True]
    assert "changed since it was read" in next(text_of(edit) for edit in edits if edit.is_error)
    assert [note["title"] for note in found["notes"]] == [LONG_TITLE]
    assert sorted(move.is_error for move in moves) == [False, True]
    assert len(listed["notes"]) == 1


@pytest.mark.parametrize(
    ("server", "tool", "arguments"),
    [
        ("reports", "report_save", {"markdown": report()}),
        ("messages", "message_draft", {"to": ["Ana"], "body": "hi", "idempotency_key": "k"}),
    ],
)
async def test_two_servers_on_one_home_keep_the_same_once(
    forked: Forked, tmp_path: Path, server: str, tool: str, arguments: dict[str, Any]
) -> None:
    async with both_eras(forked, server, tmp_path) as clients:
        made = await asyncio.gather(*(call(client, tool, **arguments) for client in clients * 4))

    assert [answer["status"] for answer in made].count("exists") == 7
    assert len({(answer.get("report") or answer["message"])["id"] for answer in made}) == 1


def test_what_is_heavy_is_not_imported_before_it_is_used(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from service_runtime.settings import load_settings\nfrom tools_mcp.registry import SERVERS\n"
        "settings = load_settings({'PROMETHEUS_HOME': sys.argv[1]}, Path(sys.argv[1]))\n"
        "for server in SERVERS: server.build(settings)\n"
        "print(*sorted(sys.modules))\n"
    )
    done = run(tmp_path, "-c", script, str(tmp_path))

    assert {f"tools_mcp.{name}.server" for name in SERVERS} <= set(done.stdout.split()), done.stderr
    assert set(done.stdout.split()) & NEVER_AT_THE_START == set()


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
        (("reports", "--check"), 0, "reports: 0 reports\n"),
        (("messages", "--check"), 0, "messages: 0 drafts, none sent\n"),
        (("mail",), 2, f"tools-mcp: there is no server 'mail'; use one of {', '.join(SERVERS)}.\n"),
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
