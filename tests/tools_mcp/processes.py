"""Servers as real processes, started quickly through the fork server the product has, their pipes held by the test."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from service_runtime import launch
from tests.tools_mcp.every_tool import QUIET, SERVERS
from tests.tools_mcp.running import WHO, environment

PATIENCE_S = 30
_CLIENT = {"name": "tester", "version": "1"}
_MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": _CLIENT,
}
_INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _CLIENT}


@dataclass
class Piped:
    """One server process; every line of its standard output so far, which all have to be protocol."""

    process: subprocess.Popen[bytes]
    era: str
    lines: list[dict[str, Any]] = field(default_factory=list)
    _asked: int = 0

    def greet(self) -> None:
        """Open the conversation as the era does."""
        if self.era == "legacy":
            assert self.ask("initialize", _INITIALIZE)["result"]["protocolVersion"] == "2025-11-25"
            self.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send one request and return its answer; half of a surrogate pair stays the escape it is in JSON."""
        self._asked += 1
        sent = params if self.era == "legacy" else params | {"_meta": _MODERN}
        self.send(json.dumps({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": sent}))
        answer: dict[str, Any] = json.loads(cast("IO[bytes]", self.process.stdout).readline())
        self.lines.append(answer)
        assert answer["id"] == self._asked
        return answer

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool and return its result, or the error of the protocol."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        return dict(answer.get("result") or answer["error"])

    def send(self, line: str) -> None:
        """Write one raw line."""
        stdin = cast("IO[bytes]", self.process.stdin)
        stdin.write(line.encode() + b"\n")
        stdin.flush()

    def rest(self) -> bytes:
        """What is left on standard output once the process has ended."""
        return cast("IO[bytes]", self.process.stdout).read()


@dataclass(frozen=True)
class Forked:
    """Starts any of the servers in a fraction of the time that importing the SDK takes."""

    socket: Path

    def command(self, server: str, *arguments: str) -> list[str]:
        """What to run."""
        start = (sys.executable, "-S", "-I", launch.__file__, "--socket", str(self.socket))
        return [*start, *SERVERS[server].words, *arguments]

    @contextmanager
    def piped(self, server: str, home: Path, era: str, **more: str) -> Iterator[Piped]:
        """A server with its pipes in the test's hands."""
        pipe = subprocess.PIPE
        told = environment(home, **QUIET, **more)
        with subprocess.Popen(
            self.command(server), env=told, cwd=home, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        ) as process:
            try:
                piped = Piped(process, era)
                piped.greet()
                yield piped
            finally:
                process.kill()

    @asynccontextmanager
    async def client(self, server: str, home: Path, era: str) -> AsyncIterator[Client[Any]]:
        """A real client of a server over its pipes."""
        program, *rest = self.command(server)
        transport = StdioTransport(program, rest, env=environment(home, **QUIET), cwd=str(home), keep_alive=False)
        async with Client(transport, client_info=WHO, mode=era, timeout=PATIENCE_S) as client:
            yield client

    @contextmanager
    def http(self, servers: Sequence[str], home: Path) -> Iterator[dict[str, str]]:
        """The addresses of servers over HTTP, each on a free port; all of them end in order when they are told to."""
        processes = {server: self._listening(server, home) for server in servers}
        try:
            yield {server: _address(process) for server, process in processes.items()}
        finally:
            for process in processes.values():
                process.terminate()
            for process in processes.values():
                process.communicate(timeout=PATIENCE_S)
        assert {server: process.returncode for server, process in processes.items()} == dict.fromkeys(servers, 0)

    def _listening(self, server: str, home: Path) -> subprocess.Popen[str]:
        command = self.command(server, "--transport", "http", "--port", "0")
        return subprocess.Popen(command, env=environment(home, **QUIET), cwd=home, stderr=subprocess.PIPE, text=True)


@contextmanager
def fork_server(folder: Path) -> Iterator[Forked]:
    """A fork server that may start every server."""
    socket = folder / "fork.sock"
    command = [sys.executable, "-m", "service_runtime.forkserver", "--socket", str(socket)]
    for module in sorted({server.words[0] for server in SERVERS.values()}):
        command += ["--allow", module]
    shared = ("fastmcp.server.server", "mcp.server.stdio", "service_runtime.mcp_http")
    own = (f"{'.'.join(server.words)}.server" for server in SERVERS.values())
    for module in (*shared, *own):
        command += ["--preload", module]
    with subprocess.Popen(command, env=environment(folder), stdin=subprocess.PIPE) as process:
        while not socket.exists():
            assert process.poll() is None
        yield Forked(socket)
        cast("IO[bytes]", process.stdin).close()
        assert process.wait(timeout=PATIENCE_S) == 0


def _address(process: subprocess.Popen[str]) -> str:
    lines = iter(cast("IO[str]", process.stderr).readline, "")
    listening = next(line for line in lines if line.startswith("listening on "))
    return listening.removeprefix("listening on ").strip()
