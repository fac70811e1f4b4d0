"""The memory server as outside clients reach it: real processes, real pipes, real HTTP, both protocol eras."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, cast

import pytest
from fastmcp import Client as FastClient

from memory_mcp.storage.sqlite import FILE_NAME, open_sqlite
from tests.memory_mcp.serving import DIRECT, ERAS, PATIENCE_S, TOKEN, WHO, Forked, call, connected, environment
from tests.memory_mcp.world import World

pytestmark = pytest.mark.slow  # starts many processes

BODY = "— ★ 🎉 The design team prefers morning meetings."
QUERY = "What do you know about the design team?"


async def remembers(client: Any) -> None:
    """Put a memory in and find it."""
    done = await call(client, "memory_remember", body=BODY, scope="project:x")
    found = await call(client, "memory_search", query=QUERY)
    assert done["memory"]["origin"] == "prometheus"
    assert [entry["id"] for entry in found["entries"]] == [done["memory"]["id"]]
    assert (await call(client, "memory_get", id=done["memory"]["id"]))["memory"]["body"] == BODY


async def test_a_server_started_alone_speaks_over_stdio(tmp_path: Path) -> None:
    command, *arguments = DIRECT
    env = environment(tmp_path, PYTHONIOENCODING="cp1252", LC_ALL="C", PROMETHEUS_LOG_LEVEL="debug")
    async with connected(command, arguments, env, tmp_path, "legacy") as client:
        await remembers(client)


@pytest.mark.parametrize("era", ERAS)
async def test_both_eras_speak_over_stdio(forked: Forked, tmp_path: Path, era: str) -> None:
    async with forked.stdio(tmp_path, era) as client:
        await remembers(client)


async def test_both_eras_speak_over_http_with_a_token(forked: Forked, tmp_path: Path) -> None:
    with forked.http(tmp_path) as url:
        for era in ERAS:
            async with FastClient(url, auth=TOKEN, client_info=WHO, mode=era, timeout=PATIENCE_S) as client:
                await remembers(client)


async def test_memories_outlive_their_server(forked: Forked, tmp_path: Path) -> None:
    async with forked.stdio(tmp_path) as client:
        await call(client, "memory_remember", body=BODY)
    async with forked.stdio(tmp_path) as client:
        (entry,) = (await call(client, "memory_search", query=QUERY))["entries"]

    assert entry["snippet"].startswith("— ★ 🎉 The <<design>>")


@pytest.mark.parametrize("ending", ["input ends", "SIGTERM"])
def test_a_server_ends_with_its_input_or_when_told_and_closes_the_store(
    forked: Forked,
    tmp_path: Path,
    ending: str,
) -> None:
    with forked.process(tmp_path) as process:
        ask(process, 1, "memory_remember", {"body": BODY})
        if ending == "SIGTERM":
            process.send_signal(signal.SIGTERM)
        else:
            pipe(process.stdin).close()
        assert process.wait(timeout=PATIENCE_S) == 0

    left = {path.name for path in (tmp_path / "memory").iterdir()}
    assert left == {FILE_NAME, "MEMORY.md", "memory", ".mirror.lock"}


def test_every_line_on_stdout_is_protocol(forked: Forked, tmp_path: Path) -> None:
    with forked.process(tmp_path) as process:
        calls: tuple[tuple[str, dict[str, Any]], ...] = (
            ("memory_remember", {"body": BODY}),
            ("memory_search", {"query": QUERY, "bad": 1}),
            ("memory_list", {}),
            ("memory_forget", {"id": "x"}),
        )
        for number, (tool, arguments) in enumerate(calls, start=1):
            assert ask(process, number, tool, arguments)["id"] == number


def test_help_version_and_where_answer_without_the_heavy_libraries(tmp_path: Path) -> None:
    script = (
        "import sys; sys.argv[1:] = [sys.argv[1]]\n"
        "from memory_mcp.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'fastmcp', 'mcp', 'pydantic', 'sqlite_utils', 'httpx2'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    for option, expected in (("--help", "usage: memory-mcp"), ("--version", "memory-mcp "), ("--where", str(tmp_path))):
        done = run([sys.executable, "-c", script, option], tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert expected in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_check_says_how_the_store_is(tmp_path: Path) -> None:
    done = run([*DIRECT, "--check"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "The memory store is good: 0 memories that searches can find.\n"

    path = tmp_path / "memory" / FILE_NAME
    os.truncate(path, path.stat().st_size - 4096)
    done = run([*DIRECT, "--check"], tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("memory-mcp: The memory store is damaged")
    assert done.stderr.count("\n") == 1


def test_fifty_memories_from_two_processes_are_fifty_rows(forked: Forked, tmp_path: Path) -> None:
    with forked.process(tmp_path) as one, forked.process(tmp_path) as two:
        for number in range(25):
            for name, process in (("one", one), ("two", two)):
                send(process, number, "memory_remember", {"body": f"Memory {number} of {name}.", "episode": "chat"})
        answers = [receive(process) for _ in range(25) for process in (one, two)]

    assert all(not answer["result"].get("isError") for answer in answers)
    store = open_sqlite(tmp_path / "memory" / FILE_NAME)
    with store.reading() as reader:
        memories = reader.newest(None, None, None, 100)
        assert reader._connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    store.close()
    assert len({memory.content.body for memory in memories}) == 50
    assert sorted(memory.position or 0 for memory in memories) == list(range(50))


def test_a_server_killed_before_it_replied_has_stored_once_when_asked_again(forked: Forked, tmp_path: Path) -> None:
    arguments = {"body": BODY, "idempotency_key": "turn-1"}
    with forked.process(tmp_path, DIRECT) as process:
        ask(process, 1, "memory_list", {})
        store = open_sqlite(tmp_path / "memory" / FILE_NAME)
        world = World(store)
        send(process, 2, "memory_remember", arguments)
        while not world.everything():
            assert process.poll() is None
        process.kill()
        process.wait(timeout=PATIENCE_S)
    with forked.process(tmp_path) as process:
        answer = ask(process, 1, "memory_remember", arguments)["result"]["structuredContent"]

    with store.reading() as reader:
        (memory,) = reader.newest(None, None, None, 10)
    store.close()
    assert (answer["memory"]["id"], answer["deduped"]) == (memory.id, False)


def run(command: list[str], home: Path) -> subprocess.CompletedProcess[str]:
    """Run a command to its end with no input."""
    return subprocess.run(
        command,
        env=environment(home),
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def pipe(stream: IO[bytes] | None) -> IO[bytes]:
    """A pipe that was asked for."""
    return cast("IO[bytes]", stream)


def send(process: subprocess.Popen[bytes], number: int, tool: str, arguments: dict[str, Any]) -> None:
    """Write one call as a raw line of the stateless era."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    line = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    pipe(process.stdin).write(line.encode() + b"\n")
    pipe(process.stdin).flush()


def receive(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Read one line, which has to be JSON."""
    return cast("dict[str, Any]", json.loads(pipe(process.stdout).readline()))


def ask(process: subprocess.Popen[bytes], number: int, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Send one call and read its answer."""
    send(process, number, tool, arguments)
    return receive(process)
