"""Starting the memory server for a test: in this process, over stdio, or over HTTP; always with a real MCP client."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from fastmcp import Client as FastClient
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, Implementation

from memory_mcp.app import build
from service_runtime import launch
from service_runtime.settings import load_settings

ERAS = ("legacy", "2026-07-28")
TOKEN = "a-token-for-the-tests"
WHO = Implementation(name="prometheus-agent", version="0.1.0")
PATIENCE_S = 30
DIRECT = (sys.executable, "-m", "memory_mcp")


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of a server process: this one's without PROMETHEUS_*, with a home in Berlin."""
    base = {name: value for name, value in os.environ.items() if not name.startswith("PROMETHEUS_")}
    own = {"PROMETHEUS_HOME": str(home), "PROMETHEUS_TIMEZONE": "Europe/Berlin", "PROMETHEUS_MCP_TOKEN": TOKEN}
    return base | own | more


@asynccontextmanager
async def here(home: Path, who: Implementation = WHO) -> AsyncIterator[FastClient[Any]]:
    """A client of a server in this process."""
    settings = load_settings({"PROMETHEUS_HOME": str(home), "PROMETHEUS_TIMEZONE": "Europe/Berlin"}, home)
    async with FastClient(build(settings), client_info=who) as client:
        yield client


@dataclass(frozen=True)
class Forked:
    """Starts servers through a fork server, so that each start takes a tenth of a second."""

    socket: Path

    def command(self, *arguments: str) -> list[str]:
        """What to run to start one."""
        return [sys.executable, "-S", "-I", launch.__file__, "--socket", str(self.socket), "memory_mcp", *arguments]

    @asynccontextmanager
    async def stdio(self, home: Path, mode: str = "auto", **more: str) -> AsyncIterator[Client]:
        """The official SDK's client of a server of its own."""
        command, *arguments = self.command()
        async with connected(command, arguments, environment(home, **more), home, mode) as client:
            yield client

    @contextmanager
    def process(self, home: Path, command: Sequence[str] = ()) -> Iterator[subprocess.Popen[bytes]]:
        """A server whose pipes the test holds itself, killed at the end of the block."""
        pipe = subprocess.PIPE
        words = command or self.command()
        with subprocess.Popen(words, env=environment(home), cwd=home, stdin=pipe, stdout=pipe) as process:
            try:
                yield process
            finally:
                process.kill()

    @contextmanager
    def http(self, home: Path, **more: str) -> Iterator[str]:
        """The URL of a server over HTTP on a free port."""
        command = self.command("--transport", "http", "--port", "0")
        pipe = subprocess.PIPE
        with subprocess.Popen(command, env=environment(home, **more), cwd=home, stderr=pipe, text=True) as process:
            try:
                lines = iter(cast("IO[str]", process.stderr).readline, "")
                listening = next(line for line in lines if line.startswith("listening on "))
                yield listening.removeprefix("listening on ").strip()
            finally:
                process.terminate()
                process.communicate(timeout=PATIENCE_S)


@asynccontextmanager
async def connected(
    command: str,
    arguments: list[str],
    env: dict[str, str],
    folder: Path,
    mode: str,
) -> AsyncIterator[Client]:
    """The official SDK's client of a command."""
    server = StdioServerParameters(command=command, args=arguments, env=env, cwd=str(folder))
    async with Client(server, client_info=WHO, mode=mode, read_timeout_seconds=PATIENCE_S) as client:
        yield client


async def call(client: Client | FastClient[Any], tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer of a call that has to succeed."""
    result = await _result(client, tool, arguments)
    assert not result.is_error, text_of(result)
    assert result.structured_content is not None
    return dict(result.structured_content)


async def refused(client: Client | FastClient[Any], tool: str, **arguments: Any) -> str:
    """The sentence of a call that has to fail."""
    result = await _result(client, tool, arguments)
    assert result.is_error, text_of(result)
    return text_of(result)


async def said(client: Client | FastClient[Any], tool: str, **arguments: Any) -> str:
    """The text of a call that has to succeed."""
    result = await _result(client, tool, arguments)
    assert not result.is_error, text_of(result)
    return text_of(result)


def text_of(result: Any) -> str:
    """The text of an answer."""
    return "\n".join(block.text for block in result.content if block.type == "text")


async def _result(client: Client | FastClient[Any], tool: str, arguments: dict[str, Any]) -> CallToolResult:
    if isinstance(client, Client):
        return await client.call_tool(tool, arguments)
    return await client.call_tool_mcp(tool, arguments)
