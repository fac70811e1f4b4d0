"""Which calls were done already: idempotency keys of note writes and what was answered to them.

A key is written down before the file is touched and marked done after. When a process dies in between, the file's hash
tells whether the write happened. Keys are kept for thirty days.
"""

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools_mcp.disk import as_store_error
from tools_mcp.errors import ConflictError, StoreError

_KEPT_MS = 30 * 24 * 3600 * 1000
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS requests (key TEXT PRIMARY KEY, arguments TEXT NOT NULL, note TEXT NOT NULL,"
    " before TEXT, after TEXT NOT NULL, answer TEXT NOT NULL, done INTEGER NOT NULL, at_ms INTEGER NOT NULL)"
)


@dataclass(frozen=True)
class Intent:
    """A write that is about to happen: from one content hash of a note (none: no file) to another."""

    note_id: str
    before: str | None
    after: str
    answer: dict[str, Any]


@dataclass(frozen=True)
class RequestLog:
    """The keys of one vault; call it with the vault locked."""

    path: Path
    now_ms: Callable[[], int]

    def answered(
        self, key: str, arguments: dict[str, Any], hash_of: Callable[[str], str | None]
    ) -> dict[str, Any] | None:
        """Return the answer to a call that was done already; `hash_of` tells a note's content hash now.

        Raises:
            ConflictError: The key came with other arguments.
        """
        with self._open() as connection:
            row = connection.execute(
                "SELECT arguments, note, before, answer, done FROM requests WHERE key = ?", (_hash(key),)
            ).fetchone()
        if row is None:
            return None
        made_from, note_id, before, answer, done = row
        if made_from != _hash(json.dumps(arguments, sort_keys=True)):
            raise ConflictError("This idempotency_key was used for another write; send a new key for a new write.")
        applied = done or hash_of(note_id) != before
        return dict(json.loads(answer)) if applied else None

    def intend(self, key: str, arguments: dict[str, Any], intent: Intent) -> None:
        """Write down a write that is about to happen."""
        row = (
            *(_hash(key), _hash(json.dumps(arguments, sort_keys=True)), intent.note_id),
            *(intent.before, intent.after, json.dumps(intent.answer), self.now_ms()),
        )
        with self._open() as connection:
            connection.execute("DELETE FROM requests WHERE at_ms < ?", (self.now_ms() - _KEPT_MS,))
            connection.execute("INSERT OR REPLACE INTO requests VALUES (?, ?, ?, ?, ?, ?, 0, ?)", row)

    def done(self, key: str, answer: dict[str, Any]) -> None:
        """Mark a write as done and keep what was answered; when that fails, the file's hash still tells the same."""
        update = "UPDATE requests SET done = 1, answer = ? WHERE key = ?"
        with contextlib.suppress(StoreError), self._open() as connection:
            connection.execute(update, (json.dumps(answer), _hash(key)))

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with as_store_error("notes", "written"):
            self.path.touch(mode=0o600)
        try:
            with contextlib.closing(sqlite3.connect(self.path, timeout=10, isolation_level=None)) as connection:
                connection.execute(_SCHEMA)
                yield connection
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
                raise StoreError("The notes folder cannot be written: no space left on device.") from error
            raise StoreError(
                "The record of idempotency keys cannot be used; nothing was changed: send the call without a key, and "
                "remove requests.sqlite from .prometheus in the notes folder if it is damaged."
            ) from error


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
