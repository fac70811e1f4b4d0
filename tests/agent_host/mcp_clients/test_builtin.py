from __future__ import annotations

from pathlib import Path

import pytest

from agent_host.mcp_clients.builtin import MODULES, builtin_servers

HOME = Path("/home/ana/prometheus")


def test_each_built_in_server_is_a_module_of_its_own_run_by_the_same_interpreter() -> None:
    servers = builtin_servers("/venv/bin/python", HOME, {"PROMETHEUS_TIMEZONE": "Europe/Berlin"})
    assert {server.name: server.args[2:] for server in servers} == {
        "memory": ("memory_mcp",),
        "calendar": ("tools_mcp", "calendar"),
        "notes": ("tools_mcp", "notes"),
        "search": ("tools_mcp", "search"),
        "reports": ("tools_mcp", "reports"),
        "messages": ("tools_mcp", "messages"),
    }
    assert {server.command for server in servers} == {"/venv/bin/python"}


def test_a_file_in_the_folder_a_person_works_in_cannot_pose_as_a_module() -> None:
    assert all(server.args[:2] == ("-P", "-m") for server in builtin_servers("python", HOME, {}))


def test_the_servers_share_the_hosts_home_and_settings() -> None:
    servers = builtin_servers("python", HOME, {"PROMETHEUS_TIMEZONE": "Europe/Berlin", "PROMETHEUS_HOME": "/else"})
    assert all(
        server.env == {"PROMETHEUS_HOME": str(HOME), "PROMETHEUS_TIMEZONE": "Europe/Berlin"} for server in servers
    )


def test_with_a_fork_server_they_are_started_through_its_launcher() -> None:
    servers = builtin_servers("python", HOME, {}, Path("/run/fork.sock"))
    launcher = Path(servers[0].args[2])
    assert launcher.name == "launch.py"
    assert launcher.is_file()
    assert servers[1].args[3:] == ("--socket", "/run/fork.sock", "tools_mcp", "calendar")
    assert {server.args[5] for server in servers} == set(MODULES)


@pytest.mark.parametrize(
    ("secret", "owner"),
    [
        ("PROMETHEUS_CALDAV_PASSWORD", "calendar"),
        ("PROMETHEUS_BRAVE_API_KEY", "search"),
        ("PROMETHEUS_TAVILY_API_KEY", "search"),
    ],
)
def test_a_password_of_one_server_is_seen_by_no_other(tmp_path: Path, secret: str, owner: str) -> None:
    servers = builtin_servers("python", tmp_path, {secret: "secret", "PROMETHEUS_TIMEZONE": "Europe/Berlin"})
    assert [server.name for server in servers if secret in server.env] == [owner]
    assert all(server.env["PROMETHEUS_TIMEZONE"] == "Europe/Berlin" for server in servers)
