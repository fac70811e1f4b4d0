"""The file that traces go to: several writers, a disk that is full, lines that were cut short."""

from __future__ import annotations

import json
import logging
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_host.tracing.jsonl import TraceFile
from agent_host.tracing.reading import read_file

DAY = datetime(2026, 11, 30, 23, 59, tzinfo=UTC)
NAME = "2026-11-30.jsonl"
WRITER = """
import json, sys
from datetime import UTC, datetime
from pathlib import Path
from agent_host.tracing.jsonl import TraceFile
trace = TraceFile(Path(sys.argv[1]), datetime(2026, 11, 30, tzinfo=UTC))
for number in range(300):
    row = {"type": "tool", "turn_id": sys.argv[2], "n": number, "output": sys.argv[2] * 15_000}
    trace.write(json.dumps(row).encode() + b"\\n")
"""


def line(number: int, size: int = 0) -> bytes:
    return json.dumps({"type": "notice", "turn_id": "t_1", "n": number, "text": "x" * size}).encode() + b"\n"


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file of this process may grow past a size: a disk that is full in the middle of a write."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.slow
def test_two_processes_that_append_to_one_day_never_tear_each_others_lines(tmp_path: Path) -> None:
    children = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in "ab"]
    assert [child.wait(timeout=60) for child in children] == [0, 0]

    text = read_file(tmp_path / NAME)

    assert text.torn == 0
    for name in "ab":
        mine = [row.members for row in text.rows if row.turn_id == name]
        assert [row["n"] for row in mine] == list(range(300))
        assert {row["output"] for row in mine} == {name * 15_000}


def test_a_disk_that_fills_up_costs_the_line_and_neither_the_turn_nor_the_lines_around_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trace = TraceFile(tmp_path, DAY)
    trace.write(line(1))
    with largest_file(4_096), caplog.at_level(logging.WARNING):
        trace.write(line(2, size=9_000))
        trace.write(line(3, size=9_000))
    assert (tmp_path / NAME).stat().st_size == 4_096  # a part of the second line is there
    trace.write(line(4))

    text = read_file(tmp_path / NAME)

    assert [row.members["n"] for row in text.rows] == [1, 4]
    assert text.torn == 1
    assert len(caplog.records) == 1


def test_a_line_that_a_death_cut_short_does_not_spoil_the_next(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(line(1) + line(2)[:20])

    TraceFile(tmp_path, DAY).write(line(3))

    assert [row.members["n"] for row in read_file(tmp_path / NAME).rows] == [1, 3]


def test_the_trace_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    TraceFile(tmp_path, DAY).write(line(1))

    assert (tmp_path / NAME).stat().st_mode & 0o077 == 0
