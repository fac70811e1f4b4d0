"""Several processes on one folder, and processes that die in the middle: nothing is lost, nothing is half written."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, cast

import pytest
from fastmcp import Client

from tests.tools_mcp.running import call, environment, over_stdio, text_of
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


async def test_two_calendar_servers_on_one_home_keep_every_event(tmp_path: Path) -> None:
    async with over_stdio("calendar", tmp_path) as one, over_stdio("calendar", tmp_path) as other:
        made = await asyncio.gather(
            *(
                call(client, "calendar_create_event", title=f"{name} {number}", start="2026-12-01T09:00")
                for name, client in (("one", one), ("other", other))
                for number in range(15)
            ),
            *(
                call(client, "calendar_create_event", title="the same", start="2026-12-01T09:00")
                for client in (one, other, one, other)
            ),
        )
        seen = await call(one, "calendar_list_events", start="2026-12-01", end="2026-12-01", limit=100)

    assert len(seen["events"]) == 31
    assert sorted(answer["status"] for answer in made[-4:]) == ["created", "exists", "exists", "exists"]


async def test_two_notes_servers_on_one_home_lose_no_line(tmp_path: Path) -> None:
    async def append(client: Client[Any], line: str) -> None:
        await call(client, "notes_write", title="Log", body=f"{line}\n", mode="append")

    async with over_stdio("notes", tmp_path) as one, over_stdio("notes", tmp_path) as other:
        await asyncio.gather(
            *(
                append(client, f"{name} {number}")
                for name, client in (("one", one), ("other", other))
                for number in range(15)
            )
        )
        read = await call(other, "notes_read", title="Log")
        hashes = [read["content_hash"]] * 2
        edits = await asyncio.gather(
            *(
                client.call_tool(
                    "notes_edit",
                    {"id": "Log", "find": "one 3\n", "replace": f"{name}\n", "expected_hash": content_hash},
                    raise_on_error=False,
                )
                for name, client, content_hash in zip(("first", "second"), (one, other), hashes, strict=True)
            )
        )

    assert sorted(read["body"].split("\n")[:-1]) == sorted(
        f"{name} {number}" for name in ("one", "other") for number in range(15)
    )
    assert sorted(edit.is_error for edit in edits) == [False, True]
    assert "changed since it was read" in next(text_of(edit) for edit in edits if edit.is_error)


@pytest.mark.parametrize("writes", [1, 2, 3, 6])
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
        [series] = series_of(decode(path.read_bytes()))
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
