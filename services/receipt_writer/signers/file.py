"""A signing key in a file of its own that only its owner can read (spec section 7)."""

import base64
import binascii
import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from nacl.signing import SigningKey

from receipt_writer.errors import KeyFileError
from receipt_writer.storage.filesystem import FileSystem, create_file

Use = Literal["entry", "checkpoint"]
"""What a key signs. One key never serves both, so that a stolen checkpoint key cannot write entries."""

_SEED_BYTES = 32
_LARGEST_BYTES = 4096


@dataclass(frozen=True)
class FileSigner:
    """An Ed25519 key read from a file into this process; satisfies `format.signing.Signer`."""

    _key: SigningKey = field(repr=False)

    @property
    def public_key(self) -> bytes:
        """The 32 bytes that others verify with."""
        return bytes(self._key.verify_key)

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte signature of a message (RFC 8032)."""
        return self._key.sign(message).signature


def create_key(files: FileSystem, path: Path, use: Use) -> FileSigner:
    """Make a new key, write it (mode 0600, never over an existing file, synced) and return it.

    Raises:
        KeyFileError: The file exists already, or the disk refused.
    """
    key = SigningKey.generate()
    content = {"use": use, "algorithm": "ed25519", "seed": _text(bytes(key)), "publicKey": _text(bytes(key.verify_key))}
    try:
        create_file(files, path, json.dumps(content).encode() + b"\n")
    except FileExistsError as error:
        raise KeyFileError(f"{path} exists already; a key is never overwritten, move it away first.") from error
    except OSError as error:
        raise KeyFileError(f"The key file {path} could not be written: {_reason(error)}.") from error
    return FileSigner(key)


def load_key(path: Path, use: Use) -> FileSigner:
    """Read a key file.

    Raises:
        KeyFileError: It is missing, is no plain file, can be read by others, belongs to another user, is for another
            use, or holds no key. Nothing of its content is in the message.
    """
    content = _private_bytes(path)
    try:
        seed = _seed(json.loads(content), use)
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error) as error:
        raise KeyFileError(f"{path} is no {use} key file; put the right file back.") from error
    return FileSigner(SigningKey(seed))


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


def _seed(content: dict[str, object], use: Use) -> bytes:
    seed = base64.b64decode(str(content["seed"]), validate=True)
    if content["use"] != use or content["algorithm"] != "ed25519" or len(seed) != _SEED_BYTES:
        raise ValueError(use)
    if _text(bytes(SigningKey(seed).verify_key)) != content["publicKey"]:
        raise ValueError(use)
    return seed


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
