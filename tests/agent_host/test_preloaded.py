"""What the fork server imports once is what every server would import by itself, up to its list of tools."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_host.app import PRELOADED
from agent_host.mcp_clients.builtin import builtin_servers

SERVE = """
import atexit, importlib, runpy, sys
for module in {preloaded!r}:
    importlib.import_module(module)
before = set(sys.modules)
atexit.register(lambda: print("NEW", *sorted(set(sys.modules) - before), file=sys.stderr))
sys.argv = {words!r}
runpy.run_module({module!r}, run_name="__main__", alter_sys=True)
"""
ASKED = (
    {
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    },
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
)
SHARED = {"anyio", "fastmcp", "griffe", "jsonref", "key_value", "mcp", "pydantic", "requests", "tzlocal"}
"""Libraries of which no server needs a part that the others do not."""

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("words", [server.args[2:] for server in builtin_servers("python", Path("/home"), {})])
def test_a_forked_server_lists_its_tools_without_importing_a_shared_library(tmp_path: Path, words: list[str]) -> None:
    program = SERVE.format(preloaded=PRELOADED, words=list(words), module=words[0])
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PROMETHEUS_HOME": str(tmp_path / "home")},
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        for message in ASKED:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        assert process.stderr
        told = process.stderr.read()

    assert answers[1]["result"]["tools"]
    new = next(line for line in told.splitlines() if line.startswith("NEW")).split()[1:]
    assert [module for module in new if module.partition(".")[0] in SHARED] == []
