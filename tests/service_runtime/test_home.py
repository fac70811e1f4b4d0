import os
import stat
from pathlib import Path

import pytest

from service_runtime.errors import SetupError
from service_runtime.home import Home, secure_write


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_service_folder_is_made_with_its_home_and_is_private(tmp_path: Path) -> None:
    folder = Home(tmp_path / "deep" / "home").folder("memory")
    assert folder == tmp_path / "deep" / "home" / "memory"
    assert mode(folder) == mode(folder.parent) == 0o700


def test_a_service_folder_that_was_open_to_others_is_made_private(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir(mode=0o755)
    assert mode(Home(tmp_path).folder("memory")) == 0o700


def test_an_existing_home_keeps_its_own_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    Home(tmp_path).folder("memory")
    assert mode(tmp_path) == 0o755


def file_as_home(folder: Path) -> Path:
    (folder / "file").write_text("")
    return folder / "file"


def file_as_service(folder: Path) -> Path:
    (folder / "memory").write_text("")
    return folder


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (file_as_home, "a file is in the way"),
        (file_as_service, "a file is in the way"),
        (lambda folder: file_as_home(folder) / "home", "not a directory"),
        (lambda _: Path("/proc/nobody/home"), "no such file or directory"),
        (lambda folder: folder / ("x" * 300), "file name too long"),
        (lambda folder: folder / "nul\0", "the name is not possible"),
    ],
)
def test_a_home_that_cannot_be_used_is_one_sentence_that_says_what_to_set(
    tmp_path: Path, make: "object", why: str
) -> None:
    assert callable(make)
    with pytest.raises(SetupError) as raised:
        Home(make(tmp_path)).folder("memory")
    sentence = str(raised.value)
    assert why in sentence
    assert sentence.endswith("set PROMETHEUS_HOME or pass --home with a folder you can write to.")
    assert "\n" not in sentence


def test_a_folder_on_a_read_only_disk_is_there_for_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Home(tmp_path).folder("notes")

    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "chmod", read_only)
    assert Home(tmp_path).folder("notes", for_reading=True) == tmp_path / "notes"
    with pytest.raises(SetupError, match="read-only file system"):
        Home(tmp_path).folder("notes")
    monkeypatch.setattr(Path, "mkdir", read_only)
    with pytest.raises(SetupError, match="read-only file system"):
        Home(tmp_path).folder("memory", for_reading=True)


def test_secure_write_makes_a_private_file_and_replaces_it_whole(tmp_path: Path) -> None:
    path = tmp_path / "key"
    secure_write(path, b"first")
    path.chmod(0o644)
    secure_write(path, b"2nd")
    assert path.read_bytes() == b"2nd"
    assert mode(path) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_refused_secure_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "key"
    secure_write(path, b"old")

    def no_space(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        secure_write(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_check_sees_what_happened_while_the_disk_worked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    order: list[str] = []
    fsync = os.fsync

    def slow(descriptor: int) -> None:
        order.append("fsync")
        path.write_bytes(b"by hand")
        fsync(descriptor)

    def check() -> None:
        order.append("check")
        if path.read_bytes() != b"old":
            raise PermissionError("changed")

    monkeypatch.setattr(os, "fsync", slow)
    with pytest.raises(PermissionError):
        secure_write(path, b"new", check)

    assert (order, path.read_bytes(), list(tmp_path.iterdir())) == (["fsync", "check"], b"by hand", [path])


def test_a_file_with_the_longest_name_can_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / ("ä" * 127)
    secure_write(path, b"1")
    secure_write(path, b"2")

    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == [b"2"]
