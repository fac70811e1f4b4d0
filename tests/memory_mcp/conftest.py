"""One fresh memory world per test, and one fork server for the whole suite."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import pytest

from tests.memory_mcp.serving import PATIENCE_S, Forked, environment
from tests.memory_mcp.world import World, opened

PRELOAD = ("fastmcp.server.server", "mcp.server.stdio", "memory_mcp.server")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A service over an empty store."""
    with opened(tmp_path) as fresh:
        yield fresh


@pytest.fixture(scope="session")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forked]:
    """The memory server, ready to be started quickly."""
    folder = tmp_path_factory.mktemp("fork")
    socket = folder / "fork.sock"
    command = [sys.executable, "-m", "service_runtime.forkserver", "--socket", str(socket), "--allow", "memory_mcp"]
    for module in PRELOAD:
        command += ["--preload", module]
    with subprocess.Popen(command, env=environment(folder), stdin=subprocess.PIPE) as process:
        while not socket.exists():
            assert process.poll() is None
        yield Forked(socket)
        cast("IO[bytes]", process.stdin).close()
        assert process.wait(timeout=PATIENCE_S) == 0
