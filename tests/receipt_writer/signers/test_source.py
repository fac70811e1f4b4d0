from __future__ import annotations

from pathlib import Path

import pytest

from receipt_writer.errors import KeyFileError
from receipt_writer.signers.environment import EnvironmentCustody
from receipt_writer.signers.file import FileCustody, Passphrase
from receipt_writer.signers.source import KeySource, key_source
from receipt_writer.storage.filesystem import OsFileSystem

SEED = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
SETTINGS = {
    "RECEIPTS_PASSPHRASE": "from the environment",
    "RECEIPTS_ENTRY_SEED": SEED,
    "RECEIPTS_CHECKPOINT_SEED_NEXT": SEED,
}


def told(name: str) -> str | None:
    return SETTINGS.get(name)


def test_without_settings_keys_are_in_plain_files(tmp_path: Path) -> None:
    source = key_source(lambda _name: None)
    assert source == KeySource()
    assert isinstance(source.custody(OsFileSystem(), tmp_path, "entry"), FileCustody)


def test_the_settings_name_passphrase_and_seeds(tmp_path: Path) -> None:
    source = key_source(told)
    assert source == KeySource(Passphrase(b"from the environment"), {"entry": SEED}, {"checkpoint": SEED})
    assert isinstance(source.custody(OsFileSystem(), tmp_path, "entry"), EnvironmentCustody)
    assert isinstance(source.custody(OsFileSystem(), tmp_path, "checkpoint"), FileCustody)


@pytest.mark.parametrize("content", [b"from a file", b"from a file\n", b"from a file\r\n"])
def test_a_passphrase_file_comes_before_the_variable(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "secret").write_bytes(content)
    assert key_source(told, tmp_path / "secret").passphrase == Passphrase(b"from a file")


def test_a_passphrase_file_that_is_missing_or_empty_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="cannot be read: no such file"):
        key_source(told, tmp_path / "secret")
    (tmp_path / "secret").write_bytes(b"\n")
    with pytest.raises(KeyFileError, match="is empty"):
        key_source(told, tmp_path / "secret")


def test_a_tenants_keys_are_files_of_its_own(tmp_path: Path) -> None:
    source = key_source(told).for_tenant()
    assert source.passphrase == Passphrase(b"from the environment")
    assert isinstance(source.custody(OsFileSystem(), tmp_path, "entry"), FileCustody)


def test_a_source_shows_no_secret() -> None:
    assert SEED not in repr(key_source(told))
    assert "from the environment" not in repr(key_source(told))
