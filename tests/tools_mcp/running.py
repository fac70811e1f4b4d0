"""Starting a tool server for a test, in this process or over stdio, always with the real MCP client."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.client import CallToolResult
from fastmcp.client.transports import StdioTransport
from mcp.types import Implementation

from service_runtime.settings import Settings, load_settings
from tools_mcp.registry import SERVERS

TOKEN = "a-token-for-the-tests"
ERAS = ("legacy", "2026-07-28")
ZONE = "Europe/Berlin"
WHO = Implementation(name="prometheus-agent", version="0.1.0")


def settings(home: Path, **more: str) -> Settings:
    """The settings of a home in Berlin."""
    return load_settings({"PROMETHEUS_HOME": str(home), "PROMETHEUS_TIMEZONE": ZONE, **more}, home)


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of a server process: this one's without PROMETHEUS_*, with a home in Berlin."""
    base = {name: value for name, value in os.environ.items() if not name.startswith("PROMETHEUS_")}
    return base | {"PROMETHEUS_HOME": str(home), "PROMETHEUS_TIMEZONE": ZONE, "PROMETHEUS_MCP_TOKEN": TOKEN} | more


@asynccontextmanager
async def here(name: str, home: Path, **more: str) -> AsyncIterator[Client[Any]]:
    """A client of a server in this process."""
    server = next(server for server in SERVERS if server.name == name)
    async with Client(server.build(settings(home, **more)), client_info=WHO) as client:
        yield client


@asynccontextmanager
async def over_stdio(name: str, home: Path, mode: str = "auto", **more: str) -> AsyncIterator[Client[Any]]:
    """A client of a server process of its own, over its pipes."""
    transport = StdioTransport(
        sys.executable, ["-m", "tools_mcp", name], env=environment(home, **more), cwd=str(home), keep_alive=False
    )
    async with Client(transport, client_info=WHO, mode=mode, timeout=30) as client:
        yield client


async def call(client: Client[Any], tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer of a call that has to succeed."""
    result = await client.call_tool(tool, arguments, raise_on_error=False)
    assert not result.is_error, text_of(result)
    return result.structured_content or {}


async def refused(client: Client[Any], tool: str, **arguments: Any) -> str:
    """The sentence of a call that has to fail."""
    result = await client.call_tool(tool, arguments, raise_on_error=False)
    assert result.is_error, text_of(result)
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    """The text of an answer."""
    return "\n".join(block.text for block in result.content if block.type == "text")
