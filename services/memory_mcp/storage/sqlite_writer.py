"""Writing memories and the index to SQLite, inside a transaction that the store opened."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from memory_mcp.embedding.vector import Vector
from memory_mcp.model import Memory
from memory_mcp.scopes import Scope
from memory_mcp.storage.protocol import NewMemory, RecordedReply
from memory_mcp.storage.sqlite_reader import SqliteReader
from memory_mcp.terms import IndexedText

_LIVE, _SUPERSEDED = 1, 0


@dataclass(frozen=True)
class _Filed:
    """Where a memory stands in the index."""

    scope: int
    memory: int
    episode: int | None
    position: int | None


class SqliteWriter(SqliteReader):
    """A transaction: all of it happens, or nothing."""

    def insert(self, new: NewMemory) -> Memory:
        """Stores a live memory and files it in the index."""
        scope = self._scope(new.content.scope)
        episode, position = self._place(scope, new)
        (number,) = self._connection.execute(
            """INSERT INTO memory (id, scope, kind, created_at_ms, happened_at_ms, happened_text, erased, episode,
                                   position, words, distinct_terms, origin, trust, last_seen_at_ms, body_hash, subject,
                                   tags, source_url, body)
               VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
               RETURNING number""",
            (
                new.id,
                scope,
                new.content.kind,
                new.created_at_ms,
                new.content.happened.at_ms if new.content.happened else None,
                new.content.happened.text if new.content.happened else None,
                episode,
                position,
                new.text.words,
                len(new.text.counts),
                new.origin.client,
                new.origin.trust,
                new.created_at_ms,
                new.body_hash,
                new.content.subject,
                json.dumps(new.content.tags),
                new.content.source_url,
                new.content.body,
            ),
        ).fetchone()
        self._file(_Filed(scope, number, episode, position), new.text, _LIVE)
        (memory,) = self._all("WHERE memory.number = ?", (number,))
        return memory

    def touch(self, memory: Memory, at_ms: int) -> None:
        """Notes that a memory was stated again."""
        self._connection.execute("UPDATE memory SET last_seen_at_ms = ? WHERE number = ?", (at_ms, memory.number))

    def supersede(self, memory: Memory, text: IndexedText, by: str, at_ms: int) -> None:
        """Retires a live memory in favour of another; it stays readable and in the index of superseded ones."""
        filed = self._unfile(memory, text)
        self._connection.execute(
            "UPDATE memory SET superseded_by = ?, retired_at_ms = ? WHERE number = ?",
            (by, at_ms, memory.number),
        )
        self._file(filed, text, _SUPERSEDED)

    def forget(self, memory: Memory, text: IndexedText, client: str, at_ms: int) -> None:
        """Takes a memory out of every search; its text stays."""
        self._unfile(memory, text)
        self._connection.execute(
            """UPDATE memory SET forgotten_at_ms = ?, forgotten_by = ?, retired_at_ms = coalesce(retired_at_ms, ?)
                WHERE number = ?""",
            (at_ms, client, at_ms, memory.number),
        )

    def restore(self, memory: Memory, text: IndexedText) -> None:
        """Makes a forgotten memory what it was: live, or superseded; it takes another place when its own is taken."""
        (scope,) = self._connection.execute("SELECT scope FROM memory WHERE number = ?", (memory.number,)).fetchone()
        live = int(memory.superseded_by is None)
        position = self._free_position(memory.episode_number, memory.position) if live else memory.position
        self._connection.execute(
            """UPDATE memory SET forgotten_at_ms = NULL, forgotten_by = NULL, position = ?, words = ?,
                                 distinct_terms = ?, retired_at_ms = iif(superseded_by IS NULL, NULL, retired_at_ms)
                WHERE number = ?""",
            (position, text.words, len(text.counts), memory.number),
        )
        self._file(_Filed(scope, memory.number, memory.episode_number, position), text, live)

    def erase(self, memory: Memory) -> None:
        """Removes the text, subject, tags and source of a forgotten memory; its id, hash and times stay."""
        self._connection.execute(
            "UPDATE memory SET erased = 1, body = '', subject = NULL, tags = '[]', source_url = NULL WHERE number = ?",
            (memory.number,),
        )

    def record_reply(self, reply: RecordedReply, at_ms: int) -> None:
        """Keeps the reply of a write under its idempotency key."""
        self._connection.execute(
            "INSERT INTO reply VALUES (?, ?, ?, ?, ?, ?)",
            (
                reply.key,
                reply.request_hash,
                reply.memory_id,
                reply.deduped,
                json.dumps(reply.superseded),
                at_ms,
            ),
        )

    def store_vectors(self, vectors: Mapping[int, Vector]) -> None:
        """Keeps the vectors of memories, by number; one that was forgotten meanwhile gets none."""
        self._connection.executemany(
            """REPLACE INTO embedding (memory, model, scope, live, episode, position, codes)
               SELECT number, ?, scope, retired_at_ms IS NULL, episode, position, ?
                 FROM memory WHERE number = ? AND forgotten_at_ms IS NULL""",
            [(vector.model, vector.codes, number) for number, vector in vectors.items()],
        )

    def _scope(self, scope: Scope) -> int:
        """Returns the number of a scope; the first memory of a scope decides how its name is shown."""
        self._connection.execute(
            "INSERT INTO scope (key, name) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (scope.key, scope.name),
        )
        (number,) = self._connection.execute("SELECT id FROM scope WHERE key = ?", (scope.key,)).fetchone()
        return int(number)

    def _place(self, scope: int, new: NewMemory) -> tuple[int | None, int | None]:
        """Returns the conversation's number and the position in it; a replaced version's position is kept when free."""
        if new.episode is None:
            return None, None
        self._connection.execute(
            """INSERT INTO episode (scope, key, next_position, live_words) VALUES (?, ?, 0, 0)
               ON CONFLICT DO NOTHING""",
            (scope, new.episode),
        )
        episode, following = self._connection.execute(
            "SELECT id, next_position FROM episode WHERE scope = ? AND key = ?",
            (scope, new.episode),
        ).fetchone()
        position = following
        if new.position is not None:
            (taken,) = self._connection.execute(
                "SELECT count(*) FROM memory WHERE episode = ? AND position = ? AND retired_at_ms IS NULL",
                (episode, new.position),
            ).fetchone()
            position = following if taken else new.position
        self._connection.execute(
            "UPDATE episode SET next_position = max(next_position, ?) WHERE id = ?",
            (position + 1, episode),
        )
        return int(episode), int(position)

    def _free_position(self, episode: int | None, position: int | None) -> int | None:
        """Returns the place a memory had in its conversation, or the next one when a live memory has it now."""
        (taken,) = self._connection.execute(
            "SELECT count(*) FROM memory WHERE episode = ? AND position = ? AND retired_at_ms IS NULL",
            (episode, position),
        ).fetchone()
        if not taken:
            return position
        statement = "UPDATE episode SET next_position = next_position + 1 WHERE id = ? RETURNING next_position - 1"
        (following,) = self._connection.execute(statement, (episode,)).fetchone()
        return int(following)

    def _file(self, filed: _Filed, text: IndexedText, live: int) -> None:
        self._connection.executemany(
            "INSERT INTO posting VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (filed.scope, live, term, filed.memory, count, text.words, filed.episode, filed.position)
                for term, count in sorted(text.counts.items())
            ],
        )
        self._count(filed, live, 1, text.words)

    def _unfile(self, memory: Memory, text: IndexedText) -> _Filed:
        """Takes a memory out of the index.

        Its terms are worked out again from its text. Should that give others than when it was filed (another version of
        Unicode), the whole part of the index is searched, so that nothing of it stays.
        """
        (scope,) = self._connection.execute("SELECT scope FROM memory WHERE number = ?", (memory.number,)).fetchone()
        filed = _Filed(scope, memory.number, memory.episode_number, memory.position)
        live = int(memory.retired_at_ms is None)
        if memory.forgotten_at_ms is not None:
            return filed
        removed = self._connection.executemany(
            "DELETE FROM posting WHERE scope = ? AND live = ? AND term = ? AND memory = ?",
            [(scope, live, term, memory.number) for term in text.counts],
        ).rowcount
        if removed != memory.distinct_terms:
            self._connection.execute(
                "DELETE FROM posting WHERE scope = ? AND live = ? AND memory = ?",
                (scope, live, memory.number),
            )
        self._count(filed, live, -1, -memory.words)
        return filed

    def _count(self, filed: _Filed, live: int, memories: int, words: int) -> None:
        self._connection.execute(
            """INSERT INTO index_total (scope, live, memories, words) VALUES (?, ?, ?, ?)
               ON CONFLICT (scope, live) DO UPDATE
                  SET memories = memories + excluded.memories, words = words + excluded.words""",
            (filed.scope, live, memories, words),
        )
        if live and filed.episode is not None:
            self._connection.execute(
                "UPDATE episode SET live_words = live_words + ? WHERE id = ?",
                (words, filed.episode),
            )
