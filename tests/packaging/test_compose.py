"""The compose stack has every built-in server, each in a container of its own and hardened as the others are."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent_host.mcp_clients.builtin import builtin_servers

ROOT = Path(__file__).parents[2]
STACK: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = STACK["services"]
SERVERS = [server.name for server in builtin_servers("python", Path("/home"), {})]
GOES_OUTSIDE = {"search", "host"}


def test_every_container_is_hardened() -> None:
    for name, service in SERVICES.items():
        assert service["user"] == "10001:10001", name
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert "ports" not in service, name
        assert "privileged" not in service, name


def test_only_the_host_and_the_search_server_can_reach_the_outside() -> None:
    networks = {name: service.get("networks", []) for name, service in SERVICES.items()}

    assert {name for name, joined in networks.items() if "outside" in joined} == GOES_OUTSIDE
    assert STACK["networks"]["private"] == {"internal": True}


@pytest.mark.parametrize("server", SERVERS)
def test_a_server_has_its_own_container_store_token_and_health_check(server: str) -> None:
    service = SERVICES[server]
    words = service["command"]

    assert words[words.index("--allowed-host") + 1] == server
    assert words[words.index("--token-file") + 1] == "/tokens/mcp"
    assert service["volumes"] == [f"{server}:/data/{server}", "tokens:/tokens:ro"]
    assert server in STACK["volumes"]
    assert "/readyz" in service["healthcheck"]["test"][-1]
    assert SERVICES["host"]["depends_on"][server] == {"condition": "service_healthy"}


@pytest.mark.parametrize("server", SERVERS)
def test_a_server_has_its_place_in_the_image_the_hosts_configuration_and_the_stack_test(server: str) -> None:
    configured = json.loads((ROOT / "packaging" / "compose" / "mcp.json").read_text())["mcpServers"]
    waited_for = re.search(r"for service in (.+); do\n.*healthy", (ROOT / "tests" / "stack" / "run.sh").read_text())

    expected = {"url": f"http://{server}:8931/mcp", "token_file": "/tokens/mcp", "builtin": True}
    assert configured[server] == expected
    assert f"/data/{server} " in (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    assert waited_for
    assert server in waited_for[1].split()


@pytest.mark.parametrize("server", SERVERS)
def test_the_readme_shows_how_to_add_a_server_to_claude_desktop(server: str) -> None:
    blocks = re.findall(r"```json\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    shown = json.loads(next(block for block in blocks if "mcpServers" in block))["mcpServers"][server]

    assert [Path(shown["command"]).name, *shown.get("args", [])] in (["memory-mcp"], ["tools-mcp", server])
