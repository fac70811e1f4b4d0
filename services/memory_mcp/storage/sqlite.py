"""The SQLite store: one file, several threads, several processes.

WAL lets readers and one writer work at the same time. `synchronous=FULL` makes a commit durable before it returns: a
reply means that the memory survives a power cut. Every write takes the lock at its start (`BEGIN IMMEDIATE`) and waits
a bounded time for it. `secure_delete` overwrites what is deleted.
"""

from __future__ import annotations

import errno
import math
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from memory_mcp.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreDiskError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
)
from memory_mcp.normal_form import body_hash
from memory_mcp.storage.leftovers import remove_leftovers
from memory_mcp.storage.schema import MIGRATIONS, Migration, backup_names, bring_up_to_date
from memory_mcp.storage.sqlite_reader import SqliteReader
from memory_mcp.storage.sqlite_vectors import VectorCache
from memory_mcp.storage.sqlite_writer import SqliteWriter

FILE_NAME = "memory.db"
BUSY_TIMEOUT_MS = 5_000
"""How long a write waits for another process before it gives up."""

_FILE_MODE = 0o600
_SMALLEST_BYTES = 512
_STEPS = 10_000
"""Of SQLite's machine between two looks at the clock."""
_TEXTS = "SELECT CAST(body AS BLOB), body_hash FROM memory WHERE NOT erased"
_LEFT_AFTER_S = 3600
"""A salvage that is older than this is taken for killed when a store is opened."""
_Refusal = type[StoreBusyError | StoreReadOnlyError | StoreFullError | StoreDiskError | StoreDamagedError]
_BY_CODE: dict[int, _Refusal] = {
    sqlite3.SQLITE_BUSY: StoreBusyError,
    sqlite3.SQLITE_LOCKED: StoreBusyError,
    sqlite3.SQLITE_READONLY: StoreReadOnlyError,
    sqlite3.SQLITE_CANTOPEN: StoreReadOnlyError,
    sqlite3.SQLITE_PERM: StoreReadOnlyError,
    sqlite3.SQLITE_FULL: StoreFullError,
    sqlite3.SQLITE_IOERR: StoreDiskError,
    sqlite3.SQLITE_CORRUPT: StoreDamagedError,
    sqlite3.SQLITE_NOTADB: StoreDamagedError,
}
_BY_ERRNO: dict[int | None, _Refusal] = {
    errno.EACCES: StoreReadOnlyError,
    errno.EPERM: StoreReadOnlyError,
    errno.EROFS: StoreReadOnlyError,
    errno.ENOSPC: StoreFullError,
    errno.EDQUOT: StoreFullError,
    errno.EIO: StoreDiskError,
}


class SqliteStore:
    """A `MemoryStore` in one SQLite file; one connection reads and one writes, so a search never waits for a write."""

    def __init__(self, path: Path, reader: sqlite3.Connection, writer: sqlite3.Connection) -> None:
        self._path = path
        self._reader, self._reader_lock = reader, threading.Lock()
        self._writer, self._writer_lock = writer, threading.Lock()
        self._vectors = VectorCache()

    @contextmanager
    def reading(self) -> Iterator[SqliteReader]:
        """Opens a consistent view."""
        with self._reader_lock, _transaction(self._reader, "BEGIN"):
            yield SqliteReader(self._reader, self._vectors)

    @contextmanager
    def writing(self) -> Iterator[SqliteWriter]:
        """Opens a transaction that is durable when the block ends, and undone when it raises."""
        with self._writer_lock, _transaction(self._writer, "BEGIN IMMEDIATE"):
            yield SqliteWriter(self._writer)

    def prepare_vectors(self) -> None:
        """Does nothing: a file can keep vectors from the start."""

    def purge(self) -> tuple[str, ...]:
        """Empties the write-ahead log, which holds pages as they were, and removes what a killed salvage left.

        Returns, in words, where erased text may remain.
        """
        with self._writer_lock, _translated():
            (busy, _, _) = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        log = ("the write-ahead log, until every process that has the store open ends",) if busy else ()
        copies = tuple(f"the copy {name} made before a migration" for name in backup_names(self._path))
        left = tuple(f"{name}, left by a salvage" for name in remove_leftovers(self._path, math.inf))
        return log + copies + left + tuple(f"the damaged file {name}" for name in damaged_names(self._path))

    def verify(self, within_s: float) -> bool:
        """Looks at the structure of every page, and whether each text still has its hash, as long as there is time.

        Raises:
            StoreDamagedError: Something was overwritten or is missing.
        """
        ends_s = time.monotonic() + within_s
        with self._reader_lock, _translated():
            self._reader.set_progress_handler(lambda: time.monotonic() > ends_s, _STEPS)
            try:
                whole = self._reader.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)]
                rows = self._reader.execute(_TEXTS) if whole else ()
                whole = whole and all(body_hash(body.decode(errors="replace")) == told for body, told in rows)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                    raise
                return False
            finally:
                self._reader.set_progress_handler(None, 0)
        if not whole:
            raise StoreDamagedError
        return True

    def close(self) -> None:
        """Closes the database; safe to call twice."""
        with self._reader_lock, self._writer_lock:
            self._reader.close()
            self._writer.close()


def damaged_names(path: Path) -> tuple[str, ...]:
    """Returns the names of the damaged files that `memory-mcp salvage` kept beside a store."""
    return tuple(sorted(copy.name for copy in path.parent.glob(f"{path.stem}.damaged-*{path.suffix}")))


def open_sqlite(
    path: Path,
    *,
    busy_timeout_ms: int = BUSY_TIMEOUT_MS,
    migrations: Sequence[Migration] = MIGRATIONS,
) -> SqliteStore:
    """Opens the store, creating or migrating it when needed.

    Raises:
        StoreError: The file cannot be used; it was left as it is.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, _FILE_MODE))
    except OSError as error:
        raise _BY_ERRNO.get(error.errno, StoreDamagedError) from error
    if 0 < path.stat().st_size < _SMALLEST_BYTES:
        raise StoreDamagedError  # SQLite would take what is left of a header for an empty file and write over it
    with _translated():
        writer = _connect(path, busy_timeout_ms)
        try:
            writer.execute("PRAGMA journal_mode = WAL")
            remove_leftovers(path, time.time() - _LEFT_AFTER_S)
            bring_up_to_date(writer, path, lambda: time.time_ns() // 1_000_000, migrations)
            return SqliteStore(path, _connect(path, busy_timeout_ms), writer)
        except (sqlite3.Error, StoreError):
            writer.close()
            raise


def _connect(path: Path, busy_timeout_ms: int) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path,
        timeout=busy_timeout_ms / 1000,
        isolation_level=None,
        check_same_thread=False,
    )
    for pragma in ("synchronous = FULL", "secure_delete = ON", "trusted_schema = OFF", "cache_size = -16000"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    with _translated():
        connection.execute(begin)
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def _translated() -> Iterator[None]:
    """Turns SQLite's refusals into one sentence; anything unexpected stays what it is."""
    try:
        yield
    except sqlite3.Error as error:
        known = _BY_CODE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
        if known is None:
            raise
        raise known from error
