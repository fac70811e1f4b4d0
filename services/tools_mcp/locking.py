"""One writer at a time per folder, across threads and processes, on every system Python runs on."""

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tools_mcp.disk import as_store_error
from tools_mcp.errors import StoreBusyError


@dataclass(frozen=True)
class FolderLock:
    """A lock file, held through SQLite's file lock: it needs no code per system and dies with its process.

    Nothing is ever written to the file, so taking the lock costs no disk flush.
    """

    path: Path
    folder_name: str
    """What the folder is called in a sentence, such as `notes`."""
    wait_s: float = 10.0
    _threads: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    """The threads of this process queue here, in turn; only one of them then competes with other processes."""

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for the block.

        Raises:
            StoreBusyError: It was not free within `wait_s`.
            StoreError: The lock file cannot be made.
        """
        if not self._threads.acquire(timeout=self.wait_s):
            raise _busy()
        try:
            with contextlib.closing(self._connection()) as connection:
                try:
                    connection.execute("BEGIN EXCLUSIVE")
                except sqlite3.OperationalError as error:
                    raise _busy() from error
                yield  # closing the connection ends the transaction and with it the lock
        finally:
            self._threads.release()

    def _connection(self) -> sqlite3.Connection:
        with as_store_error(self.folder_name, "written"):
            self.path.touch(mode=0o600)
        return sqlite3.connect(self.path, timeout=self.wait_s, isolation_level=None)


def _busy() -> StoreBusyError:
    return StoreBusyError("Another program is writing to this folder right now; nothing was changed, try again.")
