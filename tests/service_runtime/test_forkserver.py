import json
import os
import select
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from socket import AF_UNIX, SHUT_WR, SOCK_STREAM, socket
from typing import IO, cast

import pytest

from agent_host.app import PRELOADED
from tests.service_runtime.conftest import wait_for
from tests.service_runtime.processes import FOLDER, PATIENCE_S, Demo, environment, wire

pytestmark = pytest.mark.slow  # starts many processes


def fork_server_command(path: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "service_runtime.forkserver", "--socket", str(path), "--allow", "plain", *words]


@contextmanager
def fork_server(folder: Path, *words: str, **more: str) -> Iterator[tuple["subprocess.Popen[bytes]", Demo]]:
    path = folder / "fork.sock"
    command = fork_server_command(path, *words)
    with subprocess.Popen(command, env=environment(folder, **more), stdin=subprocess.PIPE) as process:
        try:
            wait_for(path, process)
            yield process, Demo(path, "plain")
        finally:
            process.kill()


def refused_start(folder: Path, path: Path, *words: str) -> str:
    """Run a fork server that cannot start and return its one line on stderr."""
    done = subprocess.run(
        fork_server_command(path, *words),
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    return done.stderr


def wait_until_gone(pid: int) -> None:
    """Wait for the end of a process that is no child of this one."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        ready, _, _ = select.select([handle], [], [], PATIENCE_S)
        assert ready, f"process {pid} is still there"
    finally:
        os.close(handle)


def test_a_forked_server_lives_where_its_launcher_does(plain: Demo, tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    many = {f"FILLER_{number}": "x" * 100_000 for number in range(15)}
    env = environment(tmp_path, COLOUR="grün", **many)
    with wire(plain.command("--a", "b c"), env, folder) as server:
        found = server.receive()
        server.end_input()
        assert server.wait() == 3
        assert server.errors.read() == b"a word on stderr\n"
    assert found.pop("pid") != server.process.pid
    assert found == {"folder": str(folder), "arguments": ["--a", "b c"], "colour": "grün"}
    assert (folder / "ended").exists()


def test_the_socket_is_private_and_gone_at_the_end(tmp_path: Path) -> None:
    with fork_server(tmp_path) as (process, plain):
        assert stat.S_IMODE(plain.socket.stat().st_mode) == 0o600
        cast("IO[bytes]", process.stdin).close()
        assert process.wait(timeout=PATIENCE_S) == 0
        assert not plain.socket.exists()


def test_a_launch_during_the_preload_waits_instead_of_starting_alone(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    with (
        fork_server(tmp_path, "--preload", "preloads.waits", GATE=str(gate)) as (_, plain),
        plain.wire(tmp_path) as server,
    ):
        gate.write_bytes(b"open")
        assert server.receive()["pid"] != server.process.pid


def test_the_end_of_its_input_ends_the_fork_server_and_its_servers(tmp_path: Path) -> None:
    with fork_server(tmp_path) as (process, plain), plain.wire(tmp_path) as server:
        pid = server.receive()["pid"]
        cast("IO[bytes]", process.stdin).close()
        assert process.wait(timeout=PATIENCE_S) == 0
        assert server.wait() == 128 + signal.SIGTERM
        wait_until_gone(pid)


def test_a_server_that_hangs_is_killed_when_the_fork_server_ends(tmp_path: Path) -> None:
    with fork_server(tmp_path) as (process, plain), plain.wire(tmp_path, "--deaf") as server:
        pid = server.receive()["pid"]
        cast("IO[bytes]", process.stdin).close()
        assert process.wait(timeout=PATIENCE_S) == 0
        assert server.wait() == 128 + signal.SIGKILL
        wait_until_gone(pid)


def test_a_launcher_without_its_fork_server_says_so(tmp_path: Path) -> None:
    with fork_server(tmp_path) as (process, plain), plain.wire(tmp_path) as server:
        pid = server.receive()["pid"]
        process.kill()
        assert server.wait() == 1
        server.end_input()
        wait_until_gone(pid)
        assert b"launch: the fork server ended before plain did.\n" in server.errors.read()


@pytest.mark.parametrize("manner", [[], ["--deaf"]])
def test_a_host_that_is_killed_leaves_no_process(tmp_path: Path, manner: list[str]) -> None:
    command = [sys.executable, str(FOLDER / "host.py"), str(tmp_path / "fork.sock"), *manner]
    with subprocess.Popen(command, env=environment(tmp_path), cwd=tmp_path, stdout=subprocess.PIPE) as host:
        pids = json.loads(cast("IO[bytes]", host.stdout).readline())
        host.kill()
    assert len(set(pids)) == 3
    for pid in pids:
        wait_until_gone(pid)


@pytest.mark.parametrize("manner", [[], ["--deaf"]])
def test_a_server_ends_with_its_launcher_also_when_it_hangs(plain: Demo, tmp_path: Path, manner: list[str]) -> None:
    with plain.wire(tmp_path, *manner) as server, plain.wire(tmp_path) as other:
        pid = server.receive()["pid"]
        server.process.kill()
        wait_until_gone(pid)
        other.receive()
        other.end_input()
        assert other.wait() == 3


def test_many_launches_at_once_are_all_served(plain: Demo, tmp_path: Path) -> None:
    with ExitStack() as stack:
        servers = [stack.enter_context(plain.wire(tmp_path)) for _ in range(12)]
        assert len({server.receive()["pid"] for server in servers}) == 12
        for server in servers:
            server.end_input()
        assert [server.wait() for server in servers] == [3] * 12


@pytest.mark.parametrize("line", [b"", b"{}\n", b"nope\n", b"[1]\n", b'{"module": "plain"}\n'])
def test_a_request_that_is_none_is_refused_and_the_next_is_served(plain: Demo, tmp_path: Path, line: bytes) -> None:
    with socket(AF_UNIX, SOCK_STREAM) as stranger:
        stranger.connect(str(plain.socket))
        stranger.sendall(line)
        stranger.shutdown(SHUT_WR)
        assert stranger.recv(100) == b'{"refused": "Only demo_mcp, plain may be started here."}\n'
    with plain.wire(tmp_path) as server:
        assert server.receive()["pid"] != server.process.pid


def test_a_fork_server_takes_the_socket_that_a_killed_one_left(tmp_path: Path) -> None:
    with fork_server(tmp_path) as (process, plain):
        process.kill()
        process.wait(timeout=PATIENCE_S)
        assert plain.socket.exists()
    with fork_server(tmp_path) as (_, plain), plain.wire(tmp_path) as server:
        assert server.receive()["pid"] != server.process.pid


def test_what_cannot_be_imported_is_not_preloaded(tmp_path: Path) -> None:
    with fork_server(tmp_path, "--preload", "no_such_module") as (_, plain), plain.wire(tmp_path) as server:
        assert server.receive()["pid"] != server.process.pid


@pytest.mark.parametrize("name", ["x" * 120, "missing/fork.sock", "file/fork.sock"])
def test_a_socket_that_cannot_be_made_is_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    sentence = refused_start(tmp_path, tmp_path / name)
    assert sentence.startswith(f"forkserver: Cannot listen at {tmp_path / name}: ")


def test_a_preloaded_module_that_starts_a_thread_is_refused(tmp_path: Path) -> None:
    sentence = refused_start(tmp_path, tmp_path / "fork.sock", "--preload", "preloads.threads")
    assert "A preloaded module started a thread, so forking is not safe" in sentence


def test_the_sdks_start_no_thread_when_they_are_imported(tmp_path: Path) -> None:
    program = (
        "import importlib, os, sys\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
        "print(len(os.listdir('/proc/self/task')))"
    )
    command = [sys.executable, "-c", program, *PRELOADED]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
