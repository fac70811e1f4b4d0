"""Reading memories and the index from PostgreSQL, inside a transaction that the store opened.

No statement names a tenant: row-level security adds that to each of them (`postgres_schema`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg import sql
from psycopg.rows import dict_row

from memory_mcp.dense import Near, Nearness
from memory_mcp.embedding.vector import Vector
from memory_mcp.model import ANY_SOURCE, Content, Kind, Memory, Origin, Source, Trust
from memory_mcp.moments import Moment
from memory_mcp.ranking import Posting
from memory_mcp.scopes import Scope
from memory_mcp.storage.postgres_schema import Connection
from memory_mcp.storage.postgres_text import restored, stored
from memory_mcp.storage.protocol import Filter, RecordedReply, Searched, Totals

_MEMORY = """
SELECT memory.*, scope.name AS scope_name, scope.key AS scope_key, episode.key AS episode_key
  FROM memory JOIN scope ON scope.id = memory.scope LEFT JOIN episode ON episode.id = memory.episode
"""
_TOTALS = """
SELECT coalesce(sum(memories), 0)::bigint, coalesce(sum(words), 0)::bigint FROM index_total
 WHERE scope = ANY(%(scopes)s) AND live = ANY(%(live)s)
"""
_EPISODES = "SELECT id, live_words FROM episode WHERE scope = ANY(%(scopes)s) AND live_words > 0"
_FREQUENCIES = """
SELECT sought.term, counted.count FROM unnest(%(terms)s::text[]) AS sought(term) CROSS JOIN LATERAL (
  SELECT count(*) FROM (
    SELECT FROM posting
     WHERE scope = ANY(%(scopes)s) AND live = ANY(%(live)s) AND posting.term = sought.term COLLATE "C"
     LIMIT %(at_most)s) AS found) AS counted
 WHERE counted.count > 0
"""
_POSTINGS = """
SELECT term, memory, count, words, episode, position FROM posting
 WHERE scope = ANY(%(scopes)s) AND live = ANY(%(live)s) AND term = ANY(%(terms)s)
"""
_MATCHING = """
SELECT number FROM memory
 WHERE scope = ANY(%(scopes)s) AND forgotten_at_ms IS NULL AND (retired_at_ms IS NULL) = ANY(%(live)s)
   AND (%(kind)s::text IS NULL OR kind = %(kind)s)
   AND (%(client)s::text IS NULL OR origin = %(client)s)
   AND (%(trust)s::text IS NULL OR trust = %(trust)s)
   AND (%(after)s::bigint IS NULL OR coalesce(happened_at_ms, created_at_ms) >= %(after)s)
   AND (%(before)s::bigint IS NULL OR coalesce(happened_at_ms, created_at_ms) < %(before)s)
   AND tags @> %(tags)s::text[]
"""
_NEAREST = """
WITH near AS MATERIALIZED (
  SELECT memory, coalesce(1 - nullif(vector OPERATOR({schema}.<=>) %(vector)s::{schema}.vector, 'NaN'), 0) AS cosine,
         episode, position
    FROM embedding
   WHERE model = %(model)s AND scope = ANY(%(scopes)s) AND live = ANY(%(live)s)
     AND {schema}.vector_dims(vector) = %(dimensions)s)
SELECT memory, cosine, episode, position, (SELECT avg(cosine) FROM near) FROM near
 WHERE memory = ANY(%(also)s::bigint[]) OR memory IN (
   SELECT memory FROM near WHERE %(within)s::bigint[] IS NULL OR memory = ANY(%(within)s::bigint[])
    ORDER BY cosine DESC, memory DESC LIMIT %(limit)s)
"""
_WITHOUT_VECTOR = """
WHERE memory.number > %s AND memory.forgotten_at_ms IS NULL AND NOT EXISTS (
    SELECT FROM embedding WHERE embedding.memory = memory.number AND embedding.model = %s)
ORDER BY memory.number LIMIT %s
"""


class PostgresReader:
    """One consistent view of the store; `vectors` is the schema in which pgvector lies, none when it is not used."""

    def __init__(self, connection: Connection, vectors: str | None = None) -> None:
        self._connection = connection
        self._vectors = vectors

    def memory(self, memory_id: str) -> Memory | None:
        """Returns the memory with this id, whatever its status."""
        return self._one("WHERE memory.id = %s", (memory_id,))

    def memories(self, numbers: Sequence[int]) -> dict[int, Memory]:
        """Returns memories by number; unknown numbers are left out."""
        return {one.number: one for one in self._all("WHERE memory.number = ANY(%s)", (list(numbers),))}

    def live_with_body(self, scope: Scope, body_hash: str) -> Memory | None:
        """Returns the live memory of a scope with this body; there is at most one."""
        condition = "WHERE scope.key = %s AND memory.body_hash = %s AND memory.retired_at_ms IS NULL"
        return self._one(condition, (scope.key, body_hash))

    def retired_bodies(self) -> dict[tuple[str, str], str]:
        """Returns the superseded, forgotten and erased: scope key and body hash, with the id of the newest of them."""
        rows = self._connection.execute(
            """SELECT scope.key, memory.body_hash, memory.id FROM memory JOIN scope ON scope.id = memory.scope
                WHERE memory.retired_at_ms IS NOT NULL ORDER BY memory.number""",
        )
        return {(scope, body_hash): memory_id for scope, body_hash, memory_id in rows}

    def every(self, after: int, limit: int) -> list[Memory]:
        """Returns memories of every status in the order of their numbers, from the first above `after`."""
        return self._all("WHERE memory.number > %s ORDER BY memory.number LIMIT %s", (after, limit))

    def superseded_by(self, memory_id: str) -> tuple[str, ...]:
        """Returns the ids of the memories that this one replaced directly, oldest first."""
        rows = self._connection.execute("SELECT id FROM memory WHERE superseded_by = %s ORDER BY number", (memory_id,))
        return tuple(older for (older,) in rows)

    def newest(
        self,
        scope: Scope | None,
        kind: Kind | None,
        before: tuple[int, int] | None,
        limit: int,
        source: Source = ANY_SOURCE,
    ) -> list[Memory]:
        """Returns live memories, newest first, that come after the place (created_at_ms, number) in that order."""
        conditions, values = ["memory.retired_at_ms IS NULL"], list[object]()
        if scope is not None:
            conditions.append("memory.scope = (SELECT id FROM scope WHERE key = %s)")
            values.append(scope.key)
        if kind is not None:
            conditions.append("memory.kind = %s")
            values.append(kind.value)
        if source.client is not None:
            conditions.append("memory.origin = %s")
            values.append(stored(source.client))
        if source.trust is not None:
            conditions.append("memory.trust = %s")
            values.append(source.trust.value)
        if before is not None:
            conditions.append("(memory.created_at_ms, memory.number) < (%s, %s)")
            values.extend(before)
        return self._all(
            f"WHERE {' AND '.join(conditions)} ORDER BY memory.created_at_ms DESC, memory.number DESC LIMIT %s",
            (*values, limit),
        )

    def totals(self, searched: Searched) -> Totals:
        """Returns the size of the searched part of the index."""
        values = self._part(searched)
        memories, words = self._connection.execute(_TOTALS, values).fetchone() or (0, 0)
        return Totals(memories, words, dict(self._rows(_EPISODES, values)))

    def frequencies(self, searched: Searched, terms: Sequence[str], at_most: int) -> dict[str, int]:
        """Returns in how many memories each term occurs, counted up to `at_most`; terms that none has are left out."""
        values = self._part(searched) | {"at_most": at_most, "terms": list(terms)}
        return dict(self._rows(_FREQUENCIES, values))

    def postings(
        self,
        searched: Searched,
        terms: Sequence[str],
        among: Sequence[int] | None = None,
    ) -> dict[str, list[Posting]]:
        """Returns the index entries of each term, all or those of some memories."""
        values = self._part(searched) | {"terms": list(terms)}
        statement = _POSTINGS
        if among is not None:
            statement += "   AND memory = ANY(%(among)s)"
            values["among"] = list(among)
        found: dict[str, list[Posting]] = {term: [] for term in terms}
        for term, *posting in self._connection.execute(statement, values):
            found[term].append((posting[0], posting[1], posting[2], posting[3], posting[4]))
        return found

    def matching(self, searched: Searched, wanted: Filter) -> set[int]:
        """Returns the numbers of the memories that pass a filter."""
        values = self._part(searched) | {
            "kind": wanted.kind.value if wanted.kind else None,
            "client": stored(wanted.source.client),
            "trust": wanted.source.trust.value if wanted.source.trust else None,
            "after": wanted.after_ms,
            "before": wanted.before_ms,
            "tags": [stored(tag) for tag in wanted.tags],
        }
        return {number for (number,) in self._connection.execute(_MATCHING, values)}

    def subjects(self, numbers: Sequence[int]) -> dict[int, str]:
        """Returns the subjects of those memories that have one, by number."""
        statement = "SELECT number, subject FROM memory WHERE number = ANY(%s) AND subject IS NOT NULL"
        return {number: restored(subject) for number, subject in self._connection.execute(statement, (list(numbers),))}

    def reply_to(self, key: str) -> RecordedReply | None:
        """Returns what the write with this idempotency key did."""
        statement = "SELECT request_hash, memory_id, deduped, superseded FROM reply WHERE key = %s"
        row = self._connection.execute(statement, (stored(key),)).fetchone()
        return RecordedReply(key, row[0], row[1], row[2], tuple(row[3])) if row else None

    def nearest(
        self,
        searched: Searched,
        vector: Vector,
        limit: int,
        also: Sequence[int] = (),
        within: set[int] | None = None,
    ) -> Nearness:
        """Returns the memories nearest in meaning, among `within` when it is given, and those of `also`."""
        if self._vectors is None:
            return Nearness()
        values = self._part(searched) | {
            "model": vector.model,
            "vector": written(vector),
            "dimensions": len(vector.codes),
            "limit": limit,
            "also": list(also),
            "within": None if within is None else list(within),
        }
        statement = sql.SQL(_NEAREST).format(schema=sql.Identifier(self._vectors))
        rows = self._connection.execute(statement, values).fetchall()
        return Nearness(rows[0][4] if rows else 0.0, [Near(*row[:4]) for row in rows])

    def without_vector(self, model: str, after: int, limit: int) -> list[Memory]:
        """Returns memories that searches can find and that have no vector of a model, by number, from above `after`."""
        return [] if self._vectors is None else self._all(_WITHOUT_VECTOR, (after, model, limit))

    def _part(self, searched: Searched) -> dict[str, object]:
        key = searched.scope.key if searched.scope else None
        rows = self._connection.execute("SELECT id FROM scope WHERE %s::text IS NULL OR key = %s", (key, key))
        return {
            "scopes": [number for (number,) in rows],
            "live": [True, False] if searched.with_superseded else [True],
        }

    def _rows(self, statement: str, values: dict[str, object]) -> list[tuple[Any, Any]]:
        return [(row[0], row[1]) for row in self._connection.execute(statement, values)]

    def _one(self, condition: str, values: tuple[object, ...]) -> Memory | None:
        found = self._all(condition, values)
        return found[0] if found else None

    def _all(self, condition: str, values: tuple[object, ...]) -> list[Memory]:
        with self._connection.cursor(row_factory=dict_row) as cursor:
            return [_memory(row) for row in cursor.execute(f"{_MEMORY} {condition}", values)]


def written(vector: Vector) -> str:
    """Returns a vector as pgvector reads it."""
    return f"[{','.join(map(str, vector.parts))}]"


def _memory(row: dict[str, Any]) -> Memory:
    happened = None if row["happened_at_ms"] is None else Moment(row["happened_at_ms"], row["happened_text"])
    return Memory(
        number=row["number"],
        id=row["id"],
        content=Content(
            body=restored(row["body"]),
            kind=Kind(row["kind"]),
            scope=Scope(row["scope_name"], row["scope_key"]),
            subject=restored(row["subject"]),
            tags=tuple(restored(tag) for tag in row["tags"]),
            happened=happened,
            source_url=restored(row["source_url"]),
        ),
        body_hash=row["body_hash"],
        origin=Origin(restored(row["origin"]), Trust(row["trust"])),
        created_at_ms=row["created_at_ms"],
        last_seen_at_ms=row["last_seen_at_ms"],
        words=row["words"],
        distinct_terms=row["distinct_terms"],
        episode=restored(row["episode_key"]),
        episode_number=row["episode"],
        position=row["position"],
        superseded_by=row["superseded_by"],
        retired_at_ms=row["retired_at_ms"],
        forgotten_at_ms=row["forgotten_at_ms"],
        forgotten_by=restored(row["forgotten_by"]),
        erased=row["erased"],
    )
