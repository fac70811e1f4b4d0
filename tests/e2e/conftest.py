"""A person's machine in small: a home folder, and the installed commands run as real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[2]
NOT_INHERITED = ("PROMETHEUS_", "ANTHROPIC_", "OTEL_", "COLUMNS", "LINES")  # the last two from this process's readline
BUILT_IN = ("memory", "calendar", "notes", "search", "reports", "messages")

SLOW_SERVER = """
import asyncio
from fastmcp import FastMCP

server = FastMCP("search")

@server.tool
async def search_web(query: str, max_results: int = 5) -> str:
    await asyncio.sleep(600)
    return query

server.run(show_banner=False)
"""


@dataclass(frozen=True)
class Person:
    """Somebody with a home folder in Berlin and nothing else set."""

    home: Path
    folder: Path

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}
        return {**kept, "PROMETHEUS_HOME": str(self.home), "PROMETHEUS_TIMEZONE": "Europe/Berlin", "TERM": "dumb"}

    def run(self, *command: str, text: bytes = b"", **environ: str) -> subprocess.CompletedProcess[bytes]:
        """Runs an installed command to its end, in a folder without a `.env`."""
        return subprocess.run(
            [str(BIN / command[0]), *command[1:]],
            input=text,
            capture_output=True,
            cwd=self.folder,
            env={**self.environ, **environ},
            timeout=50,
            check=False,
        )

    def without_tools(self, *but: str) -> None:
        """Switches every built-in server off `but` for some: what needs no tools starts in a third of the time."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        servers = {name: {"disabled": True} for name in BUILT_IN if name not in but}
        (self.home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))

    def chat(self, *messages: str, **environ: str) -> str:
        """Talks over a pipe, a message a line, and returns what was shown."""
        done = self.run("agent-host", "chat", text="".join(f"{message}\n" for message in messages).encode(), **environ)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def processes(self) -> list[str]:
        """Returns the command lines of every process that works on this home."""
        lines = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                lines.extend(_if_on_this_home(folder, str(self.home).encode()))
        return lines


def _if_on_this_home(process: Path, home: bytes) -> list[str]:
    try:
        environ, command = (process / "environ").read_bytes(), (process / "cmdline").read_bytes()
    except OSError:
        return []  # it ended while we looked, or is not ours to look at
    return [command.replace(b"\0", b" ").decode(errors="replace")] if command and home in environ else []


@pytest.fixture
def person(tmp_path: Path) -> Person:
    folder = tmp_path / "work"
    folder.mkdir()
    return Person(tmp_path / "home", folder)
