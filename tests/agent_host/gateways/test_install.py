"""`agent-host install`: another program's configuration gets our servers and keeps what it had."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_host.cli import run
from agent_host.errors import ConfigurationError, UsageError
from agent_host.gateways.install import entries, place_of, write
from service_runtime.settings import load_settings

BIN = Path(sys.executable).parent


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home directory of somebody who has never configured anything."""
    for name in [name for name in os.environ if name.startswith(("PROMETHEUS_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config() -> Path:
    """Where the program's configuration is on this machine."""
    return place_of("claude-desktop", os.environ, sys.platform).path


def test_a_dry_run_prints_a_block_that_can_be_pasted_and_writes_nothing(
    person: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["install", "claude-desktop", "--dry-run"]) == 0

    said = capsys.readouterr()
    servers = json.loads(said.out)["mcpServers"]
    assert list(servers) == ["memory", "calendar", "notes"]
    assert servers["memory"] == {"command": str(BIN / "memory-mcp")}
    assert servers["calendar"] == {"command": str(BIN / "tools-mcp"), "args": ["calendar"]}
    assert "nothing was written" in said.err
    assert list(person.iterdir()) == []


def test_the_commands_that_are_written_run(person: Path) -> None:
    for entry in entries(load_settings({"HOME": str(person)}, person), ["memory", "notes"]).values():
        words = [entry["command"], *entry.get("args", []), "--version"]
        assert "0.1.0" in subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.mark.usefixtures("person")
def test_a_first_installation_makes_the_file_and_says_what_it_wrote(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["install", "claude-desktop", "--server", "memory"]) == 0

    path = config()
    assert json.loads(path.read_text()) == {"mcpServers": {"memory": {"command": str(BIN / "memory-mcp")}}}
    assert capsys.readouterr().out == f"Wrote memory into {path}. Restart the program to use them.\n"


@pytest.mark.usefixtures("person")
def test_what_is_there_stays_and_the_file_as_it_was_is_kept() -> None:
    path = config()
    path.parent.mkdir(parents=True)
    servers = '{"files": {"command": "npx"}, "memory": {"command": "npx", "args": ["x"]}}'
    old = f'\ufeff{{"theme": "dark", "mcpServers": {servers}}}'
    path.write_text(old, encoding="utf-8")

    assert run(["install", "claude-desktop", "--server", "memory", "--server", "calendar"]) == 0

    now = json.loads(path.read_text())
    assert now["theme"] == "dark"
    assert list(now["mcpServers"]) == ["files", "memory", "prometheus-memory", "calendar"]
    assert now["mcpServers"]["memory"] == {"command": "npx", "args": ["x"]}
    (copy,) = path.parent.glob("*.before-*")
    assert copy.read_text(encoding="utf-8") == old
    assert path.stat().st_mode & 0o777 == 0o600


def test_installing_again_changes_nothing_and_makes_no_copy(person: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["install", "cursor"])
    run(["install", "cursor"])

    assert "has memory, calendar, notes already; nothing was written" in capsys.readouterr().out
    assert [path.name for path in (person / ".cursor").iterdir()] == ["mcp.json"]


def test_our_own_entry_from_elsewhere_is_renewed_and_keeps_what_a_person_set(person: Path) -> None:
    path = person / "config.json"
    mine = {"command": "/old/bin/memory-mcp", "env": {"PROMETHEUS_TIMEZONE": "Europe/Berlin"}, "disabled": True}
    path.write_text(json.dumps({"mcpServers": {"memory": mine}}))

    write(path, {"memory": {"command": "/new/bin/memory-mcp"}})

    assert json.loads(path.read_text())["mcpServers"] == {"memory": {**mine, "command": "/new/bin/memory-mcp"}}


def test_a_home_that_is_elsewhere_is_passed_on(person: Path) -> None:
    elsewhere = load_settings({"PROMETHEUS_HOME": str(person / "a b")}, person)

    assert entries(elsewhere, ["memory"])["memory"]["env"] == {"PROMETHEUS_HOME": str(person / "a b")}


def test_a_linked_configuration_is_written_where_it_lies(person: Path) -> None:
    (person / "dotfiles").mkdir()
    (person / "dotfiles" / "mcp.json").write_text("{}")
    (person / "mcp.json").symlink_to(person / "dotfiles" / "mcp.json")

    write(person / "mcp.json", {"memory": {"command": "/x/memory-mcp"}})

    assert (person / "mcp.json").is_symlink()
    assert "memory" in json.loads((person / "dotfiles" / "mcp.json").read_text())["mcpServers"]


@pytest.mark.parametrize("damaged", ["{half", "[1]", '{"mcpServers": []}', "[" * 100_000])
def test_a_file_that_cannot_be_added_to_is_left_as_it_is(person: Path, damaged: str) -> None:
    path = person / "config.json"
    path.write_text(damaged)

    with pytest.raises(ConfigurationError, match="nothing was written"):
        write(path, {"memory": {"command": "/x/memory-mcp"}})
    assert path.read_text() == damaged
    assert [one.name for one in person.iterdir()] == ["config.json"]


@pytest.mark.parametrize(
    ("platform", "environ", "expected"),
    [
        ("darwin", {"HOME": "/h"}, "/h/Library/Application Support/Claude/claude_desktop_config.json"),
        ("linux", {"HOME": "/h"}, "/h/.config/Claude/claude_desktop_config.json"),
        ("linux", {"HOME": "/h", "XDG_CONFIG_HOME": "/c"}, "/c/Claude/claude_desktop_config.json"),
        ("win32", {"USERPROFILE": "/h", "APPDATA": "/r", "LOCALAPPDATA": "/l"}, "/r/Claude/claude_desktop_config.json"),
    ],
)
def test_each_system_keeps_it_elsewhere(platform: str, environ: dict[str, str], expected: str) -> None:
    assert place_of("claude-desktop", environ, platform).path.as_posix() == expected


def test_the_packaged_version_for_windows_reads_its_own_folder(tmp_path: Path) -> None:
    packaged = tmp_path / "Packages" / "Claude_abc" / "LocalCache" / "Roaming" / "Claude"
    packaged.mkdir(parents=True)
    environ: dict[str, Any] = {"USERPROFILE": str(tmp_path), "LOCALAPPDATA": str(tmp_path)}

    assert place_of("claude-desktop", environ, "win32").path == packaged / "claude_desktop_config.json"


def test_an_unknown_client_or_server_is_refused(person: Path) -> None:
    assert run(["install", "emacs"]) == 2
    with pytest.raises(UsageError, match="no server 'memori'; name some of memory, calendar"):
        entries(load_settings({}, person), ["memori"])


def test_a_command_that_is_not_installed_names_its_extra(person: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(person / "python"))
    monkeypatch.setenv("PATH", str(person))

    with pytest.raises(UsageError, match=r"memory-mcp is not installed; run pip install 'prometheus-agent\[memory\]'"):
        entries(load_settings({}, person), ["memory"])
