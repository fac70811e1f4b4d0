from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from psycopg import sql

from memory_mcp.errors import (
    DatabaseDownError,
    DatabaseLoginError,
    DatabaseLostError,
    DatabaseReadOnlyError,
    DatabaseRightsError,
    DatabaseSetupError,
    DatabaseWithoutVectorsError,
    StoreBusyError,
    StoreError,
    StoreTooNewError,
)
from memory_mcp.storage.postgres import PostgresStore, open_postgres, shown_address
from memory_mcp.storage.postgres_schema import MIGRATIONS, SCHEMA, Migration
from memory_mcp.storage.sqlite import SqliteStore
from tests.memory_mcp.serving import environment
from tests.memory_mcp.world import ORIGIN, World, opened
from tests.postgres_server import PASSWORD, PostgresServer


@dataclass
class Place:
    """A database of its own, its owner's role, and the address of it."""

    server: PostgresServer
    role: str
    database: str

    @property
    def address(self) -> str:
        return self.server.address(self.role, self.database)

    def operator(self, *statements: str) -> list[tuple[Any, ...]]:
        return self.server.operator(*statements, database=self.database)

    def rows(self, what: str, table: str) -> list[tuple[Any, ...]]:
        """What the operator sees of a table of the schema."""
        return self.operator(f"SELECT {what} FROM {SCHEMA}.{table} AS t ORDER BY 1")  # noqa: S608 - our names

    def tables(self) -> list[str]:
        """The names of the schema's tables."""
        found = (
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = to_regnamespace('prometheus_memory')"
        )
        return [str(name) for (name,) in self.operator(found)]

    def end_connections(self) -> None:
        """Break every connection of the role, as a restart of the server does."""
        ended = sql.SQL("SELECT pg_terminate_backend(pid, 9000) FROM pg_stat_activity WHERE usename = {}")
        self.server.operator(ended.format(sql.Literal(self.role)))


@pytest.fixture
def place(postgres: PostgresServer) -> Place:
    role = postgres.new_role()
    return Place(postgres, role, postgres.new_database(role))


@pytest.fixture
def store(place: Place) -> Iterator[PostgresStore]:
    with closing(open_postgres(place.address)) as fresh:
        yield fresh


@pytest.fixture
def world(store: PostgresStore) -> World:
    return over(store)


def over(store: PostgresStore, first_id: int = 1) -> World:
    """The service over a PostgreSQL store."""
    return World(cast("SqliteStore", store), first_id=first_id)


BODIES = (
    ("Bo adopted a grey cat called Mochi from the shelter.", {"subject": "Bo", "episode": "a"}),
    ("The cat sleeps on the radiator and hates the vacuum cleaner.", {"subject": "Bo", "episode": "a"}),
    ("Ana asked whether the shelter still has dogs.", {"subject": "Ana", "episode": "a"}),
    ("Bo: yes, three old ones.", {"subject": "Bo", "episode": "a"}),
    ("Release POL-358 slipped to March.", {"kind": "decision", "tags": ["release", "po\0l"]}),
    ("会议在北京举行。", {"scope": "project:China"}),
    ("Müller prefers trains over planes.", {"scope": "project:Reisen", "subject": "Müller"}),
    ("The meeting in Berlin was moved.", {"happened_at": "2026-05-08", "episode": "b"}),
    ("Ünïcode \0 \uf8ff and \uf8ff0 stay as they are.", {"subject": "odd \0 one"}),
)
QUERIES = (
    "Bo cat shelter",
    "Where does the cat sleep?",
    "POL-358",
    "北京",
    "Müllers trains",
    "meeting in May",
    "odd cat",
)


def test_a_search_finds_the_same_in_the_same_order_with_the_same_scores_as_in_sqlite(
    world: World, tmp_path: Path
) -> None:
    with opened(tmp_path) as other:
        for here in (world, other):
            for number in range(48):
                here.remember(
                    f"Filler {number} about cat {number % 7} and shelter {number % 11}.", episode=f"f{number % 9}"
                )
            old = [here.stored(body, **fields) for body, fields in BODIES]
            here.remember("Bo adopted a black cat called Miso.", subject="Bo", supersedes=old[0].id)
            here.memory.forget(old[2].id, ORIGIN)

        for query in QUERIES:
            for fields in (
                {},
                {"scope": "global"},
                {"kind": "decision"},
                {"tags": ["po\0l"]},
                {"include_retired": True},
            ):
                ours, theirs = world.find(query, limit=50, **fields), other.find(query, limit=50, **fields)
                assert [(hit.memory.id, hit.score, hit.parts) for hit in ours.hits] == [
                    (hit.memory.id, hit.score, hit.parts) for hit in theirs.hits
                ]
        assert len(world.find("cat shelter", limit=50).hits) >= 48
        assert world.everything() == other.everything()


def test_a_server_that_is_not_there_is_said_to_be_down(tmp_path: Path) -> None:
    address = f"postgresql://me:{PASSWORD}@/memory?host={tmp_path}"

    with pytest.raises(DatabaseDownError, match=r"server of me at .*, database memory does not answer") as refusal:
        open_postgres(address)
    assert PASSWORD not in str(refusal.value)


def test_a_wrong_password_is_refused_and_never_printed(place: Place) -> None:
    wrong = place.server.address(place.role, place.database, "wr0ng-pass")
    with pytest.raises(DatabaseLoginError, match="check the role, its password"):
        open_postgres(wrong)

    command = [sys.executable, "-m", "memory_mcp", "--check", "--store", wrong]
    done = subprocess.run(command, env=environment(Path("/nonexistent")), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "wr0ng-pass" not in done.stderr


def test_a_database_that_is_not_there_is_refused_at_the_door(place: Place) -> None:
    with pytest.raises(DatabaseLoginError, match="name of the database"):
        open_postgres(place.server.address(place.role, "nowhere"))


@pytest.mark.parametrize("address", ["mysql://x/y", "postgresql://%zz", "host=x password=y", ""])
def test_what_is_no_address_is_refused_with_the_form_of_one(address: str) -> None:
    for use in (open_postgres, shown_address):
        with pytest.raises(DatabaseSetupError, match="send postgresql://ROLE@HOST/DATABASE"):
            use(address)


def test_the_place_of_the_data_is_shown_without_the_password(place: Place) -> None:
    command = [sys.executable, "-m", "memory_mcp", "--where"]
    environ = environment(Path("/nonexistent"), PROMETHEUS_MEMORY_STORE=place.address)
    shown = subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout

    assert shown == f"PostgreSQL: {place.role} at {place.server.folder}, database {place.database}\n"


def test_a_role_that_sees_every_tenant_is_refused(place: Place) -> None:
    place.operator(f"ALTER ROLE {place.role} BYPASSRLS")

    with pytest.raises(DatabaseRightsError, match="connect as a role without"):
        open_postgres(place.address)


def test_a_role_that_may_not_make_the_schema_is_told_so(place: Place) -> None:
    stranger = place.server.new_role()

    with pytest.raises(DatabaseRightsError, match="grant it the rights"):
        open_postgres(place.server.address(stranger, place.database))


def test_a_database_in_another_encoding_is_refused(postgres: PostgresServer) -> None:
    role = postgres.new_role()
    database = postgres.new_database(role, encoding="SQL_ASCII")

    with pytest.raises(DatabaseSetupError, match="keeps text as SQL_ASCII; create one with ENCODING 'UTF8'"):
        open_postgres(postgres.address(role, database))


def test_a_schema_of_our_name_that_is_something_else_is_left_alone(place: Place) -> None:
    place.operator(f"CREATE SCHEMA {SCHEMA} AUTHORIZATION {place.role}")

    with pytest.raises(DatabaseSetupError, match="no memory store, and it was left as it is"):
        open_postgres(place.address)
    assert place.tables() == []


def test_a_newer_schema_is_left_alone(world: World, place: Place) -> None:
    world.remember("Kept.")
    place.operator("INSERT INTO prometheus_memory.schema_version VALUES ('rows', 99, 0)")

    with pytest.raises(StoreTooNewError, match=r"has schema 99, this program knows up to \d+; it was left as it is"):
        open_postgres(place.address)
    assert world.everything() == ["Kept."]


def test_an_older_schema_is_brought_up_to_date_once_by_many_hosts(world: World, place: Place) -> None:
    world.remember("Before.")
    statement = "ALTER TABLE memory ADD COLUMN mood text"
    steps = (*MIGRATIONS, Migration(2, lambda connection: cast("None", connection.execute(statement))))
    ready = threading.Barrier(4)

    def start(_: int) -> None:
        ready.wait(timeout=30)
        open_postgres(place.address, migrations=steps).close()

    with ThreadPoolExecutor(4) as hosts:
        list(hosts.map(start, range(4)))

    assert place.rows("version", "schema_version") == [(1,), (2,)]
    assert world.everything() == ["Before."]


def test_a_migration_that_fails_leaves_nothing(world: World, place: Place) -> None:
    world.remember("Before.")

    def half(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        connection.execute("ALTER TABLE memory ADD COLUMN mood text")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        open_postgres(place.address, migrations=(*MIGRATIONS, Migration(2, half)))
    columns = "SELECT count(*) FROM information_schema.columns WHERE table_name = 'memory' AND column_name = 'mood'"
    assert place.operator(columns) == [(0,)]
    with closing(open_postgres(place.address)) as store:
        assert over(store).everything() == ["Before."]


def test_a_read_only_database_can_be_searched_and_says_why_it_takes_nothing(world: World, place: Place) -> None:
    world.remember("Before.")
    place.operator(f"ALTER ROLE {place.role} SET default_transaction_read_only = on")
    place.end_connections()

    with pytest.raises(DatabaseReadOnlyError, match="database is read-only"):
        world.remember("After.")
    assert world.bodies("before") == ["Before."]

    place.operator(f"ALTER ROLE {place.role} RESET default_transaction_read_only")
    place.end_connections()
    world.remember("After.")
    assert world.everything() == ["After.", "Before."]


def test_a_connection_that_broke_while_nothing_was_asked_is_made_anew_unnoticed(world: World, place: Place) -> None:
    world.remember("Before.")
    assert world.bodies("before") == ["Before."]

    place.end_connections()

    world.remember("After.")
    assert world.bodies("after") == ["After."]


def test_a_connection_lost_in_the_middle_undoes_the_write_and_the_next_one_works(world: World, place: Place) -> None:
    def remember_while_it_breaks() -> None:
        with world.store.writing() as writer:
            place.end_connections()
            writer.reply_to("any")

    with pytest.raises(DatabaseLostError, match="was lost; nothing was changed, try again"):
        remember_while_it_breaks()

    world.remember("After.")
    assert world.everything() == ["After."]


def test_a_connection_lost_while_committing_says_that_the_outcome_is_not_known(world: World, place: Place) -> None:
    def commit_while_it_breaks() -> None:
        with world.store.writing():
            place.end_connections()

    with pytest.raises(DatabaseLostError, match="not known, send it again with the same text or idempotency_key"):
        commit_while_it_breaks()


def test_a_server_that_goes_away_for_good_is_said_to_be_down(postgres: PostgresServer) -> None:
    role = postgres.new_role()
    with closing(open_postgres(postgres.address(role, postgres.new_database(role)))) as store:
        postgres.control("-m", "immediate", "stop")
        try:
            with pytest.raises(StoreError, match=r"lost; nothing was changed|does not answer"):
                over(store).remember("Lost.")
            with pytest.raises(DatabaseDownError, match="does not answer"):
                over(store).remember("Lost.")
        finally:
            postgres.start()
        over(store).remember("Kept.")
        assert over(store).everything() == ["Kept."]


def test_a_write_waits_for_another_host_a_bounded_time_and_then_says_that_it_is_busy(
    world: World, place: Place
) -> None:
    world.remember("Before.")
    with closing(open_postgres(place.address, lock_timeout_ms=50)) as store:
        other = over(store, first_id=100)
        with world.store.writing(), pytest.raises(StoreBusyError, match="nothing was changed, try again"):
            other.remember("After.")
        other.remember("After.")

    assert world.everything() == ["After.", "Before."]


def test_many_hosts_write_at_once_and_nothing_is_lost_or_doubled(place: Place) -> None:
    open_postgres(place.address).close()
    ready = threading.Barrier(4)

    def host(number: int) -> None:
        with closing(open_postgres(place.address)) as store:
            world = over(store, first_id=1 + 1000 * number)
            ready.wait(timeout=30)
            for step in range(12):
                world.remember(f"Own {number} {step}.", episode="e")
                world.remember(f"Shared {step}.")

    with ThreadPoolExecutor(4) as hosts:
        list(hosts.map(host, range(4)))

    with closing(open_postgres(place.address)) as store:
        everything = over(store).everything()
        assert len(everything) == len(set(everything)) == 4 * 12 + 12
        with store.reading() as reader:
            memories = reader.newest(None, None, None, 1000)
    assert sorted(memory.number for memory in memories) == list(range(1, 61))
    assert sorted(one.position for one in memories if one.position is not None) == list(range(48))


def test_an_erased_text_is_in_no_row_and_the_server_is_named_as_a_place_where_it_may_remain(
    world: World, place: Place
) -> None:
    memory = world.stored("The xylophonecode is 4711.", subject="quaggasubject", tags=["numbattag"])

    done = world.memory.forget(memory.id, ORIGIN, hard=True)

    assert any("write-ahead log of the PostgreSQL server" in where for where in done.remains)
    rows = [row for table in place.tables() for row in place.rows("t::text", table)]
    assert rows
    assert not [row for row in rows if any(word in row[0] for word in ("xylophonecod", "quagga", "numbat"))]


def test_without_the_extension_vectors_are_refused_in_words_and_searches_go_on(world: World) -> None:
    world.remember("Before.")
    with pytest.raises(DatabaseWithoutVectorsError, match="CREATE EXTENSION vector"):
        cast("PostgresStore", world.store).prepare_vectors()

    assert world.bodies("before") == ["Before."]
