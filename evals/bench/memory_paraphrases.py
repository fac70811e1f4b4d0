"""What meaning brings beside words: 210 questions that share no content word with the fact that answers them.

The pairs were written for this project (`evals/paraphrases/pairs.tsv`: a fact, a tab, a question), and a test holds
them to sharing no stem. By words alone such a question can only be answered by chance, so this shows what an embedding
model brings where words bring nothing, and what it costs: how many of 40 questions about none of the facts
(`unrelated.txt`) get an answer all the same.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from zoneinfo import ZoneInfo

from memory_mcp import intake
from memory_mcp.embedding.background import Meaning
from memory_mcp.embedding.protocol import Embedder
from memory_mcp.embedding.vector import Vector
from memory_mcp.errors import EmbeddingError
from memory_mcp.memory import MemoryService
from memory_mcp.search import MemorySearch, Request
from memory_mcp.storage.sqlite import FILE_NAME, open_sqlite
from memory_mcp.weights import Weights

FOLDER = Path(__file__).parents[1] / "paraphrases"
RANKS = (1, 5, 10)


@dataclass(frozen=True)
class Pair:
    """A fact, and a question that it answers in other words."""

    fact: str
    question: str


@dataclass(frozen=True)
class Outcome:
    """The share of questions whose fact is among the first so many, and of unrelated ones that get no answer."""

    hit: dict[int, float]
    silent_when_unrelated: float


def pairs() -> list[Pair]:
    """Returns the pairs, in the order of the file."""
    lines = (FOLDER / "pairs.tsv").read_text(encoding="utf-8").splitlines()
    return [Pair(*line.split("\t")) for line in lines]


def unrelated() -> list[str]:
    """Returns questions that none of the facts answers."""
    return (FOLDER / "unrelated.txt").read_text(encoding="utf-8").splitlines()


def measured(search: MemorySearch) -> Outcome:
    """Asks every question of a search over the facts."""
    asked = [(pair.fact, _bodies(search, pair.question)) for pair in pairs()]
    strange = unrelated()
    return Outcome(
        hit={rank: sum(fact in found[:rank] for fact, found in asked) / len(asked) for rank in RANKS},
        silent_when_unrelated=sum(not _bodies(search, question) for question in strange) / len(strange),
    )


def _bodies(search: MemorySearch, question: str) -> list[str]:
    return [hit.memory.content.body for hit in search.search(Request(question, limit=RANKS[-1])).hits]


def outcomes(load: Callable[[], Embedder], folder: Path, weights: Weights | None = None) -> tuple[Outcome, Outcome]:
    """Returns what words alone find and what words and meaning find, over the same store.

    Raises:
        EmbeddingError: The model is not installed.
    """
    zone = ZoneInfo("UTC")
    store = open_sqlite(folder / FILE_NAME)
    try:
        by_words = MemorySearch(store, zone, lambda: "rt", weights)
        ids = (f"mem_{number:020x}" for number in count())
        service = MemoryService(store, by_words, zone, lambda: time.time_ns() // 1_000_000, lambda: next(ids))
        for pair in pairs():
            service.remember(intake.content(zone, body=pair.fact), intake.origin("bench"))
        meaning = Meaning(store, load)
        while meaning.step():
            pass
        vectors: Callable[[str], Vector | None] = meaning.of_query
        return measured(by_words), measured(MemorySearch(store, zone, lambda: "rt", weights, vectors))
    finally:
        store.close()


def print_paraphrases() -> None:
    """Measures and prints both; says so when the extra is not installed."""
    from memory_mcp.embedding.packaged import load_packaged

    try:
        with tempfile.TemporaryDirectory() as folder:
            words, both = outcomes(load_packaged, Path(folder))
    except EmbeddingError as error:
        print(f"paraphrases: not measured. {error}")
        return
    print(f"paraphrases, {len(pairs())} questions that share no content word with their fact")
    for rank in RANKS:
        print(f"  hit@{rank:<3} by words {words.hit[rank]:.3f}   with the packaged model {both.hit[rank]:.3f}")
    _print_silence(words, both, unrelated())


def _print_silence(words: Outcome, both: Outcome, strange: Sequence[str]) -> None:
    silent = f"by words {words.silent_when_unrelated:.3f}   with the packaged model {both.silent_when_unrelated:.3f}"
    print(f"  no answer to {len(strange)} unrelated questions: {silent}")
