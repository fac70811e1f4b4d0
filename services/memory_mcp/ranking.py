"""Which memories answer a query, and in what order: the measured design of the memory service. Pure.

    score = lexical + .6 · best neighbour + .3 · best next neighbour + .6 · episode + .3 · subject named
            (+ (.5 + 3 · doubt²) · dense)

* `lexical` is BM25 over the live memories of the searched scope, divided by the query's best. The statistics are those
  of the scope alone: what another scope holds changes neither order nor cost. That is why the index is a table of our
  own and not SQLite's FTS5, whose bm25() counts over everything in the file and has its b fixed (recall@10 .74 then).
* Neighbours are the memories one and two places away in the same conversation: the answer often stands next to the
  words of the question.
* `episode` is BM25 over the conversation as a whole, divided by its best.
* A memory without a conversation simply has no neighbour and no episode part.
* `dense` is there when memories have vectors (module `dense`): nearness in meaning by its share of the best, with .4 of
  the nearest neighbour's. It counts the more, the less of the query the best memory holds: `doubt`.

Relevance floor: `coverage` is the share of the query's content words that a memory and its direct neighbours hold,
weighted by rarity, names three times. When no memory covers a fifth, the query is about something else and nothing is
returned. Rarity is that of a store of at least 1,000 memories, so that a small store does not turn every word into
evidence. A memory near enough in meaning answers a query that it shares no word with.

Measured with LoCoMo (1,535 questions, one scope a conversation): recall@10 .77, with the packaged model .786; one that
shares no word with its answer (our 210 pairs) is answered by meaning alone. By words the floor leaves 0.5 % of the
questions without an answer, and 72 % of those put to another conversation, which is of the same sort: two people
chatting; with the model 0.1 % and 46 %.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from memory_mcp.dense import Closeness, Nearness, closeness
from memory_mcp.terms import QueryTerms
from memory_mcp.weights import Weights

Posting = tuple[int, int, int, int | None, int | None]
"""Memory number, how often the term occurs in it, its words, its episode's number, its position there."""

_STEPS = ((-1, 1), (-2, 2))
_LEAST_READ = 2


@dataclass(frozen=True)
class Corpus:
    """What the index knows about the searched scopes.

    `frequencies` says in how many memories each term of the query is, `postings` has the rarer of them, `episodes`
    gives the words of every conversation by its number.
    """

    memories: int
    words: int
    episodes: Mapping[int, int]
    frequencies: Mapping[str, int]
    postings: Mapping[str, Sequence[Posting]]


LookUp = Callable[[Sequence[str], Sequence[int]], Mapping[str, Sequence[Posting]]]
"""Reads the postings of some terms in some memories only."""

LookAround = Callable[[Sequence[int]], Nearness]
"""Finds the memories nearest to the query in meaning, and how near some others are."""


@dataclass(frozen=True)
class Candidate:
    """A memory and the parts of its score, each before it is weighted; `dense` is none without vectors.

    `doubt` is what the best memory leaves uncovered of the query: the more, the less the words say, and the more the
    meaning counts.
    """

    number: int
    lexical: float
    neighbour: float
    next_neighbour: float
    episode: float
    coverage: float
    dense: float | None = None
    cosine: float = 0.0
    doubt: float = 0.0


def terms_to_read(frequencies: Mapping[str, int], memories: int, weights: Weights) -> tuple[str, ...]:
    """Returns the terms whose postings are read whole: the rarest that the budget allows, and two in any case."""
    left = max(weights.read_least, weights.read_share * memories)
    chosen: list[str] = []
    for term in sorted(frequencies, key=lambda term: (frequencies[term], term)):
        left -= frequencies[term]
        if left < 0 and len(chosen) >= _LEAST_READ:
            break
        chosen.append(term)
    return tuple(chosen)


def candidates(
    query: QueryTerms,
    corpus: Corpus,
    weights: Weights,
    look_up: LookUp,
    *,
    allowed: Container[int] | None = None,
    look_around: LookAround | None = None,
) -> list[Candidate]:
    """Returns the memories that may answer a query, in no order; none when the query is about something else.

    `allowed` are the memories that may be returned; the others still count as neighbours and as evidence.
    `look_around` finds those near in meaning; without it there is no dense part.
    """
    tally = _Tally({}, {}, {})
    _add(tally, query, corpus, weights, corpus.postings)
    eligible = tally.scores if allowed is None else [number for number in tally.scores if number in allowed]
    episodes = _episode_scores(corpus, weights)
    pool = _pool(tally, eligible, episodes, weights)
    close = _close(tally, pool, look_around) if look_around else None
    if not pool:
        return []
    neighbours = _neighbours(pool, tally.places)
    involved = {*pool, *(other for near, far in neighbours.values() for other in (*near, *far))}
    frequent = [term for term in corpus.frequencies if term not in corpus.postings]
    _add(tally, query, corpus, weights, look_up(frequent, sorted(involved)) if frequent else {})
    best = max(tally.scores[number] for number in involved) or 1.0
    coverage = _Coverage(query, corpus, weights)
    found = []
    for number in pool:
        near, far = neighbours.get(number, ((), ()))
        seen = tally.seen[number]
        for other in near:
            seen |= tally.seen[other]
        found.append(
            Candidate(
                number=number,
                lexical=tally.scores[number] / best,
                neighbour=max([tally.scores[other] for other in near], default=0.0) / best,
                next_neighbour=max([tally.scores[other] for other in far], default=0.0) / best,
                episode=episodes.get(tally.places[number][0], 0.0),
                coverage=coverage.of(seen),
                dense=_dense(number, near, close, weights) if close else None,
                cosine=close.cosines.get(number, 0.0) if close else 0.0,
            ),
        )
    if close:
        doubt = 1 - max(candidate.coverage for candidate in found)
        found = [replace(candidate, doubt=doubt) for candidate in found]
    return _above_floor(found, query, weights)


def total(candidate: Candidate, weights: Weights, *, subject_named: bool) -> tuple[float, dict[str, float]]:
    """Returns the score of a candidate and what each part adds to it."""
    parts = {
        "lexical": candidate.lexical,
        "neighbours": weights.neighbour * candidate.neighbour + weights.next_neighbour * candidate.next_neighbour,
        "episode": weights.episode * candidate.episode,
        "subject": weights.subject if subject_named else 0.0,
    }
    if candidate.dense is not None:
        parts["dense"] = (weights.dense + weights.dense_in_doubt * candidate.doubt**2) * candidate.dense
    return sum(parts.values()), parts


def rarity(memories: int, frequency: int) -> float:
    """Returns how much it says that a term occurs, when `frequency` of `memories` have it: BM25's idf, above 0."""
    return math.log(1 + (memories - frequency + 0.5) / (frequency + 0.5))


@dataclass(frozen=True)
class _Tally:
    """Per memory: its BM25 score, the terms it has as bits, and its place (episode, position)."""

    scores: dict[int, float]
    seen: dict[int, int]
    places: dict[int, tuple[int | None, int | None]]


def _add(
    tally: _Tally,
    query: QueryTerms,
    corpus: Corpus,
    weights: Weights,
    postings: Mapping[str, Sequence[Posting]],
) -> None:
    """Adds what some terms give to the memories that have them."""
    scores, seen, places = tally.scores, tally.seen, tally.places
    average = corpus.words / max(corpus.memories, 1)
    flat = weights.saturation * (1 - weights.length_penalty)
    slope = weights.saturation * weights.length_penalty / max(average, 1.0)
    for bit, term in enumerate(query.all):
        gain = rarity(corpus.memories, corpus.frequencies.get(term, 0)) * (weights.saturation + 1)
        flag = 1 << bit
        for number, count, words, episode, position in postings.get(term, ()):
            part = gain * count / (count + flat + slope * words)
            if number in scores:
                scores[number] += part
                seen[number] |= flag
            else:
                scores[number] = part
                seen[number] = flag
                places[number] = (episode, position)


def _pool(
    tally: _Tally,
    eligible: Iterable[int],
    episodes: Mapping[int | None, float],
    weights: Weights,
) -> list[int]:
    """Returns the memories worth a closer look, by the two parts that are cheap to know."""
    scores, places = tally.scores, tally.places
    scale = 1 / max(scores.values(), default=1.0)
    if episodes:
        lift = {episode: weights.episode * score for episode, score in episodes.items()}
        rough = [(scores[number] * scale + lift.get(places[number][0], 0.0), number) for number in eligible]
    else:
        rough = [(scores[number], number) for number in eligible]
    return [number for _, number in heapq.nlargest(weights.pool, rough)]


def _close(tally: _Tally, pool: list[int], look_around: LookAround) -> Closeness:
    """Returns the dense parts, and puts the memories into the pool that are near in meaning alone."""
    nearness = look_around(pool)
    known = set(pool)
    for one in nearness.near:
        tally.scores.setdefault(one.number, 0.0)
        tally.seen.setdefault(one.number, 0)
        tally.places.setdefault(one.number, (one.episode, one.position))
        if one.number not in known:
            pool.append(one.number)
    return closeness(nearness)


def _dense(number: int, near: Sequence[int], close: Closeness, weights: Weights) -> float:
    """Returns the dense part of a memory, with that of the memory next to it: they are often about one thing."""
    beside = max([close.shares.get(other, 0.0) for other in near], default=0.0)
    return close.shares.get(number, 0.0) + weights.dense_neighbour * beside


def _neighbours(
    pool: Sequence[int],
    places: Mapping[int, tuple[int | None, int | None]],
) -> dict[int, tuple[list[int], list[int]]]:
    """Returns the memories one and two places away in the same conversation, those that match the query."""
    wanted = {places[number][0] for number in pool} - {None}
    if not wanted:
        return {}
    at = {place: number for number, place in places.items() if place[0] in wanted}
    found = {}
    for number in pool:
        episode, position = places[number]
        if episode is not None and position is not None:
            near, far = (
                [at[place] for step in steps if (place := (episode, position + step)) in at] for steps in _STEPS
            )
            found[number] = (near, far)
    return found


def _episode_scores(corpus: Corpus, weights: Weights) -> dict[int | None, float]:
    """Returns BM25 of whole conversations, divided by the best; their words are the words of their memories."""
    average = sum(corpus.episodes.values()) / max(len(corpus.episodes), 1)
    flat = weights.episode_saturation * (1 - weights.episode_length_penalty)
    slope = weights.episode_saturation * weights.episode_length_penalty / max(average, 1.0)
    scores: dict[int, float] = defaultdict(float)
    for rows in corpus.postings.values():
        counts: dict[int, int] = {}
        for _, count, _, episode, _ in rows:
            if episode is not None:
                counts[episode] = counts.get(episode, 0) + count
        known = max(len(corpus.episodes), len(counts))  # a conversation may have nothing but superseded memories
        gain = rarity(known, len(counts)) * (weights.episode_saturation + 1)
        for episode, count in counts.items():
            scores[episode] += gain * count / (count + flat + slope * corpus.episodes.get(episode, 0))
    best = max(scores.values(), default=1.0)
    return {episode: score / best for episode, score in scores.items()}


class _Coverage:
    """How much of the query a set of terms covers; compounds only add to scores, so they do not count here."""

    def __init__(self, query: QueryTerms, corpus: Corpus, weights: Weights) -> None:
        population = max(corpus.memories, weights.background)
        self._weights = [
            rarity(population, corpus.frequencies.get(part, 0)) * (weights.name if part in query.names else 1.0)
            for part in query.parts
        ]
        self._whole = sum(self._weights)
        self._known: dict[int, float] = {}

    def of(self, seen: int) -> float:
        """Returns the covered share, 0 to 1, of the terms whose bits are set."""
        if seen not in self._known:
            covered = sum(weight for bit, weight in enumerate(self._weights) if seen >> bit & 1)
            self._known[seen] = covered / self._whole
        return self._known[seen]


def _above_floor(found: list[Candidate], query: QueryTerms, weights: Weights) -> list[Candidate]:
    if query.only_stop_words:
        return [candidate for candidate in found if candidate.coverage > 1 - 1e-9]
    near = [candidate for candidate in found if candidate.cosine >= weights.dense_floor]
    if not near and max(candidate.coverage for candidate in found) < weights.floor:
        return []
    return [
        candidate
        for candidate in found
        if candidate.coverage >= weights.hit_floor or candidate.cosine >= weights.dense_floor
    ]
