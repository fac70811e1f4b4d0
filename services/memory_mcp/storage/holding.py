"""Whether another process has a SQLite store open, told by the locks that SQLite holds on its file.

They are looked at without SQLite, because a damaged file cannot be opened with it: "File locking" of
https://www.sqlite.org/lockingv3.html. Every connection in WAL mode holds the shared lock for as long as it is open.
"""

from __future__ import annotations

import errno
import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory_mcp.errors import StoreOpenError

_PENDING_BYTE = 0x40000000
_LOCK_BYTES = 512


@contextmanager
def held_alone(path: Path) -> Iterator[None]:
    """Keeps every other process from opening the store until the block ends; do not read the file inside of it.

    POSIX drops a process's locks when it closes the file anywhere. Windows lets nobody rename a file that is open, so
    nothing is locked there.

    Raises:
        StoreOpenError: Another process has it open.
        OSError: The disk refused.
    """
    if importlib.util.find_spec("fcntl") is None:
        yield
        return
    import fcntl

    descriptor = os.open(path, os.O_RDWR)
    try:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, _LOCK_BYTES, _PENDING_BYTE)
        except OSError as error:
            if error.errno not in {errno.EACCES, errno.EAGAIN}:
                raise
            raise StoreOpenError from error
        yield
    finally:
        os.close(descriptor)


def state_of(path: Path) -> tuple[tuple[int, int, int] | None, ...]:
    """Returns what tells whether somebody wrote to a store: inode, size and time (ns) of its file and log.

    Raises:
        OSError: The disk refused.
    """
    return tuple(_stamp(path.with_name(f"{path.name}{ending}")) for ending in ("", "-wal"))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
