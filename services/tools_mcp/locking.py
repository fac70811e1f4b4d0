"""One writer at a time per folder, across threads and processes, on every system Python runs on."""

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools_mcp.errors import StoreBusyError


@dataclass(frozen=True)
class FolderLock:
    """A lock file, held through SQLite's file lock: it needs no code per system and dies with its process.

    Nothing is ever written to the file, so taking the lock costs no disk flush.
    """

    path: Path
    wait_s: float = 10.0

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for the block.

        Raises:
            StoreBusyError: It was not free within `wait_s`.
        """
        with contextlib.closing(self._connection()) as connection:
            try:
                connection.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                raise StoreBusyError(
                    "Another program is writing to this folder right now; nothing was changed, try again."
                ) from error
            try:
                yield
            finally:
                connection.rollback()

    def _connection(self) -> sqlite3.Connection:
        self.path.touch(mode=0o600)
        return sqlite3.connect(self.path, timeout=self.wait_s, isolation_level=None)
