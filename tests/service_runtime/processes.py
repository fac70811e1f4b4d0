"""Starting the demo server as a real process, and speaking to it in raw lines."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from service_runtime import launch

FOLDER = Path(__file__).parent
LAUNCHER = launch.__file__
TOKEN = "a-token-for-the-tests"
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
}
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "tester", "version": "1"},
}
PATIENCE_S = 30


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of a demo process: this one's without PROMETHEUS_*, with the demo importable."""
    base = {name: value for name, value in os.environ.items() if not name.startswith("PROMETHEUS_")}
    return base | {"PROMETHEUS_HOME": str(home), "PYTHONPATH": str(FOLDER), "COLOUR": "blue"} | more


class Wire:
    """One stdio server and its raw lines."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    @property
    def errors(self) -> IO[bytes]:
        """The server's stderr."""
        return cast("IO[bytes]", self.process.stderr)

    def send(self, line: str) -> None:
        """Write one raw line."""
        stdin = cast("IO[bytes]", self.process.stdin)
        stdin.write(line.encode() + b"\n")
        stdin.flush()

    def receive(self) -> dict[str, Any]:
        """Read one line, which has to be JSON."""
        return cast("dict[str, Any]", json.loads(cast("IO[bytes]", self.process.stdout).readline()))

    def ask(self, number: int, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send one request and read its answer."""
        self.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        return self.receive()

    def end_input(self) -> None:
        """Close the server's stdin."""
        cast("IO[bytes]", self.process.stdin).close()

    def wait(self) -> int:
        """Wait for the end and return the status."""
        return self.process.wait(timeout=PATIENCE_S)


@contextmanager
def wire(command: Sequence[str], env: Mapping[str, str], folder: Path | None = None) -> Iterator[Wire]:
    """A stdio process with all three pipes, killed at the end of the block if it is still there."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=env, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield Wire(process)
        finally:
            process.kill()


@dataclass(frozen=True)
class Demo:
    """Starts the demo server, or another module, through a fork server: each start takes a tenth of a second."""

    socket: Path
    module: str = "demo_mcp"

    def command(self, *arguments: str) -> list[str]:
        """What to run to start it through the fork server."""
        return [sys.executable, "-S", "-I", LAUNCHER, "--socket", str(self.socket), self.module, *arguments]

    def wire(self, home: Path, *arguments: str) -> AbstractContextManager[Wire]:
        """The demo over stdio."""
        return wire(self.command(*arguments), environment(home), home)

    @contextmanager
    def http(self, home: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
        """The demo over HTTP on a free port: the process and its base URL."""
        command = self.command("--transport", "http", "--port", "0", *arguments)
        env = environment(home, PROMETHEUS_MCP_TOKEN=TOKEN)
        with subprocess.Popen(command, env=env, cwd=home, stderr=subprocess.PIPE, text=True) as process:
            try:
                lines = iter(cast("IO[str]", process.stderr).readline, "")
                listening = next(line for line in lines if line.startswith("listening on "))
                yield process, listening.removeprefix("listening on ").strip().removesuffix("/mcp")
            finally:
                process.kill()


DIRECT = (sys.executable, "-m", "demo_mcp")


def run_demo(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the demo to its end with no input."""
    return subprocess.run(
        [*DIRECT, *arguments],
        env=environment(home, **more),
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
