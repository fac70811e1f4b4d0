"""Raw servers as test subjects: their configuration, what they saw, and whether they still live."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_host.mcp_clients.config import ServerConfig

SCRIPT = Path(__file__).parent / "servers" / "raw_stdio.py"


@dataclass(frozen=True)
class RawServer:
    """One raw server and its folder."""

    folder: Path
    manners: tuple[str, ...] = ()
    name: str = "my-raw"

    @property
    def config(self) -> ServerConfig:
        """How a host starts it."""
        return ServerConfig(self.name, command=sys.executable, args=(str(SCRIPT), str(self.folder), *self.manners))

    @property
    def pid(self) -> int:
        """Its latest process."""
        return int((self.folder / "pid").read_text())

    def seen(self, method: str) -> list[dict[str, Any]]:
        """The messages of one method it read, over all its lives."""
        lines = (self.folder / "seen.jsonl").read_text(encoding="utf-8").splitlines()
        return [message for message in map(json.loads, lines) if message.get("method") == method]

    def lines(self) -> int:
        """How many lines its tools wrote."""
        path = self.folder / "lines"
        return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0

    async def until_seen(self, method: str) -> None:
        """Waits until it read a message of this method."""
        while not (self.folder / "seen.jsonl").exists() or not self.seen(method):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.01)


async def until_gone(pid: int) -> None:
    """Waits until a process is gone, its exit status taken or nobody left to take it."""
    while _lives(pid):  # noqa: ASYNC110 - another process
        await asyncio.sleep(0.01)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"
