from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from memory_mcp.embedding.background import BATCH, RETRY_S, Meaning, text_of
from memory_mcp.embedding.protocol import Embedder
from memory_mcp.errors import EmbeddingError, StoreBusyError
from memory_mcp.search import MemorySearch, Request
from memory_mcp.storage.protocol import Searched
from memory_mcp.weights import Weights
from tests.fakes.embedder import WordsEmbedder
from tests.memory_mcp.world import ORIGIN, ZONE, World


class Clock:
    """A clock that stands still until it is moved."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def meaning(world: World, embedder: Embedder, clock: Clock | None = None) -> Meaning:
    """The background work over the world's store, done step by step."""
    return Meaning(world.store, lambda: embedder, clock or Clock())


def finder(world: World, of: Meaning) -> Callable[[str], list[str]]:
    """A search by words and meaning, that returns bodies."""
    search = MemorySearch(world.store, ZONE, lambda: "rt", Weights(dense_floor=0.3), of.of_query)
    return lambda query: [hit.memory.content.body for hit in search.search(Request(query)).hits]


def test_a_search_goes_by_words_until_the_model_is_there_and_by_meaning_then(world: World) -> None:
    world.remember("The dog barks.")
    of = meaning(world, WordsEmbedder())
    find = finder(world, of)
    assert find("canine") == []
    assert find("dog") == ["The dog barks."]

    assert of.step() == 1

    assert find("canine") == ["The dog barks."]
    assert find("the and of") == []
    assert find("") == []


def test_memories_get_their_vectors_a_few_at_a_time_and_each_once(world: World) -> None:
    for number in range(BATCH + 3):
        world.remember(f"Memory {number}.")
    embedder = WordsEmbedder()
    of = meaning(world, embedder)

    assert [of.step(), of.step(), of.step()] == [BATCH, 3, 0]
    world.remember("Another.")
    assert [of.step(), of.step()] == [1, 0]
    assert len(embedder.seen) == len(set(embedder.seen)) == BATCH + 4


def test_another_process_goes_on_where_this_one_ended(world: World) -> None:
    world.remember("One.")
    meaning(world, WordsEmbedder()).step()
    world.remember("Two.")
    embedder = WordsEmbedder()

    assert meaning(world, embedder).step() == 1
    assert embedder.seen == ["Two."]


def test_another_model_makes_all_vectors_anew(world: World) -> None:
    world.remember("The dog barks.")
    meaning(world, WordsEmbedder()).step()
    newer = meaning(world, WordsEmbedder("newer"))

    assert newer.step() == 1
    assert finder(world, newer)("canine") == ["The dog barks."]


def test_what_a_model_reads_is_the_date_the_subject_and_the_body(world: World) -> None:
    memory = world.stored("Moved to Oslo.", subject="Bo", happened_at="2026-05-08")

    assert text_of(memory) == "(Friday 8 May 2026 2026-05-08) Bo: Moved to Oslo."


def test_a_forgotten_memory_is_not_found_by_its_meaning(world: World) -> None:
    memory = world.stored("The dog barks.")
    of = meaning(world, WordsEmbedder())
    of.step()
    world.memory.forget(memory.id, ORIGIN, hard=True)

    assert finder(world, of)("canine") == []
    with world.store.reading() as reader:
        assert list(reader.nearest(Searched(), WordsEmbedder().embed(["canine"])[0], 9).near) == []


def test_a_model_that_fails_is_told_once_left_alone_for_a_while_and_asked_again(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.remember("The dog barks.")
    embedder, clock = WordsEmbedder(), Clock()
    of = meaning(world, embedder, clock)
    of.step()
    find = finder(world, of)
    embedder.broken = "The endpoint is away."
    with caplog.at_level(logging.WARNING):
        assert (find("canine"), find("dog")) == ([], ["The dog barks."])
        assert find("canine") == []
    assert [record.getMessage() for record in caplog.records] == ["The endpoint is away."]

    embedder.broken = None
    assert find("canine") == []
    clock.now_s = RETRY_S
    assert find("canine") == ["The dog barks."]


def test_a_model_that_cannot_be_loaded_leaves_searches_by_words(world: World) -> None:
    def load() -> Embedder:
        raise EmbeddingError("The extra is not installed.")

    world.remember("The dog barks.")
    of = Meaning(world.store, load, Clock())
    with pytest.raises(EmbeddingError):
        of.step()

    assert finder(world, of)("dog") == ["The dog barks."]


def test_a_step_that_the_store_refuses_is_taken_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.remember("The dog barks.")
    of = meaning(world, WordsEmbedder())

    def refuse() -> None:
        raise StoreBusyError

    with monkeypatch.context() as patched:
        patched.setattr(world.store, "writing", refuse)
        with pytest.raises(StoreBusyError):
            of.step()
    assert of.step() == 1


def test_the_thread_works_by_itself_and_ends_when_it_is_told(world: World) -> None:
    world.remember("The dog barks.")
    embedder = WordsEmbedder()
    of = meaning(world, embedder)
    of.start()
    while not finder(world, of)("canine"):
        pass
    of.stop(patience_s=30)

    assert embedder.closed == 1
