"""Every server as a real process, spoken to by the real MCP client, in both protocol eras, over both transports."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

from tests.tools_mcp.running import ERAS, TOKEN, WHO, call, environment, over_http, over_stdio

SERVERS = ("calendar", "notes", "search")
NEVER_AT_THE_START = ("icalendar", "recurring_ical_events", "dateutil", "httpx", "ddgs", "primp", "lxml")


async def use(server: str, client: Client[Any]) -> dict[str, Any]:
    """One write and one read of what was written, or what there is of that."""
    if server == "calendar":
        await call(client, "calendar_create_event", title="Standup", start="2026-12-01T09:00", idempotency_key="k")
        return await call(client, "calendar_list_events", start="2026-12-01", end="2026-12-01")
    if server == "notes":
        await call(client, "notes_write", title="Ideas — ★ 🎉 中文", body="Привет", idempotency_key="k")
        return await call(client, "notes_search", query="Привет")
    return await call(client, "search_status")


EXPECTED = {
    "calendar": ("events", "title", "Standup"),
    "notes": ("notes", "title", "Ideas — ★ 🎉 中文"),
    "search": ("providers", "name", "keyless"),
}


def assert_used(server: str, answer: dict[str, Any]) -> None:
    rows, field, value = EXPECTED[server]
    assert [row[field] for row in answer[rows]] == [value]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("server", SERVERS)
async def test_a_server_works_over_its_pipes(tmp_path: Path, server: str, era: str) -> None:
    # Windows' code page, log lines and a .env must not reach the protocol.
    (tmp_path / ".env").write_text("PROMETHEUS_LOG_LEVEL=debug\n")
    async with over_stdio(server, tmp_path, era, PYTHONIOENCODING="cp1252", LC_ALL="C") as client:
        assert_used(server, await use(server, client))
        assert client.protocol_version == ("2025-11-25" if era == "legacy" else era)


@pytest.mark.parametrize("server", SERVERS)
async def test_a_server_works_over_http_with_its_token(tmp_path: Path, server: str) -> None:
    with over_http(server, tmp_path) as url:
        for era in ERAS:
            async with Client(url, auth=TOKEN, client_info=WHO, mode=era) as client:
                assert_used(server, await use(server, client))


def test_what_is_heavy_is_not_imported_before_it_is_used(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from service_runtime.settings import load_settings\n"
        "from tools_mcp.registry import SERVERS\n"
        "import os\n"
        "for server in SERVERS:\n"
        "    server.build(load_settings(os.environ, Path.cwd()))\n"
        f"print([name for name in {NEVER_AT_THE_START!r} if name in sys.modules])\n"
    )

    assert run(tmp_path, "-c", program).stdout == "[]\n"


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
        (("calendar", "--version"), 0, "tools-mcp calendar 0."),
        (("calendar", "--check"), 0, "calendar: 0 events and series"),
        (("notes", "--check"), 0, "notes: 0 notes"),
        (("search", "--check"), 0, "search: would ask keyless"),
        (("notes", "--where"), 0, "notes"),
        (("reports",), 2, "tools-mcp: there is no server 'reports'; use one of calendar, notes, search."),
    ],
)
def test_the_command_line_answers_in_a_line(tmp_path: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = run(tmp_path, "-m", "tools_mcp", *arguments)

    assert done.returncode == code
    assert said in (done.stdout or done.stderr)


@pytest.mark.parametrize(
    ("setting", "server"),
    [("PROMETHEUS_TIMEZONE", "calendar"), ("PROMETHEUS_SEARXNG_URL", "search"), ("PROMETHEUS_HOME", "notes")],
)
def test_a_setting_that_cannot_be_used_stops_the_start_in_one_line(tmp_path: Path, setting: str, server: str) -> None:
    (tmp_path / "file").touch()
    broken = {"PROMETHEUS_TIMEZONE": "Mars/Base", "PROMETHEUS_SEARXNG_URL": "nowhere"}.get(
        setting, str(tmp_path / "file")
    )
    done = run(tmp_path, "-m", "tools_mcp", server, "--check", **{setting: broken})

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"tools-mcp {server}: ")
    assert done.stderr.count("\n") == 1


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
