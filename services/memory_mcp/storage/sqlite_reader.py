"""Reading memories and the index from SQLite, inside a transaction that the store opened."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from memory_mcp.dense import Nearness
from memory_mcp.embedding.vector import Vector
from memory_mcp.model import ANY_SOURCE, Content, Kind, Memory, Origin, Source, Trust
from memory_mcp.moments import Moment
from memory_mcp.ranking import Posting
from memory_mcp.scopes import Scope
from memory_mcp.storage.protocol import Filter, RecordedReply, Searched, Totals
from memory_mcp.storage.sqlite_vectors import VectorCache

_MEMORY = """
SELECT memory.*, scope.name AS scope_name, scope.key AS scope_key, episode.key AS episode_key
  FROM memory JOIN scope ON scope.id = memory.scope LEFT JOIN episode ON episode.id = memory.episode
"""
# `:scopes` and `:live` are JSON lists: the scopes searched, and 1 (live) with or without 0 (superseded).
_TOTALS = """
SELECT coalesce(sum(memories), 0), coalesce(sum(words), 0) FROM index_total
 WHERE scope IN (SELECT value FROM json_each(:scopes)) AND live IN (SELECT value FROM json_each(:live))
"""
_EPISODES = """
SELECT id, live_words FROM episode WHERE scope IN (SELECT value FROM json_each(:scopes)) AND live_words > 0
"""
_FREQUENCIES = """
SELECT sought.value, (
  SELECT count(*) FROM (
    SELECT 1 FROM posting
     WHERE scope IN (SELECT value FROM json_each(:scopes)) AND live IN (SELECT value FROM json_each(:live))
       AND term = sought.value
     LIMIT :at_most))
  FROM json_each(:terms) AS sought
"""
_POSTINGS = """
SELECT memory, count, words, episode, position FROM posting
 WHERE scope IN (SELECT value FROM json_each(:scopes)) AND live IN (SELECT value FROM json_each(:live)) AND term = :term
"""
_POSTINGS_AMONG = """
SELECT memory, count, words, episode, position FROM posting
 WHERE scope IN (SELECT value FROM json_each(:scopes)) AND live IN (SELECT value FROM json_each(:live)) AND term = :term
   AND memory IN (SELECT value FROM json_each(:among))
"""
_MATCHING = """
SELECT number FROM memory
 WHERE scope IN (SELECT value FROM json_each(:scopes)) AND forgotten_at_ms IS NULL
   AND (retired_at_ms IS NULL) IN (SELECT value FROM json_each(:live))
   AND (:kind IS NULL OR kind = :kind)
   AND (:client IS NULL OR origin = :client)
   AND (:trust IS NULL OR trust = :trust)
   AND (:after IS NULL OR coalesce(happened_at_ms, created_at_ms) >= :after)
   AND (:before IS NULL OR coalesce(happened_at_ms, created_at_ms) < :before)
   AND NOT EXISTS (SELECT value FROM json_each(:tags) WHERE value NOT IN (SELECT value FROM json_each(memory.tags)))
"""


class SqliteReader:
    """One consistent view of the store."""

    def __init__(self, connection: sqlite3.Connection, vectors: VectorCache | None = None) -> None:
        self._connection = connection
        self._vectors = vectors

    def memory(self, memory_id: str) -> Memory | None:
        """Returns the memory with this id, whatever its status."""
        return self._one("WHERE memory.id = ?", (memory_id,))

    def memories(self, numbers: Sequence[int]) -> dict[int, Memory]:
        """Returns memories by number; unknown numbers are left out."""
        found = self._all("WHERE memory.number IN (SELECT value FROM json_each(?))", (json.dumps(list(numbers)),))
        return {memory.number: memory for memory in found}

    def live_with_body(self, scope: Scope, body_hash: str) -> Memory | None:
        """Returns the live memory of a scope with this body; there is at most one."""
        return self._one(
            "WHERE scope.key = ? AND memory.body_hash = ? AND memory.retired_at_ms IS NULL",
            (scope.key, body_hash),
        )

    def retired_bodies(self) -> dict[tuple[str, str], str]:
        """Returns the superseded, forgotten and erased: scope key and body hash, with the id of the newest of them."""
        rows = self._connection.execute(
            """SELECT scope.key, memory.body_hash, memory.id FROM memory JOIN scope ON scope.id = memory.scope
                WHERE memory.retired_at_ms IS NOT NULL ORDER BY memory.number""",
        )
        return {(scope, body_hash): memory_id for scope, body_hash, memory_id in rows}

    def every(self, after: int, limit: int) -> list[Memory]:
        """Returns memories of every status in the order of their numbers, from the first above `after`."""
        return self._all("WHERE memory.number > ? ORDER BY memory.number LIMIT ?", (after, limit))

    def superseded_by(self, memory_id: str) -> tuple[str, ...]:
        """Returns the ids of the memories that this one replaced directly, oldest first."""
        rows = self._connection.execute("SELECT id FROM memory WHERE superseded_by = ? ORDER BY number", (memory_id,))
        return tuple(memory_id for (memory_id,) in rows)

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
            conditions.append("memory.scope = (SELECT id FROM scope WHERE key = ?)")
            values.append(scope.key)
        if kind is not None:
            conditions.append("memory.kind = ?")
            values.append(kind.value)
        if source.client is not None:
            conditions.append("memory.origin = ?")
            values.append(source.client)
        if source.trust is not None:
            conditions.append("memory.trust = ?")
            values.append(source.trust.value)
        if before is not None:
            conditions.append("(memory.created_at_ms, memory.number) < (?, ?)")
            values.extend(before)
        return self._all(
            f"WHERE {' AND '.join(conditions)} ORDER BY memory.created_at_ms DESC, memory.number DESC LIMIT ?",
            (*values, limit),
        )

    def totals(self, searched: Searched) -> Totals:
        """Returns the size of the searched part of the index."""
        values = self._part(searched)
        memories, words = self._connection.execute(_TOTALS, values).fetchone()
        return Totals(memories, words, dict(self._connection.execute(_EPISODES, values)))

    def frequencies(self, searched: Searched, terms: Sequence[str], at_most: int) -> dict[str, int]:
        """Returns in how many memories each term occurs, counted up to `at_most`; terms that none has are left out."""
        values = self._part(searched) | {"at_most": at_most, "terms": json.dumps(list(terms))}
        return {term: count for term, count in self._connection.execute(_FREQUENCIES, values) if count}

    def postings(
        self,
        searched: Searched,
        terms: Sequence[str],
        among: Sequence[int] | None = None,
    ) -> dict[str, list[Posting]]:
        """Returns the index entries of each term, all or those of some memories."""
        values = self._part(searched)
        statement = _POSTINGS
        if among is not None:
            statement = _POSTINGS_AMONG
            values["among"] = json.dumps(list(among))
        return {term: self._connection.execute(statement, values | {"term": term}).fetchall() for term in terms}

    def matching(self, searched: Searched, wanted: Filter) -> set[int]:
        """Returns the numbers of the memories that pass a filter."""
        values = self._part(searched) | {
            "kind": wanted.kind,
            "client": wanted.source.client,
            "trust": wanted.source.trust,
            "after": wanted.after_ms,
            "before": wanted.before_ms,
            "tags": json.dumps(wanted.tags),
        }
        return {number for (number,) in self._connection.execute(_MATCHING, values)}

    def subjects(self, numbers: Sequence[int]) -> dict[int, str]:
        """Returns the subjects of those memories that have one, by number."""
        rows = self._connection.execute(
            """SELECT number, subject FROM memory
                WHERE number IN (SELECT value FROM json_each(?)) AND subject IS NOT NULL""",
            (json.dumps(list(numbers)),),
        )
        return dict(rows)

    def reply_to(self, key: str) -> RecordedReply | None:
        """Returns what the write with this idempotency key did."""
        row = self._connection.execute(
            "SELECT key, request_hash, memory_id, deduped, superseded FROM reply WHERE key = ?",
            (key,),
        ).fetchone()
        if row is None:
            return None
        return RecordedReply(row[0], row[1], row[2], bool(row[3]), tuple(json.loads(row[4])))

    def nearest(
        self,
        searched: Searched,
        vector: Vector,
        limit: int,
        also: Sequence[int] = (),
        within: set[int] | None = None,
    ) -> Nearness:
        """Returns the memories nearest in meaning, among `within` when it is given, and those of `also`."""
        cache = self._vectors or VectorCache()
        cache.follow(self._connection, vector)
        part = self._part(searched)
        scopes, live = json.loads(str(part["scopes"])), json.loads(str(part["live"]))
        return cache.nearest((scopes, live), vector, limit, also, within)

    def without_vector(self, model: str, after: int, limit: int) -> list[Memory]:
        """Returns memories that searches can find and that have no vector of a model, by number, from above `after`."""
        return self._all(
            """WHERE memory.number > ? AND memory.forgotten_at_ms IS NULL AND NOT EXISTS (
                 SELECT 1 FROM embedding WHERE embedding.memory = memory.number AND embedding.model = ?)
               ORDER BY memory.number LIMIT ?""",
            (after, model, limit),
        )

    def _part(self, searched: Searched) -> dict[str, object]:
        key = searched.scope.key if searched.scope else None
        scopes = self._connection.execute("SELECT id FROM scope WHERE ?1 IS NULL OR key = ?1", (key,)).fetchall()
        return {
            "scopes": json.dumps([number for (number,) in scopes]),
            "live": "[0, 1]" if searched.with_superseded else "[1]",
        }

    def _one(self, condition: str, values: tuple[object, ...]) -> Memory | None:
        found = self._all(condition, values)
        return found[0] if found else None

    def _all(self, condition: str, values: tuple[object, ...]) -> list[Memory]:
        cursor = self._connection.cursor()
        cursor.row_factory = sqlite3.Row
        return [_memory(row) for row in cursor.execute(f"{_MEMORY} {condition}", values)]


def _memory(row: sqlite3.Row) -> Memory:
    happened = None if row["happened_at_ms"] is None else Moment(row["happened_at_ms"], row["happened_text"])
    return Memory(
        number=row["number"],
        id=row["id"],
        content=Content(
            body=row["body"],
            kind=Kind(row["kind"]),
            scope=Scope(row["scope_name"], row["scope_key"]),
            subject=row["subject"],
            tags=tuple(json.loads(row["tags"])),
            happened=happened,
            source_url=row["source_url"],
        ),
        body_hash=row["body_hash"],
        origin=Origin(row["origin"], Trust(row["trust"])),
        created_at_ms=row["created_at_ms"],
        last_seen_at_ms=row["last_seen_at_ms"],
        words=row["words"],
        distinct_terms=row["distinct_terms"],
        episode=row["episode_key"],
        episode_number=row["episode"],
        position=row["position"],
        superseded_by=row["superseded_by"],
        retired_at_ms=row["retired_at_ms"],
        forgotten_at_ms=row["forgotten_at_ms"],
        forgotten_by=row["forgotten_by"],
        erased=bool(row["erased"]),
    )
