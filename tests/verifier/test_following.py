"""A chain that is watched while it grows: what is appended is judged; a file that is cut or exchanged is noticed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.verifier import ledger

pytestmark = pytest.mark.slow  # starts many processes

ROOT = Path(__file__).parents[2]
COMMANDS = {"py": [sys.executable, "verifier/verify.py"], "mjs": ["node", "verifier/verify.mjs"]}
PROGRAMS = [name for name in COMMANDS if "--follow" in (ROOT / "verifier" / f"verify.{name}").read_text()]
Process = subprocess.Popen[str]


class Follower:
    """A verifier that watches a chain, and the chain."""

    def __init__(self, name: str, folder: Path) -> None:
        self.chain, self.file = ledger.Chain().fill(9), folder / "chain.jsonl"
        self.file.write_bytes(self.lines(0, 3))
        (folder / "policy.json").write_text(json.dumps(ledger.policy()))
        words = [str(self.file), "--policy", str(folder / "policy.json"), "--follow", "--json"]
        self.process: Process = subprocess.Popen(
            [*COMMANDS[name], *words], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.wait_for("3 entries, all hold so far")

    def lines(self, start: int, end: int) -> bytes:
        return b"".join(line + b"\n" for line in self.chain.lines[start:end])

    def append(self, data: bytes) -> None:
        with self.file.open("ab") as file:
            file.write(data)

    def replace(self, data: bytes) -> None:
        other = self.file.with_suffix(".new")
        other.write_bytes(data)
        other.replace(self.file)

    def wait_for(self, words: str) -> None:
        assert self.process.stderr is not None
        told = ""
        for told in self.process.stderr:
            if words in told:
                return
        raise AssertionError(told)

    def kill(self) -> None:
        """Leave nothing behind, whatever a test found."""
        self.process.kill()
        self.process.communicate()

    def end(self, number: signal.Signals | None = None) -> tuple[int, str | None, str | None, int]:
        """Exit code, verdict, check and entries of the last report, after a signal if one is asked for."""
        if number:
            self.process.send_signal(number)
        text, _ = self.process.communicate(timeout=30)
        report = json.loads(text)
        return self.process.returncode, report["verdict"], report["check"], report["entries"]


Start = Callable[[str], Follower]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with contextlib.ExitStack() as stack:

        def call(name: str) -> Follower:
            follower = Follower(name, tmp_path)
            stack.callback(follower.kill)
            return follower

        yield call


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_watch_with_the_report_so_far(name: str, number: signal.Signals, start: Start) -> None:
    watch = start(name)
    watch.append(watch.lines(3, 5))
    watch.wait_for("5 entries, all hold so far")

    assert watch.end(number) == (0, "PASS", None, 5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_bad_line_ends_the_watch_at_once(name: str, start: Start) -> None:
    watch = start(name)
    watch.append(watch.lines(4, 5))

    assert watch.end() == (1, "TAMPERED", "id", 4)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_line_may_come_in_pieces(name: str, start: Start) -> None:
    watch = start(name)
    whole = watch.lines(3, 5)
    watch.append(whole[:700])
    watch.append(whole[700:])
    watch.wait_for("5 entries")

    assert watch.end(signal.SIGTERM) == (0, "PASS", None, 5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_lines_may_take_the_place_of_a_torn_tail(name: str, start: Start) -> None:
    watch = start(name)
    watch.append(b"x" * 100)
    with watch.file.open("r+b") as file:  # at no moment shorter than its whole lines
        file.seek(len(watch.lines(0, 3)))
        file.write(watch.lines(3, 5))
    watch.wait_for("5 entries")

    assert watch.end(signal.SIGTERM) == (0, "PASS", None, 5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_file_that_became_shorter_is_truncated(name: str, start: Start) -> None:
    watch = start(name)
    watch.file.write_bytes(watch.lines(0, 2))

    assert watch.end() == (4, "TRUNCATED", "follow", 3)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_file_that_is_gone_is_truncated(name: str, start: Start) -> None:
    watch = start(name)
    watch.file.unlink()

    assert watch.end() == (4, "TRUNCATED", "follow", 3)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_replaced_file_must_begin_with_the_same_lines(name: str, start: Start) -> None:
    watch = start(name)
    other = ledger.Chain().fill(2).add(ledger.decision(3, latencyMs=1)).fill(6)
    watch.replace(other.content)

    assert watch.end() == (5, "FORKED", "follow", 3)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_pipe_in_the_place_of_the_file_is_refused_unread(name: str, start: Start) -> None:
    watch = start(name)
    pipe = watch.file.with_suffix(".pipe")
    os.mkfifo(pipe)
    pipe.replace(watch.file)

    told = watch.process.communicate(timeout=30)

    assert (watch.process.returncode, told[0]) == (2, "")
    assert "is not a regular file" in told[1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_report_says_that_what_was_judged_is_not_read_again(name: str, start: Start) -> None:
    watch = start(name)
    watch.process.send_signal(signal.SIGTERM)

    report = json.loads(watch.process.communicate(timeout=30)[0])

    note = "Lines that were judged are not read again: a change in place after that is not seen."
    assert note in report["notes"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_replaced_file_with_the_same_lines_is_watched_on(name: str, start: Start) -> None:
    watch = start(name)
    watch.replace(watch.lines(0, 6))
    watch.append(watch.lines(6, 7))
    watch.wait_for("7 entries")

    assert watch.end(signal.SIGTERM) == (0, "PASS", None, 7)
