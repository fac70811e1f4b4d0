"""What a shell asks at each Tab: answered from the command line alone, so that it is quick."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMPLETE = """
import sys
from agent_host.cli import run
try:
    run([])
except SystemExit:
    pass
heavy = {"mcp", "fastmcp", "anthropic", "openai", "grpc", "rich", "prompt_toolkit", "yaml", "agent_host.app"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""


def offered(line: str, home: Path) -> list[str]:
    words = line.split(" ")
    asked = {"_AGENT_HOST_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.argv[0] = 'agent-host'\n{COMPLETE}"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **asked, "PROMETHEUS_HOME": str(home)},
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("agent-host ch", ["chat", "check"]),
        ("agent-host sessions s", ["search", "show"]),
        ("agent-host cost --window t", ["today"]),
    ],
)
def test_commands_and_fixed_words_are_completed_without_an_sdk(tmp_path: Path, line: str, expected: list[str]) -> None:
    assert offered(line, tmp_path) == expected
    assert list(tmp_path.iterdir()) == []
