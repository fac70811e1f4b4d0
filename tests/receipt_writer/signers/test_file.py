from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from receipt_writer.errors import KeyFileError
from receipt_writer.format.signing import verify
from receipt_writer.signers.file import FileCustody, Passphrase, create_key, load_key
from receipt_writer.signers.sealing import Limits
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


LOCK = Passphrase(b"correct horse", Limits(1, 8192))


def test_a_locked_key_opens_with_its_passphrase_only(tmp_path: Path) -> None:
    made = create_key(OsFileSystem(), tmp_path / "entry.key", "entry", LOCK)
    content = json.loads((tmp_path / "entry.key").read_bytes())
    assert "seed" not in content
    assert (content["sealed"]["opsLimit"], content["sealed"]["memLimitBytes"]) == (1, 8192)
    assert load_key(tmp_path / "entry.key", "entry", Passphrase(b"correct horse")).public_key == made.public_key
    with pytest.raises(KeyFileError, match=r"passphrase does not open .*; give the right one in PROMETHEUS_RECEIPTS_P"):
        load_key(tmp_path / "entry.key", "entry", Passphrase(b"wrong"))
    with pytest.raises(KeyFileError, match=r"locked with a passphrase; give it in PROMETHEUS_RECEIPTS_PASSPHRASE or"):
        load_key(tmp_path / "entry.key", "entry")


def test_a_lock_that_takes_more_memory_than_there_is_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create_key(OsFileSystem(), tmp_path / "entry.key", "entry", LOCK)

    def refuse(*_: object) -> bytes:
        raise RuntimeError("Unexpected failure in key derivation")

    monkeypatch.setattr("receipt_writer.signers.sealing.argon2id.kdf", refuse)
    with pytest.raises(KeyFileError, match="takes 0 MiB of memory, which the system refuses"):
        load_key(tmp_path / "entry.key", "entry", LOCK)
    with pytest.raises(KeyFileError, match="takes 256 MiB of memory, which the system refuses"):
        create_key(OsFileSystem(), tmp_path / "other.key", "entry", Passphrase(b"p"))
    assert not (tmp_path / "other.key").exists()


@pytest.mark.parametrize("change", [{"kdf": "md5"}, {"salt": "AA"}, {"opsLimit": 10**9}, {"box": "AAAA"}])
def test_a_damaged_lock_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    create_key(OsFileSystem(), tmp_path / "entry.key", "entry", LOCK)
    content = json.loads((tmp_path / "entry.key").read_bytes())
    (tmp_path / "entry.key").write_text(json.dumps(content | {"sealed": content["sealed"] | change}))
    with pytest.raises(KeyFileError, match=r"no entry key file|does not open"):
        load_key(tmp_path / "entry.key", "entry", LOCK)


def test_a_plain_key_is_read_beside_a_passphrase_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made = create_key(OsFileSystem(), tmp_path / "entry.key", "entry")
    assert load_key(tmp_path / "entry.key", "entry", LOCK).public_key == made.public_key
    assert "is not locked, although a passphrase is given" in caplog.text


@pytest.mark.parametrize("lock", [None, LOCK])
def test_a_custody_takes_one_key_over_by_the_next(tmp_path: Path, lock: Passphrase | None) -> None:
    custody = FileCustody(OsFileSystem(), tmp_path / "entry.key", "entry", lock)
    assert (custody.exists(), custody.load_next()) == (False, None)
    first = custody.create()
    assert custody.exists()
    dropped, following = custody.prepare_next(), custody.prepare_next()
    assert len({first.public_key, dropped.public_key, following.public_key}) == 3
    assert custody.load().public_key == first.public_key
    read = custody.load_next()
    assert read is not None
    assert read.public_key == following.public_key
    custody.promote_next()
    assert custody.load().public_key == following.public_key
    assert [path.name for path in tmp_path.iterdir()] == ["entry.key"]
    assert stat.S_IMODE((tmp_path / "entry.key").stat().st_mode) == 0o600
    assert ("sealed" in json.loads((tmp_path / "entry.key").read_bytes())) == (lock is not None)


def test_a_prepared_key_can_be_dropped(tmp_path: Path) -> None:
    custody = FileCustody(OsFileSystem(), tmp_path / "entry.key", "entry")
    first = custody.create()
    custody.prepare_next()
    custody.discard_next()
    custody.discard_next()
    assert custody.load_next() is None
    assert custody.load().public_key == first.public_key


@pytest.mark.parametrize("fails", [("replace", "entry.key"), ("sync_folder", "receipts")])
def test_a_disk_that_refuses_the_change_is_told(tmp_path: Path, fails: tuple[str, str]) -> None:
    folder = tmp_path / "receipts"
    folder.mkdir()
    files = WatchedFiles()
    custody = FileCustody(files, folder / "entry.key", "entry")
    custody.create()
    custody.prepare_next()
    files.fails = fails
    with pytest.raises(KeyFileError, match="could not take the place"):
        custody.promote_next()
