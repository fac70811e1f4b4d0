"""Writing memories and the index to PostgreSQL, inside a transaction that the store opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from psycopg import sql

from memory_mcp.embedding.vector import Vector
from memory_mcp.model import Memory
from memory_mcp.scopes import Scope
from memory_mcp.storage.postgres_reader import PostgresReader, written
from memory_mcp.storage.postgres_text import stored
from memory_mcp.storage.protocol import NewMemory, RecordedReply
from memory_mcp.terms import IndexedText

_INSERT = """
INSERT INTO memory (number, id, scope, kind, created_at_ms, happened_at_ms, happened_text, episode, position, words,
                    distinct_terms, origin, trust, last_seen_at_ms, body_hash, subject, tags, source_url, body)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
_FILE = """
INSERT INTO posting (scope, live, term, memory, count, words, episode, position)
SELECT %s, %s, term, %s, count, %s, %s, %s FROM unnest(%s::text[], %s::integer[]) AS filed(term, count)
"""
_COUNT = """
INSERT INTO index_total (scope, live, memories, words) VALUES (%s, %s, %s, %s)
ON CONFLICT (tenant, scope, live) DO UPDATE
   SET memories = index_total.memories + excluded.memories, words = index_total.words + excluded.words
"""
_EMBED = """
INSERT INTO embedding (memory, model, scope, live, episode, position, vector)
SELECT number, %s, scope, retired_at_ms IS NULL, episode, position, %s::{schema}.vector
  FROM memory WHERE number = %s AND forgotten_at_ms IS NULL
    ON CONFLICT (tenant, memory) DO UPDATE SET model = excluded.model, vector = excluded.vector
"""


@dataclass(frozen=True)
class _Filed:
    """Where a memory stands in the index."""

    scope: int
    memory: int
    episode: int | None
    position: int | None


class PostgresWriter(PostgresReader):
    """A transaction: all of it happens, or nothing. `erased` tells whether a text was erased in it."""

    erased = False

    def insert(self, new: NewMemory) -> Memory:
        """Stores a live memory and files it in the index."""
        content = new.content
        scope = self._scope(content.scope)
        episode, position = self._place(scope, new)
        statement = "UPDATE tenant SET numbered = numbered + 1 RETURNING numbered"
        (number,) = self._connection.execute(statement).fetchone() or (0,)
        self._connection.execute(
            _INSERT,
            (
                *(number, new.id, scope, content.kind.value, new.created_at_ms),
                content.happened.at_ms if content.happened else None,
                content.happened.text if content.happened else None,
                *(
                    episode,
                    position,
                    new.text.words,
                    len(new.text.counts),
                    stored(new.origin.client),
                    new.origin.trust.value,
                ),
                *(new.created_at_ms, new.body_hash, stored(content.subject), [stored(tag) for tag in content.tags]),
                *(stored(content.source_url), stored(content.body)),
            ),
        )
        self._file(_Filed(scope, number, episode, position), new.text, live=True)
        return self.memories([number])[number]

    def touch(self, memory: Memory, at_ms: int) -> None:
        """Notes that a memory was stated again."""
        self._connection.execute("UPDATE memory SET last_seen_at_ms = %s WHERE number = %s", (at_ms, memory.number))

    def supersede(self, memory: Memory, text: IndexedText, by: str, at_ms: int) -> None:
        """Retires a live memory in favour of another; it stays readable and in the index of superseded ones."""
        filed = self._unfile(memory, text)
        statement = "UPDATE memory SET superseded_by = %s, retired_at_ms = %s WHERE number = %s"
        self._connection.execute(statement, (by, at_ms, memory.number))
        self._file(filed, text, live=False)

    def forget(self, memory: Memory, text: IndexedText, client: str, at_ms: int) -> None:
        """Takes a memory out of every search; its text stays."""
        self._unfile(memory, text)
        self._connection.execute(
            """UPDATE memory SET forgotten_at_ms = %s, forgotten_by = %s, retired_at_ms = coalesce(retired_at_ms, %s)
                WHERE number = %s""",
            (at_ms, stored(client), at_ms, memory.number),
        )

    def restore(self, memory: Memory, text: IndexedText) -> None:
        """Makes a forgotten memory what it was: live, or superseded; it takes another place when its own is taken."""
        statement = "SELECT scope FROM memory WHERE number = %s"
        (scope,) = self._connection.execute(statement, (memory.number,)).fetchone() or (0,)
        live = memory.superseded_by is None
        position = self._free_position(memory.episode_number, memory.position) if live else memory.position
        self._connection.execute(
            """UPDATE memory SET forgotten_at_ms = NULL, forgotten_by = NULL, position = %s, words = %s,
                      distinct_terms = %s, retired_at_ms = CASE WHEN superseded_by IS NOT NULL THEN retired_at_ms END
                WHERE number = %s""",
            (position, text.words, len(text.counts), memory.number),
        )
        self._file(_Filed(scope, memory.number, memory.episode_number, position), text, live=live)

    def erase(self, memory: Memory) -> None:
        """Removes the text, subject, tags and source of a forgotten memory; its id, hash and times stay."""
        self.erased = True
        self._connection.execute(
            """UPDATE memory SET erased = true, body = '', subject = NULL, tags = '{}', source_url = NULL
                WHERE number = %s""",
            (memory.number,),
        )

    def record_reply(self, reply: RecordedReply, at_ms: int) -> None:
        """Keeps the reply of a write under its idempotency key."""
        self._connection.execute(
            """INSERT INTO reply (key, request_hash, memory_id, deduped, superseded, created_at_ms)
               VALUES (%s, %s, %s, %s, %s, %s)""",
            (
                *(stored(reply.key), reply.request_hash, reply.memory_id),
                *(reply.deduped, list(reply.superseded), at_ms),
            ),
        )

    def store_vectors(self, vectors: Mapping[int, Vector]) -> None:
        """Keeps the vectors of memories, by number; one that was forgotten meanwhile gets none."""
        if self._vectors is None:
            return
        statement = sql.SQL(_EMBED).format(schema=sql.Identifier(self._vectors))
        for number, vector in vectors.items():
            self._connection.execute(statement, (vector.model, written(vector), number))

    def _scope(self, scope: Scope) -> int:
        """Returns the number of a scope; the first memory of a scope decides how its name is shown."""
        self._connection.execute(
            "INSERT INTO scope (key, name) VALUES (%s, %s) ON CONFLICT DO NOTHING", (scope.key, scope.name)
        )
        (number,) = self._connection.execute("SELECT id FROM scope WHERE key = %s", (scope.key,)).fetchone() or (0,)
        return int(number)

    def _place(self, scope: int, new: NewMemory) -> tuple[int | None, int | None]:
        """Returns the conversation's number and the position in it; a replaced version's position is kept when free."""
        if new.episode is None:
            return None, None
        key = stored(new.episode)
        self._connection.execute(
            """INSERT INTO episode (scope, key, next_position, live_words) VALUES (%s, %s, 0, 0)
               ON CONFLICT DO NOTHING""",
            (scope, key),
        )
        statement = "SELECT id, next_position FROM episode WHERE scope = %s AND key = %s"
        episode, following = self._connection.execute(statement, (scope, key)).fetchone() or (0, 0)
        position = following
        if new.position is not None:
            statement = "SELECT FROM memory WHERE episode = %s AND position = %s AND retired_at_ms IS NULL"
            taken = self._connection.execute(statement, (episode, new.position)).fetchone() is not None
            position = following if taken else new.position
        self._connection.execute(
            "UPDATE episode SET next_position = greatest(next_position, %s) WHERE id = %s", (position + 1, episode)
        )
        return int(episode), int(position)

    def _free_position(self, episode: int | None, position: int | None) -> int | None:
        """Returns the place a memory had in its conversation, or the next one when a live memory has it now."""
        statement = "SELECT FROM memory WHERE episode = %s AND position = %s AND retired_at_ms IS NULL"
        if self._connection.execute(statement, (episode, position)).fetchone() is None:
            return position
        statement = "UPDATE episode SET next_position = next_position + 1 WHERE id = %s RETURNING next_position - 1"
        (following,) = self._connection.execute(statement, (episode,)).fetchone() or (0,)
        return int(following)

    def _file(self, filed: _Filed, text: IndexedText, *, live: bool) -> None:
        terms = sorted(text.counts.items())
        self._connection.execute(
            _FILE,
            (
                *(filed.scope, live, filed.memory, text.words, filed.episode, filed.position),
                *([term for term, _ in terms], [count for _, count in terms]),
            ),
        )
        self._count(filed, live, 1, text.words)

    def _unfile(self, memory: Memory, text: IndexedText) -> _Filed:
        """Takes a memory out of the index.

        Its terms are worked out again from its text. Should that give others than when it was filed (another version of
        Unicode), the whole part of the index is searched, so that nothing of it stays.
        """
        statement = "SELECT scope FROM memory WHERE number = %s"
        (scope,) = self._connection.execute(statement, (memory.number,)).fetchone() or (0,)
        filed = _Filed(scope, memory.number, memory.episode_number, memory.position)
        live = memory.retired_at_ms is None
        if memory.forgotten_at_ms is not None:
            return filed
        removed = self._connection.execute(
            "DELETE FROM posting WHERE scope = %s AND live = %s AND term = ANY(%s) AND memory = %s",
            (scope, live, list(text.counts), memory.number),
        ).rowcount
        if removed != memory.distinct_terms:
            self._connection.execute(
                "DELETE FROM posting WHERE scope = %s AND live = %s AND memory = %s", (scope, live, memory.number)
            )
        self._count(filed, live, -1, -memory.words)
        return filed

    def _count(self, filed: _Filed, live: bool, memories: int, words: int) -> None:
        self._connection.execute(_COUNT, (filed.scope, live, memories, words))
        if live and filed.episode is not None:
            statement = "UPDATE episode SET live_words = live_words + %s WHERE id = %s"
            self._connection.execute(statement, (words, filed.episode))
