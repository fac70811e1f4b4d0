from __future__ import annotations

import errno
import multiprocessing
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from receipt_writer.storage.filesystem import (
    FileSystem,
    OsFileSystem,
    create_file,
    read_whole,
    renew_file,
    replace_file,
    write_all,
    write_all_at,
)
from tests.receipt_writer.parts import WatchedFiles


class ShortWrites(OsFileSystem):
    """Takes at most three bytes a call, as a nearly full disk may."""

    def write(self, handle: int, data: bytes) -> int:
        return super().write(handle, data[:3])


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_short_write_is_followed_by_the_rest(tmp_path: Path) -> None:
    files = ShortWrites()
    handle = files.open(tmp_path / "f")
    write_all(files, handle, b"0123456789")
    files.close(handle)
    assert (tmp_path / "f").read_bytes() == b"0123456789"


def test_new_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    files = OsFileSystem()
    files.close(files.open(tmp_path / "opened"))
    create_file(files, tmp_path / "created", b"x")
    replace_file(files, tmp_path / "replaced", b"x")
    assert {mode(path) for path in tmp_path.iterdir()} == {0o600}


def test_a_file_is_created_whole_synced_and_named_in_that_order(tmp_path: Path) -> None:
    files = WatchedFiles()
    create_file(files, tmp_path / "key", b"secret")
    assert files.calls == [
        ("write", ".key.new"),
        ("sync", ".key.new"),
        ("link", "key"),
        ("sync_folder", tmp_path.name),
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_creating_never_replaces_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        create_file(OsFileSystem(), tmp_path / "key", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("key", b"old")]


def test_creating_goes_on_from_what_a_crash_left(tmp_path: Path) -> None:
    (tmp_path / ".key.new").write_bytes(b"half a")
    create_file(OsFileSystem(), tmp_path / "key", b"whole")
    assert (tmp_path / "key").read_bytes() == b"whole"


def test_a_file_is_replaced_only_by_synced_content(tmp_path: Path) -> None:
    files = WatchedFiles()
    (tmp_path / "note").write_bytes(b"old and longer")
    replace_file(files, tmp_path / "note", b"new")
    assert files.calls[-4:] == [
        ("write", ".note.tmp"),
        ("sync", ".note.tmp"),
        ("replace", "note"),
        ("sync_folder", tmp_path.name),
    ]
    assert (tmp_path / "note").read_bytes() == b"new"


@pytest.mark.parametrize("call", ["write", "sync"])
def test_a_replacement_that_fails_leaves_the_old_file(tmp_path: Path, call: str) -> None:
    (tmp_path / "note").write_bytes(b"old")
    files = WatchedFiles(fails=(call, ".note.tmp"), error=errno.ENOSPC)
    with pytest.raises(OSError, match="No space left"):
        replace_file(files, tmp_path / "note", b"new")
    assert (tmp_path / "note").read_bytes() == b"old"


def test_a_missing_file_reads_as_none(tmp_path: Path) -> None:
    assert read_whole(OsFileSystem(), tmp_path / "absent") is None


def _hold(path: Path, held: multiprocessing.synchronize.Event, done: multiprocessing.synchronize.Event) -> None:
    files = OsFileSystem()
    assert files.lock(files.open(path))
    held.set()
    done.wait(30)


def test_a_lock_is_refused_while_another_process_has_it_and_free_after_its_death(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    held, done = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(tmp_path / "lock", held, done))
    holder.start()
    assert held.wait(30)
    files = OsFileSystem()
    handle = files.open(tmp_path / "lock")
    assert not files.lock(handle)
    holder.kill()
    holder.join()
    assert files.lock(handle)
    files.close(handle)


class FullFiles(OsFileSystem):
    """Real files that take no byte and name no error."""

    def write(self, handle: int, data: bytes) -> int:
        return super().write(handle, data[:0])

    def write_at(self, handle: int, data: bytes, offset: int) -> int:
        return super().write_at(handle, data[:0], offset)


@pytest.mark.parametrize(
    "write", [lambda files, handle: write_all(files, handle, b"x"), lambda files, h: write_all_at(files, h, b"x", 0)]
)
def test_a_disk_that_takes_nothing_is_an_error_and_not_asked_for_ever(
    tmp_path: Path, write: Callable[[FileSystem, int], None]
) -> None:
    files = FullFiles()
    handle = files.open(tmp_path / "f")
    with pytest.raises(OSError, match="takes no more bytes"):
        write(files, handle)
    files.close(handle)


def test_a_renewed_file_has_the_same_bytes_and_none_of_the_old_handles(tmp_path: Path) -> None:
    files, path = OsFileSystem(), tmp_path / "f"
    old = files.open(path, append=True)
    write_all(files, old, b"x" * 3_000_000)
    assert files.is_at(old, path)
    renew_file(files, path)
    assert not files.is_at(old, path)
    write_all(files, old, b"late")
    files.close(old)
    assert path.read_bytes() == b"x" * 3_000_000
    assert mode(path) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["f"]


def test_a_renewal_is_durable_before_and_after_its_rename(tmp_path: Path) -> None:
    files = WatchedFiles()
    (tmp_path / "f").write_bytes(b"x")
    renew_file(files, tmp_path / "f")
    assert files.calls[-3:] == [("sync", ".f.tmp"), ("replace", "f"), ("sync_folder", tmp_path.name)]


def test_a_file_that_is_missing_is_neither_renewed_nor_at_its_path(tmp_path: Path) -> None:
    files = OsFileSystem()
    renew_file(files, tmp_path / "f")
    handle = files.open(tmp_path / "f")
    files.remove(tmp_path / "f")
    assert not files.is_at(handle, tmp_path / "f")
    files.close(handle)
    assert list(tmp_path.iterdir()) == []
