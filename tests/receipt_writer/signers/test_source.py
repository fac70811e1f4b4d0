from __future__ import annotations

import os
from pathlib import Path

import pytest

from receipt_writer.errors import KeyFileError
from receipt_writer.identity import USES
from receipt_writer.signers.custody import Use
from receipt_writer.signers.environment import EnvironmentCustody
from receipt_writer.signers.file import FileCustody, Passphrase
from receipt_writer.signers.source import KeySource, key_source
from receipt_writer.storage.filesystem import OsFileSystem

SEED = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
OTHER_SEED = "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="
SETTINGS = {
    "RECEIPTS_PASSPHRASE": "from the environment",
    "RECEIPTS_ENTRY_SEED": SEED,
    "RECEIPTS_CHECKPOINT_SEED": OTHER_SEED,
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
    seeds: dict[Use, str] = {"entry": SEED, "checkpoint": OTHER_SEED}
    assert source == KeySource(Passphrase(b"from the environment"), seeds, {"checkpoint": SEED})
    for use in USES:
        assert isinstance(source.custody(OsFileSystem(), tmp_path, use), EnvironmentCustody)


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        (["ENTRY_SEED"], "PROMETHEUS_RECEIPTS_CHECKPOINT_SEED"),
        (["CHECKPOINT_SEED", "ENTRY_SEED_NEXT"], "PROMETHEUS_RECEIPTS_ENTRY_SEED"),
        (["ENTRY_SEED_NEXT"], "PROMETHEUS_RECEIPTS_CHECKPOINT_SEED and PROMETHEUS_RECEIPTS_ENTRY_SEED"),
    ],
)
def test_half_of_the_keys_from_the_environment_is_refused(given: list[str], missing: str) -> None:
    """The other half would be a key file that nobody asked for."""
    with pytest.raises(KeyFileError, match=f"^{missing} must be set too"):
        key_source({f"RECEIPTS_{name}": SEED for name in given}.get)


@pytest.mark.parametrize("content", [b"from a file", b"from a file\n", b"from a file\r\n"])
def test_a_passphrase_file_comes_before_the_variable(tmp_path: Path, content: bytes) -> None:
    write_secret(tmp_path, content)
    assert key_source(told, tmp_path / "secret").passphrase == Passphrase(b"from a file")


def test_a_passphrase_file_that_is_missing_or_empty_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="cannot be read: no such file"):
        key_source(told, tmp_path / "secret")
    write_secret(tmp_path, b"\n")
    with pytest.raises(KeyFileError, match="is empty"):
        key_source(told, tmp_path / "secret")


def write_secret(folder: Path, content: bytes) -> Path:
    path = folder / "secret"
    path.touch(0o600)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o610])
def test_a_passphrase_file_that_others_could_read_is_refused_as_a_key_file_is(tmp_path: Path, mode: int) -> None:
    path = write_secret(tmp_path, b"from a file")
    path.chmod(mode)
    with pytest.raises(KeyFileError, match=rf"mode {mode:04o}.*run: chmod 600 {path}"):
        key_source(told, path)
    path.chmod(0o400)
    assert key_source(told, path).passphrase == Passphrase(b"from a file")


def test_a_passphrase_comes_from_a_plain_file_only_and_a_pipe_hangs_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir(0o700)
    for name in ("pipe", "folder"):
        with pytest.raises(KeyFileError, match="is no plain file"):
            key_source(told, tmp_path / name)


def test_a_tenants_keys_are_files_of_its_own(tmp_path: Path) -> None:
    source = key_source(told).for_tenant()
    assert source.passphrase == Passphrase(b"from the environment")
    assert isinstance(source.custody(OsFileSystem(), tmp_path, "entry"), FileCustody)


def test_a_source_shows_no_secret() -> None:
    assert SEED not in repr(key_source(told))
    assert "from the environment" not in repr(key_source(told))
