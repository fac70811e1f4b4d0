"""Writing over what was seen and nothing else, and the disk's errors as the one sentence a tool caller may read."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tools_mcp.errors import StoreError


@contextlib.contextmanager
def as_store_error(folder: str, verb: str) -> Iterator[None]:
    """Turn an error of the operating system in the block into a `StoreError`; `folder` is a name, never a path.

    Raises:
        StoreError: The block failed on the disk.
    """
    try:
        yield
    except OSError as error:
        reason = (error.strerror or "the disk failed").lower()
        raise StoreError(f"The {folder} folder cannot be {verb}: {reason}; nothing was changed.") from error


def checked_write(path: Path, data: bytes, check: Callable[[], None]) -> None:
    """Replace a file (mode 0600) with `data`, when `check` finds nothing against it right before the rename.

    The slow part, writing and fsync, is done by then, so that hardly any time is left for another program to write in.

    Raises:
        OSError: The disk refused; the old file is untouched.
        ConflictError: From `check`; the old file is untouched.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:60]}.", suffix=".tmp", dir=path.parent)  # made 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        check()
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)  # it is gone when it was renamed
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
