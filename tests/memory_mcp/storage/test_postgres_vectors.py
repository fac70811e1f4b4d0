"""PostgreSQL with pgvector: the same answers as SQLite's, for one tenant alone, whoever forgets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from memory_mcp.embedding.background import Meaning
from memory_mcp.search import MemorySearch, Request
from memory_mcp.storage.postgres import PostgresStore, open_postgres
from memory_mcp.storage.protocol import Searched
from memory_mcp.storage.sqlite import SqliteStore
from memory_mcp.terms import indexed
from memory_mcp.weights import Weights
from tests.fakes.embedder import WordsEmbedder
from tests.memory_mcp.world import ORIGIN, ZONE, World, opened
from tests.postgres_server import PostgresServer

BODIES = (
    "The dog barks.",
    "A cat sleeps on the radiator.",
    "A canine needs a walk.",
    "Tea is on the shelf.",
    "No dogs.",
)
QUERIES = ("dog", "feline", "Where is the tea?", "canine walk", "cat radiator")


@pytest.fixture
def address(postgres_with_vectors: PostgresServer) -> str:
    """The address of a database of its own that has pgvector."""
    server, role = postgres_with_vectors, postgres_with_vectors.new_role()
    database = server.new_database(role)
    server.operator("CREATE EXTENSION vector", database=database)
    return server.address(role, database)


@pytest.fixture
def store(address: str) -> Iterator[PostgresStore]:
    with closing(open_postgres(address)) as fresh:
        yield fresh


def over(store: PostgresStore) -> World:
    """The service over a PostgreSQL store."""
    return World(cast("SqliteStore", store))


def with_vectors(world: World) -> MemorySearch:
    """A search by words and meaning, once every memory has its vector."""
    meaning = Meaning(world.store, WordsEmbedder)
    while meaning.step():
        pass
    return MemorySearch(world.store, ZONE, lambda: "rt", Weights(dense_floor=0.3), meaning.of_query)


def test_a_search_by_meaning_gives_the_same_order_and_scores_as_in_sqlite(store: PostgresStore, tmp_path: Path) -> None:
    with opened(tmp_path) as other:
        for world in (over(store), other):
            for number, body in enumerate(BODIES * 3):
                world.remember(
                    f"{body} {number}", episode=f"e{number % 2}", scope=("global", "project:x")[number % 3 == 0]
                )
        ours, theirs = with_vectors(over(store)), with_vectors(other)

        for query in QUERIES:
            for scope in (None, "project:x"):
                found, expected = (
                    [(hit.memory.id, hit.score) for hit in search.search(Request(query, scope, limit=50)).hits]
                    for search in (ours, theirs)
                )
                assert found == expected
                assert found


def test_a_host_without_vectors_takes_them_along_when_it_supersedes_and_forgets(
    store: PostgresStore, address: str
) -> None:
    world = over(store)
    dog, cat = (world.stored(body) for body in BODIES[:2])
    with_vectors(world)
    query = WordsEmbedder().embed(["dog cat"])[0]
    with closing(open_postgres(address)) as plain:
        other = over(plain)
        other.memory.forget(dog.id, ORIGIN)
        with plain.writing() as writer:
            writer.supersede(cat, indexed([BODIES[1]]), "mem_" + "f" * 20, 1)
        with plain.reading() as reader:
            assert list(reader.nearest(Searched(), query, 9).near) == []

    with store.reading() as reader:
        assert list(reader.nearest(Searched(), query, 9).near) == []
        kept = reader.nearest(Searched(with_superseded=True), query, 9).near
        assert [one.number for one in kept] == [cat.number]


def test_a_tenant_sees_and_changes_its_own_vectors_alone(postgres_with_vectors: PostgresServer, address: str) -> None:
    server = postgres_with_vectors
    database = address.split("@/")[1].split("?", maxsplit=1)[0]
    stranger = server.address(server.new_role(), database)
    with closing(open_postgres(address)) as one, closing(open_postgres(stranger)) as other:
        ours, theirs = over(one), over(other)
        for world in (ours, theirs):
            world.remember("The dog barks.")
        with_vectors(ours)
        search = with_vectors(theirs)
        theirs.memory.forget(search.search(Request("canine")).hits[0].memory.id, ORIGIN, hard=True)

        assert search.search(Request("canine")).hits == ()
        assert len(with_vectors(ours).search(Request("canine")).hits) == 1
