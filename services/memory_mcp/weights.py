"""Every number of the ranking, and how a person changes one. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from memory_mcp.errors import InvalidArgumentError

_MOST = 1_000_000


@dataclass(frozen=True)
class Weights:
    """Every number of the ranking, so that a measurement can change one at a time."""

    saturation: float = 0.9
    """BM25 k1: how soon more of the same word stops to count."""
    length_penalty: float = 0.3
    """BM25 b of a memory: memories are short, so length says little."""
    episode_saturation: float = 1.2
    episode_length_penalty: float = 0.75
    neighbour: float = 0.6
    next_neighbour: float = 0.3
    episode: float = 0.6
    subject: float = 0.3
    dense: float = 0.5
    """How much a memory near in meaning gains, when there are vectors."""
    dense_in_doubt: float = 3.0
    """How much more when no memory holds a word of the query; by the square of what the best leaves uncovered."""
    dense_neighbour: float = 0.4
    """How much of that the memory next to it in the conversation passes on."""
    dense_pool: int = 80
    """Memories nearest in meaning that are looked at beside those that share words with the query."""
    dense_floor: float = 0.35
    """Cosine from which a memory answers a query that it shares no word with."""
    pool: int = 100
    """Memories with the best lexical and episode parts that are looked at further; a larger pool finds nothing more."""
    floor: float = 0.2
    """Coverage that the best memory must reach for the query to be answered at all."""
    hit_floor: float = 0.1
    """Coverage below which a memory is left out of an answer."""
    name: float = 3.0
    """How much more a name in the query says than another word."""
    background: int = 1000
    """Memories a store is taken to have at least when rarity is judged for the floor."""
    read_least: int = 3000
    read_share: float = 0.1
    """Postings read for one query: so many, or this share of the memories, rarest words first. The other words are
    looked up only in the memories that those found, so that the work stays bounded in a large store."""


def parsed_weights(text: str | None) -> Weights:
    """Reads `PROMETHEUS_MEMORY_WEIGHTS`, for example `dense=0.8, floor=0.15`; what is not named keeps its value.

    Raises:
        InvalidArgumentError: A name is unknown, or a value is no number from 0 to 1,000,000.
    """
    known: Mapping[str, type] = {one.name: type(one.default) for one in fields(Weights)}
    changes: dict[str, float] = {}
    for pair in (text or "").replace(";", ",").split(","):
        if not pair.strip():
            continue
        name, _, value = (word.strip() for word in pair.partition("="))
        changes[name] = _number(pair, known.get(name), value)
    return replace(Weights(), **changes)  # type: ignore[arg-type]  # each has the type of its field


def _number(pair: str, kind: type | None, value: str) -> float:
    try:
        number = kind(value) if kind else math.nan
    except ValueError:
        number = math.nan
    if 0 <= number <= _MOST:
        return float(number) if kind is float else int(number)
    names = ", ".join(one.name for one in fields(Weights))
    raise InvalidArgumentError(
        f"PROMETHEUS_MEMORY_WEIGHTS has {pair.strip()[:60]!r}; write NAME=NUMBER with one of {names}.",
    )
