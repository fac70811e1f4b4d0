"""One fork server for the whole suite, and process-wide state put back after each test that changes it."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import pytest

from service_runtime.forkserver import MCP_PRELOAD
from tests.service_runtime.processes import PATIENCE_S, Demo, environment


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """The demo server, ready to be started quickly."""
    folder = tmp_path_factory.mktemp("fork")
    socket = folder / "fork.sock"
    command = [sys.executable, "-m", "service_runtime.forkserver", "--socket", str(socket), "--allow", "demo_mcp"]
    for module in (*MCP_PRELOAD, "service_runtime.mcp_http"):
        command += ["--preload", module]
    with subprocess.Popen(command, env=environment(folder), stdin=subprocess.PIPE) as process:
        wait_for(socket, process)
        yield Demo(socket)
        cast("IO[bytes]", process.stdin).close()
        assert process.wait(timeout=PATIENCE_S) == 0


def wait_for(socket: Path, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the fork server listens."""
    while not socket.exists():
        assert process.poll() is None


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    """The root logger, as it was again afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)
