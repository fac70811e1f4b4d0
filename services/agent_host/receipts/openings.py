"""The private store of openings: what lets the operator reveal, or forget, what a receipt committed to.

One SQLite file in the host's folder, mode 0600. Deleting an opening erases what the receipt said without touching the
chain (receipts.md section 5).
"""

from __future__ import annotations

import zlib
from pathlib import Path

from agent_host.private_store import open_private
from agent_host.receipts.commitments import Opening

_SCHEMA = """
CREATE TABLE IF NOT EXISTS openings (
    owner_id TEXT NOT NULL,
    field TEXT NOT NULL,
    key BLOB NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (owner_id, field)
) WITHOUT ROWID
"""


class OpeningStore:
    """Keeps openings by owner (a turn or call id) and field."""

    def __init__(self, path: Path) -> None:
        """Opens the file, making it when it is missing.

        Raises:
            ConfigurationError: it is no database, or cannot be opened.
        """
        self._connection = open_private(path, _SCHEMA)

    def keep(self, *openings: Opening) -> None:
        """Stores openings; one already kept under the same owner and field stays as it is."""
        rows = [(o.owner_id, o.field, o.key, zlib.compress(o.value)) for o in openings]
        with self._connection:
            self._connection.executemany("INSERT OR IGNORE INTO openings VALUES (?, ?, ?, ?)", rows)

    def find(self, owner_id: str, field: str) -> Opening | None:
        """Returns the opening, or None when there is none or it was forgotten."""
        row = self._connection.execute(
            "SELECT key, value FROM openings WHERE owner_id = ? AND field = ?", (owner_id, field)
        ).fetchone()
        return None if row is None else Opening(owner_id, field, row[0], zlib.decompress(row[1]))

    def of(self, owner_id: str) -> list[Opening]:
        """Returns every opening of an owner, by field."""
        rows = self._connection.execute(
            "SELECT field, key, value FROM openings WHERE owner_id = ? ORDER BY field", (owner_id,)
        ).fetchall()
        return [Opening(owner_id, field, key, zlib.decompress(value)) for field, key, value in rows]

    def forget(self, owner_id: str) -> int:
        """Deletes every opening of an owner, from the write-ahead log too, and returns how many there were."""
        with self._connection:
            erased = self._connection.execute("DELETE FROM openings WHERE owner_id = ?", (owner_id,)).rowcount
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return erased

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()
