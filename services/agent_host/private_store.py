"""SQLite files that are a person's alone: mode 0600, durable, and with nothing left of what was deleted."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias

from agent_host.errors import ConfigurationError

_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
"""SQLite's primary result codes, the low byte of an extended one (sqlite.org/rescode.html)."""

Column: TypeAlias = tuple[str, str, str]
"""A table, the name of a column that earlier builds did not have, and its definition with a default."""


def open_private(path: Path, schema: str, added: Sequence[Column] = (), indexes: str = "") -> sqlite3.Connection:
    """Opens a database, making it and its tables when they are missing; a file of an earlier build gets what is new.

    `added` are the columns that came after the first build, `indexes` what can only be made once they are there.

    Raises:
        ConfigurationError: the file is no database, or cannot be opened.
    """
    try:
        path.touch(mode=0o600, exist_ok=True)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA secure_delete=ON")
        connection.executescript(schema)
        _add_columns(connection, added)
        connection.executescript(indexes)
    except (sqlite3.Error, OSError) as error:
        raise ConfigurationError(f"{path} cannot be used ({error}); {_what_to_do(error)}.") from error
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Opens a database that is there on a read-only disk, where no build could add what is new.

    Raises:
        ConfigurationError: there is none, or it cannot be read.
    """
    journal = path.with_name(f"{path.name}-wal")
    try:
        # A journal with something in it is a host's that talks elsewhere; only SQLite's own locks show what it said.
        how = "mode=ro" if journal.exists() and journal.stat().st_size else "mode=ro&immutable=1"
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except (sqlite3.Error, OSError) as error:
        raise ConfigurationError(f"{path} cannot be read ({error}); name another home with --home.") from error
    return connection


def _what_to_do(error: Exception) -> str:
    """Returns the advice for a file that cannot be opened: only one that is damaged is better out of the way."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
        return "move it away, and a new one is made"
    return "nothing in it is lost: free some space on that disk, or make the file writable, and start again"


def _add_columns(connection: sqlite3.Connection, added: Sequence[Column]) -> None:
    """Adds the columns that are missing, all or none; two processes at once add each of them once."""
    if not any(name not in _columns(connection, table) for table, name, _ in added):
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for table, name, definition in added:
            if name not in _columns(connection, table):
                connection.execute(f"ALTER TABLE {table} ADD COLUMN {name} {definition}")


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[0] for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}
