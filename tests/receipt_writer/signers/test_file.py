from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from receipt_writer.errors import KeyFileError
from receipt_writer.format.signing import verify
from receipt_writer.signers.file import create_key, load_key
from receipt_writer.storage.filesystem import OsFileSystem
from tests.receipt_writer.parts import WatchedFiles


def test_a_new_key_signs_the_same_after_it_is_read_back(tmp_path: Path) -> None:
    made = create_key(OsFileSystem(), tmp_path / "entry.key", "entry")
    read = load_key(tmp_path / "entry.key", "entry")
    assert made.public_key == read.public_key
    assert verify(read.public_key, b"message", made.sign(b"message"))
    assert made.sign(b"message") == read.sign(b"message")


def test_a_key_file_is_private_and_synced_before_it_gets_its_name(tmp_path: Path) -> None:
    files = WatchedFiles()
    create_key(files, tmp_path / "entry.key", "entry")
    assert stat.S_IMODE((tmp_path / "entry.key").stat().st_mode) == 0o600
    assert files.calls.index(("sync", ".entry.key.new")) < files.calls.index(("link", "entry.key"))


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    first = create_key(OsFileSystem(), tmp_path / "entry.key", "entry")
    with pytest.raises(KeyFileError, match="exists already"):
        create_key(OsFileSystem(), tmp_path / "entry.key", "entry")
    assert load_key(tmp_path / "entry.key", "entry").public_key == first.public_key


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o660, 0o601])
def test_a_key_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    create_key(OsFileSystem(), tmp_path / "entry.key", "entry")
    (tmp_path / "entry.key").chmod(mode)
    with pytest.raises(KeyFileError, match=rf"mode 0{mode:o}.*chmod 600"):
        load_key(tmp_path / "entry.key", "entry")


def test_a_key_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create_key(OsFileSystem(), tmp_path / "entry.key", "entry")
    monkeypatch.setattr("os.geteuid", lambda: 54_321)
    with pytest.raises(KeyFileError, match="belongs to user id"):
        load_key(tmp_path / "entry.key", "entry")


def test_a_link_to_a_key_is_refused(tmp_path: Path) -> None:
    create_key(OsFileSystem(), tmp_path / "real", "entry")
    (tmp_path / "entry.key").symlink_to(tmp_path / "real")
    with pytest.raises(KeyFileError, match="cannot be opened"):
        load_key(tmp_path / "entry.key", "entry")


def test_a_folder_in_place_of_a_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "entry.key").mkdir()
    with pytest.raises(KeyFileError, match="no plain file"):
        load_key(tmp_path / "entry.key", "entry")


def test_a_pipe_in_place_of_a_key_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "entry.key", 0o600)
    with pytest.raises(KeyFileError, match="no plain file"):
        load_key(tmp_path / "entry.key", "entry")


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match=r"entry\.key is missing"):
        load_key(tmp_path / "entry.key", "entry")


def test_a_checkpoint_key_is_no_entry_key(tmp_path: Path) -> None:
    create_key(OsFileSystem(), tmp_path / "entry.key", "checkpoint")
    with pytest.raises(KeyFileError, match="no entry key file"):
        load_key(tmp_path / "entry.key", "entry")


@pytest.mark.parametrize("change", [{"seed": "AAAA"}, {"seed": "not base64!"}, {"publicKey": "AA=="}, {"algorithm": 1}])
def test_a_damaged_key_is_refused_without_telling_what_it_holds(tmp_path: Path, change: dict[str, object]) -> None:
    create_key(OsFileSystem(), tmp_path / "entry.key", "entry")
    content = json.loads((tmp_path / "entry.key").read_bytes())
    (tmp_path / "entry.key").write_text(json.dumps(content | change))
    with pytest.raises(KeyFileError, match="no entry key file") as refusal:
        load_key(tmp_path / "entry.key", "entry")
    assert content["seed"] not in str(refusal.value)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"null", b"\xff\xfe", b"[" * 4096])
def test_junk_is_no_key(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "entry.key").write_bytes(content)
    (tmp_path / "entry.key").chmod(0o600)
    with pytest.raises(KeyFileError, match="no entry key file"):
        load_key(tmp_path / "entry.key", "entry")


def test_a_key_does_not_show_itself(tmp_path: Path) -> None:
    key = create_key(OsFileSystem(), tmp_path / "entry.key", "entry")
    seed = json.loads((tmp_path / "entry.key").read_bytes())["seed"]
    assert seed not in repr(key)
    assert "SigningKey" not in repr(key)
