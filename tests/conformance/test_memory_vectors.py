"""What every store of memories has to do with vectors; the cosines are the same whatever the database."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memory_mcp.dense import Nearness
from memory_mcp.embedding.vector import Vector, rounded
from memory_mcp.model import Memory
from memory_mcp.scopes import parse_scope
from memory_mcp.storage.postgres import open_postgres
from memory_mcp.storage.protocol import MemoryStore, NewMemory, Searched
from memory_mcp.storage.sqlite import FILE_NAME, open_sqlite
from tests.conformance.test_memory_store import AT_MS, EVERYWHERE, GLOBAL, inserted, new, text
from tests.memory_mcp.world import memory_id
from tests.postgres_server import PostgresServer

Open = Callable[[], MemoryStore]
EAST, NORTH, NORTH_EAST, WEST = [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.0]


@pytest.fixture(params=["sqlite", "postgres"])
def open_store(request: pytest.FixtureRequest) -> Open:
    """Opens the same store, ready for vectors, every time it is called."""
    if request.param == "sqlite":
        folder: Path = request.getfixturevalue("tmp_path")
        return lambda: _ready(open_sqlite(folder / FILE_NAME))
    server: PostgresServer = request.getfixturevalue("postgres_with_vectors")
    address = server.address(server.new_role(), server.shared_database(vectors=True))
    return lambda: _ready(open_postgres(address))


def _ready(store: MemoryStore) -> MemoryStore:
    store.prepare_vectors()
    return store


@pytest.fixture
def store(open_store: Open) -> Iterator[MemoryStore]:
    """An empty store."""
    with closing(open_store()) as fresh:
        yield fresh


def vector(values: list[float], model: str = "m") -> Vector:
    return rounded(model, values)


def embedded(store: MemoryStore, *given: tuple[NewMemory, list[float]]) -> list[Memory]:
    """Store memories with their vectors."""
    memories = inserted(store, *(memory for memory, _ in given))
    with store.writing() as writer:
        writer.store_vectors({one.number: vector(values) for one, (_, values) in zip(memories, given, strict=True)})
    return memories


def nearest(store: MemoryStore, values: list[float], searched: Searched = EVERYWHERE, limit: int = 10) -> Nearness:
    with store.reading() as reader:
        return reader.nearest(searched, vector(values), limit)


def numbers(nearness: Nearness) -> list[int]:
    """The numbers found, nearest first."""
    return [one.number for one in sorted(nearness.near, key=lambda near: (near.cosine, near.number), reverse=True)]


def test_the_nearest_come_with_their_cosine_their_place_and_the_mean(store: MemoryStore) -> None:
    east, north, both = embedded(
        store,
        (new(1, "a", episode="e"), EAST),
        (new(2, "b", episode="e"), NORTH),
        (new(3, "c"), NORTH_EAST),
    )

    found = nearest(store, EAST)

    assert numbers(found) == [east.number, both.number, north.number]
    assert {one.number: one.cosine for one in found.near} == {
        east.number: pytest.approx(1.0),
        both.number: pytest.approx(math.sqrt(0.5)),
        north.number: pytest.approx(0.0),
    }
    assert {one.number: (one.episode, one.position) for one in found.near} == {
        east.number: (east.episode_number, 0),
        north.number: (east.episode_number, 1),
        both.number: (None, None),
    }
    assert found.mean == pytest.approx((1 + math.sqrt(0.5)) / 3)


def test_only_so_many_come_and_those_that_were_asked_for(store: MemoryStore) -> None:
    east, north, west = embedded(store, (new(1, "a"), EAST), (new(2, "b"), NORTH), (new(3, "c"), WEST))
    with store.reading() as reader:
        assert numbers(reader.nearest(EVERYWHERE, vector(EAST), 1)) == [east.number]
        assert numbers(reader.nearest(EVERYWHERE, vector(EAST), 1, [west.number, 99])) == [east.number, west.number]
        within = {north.number, west.number}
        assert numbers(reader.nearest(EVERYWHERE, vector(EAST), 1, within=within)) == [north.number]
        assert numbers(reader.nearest(EVERYWHERE, vector(EAST), 9, within=set())) == []


def test_of_equally_near_ones_the_newer_come(store: MemoryStore) -> None:
    memories = embedded(store, *((new(number, f"m{number}"), EAST) for number in range(1, 6)))

    assert numbers(nearest(store, EAST, limit=2)) == [memories[4].number, memories[3].number]


def test_vectors_of_another_model_or_length_are_never_compared(store: MemoryStore) -> None:
    (memory,) = embedded(store, (new(1, "a"), EAST))
    with store.reading() as reader:
        assert list(reader.nearest(EVERYWHERE, vector(EAST, "other"), 9).near) == []
        assert list(reader.nearest(EVERYWHERE, vector([1.0, 0.0, 0.0]), 9).near) == []
        assert numbers(reader.nearest(EVERYWHERE, vector(EAST), 9)) == [memory.number]


def test_a_vector_of_a_new_model_takes_the_place_of_the_old_one(store: MemoryStore) -> None:
    (memory,) = embedded(store, (new(1, "a"), EAST))
    with store.writing() as writer:
        writer.store_vectors({memory.number: vector(NORTH, "newer")})
    with store.reading() as reader:
        assert list(reader.nearest(EVERYWHERE, vector(EAST), 9).near) == []
        assert numbers(reader.nearest(EVERYWHERE, vector(NORTH, "newer"), 9)) == [memory.number]


def test_scopes_are_searched_apart_and_together(store: MemoryStore) -> None:
    ours, theirs = embedded(store, (new(1, "a"), EAST), (new(2, "b", scope="project:x"), EAST))

    assert numbers(nearest(store, EAST, GLOBAL)) == [ours.number]
    assert numbers(nearest(store, EAST)) == [theirs.number, ours.number]
    assert list(nearest(store, EAST, Searched(parse_scope("project:none"))).near) == []


def test_a_superseded_memory_is_near_only_for_those_who_ask_for_such(store: MemoryStore) -> None:
    old, kept = embedded(store, (new(1, "a"), EAST), (new(2, "b"), NORTH))
    assert len(nearest(store, EAST).near) == 2
    with store.writing() as writer:
        writer.supersede(old, text(old), memory_id(3), AT_MS)

    assert numbers(nearest(store, EAST)) == [kept.number]
    assert numbers(nearest(store, EAST, Searched(with_superseded=True))) == [old.number, kept.number]


def test_a_forgotten_memory_has_no_vector_and_gets_none(store: MemoryStore) -> None:
    gone, kept = embedded(store, (new(1, "a"), EAST), (new(2, "b"), NORTH))
    assert len(nearest(store, EAST).near) == 2
    with store.writing() as writer:
        writer.forget(gone, text(gone), "x", AT_MS)
        writer.store_vectors({gone.number: vector(EAST)})

    assert numbers(nearest(store, EAST, Searched(with_superseded=True))) == [kept.number]
    with store.reading() as reader:
        assert reader.without_vector("m", 0, 9) == []


def test_memories_without_a_vector_of_a_model_are_named_in_order(store: MemoryStore) -> None:
    one, two, three = inserted(store, *(new(number, f"m{number}") for number in range(1, 4)))
    with store.writing() as writer:
        writer.store_vectors({two.number: vector(EAST)})
    with store.reading() as reader:
        assert reader.without_vector("m", 0, 9) == [one, three]
        assert reader.without_vector("m", 0, 1) == [one]
        assert reader.without_vector("m", one.number, 9) == [three]
        assert reader.without_vector("other", 0, 9) == [one, two, three]


def test_what_another_process_changes_is_seen_by_the_next_search(store: MemoryStore, open_store: Open) -> None:
    (first,) = embedded(store, (new(1, "a"), EAST))
    assert numbers(nearest(store, EAST)) == [first.number]
    with closing(open_store()) as other:
        (second,) = embedded(other, (new(2, "b"), NORTH_EAST))
        assert numbers(nearest(store, EAST)) == [first.number, second.number]
        with other.writing() as writer:
            writer.forget(first, text(first), "x", AT_MS)
        assert numbers(nearest(store, EAST)) == [second.number]
        (third,) = embedded(other, (new(3, "c"), EAST))

    assert numbers(nearest(store, EAST)) == [third.number, second.number]


def test_a_vector_that_says_nothing_is_near_to_nothing(store: MemoryStore) -> None:
    embedded(store, (new(1, "a"), EAST), (new(2, "b"), [0.0, 0.0]))

    assert [one.cosine for one in nearest(store, [0.0, 0.0]).near] == [0.0, 0.0]
    assert numbers(nearest(store, EAST))[0] == 1
    assert nearest(store, EAST).mean == pytest.approx(0.5)


def test_vectors_are_undone_with_their_transaction(store: MemoryStore) -> None:
    (memory,) = inserted(store, new(1, "a"))

    def fail_midway() -> None:
        with store.writing() as writer:
            writer.store_vectors({memory.number: vector(EAST)})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_midway()
    assert list(nearest(store, EAST).near) == []
