"""Processes that die in the middle of a write: what was acknowledged is there, nothing is half written."""

import json
import subprocess
import sys
from pathlib import Path
from typing import IO, cast
from zoneinfo import ZoneInfo

import pytest

from tests.tools_mcp.running import call, environment, over_stdio
from tools_mcp.calendar.ics import decode, series_of
from tools_mcp.notes.vault import Vault

REWRITE_EVENT = """
import itertools, os, sys
from pathlib import Path
from zoneinfo import ZoneInfo
from tools_mcp.calendar.agenda import open_agenda
from tools_mcp.calendar.model import EventFields
agenda = open_agenda(Path(sys.argv[1]), ZoneInfo("Europe/Berlin"))
uid = agenda.create(EventFields(title="start", start="2026-12-01T09:00")).event.id
for title in itertools.cycle("ab"):
    agenda.update(uid, EventFields(title=title * 300, notes=title * 4000))
    print(title, flush=True)
"""
REWRITE_NOTE = """
import itertools, sys
from pathlib import Path
from zoneinfo import ZoneInfo
from tools_mcp.notes.notebook import WriteFields, open_notebook
notebook = open_notebook(Path(sys.argv[1]), ZoneInfo("Europe/Berlin"))
for letter in itertools.cycle("ab"):
    notebook.write(WriteFields("Ideas", letter * 100_000, mode="replace"))
    print(letter, flush=True)
"""


@pytest.mark.parametrize("writes", [1, 2, 5])
@pytest.mark.parametrize(("program", "pattern"), [(REWRITE_EVENT, "*.ics"), (REWRITE_NOTE, "*.md")])
def test_a_killed_writer_leaves_the_old_file_or_the_new_one(
    tmp_path: Path, program: str, pattern: str, writes: int
) -> None:
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, env=environment(tmp_path), stdout=subprocess.PIPE, text=True) as process:
        for _ in range(writes):
            assert cast("IO[str]", process.stdout).readline()
        process.kill()

    [path] = tmp_path.glob(pattern)
    if pattern == "*.ics":
        [series] = series_of(decode(path.read_bytes()), ZoneInfo("UTC"))
        title, notes = str(series.master["SUMMARY"]), str(series.master["DESCRIPTION"])
        assert (title, notes) in [(letter * 300, letter * 4000) for letter in "ab"]
    else:
        assert Vault(tmp_path).read("Ideas").body in [letter * 100_000 for letter in "ab"]


async def test_a_server_goes_on_after_the_one_before_was_killed(tmp_path: Path) -> None:
    arguments = {"title": "Ideas", "body": "one", "idempotency_key": "k1"}
    write_and_be_killed(tmp_path, arguments)

    async with over_stdio("notes", tmp_path) as client:
        again = await call(client, "notes_write", **arguments)
        listed = await call(client, "notes_list")

    assert again["status"] == "created"
    assert [note["id"] for note in listed["notes"]] == ["Ideas"]


def write_and_be_killed(home: Path, arguments: dict[str, str]) -> None:
    command = [sys.executable, "-m", "tools_mcp", "notes"]
    with subprocess.Popen(
        command, env=environment(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        stdin, stdout = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)
        for method, params in (
            ("initialize", INITIALIZE),
            ("tools/call", {"name": "notes_write", "arguments": arguments}),
        ):
            stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
            stdin.flush()
            assert "result" in json.loads(stdout.readline())
        process.kill()


INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "tester", "version": "1"},
}
