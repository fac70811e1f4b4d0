"""Finding memories: search, recall, and the closest memory to a new one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from zoneinfo import ZoneInfo

from memory_mcp import answer_size, cursors, intake, ranking, supersede
from memory_mcp.dense import Nearness
from memory_mcp.embedding.vector import Vector
from memory_mcp.model import ANY_SOURCE, UNTRUSTED, Found, Hit, Memory, Recalled, Similar, Source
from memory_mcp.moments import parse_moment, shown
from memory_mcp.normal_form import normalised
from memory_mcp.ranking import Candidate, Corpus
from memory_mcp.scopes import ALL, parse_search_scope
from memory_mcp.snippets import clip, snippet
from memory_mcp.storage.protocol import Filter, MemoryStore, Reader, Searched
from memory_mcp.terms import QueryTerms, content_terms, query_terms
from memory_mcp.weights import Weights

DEFAULT_LIMIT = 10
DEFAULT_TOKEN_BUDGET = 1_000
MAX_TOKEN_BUDGET = 4_000

_CLOSE_POOL = 16
_CLOSE_CANDIDATES = 8
_RARE_TERMS = 8
_RARE_MEMORIES = 500
_COUNTED_MEMORIES = 50_000
_COMPARED_CHARACTERS = 1_000
_LINE_CHARACTERS = 600
_BYTES_PER_TOKEN = 4
_LEAST_LINE_BYTES = 120
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Request:
    """A search as the caller sent it; everything but the query is optional."""

    query: str
    scope: str | None = None
    kind: str | None = None
    tags: Sequence[str] = ()
    after: str | None = None
    before: str | None = None
    limit: int | None = None
    cursor: str | None = None
    include_retired: bool = False
    source: Source = ANY_SOURCE


@dataclass(frozen=True)
class _Ranked:
    number: int
    score: float
    parts: dict[str, float]


class MemorySearch:
    """Searches over a store; `new_trace_id` names each search, so that a receipt and a log line can be matched.

    `vector_of` gives the vector of a query, none while there is no model to ask; without it words alone count.
    """

    def __init__(
        self,
        store: MemoryStore,
        zone: ZoneInfo,
        new_trace_id: Callable[[], str],
        weights: Weights | None = None,
        vector_of: Callable[[str], Vector | None] | None = None,
    ) -> None:
        self._store = store
        self._zone = zone
        self._new_trace_id = new_trace_id
        self._weights = weights or Weights()
        self._vector_of = vector_of

    def search(self, request: Request) -> Found:
        """Returns a page of the memories that answer a query, best first; none when nothing is about it.

        Raises:
            MemoryServerError: An argument is not possible, or the store refused.
        """
        query = query_terms(intake.checked_query(request.query))
        searched = Searched(parse_search_scope(request.scope), with_superseded=request.include_retired)
        wanted = self._filter(request)
        question = (
            "search",
            request.query,
            searched.scope and searched.scope.key,
            request.include_retired,
            str(wanted),
        )
        place = cursors.place_of(request.cursor, question, numbers=1)
        start = place[0] if place else 0
        size = intake.page_size(request.limit, DEFAULT_LIMIT)
        vector = self._vector_of(request.query) if self._vector_of and not query.says_nothing else None
        with self._store.reading() as reader:
            ranked = self._ranked(reader, query, searched, wanted, vector)
            memories = reader.memories([one.number for one in ranked[start : start + size]])
        hits = answer_size.fitting(
            (
                Hit(memory, round(one.score, 4), snippet(memory.content.body, query), one.parts)
                for one in ranked[start : start + size]
                if (memory := memories.get(one.number))
            ),
            lambda hit: answer_size.entry_bytes(hit.memory, hit.snippet),
        )
        following = start + len(hits)
        trace_id = self._new_trace_id()
        _LOG.info("search %s: %d terms, %d found, %d sent", trace_id, len(query.all), len(ranked), len(hits))
        return Found(
            hits=hits,
            scope=searched.scope.name if searched.scope else ALL,
            trace_id=trace_id,
            next_cursor=cursors.cursor(question, (following,)) if hits and following < len(ranked) else None,
        )

    def recall(self, query: str, token_budget: int | None = None) -> Recalled:
        """Returns what is known about a query as one block of text within a budget (a token is taken as 4 bytes).

        Raises:
            MemoryServerError: The query is too long, or the store refused.
        """
        found = self.search(Request(query, limit=intake.MAX_LIMIT))
        budget = DEFAULT_TOKEN_BUDGET if token_budget is None else max(1, min(token_budget, MAX_TOKEN_BUDGET))
        left = budget * _BYTES_PER_TOKEN
        lines: list[tuple[int, str, Memory]] = []
        for hit in found.hits:
            line = self._line(hit.memory, min(_LINE_CHARACTERS, left))
            size_bytes = answer_size.wire_bytes(line)
            if lines and size_bytes > left:
                break
            lines.append((hit.memory.at_ms, line, hit.memory))
            left -= size_bytes
            if left < _LEAST_LINE_BYTES:
                break
        lines.sort(key=lambda entry: (entry[0], entry[2].number), reverse=True)
        return Recalled(
            block="\n".join(line for _, line, _ in lines),
            memories=tuple(memory for *_, memory in lines),
            omitted=len(found.hits) - len(lines),
            scope=found.scope,
            trace_id=found.trace_id,
        )

    def closest(self, memory: Memory) -> Similar | None:
        """Returns the closest other live memory of the same scope, when it is close.

        Candidates are found by the rarest words of the memory, and by its subject: what shares neither is not close.

        Raises:
            StoreError: The store refused.
        """
        terms = query_terms(memory.content.body[:_COMPARED_CHARACTERS])
        searched = Searched(memory.content.scope)
        with self._store.reading() as reader:
            counts = reader.frequencies(searched, terms.parts, at_most=_RARE_MEMORIES)
            rare = sorted((term for term in counts if counts[term] < _RARE_MEMORIES), key=lambda term: counts[term])
            query = replace(terms, parts=tuple(rare[:_RARE_TERMS]), compounds=(), names=frozenset())
            found = self._candidates(reader, query, searched, replace(self._weights, pool=_CLOSE_POOL)) if rare else []
            found.sort(key=lambda candidate: (candidate.lexical, candidate.number), reverse=True)
            about = _of_subject(reader, memory.content.subject, searched)
            others = reader.memories([*about, *(candidate.number for candidate in found[:_CLOSE_CANDIDATES])])
        return supersede.closest(memory.content, (other for other in others.values() if other.id != memory.id))

    def _ranked(
        self,
        reader: Reader,
        query: QueryTerms,
        searched: Searched,
        wanted: Filter,
        vector: Vector | None,
    ) -> list[_Ranked]:
        allowed = None if wanted == Filter() else reader.matching(searched, wanted)
        found = self._candidates(reader, query, searched, self._weights, allowed=allowed, vector=vector)
        subjects = reader.subjects([candidate.number for candidate in found])
        terms = frozenset(query.all)
        ranked = []
        for candidate in found:
            subject = _subject_terms(subjects.get(candidate.number, ""))
            score, parts = ranking.total(candidate, self._weights, subject_named=bool(subject) and subject <= terms)
            ranked.append(_Ranked(candidate.number, score, parts))
        return sorted(ranked, key=lambda one: (one.score, one.number), reverse=True)

    def _candidates(
        self,
        reader: Reader,
        query: QueryTerms,
        searched: Searched,
        weights: Weights,
        *,
        allowed: set[int] | None = None,
        vector: Vector | None = None,
    ) -> list[Candidate]:
        def look_around(pool: Sequence[int]) -> Nearness:
            return reader.nearest(searched, vector, weights.dense_pool, pool, allowed) if vector else Nearness()

        totals = reader.totals(searched)
        frequencies = reader.frequencies(searched, query.all, at_most=_COUNTED_MEMORIES)
        read = ranking.terms_to_read(frequencies, totals.memories, weights)
        corpus = Corpus(
            memories=totals.memories,
            words=totals.words,
            episodes=totals.episodes,
            frequencies=frequencies,
            postings=reader.postings(searched, read),
        )
        return ranking.candidates(
            query,
            corpus,
            weights,
            lambda terms, numbers: reader.postings(searched, terms, numbers),
            allowed=allowed,
            look_around=(lambda pool: reader.nearest(searched, vector, weights.dense_pool, pool, allowed))
            if vector
            else None,
        )

    def _filter(self, request: Request) -> Filter:
        after = parse_moment("after", request.after, self._zone)
        before = parse_moment("before", request.before, self._zone)
        return Filter(
            kind=intake.parse_kind(request.kind),
            tags=intake.checked_tags(request.tags),
            after_ms=after.at_ms if after else None,
            before_ms=before.at_ms if before else None,
            source=request.source,
        )

    def _line(self, memory: Memory, characters: int) -> str:
        content = memory.content
        date = content.happened.text[:10] if content.happened else shown(memory.created_at_ms, self._zone)[:10]
        source = f", from {content.source_url}" if content.source_url else ""
        source += ", untrusted" if memory.origin.trust in UNTRUSTED else ""
        subject = f"{content.subject}: " if content.subject else ""
        return f"- {date} {subject}{clip(content.body, characters)} ({memory.id}, {content.scope.name}{source})"


@lru_cache(maxsize=10_000)
def _subject_terms(subject: str) -> frozenset[str]:
    return content_terms(subject)


def _of_subject(reader: Reader, subject: str | None, searched: Searched) -> list[int]:
    """Returns the newest memories of a subject, found by its rarest word; none when even that one is common."""
    terms = query_terms(subject or "").parts
    counts = reader.frequencies(searched, terms, at_most=_RARE_MEMORIES) if terms else {}
    rarest = min(counts, key=lambda term: counts[term], default=None)
    if rarest is None or counts[rarest] >= _RARE_MEMORIES:
        return []
    numbers = [number for number, *_ in reader.postings(searched, [rarest])[rarest]]
    same = [at for at, one in reader.subjects(numbers).items() if normalised(one) == normalised(subject or "")]
    return sorted(same, reverse=True)[:_CLOSE_CANDIDATES]
