"""Where the disk's errors become the one sentence a tool caller may read."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from service_runtime.home import LEFTOVER
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


def remove_leftovers(folder: Path, before_s: float) -> int:
    """Remove the temporary files of writers that were killed before a time (Unix seconds), and say how many.

    A file that cannot be removed stays: it is in nobody's way.

    Raises:
        OSError: The folder cannot be read.
    """
    removed = 0
    for entry in folder.iterdir():
        with contextlib.suppress(OSError):
            if LEFTOVER.fullmatch(entry.name) and not entry.is_symlink() and entry.stat().st_mtime < before_s:
                entry.unlink()
                removed += 1
    return removed
