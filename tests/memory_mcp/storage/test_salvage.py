"""Damaged stores: what can be read is got out, the damaged file is kept, and nothing is made up."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import IO, cast

import pytest

from memory_mcp import intake
from memory_mcp.__main__ import main
from memory_mcp.errors import StoreDamagedError, StoreError, StoreOpenError
from memory_mcp.mirror.files import FileMirror
from memory_mcp.model import Memory
from memory_mcp.storage import salvage
from memory_mcp.storage.carving import COLUMNS, Carved, carve
from memory_mcp.storage.sqlite import FILE_NAME, open_sqlite
from tests.memory_mcp.world import ORIGIN, ZONE, World, memory_id, opened

PAGE = 4096
LONG = "word " * 5000


def fill(world: World) -> None:
    """Two hundred memories, some long, some corrected, forgotten, erased or of a conversation."""
    for number in range(200):
        memory = world.stored(
            f"Memory {number} ★ of Oslo. {LONG[: number * 25] if number % 9 == 0 else ''}",
            subject=f"s{number}" if number % 3 else None,
            scope="project:Äpfel" if number % 4 else "global",
            tags=["a"],
            episode="chat" if number % 5 == 0 else None,
            happened_at="2026-05-08" if number % 2 else None,
        )
        if number % 20 == 1:
            world.memory.update(memory.id, intake.changes(body=f"Correction {number}."), ORIGIN)
        if number % 20 == 2:
            world.memory.forget(memory.id, ORIGIN, hard=number % 40 == 2)


def stored(folder: Path) -> dict[str, Memory]:
    """What the store of a folder holds."""
    with opened(folder, 90_000) as world:
        return {memory.id: memory for memory in world.all()}


def saved(path: Path) -> salvage.Salvaged:
    """Salvage a store."""
    ids = count(80_000)
    return salvage.salvage(path, ZONE, lambda: memory_id(next(ids)))


def damaged(whole: bytes, damage: str) -> bytes:
    """A file after an accident."""
    data = bytearray(whole)
    if damage == "no header":
        data[:100] = bytes(100)
    elif damage == "no schema":
        data[: 3 * PAGE] = os.urandom(3 * PAGE)
    elif damage == "cut short":
        del data[-PAGE - 100 :]
    elif damage == "cut to a part":
        del data[len(data) // 2 :]
    elif damage == "holes":
        for at in range(0, len(data), 7 * PAGE):
            data[at : at + PAGE] = bytes(PAGE)
    elif damage == "rubbish":
        for at in range(5 * PAGE, len(data), 6 * PAGE):
            data[at : at + PAGE] = os.urandom(PAGE)
    else:
        data[18:24] = b"\xff" * 6
        for at in range(PAGE, len(data), 5 * PAGE):
            data[at + 3] ^= 0x40
    return bytes(data)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A filled store that is closed and that no test touches."""
    folder = tmp_path_factory.mktemp("filled")
    with opened(folder) as world:
        fill(world)
    return folder / FILE_NAME


@pytest.fixture
def store(filled: Path, tmp_path: Path) -> Path:
    """A copy of the filled store."""
    return Path(shutil.copy(filled, tmp_path))


def test_every_row_of_a_good_file_is_read_as_sqlite_reads_it(store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection:
        rows = connection.execute("SELECT * FROM memory").fetchall()
        scopes = dict(connection.execute("SELECT id, name FROM scope"))
        episodes = dict(connection.execute("SELECT id, key FROM episode"))
    found = carve(store)

    assert len(rows) == 210
    assert {row[1]: dict(zip(COLUMNS, row, strict=True)) for row in rows} == found.memories
    assert (found.scopes, found.episodes) == (scopes, episodes)


def test_what_only_the_log_has_is_read_too_but_not_what_was_never_committed(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        fill(world)
        world.store.purge()
        world.remember("Only in the log.")
        with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as other:
            other.execute("PRAGMA cache_size = 2")
            other.execute("BEGIN IMMEDIATE")
            other.execute("UPDATE memory SET body = 'never committed ' || body")
            other.execute("SELECT count(*) FROM memory").fetchone()
            found = carve(tmp_path / FILE_NAME)
            other.execute("ROLLBACK")

    bodies = [str(row["body"]) for row in found.memories.values()]
    assert "Only in the log." in bodies
    assert not [body for body in bodies if body.startswith("never committed")]


@pytest.mark.parametrize(
    "damage", ["no header", "no schema", "cut short", "cut to a part", "holes", "rubbish", "turned bits"]
)
def test_what_can_be_read_of_a_damaged_file_comes_back_unchanged(store: Path, damage: str) -> None:
    before = stored(store.parent)
    data = damaged(store.read_bytes(), damage)
    store.write_bytes(data)

    assert not salvage.is_good(store)
    done = saved(store)
    after = stored(store.parent)

    assert done.kept_as is not None
    assert (store.parent / done.kept_as).read_bytes() == data
    assert (store.parent / done.kept_as).stat().st_mode & 0o777 == 0o600
    assert len(after) == done.from_file > 10
    whole = [memory for memory in after.values() if memory.id not in done.cut]
    assert len(whole) > 10
    for memory in whole:
        old = before[memory.id]
        assert (memory.content.body, memory.content.tags, memory.origin) == (
            old.content.body,
            old.content.tags,
            old.origin,
        )
        assert (memory.status, memory.created_at_ms, memory.superseded_by) == (
            old.status,
            old.created_at_ms,
            old.superseded_by,
        )
        assert memory.content.scope == old.content.scope or memory.content.scope.name.startswith("recovered:")
    assert salvage.is_good(store)
    with opened(store.parent, 95_000) as world:
        assert world.find("oslo").hits
        world.remember("After the salvage.")


def test_a_text_of_which_only_the_beginning_is_left_is_named(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        memory = world.stored(LONG)
        for number in range(40):
            world.remember(f"Memory {number}.")
    path = tmp_path / FILE_NAME
    data = bytearray(path.read_bytes())
    at = data.index(b"word word word") // PAGE * PAGE
    data[at : at + PAGE] = bytes(PAGE)
    path.write_bytes(data)

    done = saved(path)

    assert done.cut == (memory.id,)
    body = stored(tmp_path)[memory.id].content.body
    assert LONG.startswith(body)
    assert 10 < len(body) < len(LONG.strip())


def test_what_the_file_has_lost_comes_back_from_the_mirror(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    store = open_sqlite(path)
    mirror = FileMirror(store, tmp_path)
    world = World(store, mirror=mirror)
    fill(world)
    facts = {memory.id: memory.content for memory in world.all() if memory.status == "live"}
    assert mirror.flush(120)
    mirror.close()
    store.close()
    os.truncate(path, path.stat().st_size // 3)

    done = saved(path)

    assert done.from_mirror > 10
    found = {memory.id: memory.content for memory in stored(tmp_path).values() if memory.status == "live"}
    assert found.keys() == facts.keys()
    assert {one.body for one in found.values()} == {one.body for one in facts.values()}


@pytest.mark.parametrize(
    "junk", [b"not a database" * 1000, b"", bytes(20_000), b"SQLite format 3\x00" + os.urandom(9000)]
)
def test_a_file_without_memories_is_left_as_it_is(tmp_path: Path, junk: bytes) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(junk)

    with pytest.raises(StoreError, match="No memory can be read from the file, and it was left as it is"):
        saved(path)
    assert [one.name for one in tmp_path.iterdir()] == [FILE_NAME]
    assert path.read_bytes() == junk


def test_a_new_store_that_cannot_be_written_leaves_everything_as_it_was(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.truncate(store, 20 * PAGE)
    before = store.read_bytes()

    def refuse(*_: object) -> None:
        raise StoreError("refused")

    monkeypatch.setattr("memory_mcp.storage.salvage.open_sqlite", refuse)
    with pytest.raises(StoreError, match="refused"):
        saved(store)
    assert store.read_bytes() == before
    assert [one.name for one in store.parent.iterdir()] == [FILE_NAME]


def _left(folder: Path, at_s: float) -> None:
    """What a salvage leaves that is killed."""
    copy = folder / ".salvage-abc"
    copy.mkdir()
    (copy / FILE_NAME).write_text("The code is 4711.")
    for ending in ("", "-wal", "-shm"):
        (folder / f".memory.salvaged.db{ending}").write_text("The code is 4711.")
    for path in folder.glob(".*"):
        os.utime(path, (at_s, at_s))


def test_an_erased_text_leaves_what_a_killed_salvage_left_too(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        memory = world.stored("The code is 4711.")
        _left(tmp_path, time.time())

        assert world.memory.forget(memory.id, ORIGIN, hard=True).remains == ()
        assert list(tmp_path.glob(".*")) == []


def test_what_a_salvage_left_long_ago_is_removed_at_the_start_and_one_at_work_is_left(tmp_path: Path) -> None:
    _left(tmp_path, time.time() - 60)
    with opened(tmp_path):
        assert len(list(tmp_path.glob(".*"))) == 4
    for path in tmp_path.glob(".*"):
        os.utime(path, (0, 0))
    with opened(tmp_path):
        assert list(tmp_path.glob(".*")) == []


HOLDING = """
import sys
from pathlib import Path
from memory_mcp.storage.sqlite import open_sqlite
store = open_sqlite(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.read()
"""


def test_a_store_that_another_process_has_open_is_not_salvaged(store: Path) -> None:
    whole = store.read_bytes()
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", HOLDING, store], stdin=pipe, stdout=pipe) as server:
        assert cast("IO[bytes]", server.stdout).readline() == b"open\n"
        for look in (salvage.is_good, saved):
            with pytest.raises(StoreOpenError, match="end every program that uses the memory and run this again"):
                look(store)
        damage = damaged(whole, "rubbish")
        store.write_bytes(damage)
        with pytest.raises(StoreOpenError):
            saved(store)
        assert store.read_bytes() == damage
        cast("IO[bytes]", server.stdin).close()
        assert server.wait(30) == 0

    assert saved(store).kept_as is not None


def test_a_store_that_was_written_to_while_it_was_salvaged_is_left(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = damaged(store.read_bytes(), "rubbish")
    store.write_bytes(data)

    def carved_then_written(path: Path) -> Carved:
        found = carve(path)
        store.with_name(f"{FILE_NAME}-wal").write_bytes(b"acknowledged")
        return found

    monkeypatch.setattr("memory_mcp.storage.salvage.carve", carved_then_written)
    with pytest.raises(StoreOpenError):
        saved(store)
    assert store.read_bytes() == data
    assert store.with_name(f"{FILE_NAME}-wal").read_bytes() == b"acknowledged"
    assert len(list(store.parent.iterdir())) == 2


def test_the_command_is_what_the_refusal_names(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    (home / "memory").mkdir(parents=True)
    path = store.rename(home / "memory" / FILE_NAME)
    monkeypatch.setenv("PROMETHEUS_HOME", str(home))

    def typed(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["memory-mcp", *words])
        status = main()
        said = capsys.readouterr()
        return status, said.out + said.err

    assert typed("salvage") == (0, "The memory store is good; there is nothing to salvage.\n")
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(StoreDamagedError, match="run `memory-mcp salvage`, which gets out what can be read"):
        open_sqlite(path)
    status, told = typed("salvage", "--dry-run")
    assert (status, "can be read from the file" in told) == (0, True)
    assert [one.name for one in path.parent.iterdir()] == [FILE_NAME]

    status, told = typed("salvage")
    assert (status, "were saved from the file" in told, "is kept as memory.damaged-" in told) == (0, True, True)
    assert typed("--check")[0] == 0
    memory = next(iter(stored(path.parent).values()))
    with opened(path.parent, 99_000) as world:
        remains = world.memory.forget(memory.id, ORIGIN, hard=True).remains
    assert any("the damaged file memory.damaged-" in place for place in remains)
    assert typed("salvage", "--home", str(tmp_path / "new"))[0] == 1
    assert typed("salvage", "--store", "postgresql://x@localhost/x")[0] == 1
