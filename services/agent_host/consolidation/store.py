"""The consolidation's part of the chat log's file: which rows are open, and memories that wait to be sent.

A batch's memories are stored and its rows are marked in one transaction. A memory is sent under `<batch>-<position>`
as its idempotency key and marked after that, so that whatever dies in between repeats nothing (agent.md row 33).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent_host.chat_log import CHAT_COLUMNS, CHAT_INDEXES, CHAT_SCHEMA
from agent_host.consolidation.batch import Batch, LogRow, batch_of
from agent_host.consolidation.facts import Proposed
from agent_host.private_store import open_private

MOST_ROWS: Final = 40
"""The most rows one call reads, however many are open."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS pending_memories (
    batch_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    content TEXT NOT NULL,
    scope TEXT NOT NULL,
    trust TEXT NOT NULL,
    happened_on TEXT,
    memory_id TEXT,
    sent INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (batch_id, position)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS pending_memories_unsent ON pending_memories (batch_id, position) WHERE sent = 0;
CREATE TABLE IF NOT EXISTS consolidation_pause (id INTEGER PRIMARY KEY CHECK (id = 1), until_rows INTEGER NOT NULL);
"""
_UNSENT: Final = (
    "SELECT batch_id, position, session_id, kind, subject, content, scope, trust, happened_on FROM pending_memories"
    " WHERE sent = 0 ORDER BY batch_id, position"
)
_SENT: Final = (
    "UPDATE pending_memories SET sent = 1, memory_id = ?, subject = '', content = ''"
    " WHERE batch_id = ? AND position = ?"
)


@dataclass(frozen=True)
class Pending:
    """A memory that waits to be sent; `key` is what makes sending it twice the same as once."""

    batch_id: str
    position: int
    session_id: str
    memory: Proposed

    @property
    def key(self) -> str:
        """The idempotency key."""
        return f"{self.batch_id}-{self.position}"


class ConsolidationStore:
    """The open rows and the pending memories of one home."""

    def __init__(self, path: Path) -> None:
        """Opens the chat log's file.

        Raises:
            ConfigurationError: it is no database, or cannot be opened.
        """
        self._connection = open_private(path, CHAT_SCHEMA + _SCHEMA, CHAT_COLUMNS, CHAT_INDEXES)

    def next_batch(self, trigger_rows: int) -> Batch | None:
        """Returns the oldest open exchanges once `trigger_rows` rows are open, None before, and during a pause."""
        pause = self._connection.execute("SELECT until_rows FROM consolidation_pause").fetchone()
        if self.open_rows() < max(trigger_rows, pause[0] if pause else 0):
            return None
        rows = self._connection.execute(
            "SELECT id, session_id, turn_id, role, content, meta, created_at_ms FROM chat_log"
            " WHERE consolidated = 0 ORDER BY id LIMIT ?",
            (MOST_ROWS,),
        ).fetchall()
        return batch_of(LogRow(*row) for row in rows)

    def open_rows(self) -> int:
        """Returns how many rows are open."""
        (count,) = self._connection.execute("SELECT count(*) FROM chat_log WHERE consolidated = 0").fetchone()
        return int(count)

    def pause(self, more_rows: int) -> None:
        """Leaves open rows alone until there are so many more of them: a call that failed is not repeated at once."""
        with self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO consolidation_pause VALUES (1, ?)", (self.open_rows() + more_rows,)
            )

    def keep(self, batch_id: str, batch: Batch, memories: Sequence[Proposed]) -> None:
        """Stores what a batch left and marks the rows it was read from, both or neither; durable when it returns."""
        session_id = batch.exchanges[-1].session_id
        rows = [
            (batch_id, at, session_id, one.kind, one.subject, one.content, one.scope, one.trust, one.happened_on)
            for at, one in enumerate(memories)
        ]
        with self._connection:
            self._connection.executemany(
                "INSERT INTO pending_memories"
                " (batch_id, position, session_id, kind, subject, content, scope, trust, happened_on)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
            self._connection.executemany(
                "UPDATE chat_log SET consolidated = 1 WHERE id = ?", [(row_id,) for row_id in batch.row_ids]
            )
            self._connection.execute("DELETE FROM consolidation_pause")

    def pending(self) -> list[Pending]:
        """Returns what waits to be sent, oldest first."""
        rows = self._connection.execute(_UNSENT).fetchall()
        return [Pending(batch, at, session, Proposed(*memory)) for batch, at, session, *memory in rows]

    def mark_sent(self, pending: Pending, memory_id: str | None) -> None:
        """Marks a memory as being on the memory server; its words stay there alone, where they can be forgotten."""
        with self._connection:
            self._connection.execute(_SENT, (memory_id, pending.batch_id, pending.position))

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()
