"""Where a process takes its keys from: files by default, a passphrase for them, or seeds from the environment."""

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from receipt_writer.errors import KeyFileError
from receipt_writer.signers.custody import KeyCustody, Use
from receipt_writer.signers.environment import EnvironmentCustody, next_seed_variable, seed_variable
from receipt_writer.signers.file import FileCustody, Passphrase
from receipt_writer.storage.filesystem import FileSystem

KEY_NAMES: Mapping[Use, str] = MappingProxyType({"entry": "entry.key", "checkpoint": "checkpoint.key"})
"""The key files of a ledger, by use."""

_OTHERS = 0o077
_PREFIX = "PROMETHEUS_"
_PASSPHRASE = "RECEIPTS_PASSPHRASE"  # noqa: S105 -- the variable's name


@dataclass(frozen=True)
class KeySource:
    """How the keys of a ledger are reached. `seeds` and `next_seeds` are base64, by use, and come before files."""

    passphrase: Passphrase | None = None
    seeds: Mapping[Use, str] = field(default_factory=dict, repr=False)
    next_seeds: Mapping[Use, str] = field(default_factory=dict, repr=False)

    def custody(self, files: FileSystem, folder: Path, use: Use) -> KeyCustody:
        """Return what keeps the key of a use for the ledger in a receipts folder."""
        if use in self.seeds:
            return EnvironmentCustody(use, self.seeds[use], self.next_seeds.get(use))
        return FileCustody(files, folder / KEY_NAMES[use], use, self.passphrase)

    def for_tenant(self) -> "KeySource":
        """Return the source for a tenant's ledger: files of its own, since no two ledgers may share a key."""
        return KeySource(self.passphrase)


def key_source(get: Callable[[str], str | None], passphrase_file: Path | None = None) -> KeySource:
    """Return the key source that the settings name; `get` takes a name without its `PROMETHEUS_` (`Settings.get`).

    A passphrase file, such as a mounted secret, comes before the variable; a line break at its end is no part of it.

    Raises:
        KeyFileError: A seed is given without the other; or the passphrase file cannot be read, can be read by others,
            is no plain file, or is empty.
    """
    secret = (get(_PASSPHRASE) or "").encode()
    if passphrase_file is not None:
        secret = _read_passphrase(passphrase_file)
    uses: tuple[Use, ...] = ("entry", "checkpoint")
    seeds = {use: seed for use in uses if (seed := get(seed_variable(use).removeprefix(_PREFIX)))}
    next_seeds = {use: seed for use in uses if (seed := get(next_seed_variable(use).removeprefix(_PREFIX)))}
    _require_both(seeds, next_seeds)
    return KeySource(Passphrase(secret) if secret else None, seeds, next_seeds)


def _require_both(seeds: Mapping[Use, str], next_seeds: Mapping[Use, str]) -> None:
    """Refuse half of the keys: the other would be a new file that nobody keeps, in a place that may not last."""
    missing = sorted(KEY_NAMES.keys() - seeds.keys())
    if missing and (seeds or next_seeds):
        variables = " and ".join(seed_variable(use) for use in missing)
        raise KeyFileError(f"{variables} must be set too; keys come from the environment both, or neither.")


def _read_passphrase(path: Path) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe must not hang the start
        try:
            _require_private(path, os.fstat(handle))
            with os.fdopen(handle, "rb", closefd=False) as file:
                secret = file.read().removesuffix(b"\n").removesuffix(b"\r")
        finally:
            os.close(handle)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise KeyFileError(f"The passphrase file {path} cannot be read: {reason}.") from error
    if not secret:
        raise KeyFileError(f"The passphrase file {path} is empty; write the passphrase into it.")
    return secret


def _require_private(path: Path, status: os.stat_result) -> None:
    """Accept what a key file must be, too: a plain file that its owner alone can read."""
    if not stat.S_ISREG(status.st_mode):
        raise KeyFileError(f"The passphrase file {path} is no plain file; name one.")
    if status.st_mode & _OTHERS:
        mode = stat.S_IMODE(status.st_mode)
        raise KeyFileError(f"{path} has mode {mode:04o}, so others could read the passphrase; run: chmod 600 {path}")
