"""One writer at a time per folder, across threads and processes, on every system Python runs on."""

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tools_mcp.disk import as_store_error
from tools_mcp.errors import StoreBusyError, StoreError

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_REASONS = {sqlite3.SQLITE_FULL: "no space left on device", sqlite3.SQLITE_READONLY: "read-only file system"}


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
            StoreError: The lock file cannot be made or locked.
        """
        if not self._threads.acquire(timeout=self.wait_s):
            raise _busy()
        try:
            with contextlib.closing(self._locked()):
                yield  # closing the connection ends the transaction and with it the lock
        finally:
            self._threads.release()

    def _locked(self) -> sqlite3.Connection:
        with as_store_error(self.folder_name, "written"):
            self.path.touch(mode=0o600)
        connection = None
        try:
            connection = sqlite3.connect(self.path, timeout=self.wait_s, isolation_level=None)
            connection.execute("PRAGMA journal_mode=MEMORY")  # a journal file needs room on the disk
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
            raise self._refused(error) from error
        return connection

    def _refused(self, error: sqlite3.Error) -> StoreError:
        """Say why there is no lock: only what SQLite calls busy is another program."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the kind, the rest says more of it
        if code in _BUSY:
            return _busy()
        why = _REASONS.get(code, "the disk failed")
        return StoreError(f"The {self.folder_name} folder cannot be written: {why}; nothing was changed.")


def _busy() -> StoreBusyError:
    return StoreBusyError("Another program is writing to this folder right now; nothing was changed, try again.")
