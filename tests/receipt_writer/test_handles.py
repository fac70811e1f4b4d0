from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import resource
from receipt_writer.handles import make_room
from service_runtime.errors import SetupError
try:
    make_room()
    print(*resource.getrlimit(resource.RLIMIT_NOFILE))
except SetupError as refusal:
    print(refusal)
"""


def said_with(limits: str) -> str:
    """Return what a process says that may open so many files."""
    command = ["sh", "-c", f'{limits}; exec "$@"', "sh", sys.executable, "-c", PROGRAM]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()


@pytest.mark.parametrize(
    ("limits", "room"),
    [("ulimit -S -n 30; ulimit -H -n 3000", "3000 3000"), ("ulimit -S -n 100; ulimit -H -n 100", "100 100")],
)
def test_a_process_takes_the_room_that_it_is_allowed(limits: str, room: str) -> None:
    assert said_with(limits) == room


def test_too_little_room_is_named_with_what_is_needed() -> None:
    assert said_with("ulimit -n 63").startswith("This process may open 63 files, and a writer needs 64 at least;")
