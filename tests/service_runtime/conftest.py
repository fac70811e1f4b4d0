"""One fork server for the whole suite, and process-wide state put back after each test that changes it."""

import logging
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import pytest

from agent_host.app import PRELOADED
from tests.service_runtime.processes import PATIENCE_S, Demo, environment

PRELOAD = (*PRELOADED, "service_runtime.mcp_http")
"""What the host preloads, and what the tests over HTTP need beside it."""


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """The demo server, ready to be started quickly."""
    folder = tmp_path_factory.mktemp("fork")
    path = folder / "fork.sock"
    command = [sys.executable, "-m", "service_runtime.forkserver", "--socket", str(path), "--allow", "demo_mcp"]
    command += ["--allow", "plain"]
    for module in PRELOAD:
        command += ["--preload", module]
    with subprocess.Popen(command, env=environment(folder), stdin=subprocess.PIPE) as process:
        wait_for(path, process)
        yield Demo(path)
        cast("IO[bytes]", process.stdin).close()
        assert process.wait(timeout=PATIENCE_S) == 0


def wait_for(path: Path, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the fork server takes connections."""
    while True:
        assert process.poll() is None
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            if probe.connect_ex(str(path)) == 0:
                return


@pytest.fixture
def plain(demo: Demo) -> Demo:
    """The smallest server, started by the same fork server."""
    return Demo(demo.socket, "plain")


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    """The root logger, as it was again afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)
