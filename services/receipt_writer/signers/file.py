"""A signing key in a file of its own that only its owner can read, under a passphrase if there is one (section 7).

entry.key  checkpoint.key             the keys in force
entry.key.next                        for the moment of a rotation, the key to come
"""

import base64
import json
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from receipt_writer.errors import KeyFileError
from receipt_writer.signers.custody import Use
from receipt_writer.signers.local import SEED_BYTES, LocalSigner
from receipt_writer.signers.sealing import Limits, seal, unseal
from receipt_writer.storage.filesystem import FileSystem, create_file

HOW_TO_UNLOCK = "give it in PROMETHEUS_RECEIPTS_PASSPHRASE or with --passphrase-file"
"""What to do about a passphrase that is missing or wrong."""

_log = logging.getLogger(__name__)
_LARGEST_BYTES = 4096


@dataclass(frozen=True)
class Passphrase:
    """What locks key files; `limits` is what opening a new file shall cost."""

    secret: bytes = field(repr=False)
    limits: Limits = field(default_factory=Limits)


class FileCustody:
    """Satisfies `signers.custody.KeyCustody` with files; `passphrase` locks every file that it makes."""

    def __init__(self, files: FileSystem, path: Path, use: Use, passphrase: Passphrase | None = None) -> None:
        self._files, self._path, self._use, self._passphrase = files, path, use, passphrase
        self._next = path.with_name(f"{path.name}.next")

    def exists(self) -> bool:
        """Say whether the key file is there."""
        return self._path.exists()

    def create(self) -> LocalSigner:
        """Make the key file."""
        return create_key(self._files, self._path, self._use, self._passphrase)

    def load(self) -> LocalSigner:
        """Read the key file."""
        return load_key(self._path, self._use, self._passphrase)

    def load_next(self) -> LocalSigner | None:
        """Read the file of the key to come."""
        return load_key(self._next, self._use, self._passphrase) if self._next.exists() else None

    def prepare_next(self) -> LocalSigner:
        """Make the file of the key to come."""
        self.discard_next()
        return create_key(self._files, self._next, self._use, self._passphrase)

    def promote_next(self) -> None:
        """Give the file of the key to come the name of the key in force, which takes the old key's place."""
        try:
            self._files.replace(self._next, self._path)
            self._files.sync_folder(self._path.parent)
        except OSError as error:
            raise KeyFileError(f"{self._next} could not take the place of {self._path}: {_reason(error)}.") from error

    def discard_next(self) -> None:
        """Remove the file of the key to come."""
        if not self._next.exists():
            return
        try:
            self._files.remove(self._next)
            self._files.sync_folder(self._path.parent)
        except OSError as error:
            raise KeyFileError(f"{self._next} could not be removed: {_reason(error)}.") from error


def create_key(files: FileSystem, path: Path, use: Use, passphrase: Passphrase | None = None) -> LocalSigner:
    """Make a new key, write it (mode 0600, never over an existing file, synced) and return it.

    Raises:
        KeyFileError: The file exists already, or the disk refused.
    """
    signer = LocalSigner.generate()
    content: dict[str, object] = {"use": use, "algorithm": "ed25519", "publicKey": _text(signer.public_key)}
    if passphrase is None:
        content["seed"] = _text(signer.seed)
    else:
        with _memory_for(path):
            content["sealed"] = seal(signer.seed, passphrase.secret, passphrase.limits)
    try:
        create_file(files, path, json.dumps(content).encode() + b"\n")
    except FileExistsError as error:
        raise KeyFileError(f"{path} exists already; a key is never overwritten, move it away first.") from error
    except OSError as error:
        raise KeyFileError(f"The key file {path} could not be written: {_reason(error)}.") from error
    return signer


def load_key(path: Path, use: Use, passphrase: Passphrase | None = None) -> LocalSigner:
    """Read a key file.

    Raises:
        KeyFileError: It is missing, is no plain file, can be read by others, belongs to another user, is for another
            use, holds no key, or its passphrase is missing or another. Nothing of its content is in the message.
    """
    content = _private_bytes(path)
    try:
        return _signer(path, json.loads(content), use, passphrase)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise KeyFileError(f"{path} is no {use} key file; put the right file back.") from error


def _signer(path: Path, content: dict[str, Any], use: Use, passphrase: Passphrase | None) -> LocalSigner:
    if content["use"] != use or content["algorithm"] != "ed25519":
        raise ValueError(use)
    seed = _unlocked(path, content["sealed"], passphrase) if "sealed" in content else _plain(path, content, passphrase)
    if len(seed) != SEED_BYTES:
        raise ValueError(use)
    signer = LocalSigner.from_seed(seed)
    if _text(signer.public_key) != content["publicKey"]:
        raise ValueError(use)
    return signer


def _plain(path: Path, content: dict[str, Any], passphrase: Passphrase | None) -> bytes:
    if passphrase is not None:
        _log.warning("%s is not locked, although a passphrase is given; rotate the key to lock the next one.", path)
    return base64.b64decode(str(content["seed"]), validate=True)


def _unlocked(path: Path, sealed: dict[str, Any], passphrase: Passphrase | None) -> bytes:
    if passphrase is None:
        raise KeyFileError(f"{path} is locked with a passphrase; {HOW_TO_UNLOCK}.")
    with _memory_for(path):
        seed = unseal(sealed, passphrase.secret)
    if seed is None:
        raise KeyFileError(f"The passphrase does not open {path}; {HOW_TO_UNLOCK.replace('it', 'the right one', 1)}.")
    return seed


@contextmanager
def _memory_for(path: Path) -> Iterator[None]:
    try:
        yield
    except MemoryError as error:
        need = f"{error.args[0] >> 20} MiB" if error.args else "more"
        raise KeyFileError(f"The passphrase of {path} takes {need} of memory, which the system refuses.") from error


def _private_bytes(path: Path) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would hang
    except FileNotFoundError as error:
        raise KeyFileError(f"The key file {path} is missing; put it back from your backup.") from error
    except OSError as error:
        raise KeyFileError(f"The key file {path} cannot be opened: {_reason(error)}.") from error
    try:
        _require_private(path, os.fstat(handle))
        return os.read(handle, _LARGEST_BYTES)
    finally:
        os.close(handle)


def _require_private(path: Path, status: os.stat_result) -> None:
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISREG(status.st_mode):
        raise KeyFileError(f"{path} is no plain file; a key file must be one.")
    if status.st_uid != os.geteuid():
        raise KeyFileError(f"{path} belongs to user id {status.st_uid}; it must belong to the writer's own user.")
    if mode & 0o077:
        raise KeyFileError(f"{path} has mode {mode:04o}, so others can read the key; run: chmod 600 {path}")


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
