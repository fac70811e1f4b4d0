import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service_runtime.processes import INITIALIZE, LAUNCHER, PATIENCE_S, Demo, Wire, environment


def run(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        words,
        env=environment(home),
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def started(wire: Wire) -> Wire:
    assert wire.ask(1, "initialize", INITIALIZE)["result"]["serverInfo"]["name"] == "demo"
    return wire


@pytest.mark.parametrize("option", ["--version", "--nonsense"])
def test_output_and_status_are_those_of_the_server(demo: Demo, tmp_path: Path, option: str) -> None:
    launched = run(tmp_path, *demo.command(option))
    direct = run(tmp_path, sys.executable, "-m", "demo_mcp", option)
    assert launched.returncode == direct.returncode
    assert (launched.stdout, launched.stderr) == (direct.stdout, direct.stderr)


def test_as_a_module_it_does_the_same(demo: Demo, tmp_path: Path) -> None:
    words = (sys.executable, "-m", "service_runtime.launch", "--socket", str(demo.socket), "demo_mcp", "--version")
    assert run(tmp_path, *words).stdout.startswith("demo-mcp ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_server_which_ends_in_order(demo: Demo, tmp_path: Path, number: signal.Signals) -> None:
    with demo.wire(tmp_path) as wire:
        started(wire).process.send_signal(number)
        assert wire.wait() == 0
    assert (tmp_path / "demo" / "store.txt").read_text() == "closed"


def test_a_server_killed_by_a_signal_is_reported_as_a_shell_would(plain: Demo, tmp_path: Path) -> None:
    with plain.wire(tmp_path) as wire:
        os.kill(wire.receive()["pid"], signal.SIGKILL)
        assert wire.wait() == 128 + signal.SIGKILL


def test_a_module_that_is_not_allowed_is_refused_with_those_that_are(demo: Demo, tmp_path: Path) -> None:
    done = run(tmp_path, sys.executable, LAUNCHER, "--socket", str(demo.socket), "os", "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "launch: Only demo_mcp, plain may be started here.\n"


def test_without_a_fork_server_it_becomes_the_server_itself(tmp_path: Path) -> None:
    with Demo(tmp_path / "nobody.sock", "plain").wire(tmp_path) as wire:
        assert wire.receive()["pid"] == wire.process.pid
        wire.end_input()
        assert wire.wait() == 3


@pytest.mark.parametrize("words", [[], ["--socket"], ["--socket", "path"], ["--sock", "path", "demo_mcp"]])
def test_wrong_words_are_answered_with_the_right_ones(tmp_path: Path, words: list[str]) -> None:
    done = run(tmp_path, sys.executable, LAUNCHER, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "launch: use it as --socket PATH MODULE [ARGUMENT …].\n"


def test_the_launcher_imports_little(tmp_path: Path) -> None:
    done = run(tmp_path, sys.executable, "-S", "-I", "-X", "importtime", LAUNCHER)
    imported = {line.split("|")[-1].strip() for line in done.stderr.splitlines()}
    assert "socket" in imported
    assert imported.isdisjoint({"pathlib", "typing", "subprocess", "asyncio", "argparse", "dataclasses"})
