"""Child processes and the lock on a home."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_host.children import SOCKET_PATH_LIMIT, Child, socket_path
from agent_host.errors import HomeInUseError
from agent_host.home_lock import HomeLock

READS_UNTIL_EOF = "import sys; open(sys.argv[1], 'w').write('up'); sys.stdin.read(); sys.exit(7)"


def child(tmp_path: Path, code: str) -> Child:
    (tmp_path / "program.py").write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    return Child(["program", str(tmp_path / "mark")], environment, tmp_path / "log")


def test_a_child_ends_when_its_stdin_closes(tmp_path: Path) -> None:
    process = child(tmp_path, READS_UNTIL_EOF)
    process.ensure()
    assert process.exit_status is None

    process.stop()

    assert process.exit_status == 7


def test_a_child_that_ended_is_started_again_on_demand(tmp_path: Path) -> None:
    process = child(tmp_path, READS_UNTIL_EOF)
    process.ensure()
    process.stop()

    process.ensure()

    assert process.exit_status is None
    process.stop()


def test_stopping_what_never_started_is_nothing(tmp_path: Path) -> None:
    process = child(tmp_path, READS_UNTIL_EOF)

    process.stop()

    assert process.exit_status is None


def test_what_a_child_says_goes_to_its_log(tmp_path: Path) -> None:
    process = child(tmp_path, "import sys; sys.stdout.write('out'); sys.stderr.write('err'); sys.stdin.read()")
    process.ensure()
    process.stop()

    assert (tmp_path / "log").read_text() == "err"


def test_a_short_socket_path_lies_in_its_folder() -> None:
    assert socket_path(Path("/h"), "writer.sock") == Path("/h/writer.sock")


def test_a_long_socket_path_moves_to_the_runtime_folder_and_stays_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = Path("/") / ("x" * 120)

    path = socket_path(folder, "writer.sock")

    assert path == socket_path(folder, "writer.sock")
    assert path.is_relative_to(tmp_path)
    assert len(os.fsencode(path)) <= SOCKET_PATH_LIMIT + len(str(tmp_path))
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_second_host_is_told_who_holds_the_home(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from agent_host.home_lock import HomeLock;"
        "lock = HomeLock(Path(sys.argv[1]), Path('/home/of/ana')); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"

        with pytest.raises(HomeInUseError, match=rf"process {holder.pid}\) uses /home/of/ana"):
            HomeLock(tmp_path / "lock", Path("/home/of/ana"))

        holder.kill()

    HomeLock(tmp_path / "lock", Path("/home/of/ana")).release()
