from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memory_mcp.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreDiskError,
    StoreFullError,
    StoreReadOnlyError,
)
from memory_mcp.storage.sqlite import FILE_NAME, open_sqlite
from tests.memory_mcp.world import ORIGIN, World, opened

PAGE_BYTES = 4096


def test_a_reply_means_durable_and_deleting_means_overwritten(world: World) -> None:
    for connection in (world.store._reader, world.store._writer):
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA secure_delete").fetchone() == (1,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_the_files_are_only_for_their_owner(world: World, tmp_path: Path) -> None:
    world.remember("Private.")

    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_an_erased_text_is_in_no_file_of_the_store(world: World, tmp_path: Path) -> None:
    memory = world.stored("The xylophonecode is 4711 zanzibarword.", subject="quaggasubject", tags=["numbattag"])
    world.store.purge()
    assert b"zanzibarword" in (tmp_path / FILE_NAME).read_bytes()

    world.memory.forget(memory.id, ORIGIN, hard=True)

    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for word in (b"zanzibarword", b"xylophonecod", b"quaggasubject", b"numbattag"):
        assert word not in left


def test_an_open_reader_elsewhere_is_named_as_a_place_where_erased_text_may_remain(
    world: World,
    tmp_path: Path,
) -> None:
    memory = world.stored("The code is 4711.")
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM memory").fetchone()
        world.store._writer.execute("PRAGMA busy_timeout = 1")

        done = world.memory.forget(memory.id, ORIGIN, hard=True)

    assert any("the write-ahead log" in place for place in done.remains)
    assert world.memory.get(memory.id).memory.content.body == ""


def test_a_locked_store_says_that_it_is_busy_and_changes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as world, closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as other:
        world.store._writer.execute("PRAGMA busy_timeout = 1")
        world.remember("Before.")
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(
            StoreBusyError, match=r"is busy: another process is writing to it; nothing was changed, try"
        ):
            world.remember("After.")
        assert world.bodies("before") == ["Before."]

        other.execute("ROLLBACK")
        world.remember("After.")
        assert world.everything() == ["After.", "Before."]


def test_a_read_only_store_says_so_and_still_answers(world: World) -> None:
    world.remember("Before.")
    world.store._writer.execute("PRAGMA query_only = ON")

    with pytest.raises(StoreReadOnlyError, match="its file or folder is read-only; nothing was changed"):
        world.remember("After.")
    assert world.bodies("before") == ["Before."]


def test_a_full_disk_says_so_and_keeps_what_was_there(world: World) -> None:
    world.remember("Before.")
    (pages,) = world.store._writer.execute("PRAGMA page_count").fetchone()
    world.store._writer.execute(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(StoreFullError, match="the disk is full; nothing was changed"):
        world.remember("After. " + "filler " * 5000)
    assert world.everything() == ["Before."]
    assert world.bodies("before") == ["Before."]


@pytest.mark.parametrize("kept", [1, 100, PAGE_BYTES, 3 * PAGE_BYTES, -PAGE_BYTES])
def test_a_store_that_was_cut_short_is_refused_and_left_as_it_is(tmp_path: Path, kept: int) -> None:
    with opened(tmp_path) as world:
        for number in range(30):
            world.remember(f"Memory {number}.")
    path = tmp_path / FILE_NAME
    os.truncate(path, kept if kept > 0 else path.stat().st_size + kept)
    before = path.read_bytes()

    with pytest.raises(StoreDamagedError, match="cut short, overwritten or no such store"):
        open_sqlite(path)
    assert path.read_bytes() == before


def test_a_page_overwritten_with_rubbish_is_one_sentence(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        for number in range(60):
            world.remember(f"Memory {number} speaks of Oslo.")
    path = tmp_path / FILE_NAME
    with path.open("r+b") as file:
        file.seek(3 * PAGE_BYTES)
        file.write(os.urandom(path.stat().st_size - 3 * PAGE_BYTES))

    with pytest.raises(StoreDamagedError), opened(tmp_path) as world:
        world.find("Oslo")


def test_a_whole_store_is_verified_and_one_too_large_for_the_time_is_not(world: World) -> None:
    world.memory.forget(world.stored("Gone. " * 2000).id, ORIGIN, hard=True)
    for number in range(100):
        world.remember(f"Memory {number}. {'long ' * 500}")

    assert world.store.verify(60)
    assert not world.store.verify(-1)
    assert world.store.verify(60)


@pytest.mark.parametrize("what", ["pages", "text"])
def test_what_was_overwritten_is_found_by_verifying(tmp_path: Path, what: str) -> None:
    with opened(tmp_path) as world:
        for number in range(60):
            world.remember(f"Memory {number} speaks of Oslo. {'word ' * 2000}")
    path = tmp_path / FILE_NAME
    data = bytearray(path.read_bytes())
    at = data.rindex(b"word word") if what == "text" else len(data) // 2
    data[at : at + 9] = b"rubbish!!"
    if what == "pages":
        data[at // PAGE_BYTES * PAGE_BYTES :] = os.urandom(len(data) - at // PAGE_BYTES * PAGE_BYTES)
    path.write_bytes(data)

    with pytest.raises(StoreDamagedError), opened(tmp_path) as world:
        world.store.verify(60)


def test_a_torn_write_ahead_log_loses_only_what_was_not_whole(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        world.remember("First.")
        world.store.purge()
        world.remember("Second.")
        world.remember("Third.")
        files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / FILE_NAME).write_bytes(files[FILE_NAME])
    (copy / f"{FILE_NAME}-wal").write_bytes(files[f"{FILE_NAME}-wal"][:-10])

    with opened(copy, first_id=50) as world:
        assert world.everything() == ["Second.", "First."]
        world.remember("Third.")
        assert world.bodies("third") == ["Third."]


@pytest.mark.parametrize("junk", [b"not a database" * 100, b"\x00" * 5000])
def test_a_file_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path, junk: bytes) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(junk)

    with pytest.raises(StoreDamagedError):
        open_sqlite(path)
    assert path.read_bytes() == junk


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE photos (name TEXT)")

    with pytest.raises(StoreDamagedError):
        open_sqlite(path)
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("photos",)]


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()

    with pytest.raises(StoreDamagedError):
        open_sqlite(tmp_path / FILE_NAME)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.EACCES, StoreReadOnlyError),
        (errno.EROFS, StoreReadOnlyError),
        (errno.ENOSPC, StoreFullError),
        (errno.EIO, StoreDiskError),
    ],
)
def test_a_refusal_of_the_disk_at_opening_is_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    expected: type[Exception],
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(number, "refused")

    monkeypatch.setattr(os, "open", refuse)

    with pytest.raises(expected):
        open_sqlite(tmp_path / FILE_NAME)


def test_a_mistake_in_the_program_is_not_hidden(world: World) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"), world.store.writing():
        world.store._writer.execute("SELECT * FROM absent")
