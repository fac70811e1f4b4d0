"""SQLite files that are a person's alone: mode 0600, durable, and with nothing left of what was deleted."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from agent_host.errors import ConfigurationError


def open_private(path: Path, schema: str) -> sqlite3.Connection:
    """Opens a database, making it and its tables when they are missing.

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
    except (sqlite3.Error, OSError) as error:
        raise ConfigurationError(f"{path} cannot be used ({error}); move it away, and a new one is made.") from error
    return connection
