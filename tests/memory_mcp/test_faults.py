"""What a client of the server is told when the disk or another process is in the way, and that nothing is lost by it.

A disk that is really full or read-only is a small file system of its own; where none may be mounted, those are skipped.
"""

from __future__ import annotations

import functools
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import memory_mcp.app
from memory_mcp.storage.sqlite import FILE_NAME, open_sqlite
from tests.memory_mcp.serving import PATIENCE_S, call, environment, here, refused
from tests.memory_mcp.world import opened

MOUNT, UMOUNT = shutil.which("mount") or "/bin/mount", shutil.which("umount") or "/bin/umount"


def mount(*words: str | Path) -> bool:
    """Mount, or change how something is mounted; returns whether that was allowed."""
    return not subprocess.run([MOUNT, *words], capture_output=True, check=False).returncode


def checked(home: Path) -> subprocess.CompletedProcess[str]:
    """`memory-mcp --check`."""
    return subprocess.run(
        [sys.executable, "-m", "memory_mcp", "--check"],
        env=environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if not Path(MOUNT).exists() or not mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", disk):
        pytest.skip("no file system may be mounted here")
    try:
        yield disk
    finally:
        subprocess.run([UMOUNT, "-l", disk], check=True)


async def test_a_locked_store_is_told_and_can_be_written_again_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_mcp.app, "open_sqlite", functools.partial(open_sqlite, busy_timeout_ms=1))
    async with here(tmp_path) as client:
        await call(client, "memory_remember", body="Before.")
        with closing(sqlite3.connect(tmp_path / "memory" / FILE_NAME, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            for tool, arguments in (
                ("memory_remember", {"body": "After."}),
                ("memory_import", {"content": "- After."}),
            ):
                told = await refused(client, tool, **arguments)
                assert told.startswith(
                    "The memory store is busy: another process is writing to it; nothing was changed"
                )
            assert (await call(client, "memory_search", query="before"))["entries"]
            other.execute("ROLLBACK")
        await call(client, "memory_remember", body="After.")
        assert len((await call(client, "memory_list"))["entries"]) == 2


async def test_a_full_disk_is_told_and_costs_nothing_that_was_there(small_disk: Path) -> None:
    async with here(small_disk) as client:
        stored = []
        for number in range(200):
            result = await client.call_tool_mcp("memory_remember", {"body": f"Memory {number} " + "filler " * 1000})
            if result.is_error:
                break
            assert result.structured_content is not None
            stored.append(result.structured_content["memory"]["id"])
        told = await refused(client, "memory_remember", body="One more " + "filler " * 9000)
        assert told.startswith("The memory store cannot grow: the disk is full; nothing was changed, free some space")
        assert (await call(client, "memory_get", id=stored[0]))["memory"]["body"].startswith("Memory 0 ")

    assert len(stored) > 3
    with closing(sqlite3.connect(small_disk / "memory" / FILE_NAME)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert {row[0] for row in connection.execute("SELECT id FROM memory")} == set(stored)


async def test_a_disk_that_becomes_read_only_is_told_and_loses_nothing(small_disk: Path) -> None:
    async with here(small_disk) as client:
        await call(client, "memory_remember", body="Before.")
    assert mount("-o", "remount,ro", small_disk)

    done = checked(small_disk)
    assert (done.returncode, done.stdout) == (2, "")
    assert "read-only file system" in done.stderr
    assert done.stderr.count("\n") == 1

    assert mount("-o", "remount,rw", small_disk)
    async with here(small_disk) as client:
        assert (await call(client, "memory_search", query="before"))["entries"]


@pytest.mark.durability
@pytest.mark.parametrize("size_bytes", [0, 100_000, 1_000_000])
def test_an_import_that_is_killed_has_stored_all_or_nothing(tmp_path: Path, size_bytes: int) -> None:
    count = 1500
    (tmp_path / "list.md").write_text("".join(f"- Memory {number} of Oslo and its trams\n" for number in range(count)))
    with opened(_folder(tmp_path)) as world:
        world.remember("Before.")
        world.store.purge()
    log = tmp_path / "memory" / f"{FILE_NAME}-wal"
    command = [sys.executable, "-m", "memory_mcp", "import", "list.md"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and _size_bytes(log) <= size_bytes:
            pass
        process.send_signal(signal.SIGKILL)

    with opened(_folder(tmp_path), 50_000) as world:
        assert len(world.all()) in {1, count + 1}
        assert "Before." in world.everything() or len(world.all()) == count + 1
    again = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=True)
    assert f"{count} new" in again.stdout or f"{count} known already" in again.stdout
    with opened(_folder(tmp_path), 60_000) as world:
        assert len(world.all()) == count + 1


def _folder(home: Path) -> Path:
    folder = home / "memory"
    folder.mkdir(exist_ok=True)
    return folder


def _size_bytes(path: Path) -> int:
    """The size of a file, -1 when it is not there."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return -1
