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
SERVICES: dict[str, dict[str, Any]] = {
    name: service for name, service in STACK["services"].items() if "profiles" not in service
}
ONE_SHOT = {"token"}
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


def test_whoever_shows_spans_is_started_on_demand_only_and_reached_from_this_machine_only() -> None:
    others = {name: service for name, service in STACK["services"].items() if name not in SERVICES}

    assert others.keys() == {"phoenix"}
    assert others["phoenix"]["profiles"] == ["traces"]
    assert all(port.startswith("127.0.0.1:") for port in others["phoenix"]["ports"])
    assert others["phoenix"]["cap_drop"] == ["ALL"]
    assert others["phoenix"]["volumes"] == ["spans:/mnt/data"]


def test_every_service_is_told_where_spans_go_and_by_default_nowhere() -> None:
    for name in SERVICES.keys() - ONE_SHOT:
        told = SERVICES[name]["environment"]
        assert told["OTEL_EXPORTER_OTLP_ENDPOINT"] == "${OTEL_EXPORTER_OTLP_ENDPOINT:-}", name
        assert told["OTEL_EXPORTER_OTLP_HEADERS"] == "${OTEL_EXPORTER_OTLP_HEADERS:-}", name


def test_every_image_can_send_spans_and_that_of_the_memory_does_without_grpc() -> None:
    extras = dict(re.findall(r"locked_subset\.py (\w+) ([\w-]+) >", (ROOT / "Dockerfile").read_text()))

    assert extras == {"memory": "otel-http", "tools": "otel-http", "writer": "otel", "host": "otel"}


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
