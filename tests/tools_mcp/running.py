"""Starting a tool server for a test: in this process, over stdio, or over HTTP; always with the real MCP client."""

import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO, Any, cast

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


class HttpServer:
    """A server process over HTTP, and every line of its stderr so far."""

    def __init__(self, name: str, home: Path) -> None:
        command = [sys.executable, "-m", "tools_mcp", name, "--transport", "http", "--port", "0"]
        told = environment(home, PYTHONPROFILEIMPORTTIME="1")
        self.process = subprocess.Popen(command, env=told, cwd=home, stderr=subprocess.PIPE, text=True)
        self.lines: list[str] = []
        self._listening = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        for line in cast("IO[str]", self.process.stderr):
            self.lines.append(line.rstrip())
            if line.startswith("listening on "):
                self._listening.set()
        self._listening.set()

    @property
    def url(self) -> str:
        """Where it listens, once it does."""
        self._listening.wait(timeout=30)
        return next(line.removeprefix("listening on ") for line in self.lines if line.startswith("listening on "))

    @property
    def imported(self) -> set[str]:
        """The modules that were imported before it listened."""
        started = self.lines[: next(at for at, line in enumerate(self.lines) if line.startswith("listening on "))]
        return {line.rpartition("|")[2].strip() for line in started if line.startswith("import time:")}

    def stop(self) -> None:
        """Tell it to end, and wait for that."""
        self.process.terminate()
        self.process.wait(timeout=30)
        self._reader.join()
        cast("IO[str]", self.process.stderr).close()


@contextmanager
def over_http(names: Sequence[str], home: Path) -> Iterator[Mapping[str, HttpServer]]:
    """Server processes over HTTP on one home, started side by side."""
    servers = {name: HttpServer(name, home) for name in names}
    try:
        yield servers
    finally:
        for server in servers.values():
            server.stop()


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
