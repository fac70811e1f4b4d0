from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database

from memory_mcp.errors import StoreTooNewError
from memory_mcp.storage.schema import MIGRATIONS, Migration, backup_names
from memory_mcp.storage.sqlite import FILE_NAME, open_sqlite
from tests.memory_mcp.world import ORIGIN, World, opened

RELEASED = [migration.version for migration in MIGRATIONS]
NEXT = RELEASED[-1] + 1


def next_schema(apply: Callable[[Database], None]) -> tuple[Migration, ...]:
    """The released migrations and one more."""
    return (*MIGRATIONS, Migration(NEXT, apply))


def add_mood(database: Database) -> None:
    """A migration as a later release would have it."""
    database.table("memory").add_column("mood", str)


def versions(path: Path) -> list[int]:
    """The migrations a file has had."""
    with closing(sqlite3.connect(path)) as connection:
        return [version for (version,) in connection.execute("SELECT version FROM schema_version ORDER BY version")]


def columns(path: Path) -> set[str]:
    """The columns of the memory table."""
    with closing(sqlite3.connect(path)) as connection:
        return {name for _, name, *_ in connection.execute("PRAGMA table_info(memory)")}


def test_a_new_store_has_every_migration_and_no_backup(world: World, tmp_path: Path) -> None:
    assert world.everything() == []
    assert versions(tmp_path / FILE_NAME) == RELEASED
    assert backup_names(tmp_path / FILE_NAME) == ()


def test_a_migration_keeps_the_memories_and_a_copy_of_the_file_before_it(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with opened(tmp_path) as world:
        world.remember("Kept.")

    store = open_sqlite(path, migrations=next_schema(add_mood))
    assert World(store).bodies("kept") == ["Kept."]
    store.close()

    copy = tmp_path / f"memory.before-schema-{NEXT}.db"
    assert backup_names(path) == (copy.name,)
    assert copy.stat().st_mode & 0o777 == 0o600
    assert (versions(path), versions(copy)) == ([*RELEASED, NEXT], RELEASED)
    assert "mood" in columns(path) - columns(copy)
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT body FROM memory").fetchall() == [("Kept.",)]


def test_a_copy_is_named_as_a_place_where_erased_text_remains(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        memory = world.stored("The code is 4711.")
    open_sqlite(tmp_path / FILE_NAME, migrations=next_schema(add_mood)).close()

    store = open_sqlite(tmp_path / FILE_NAME, migrations=next_schema(add_mood))
    remains = World(store).memory.forget(memory.id, ORIGIN, hard=True).remains
    store.close()

    assert remains == (f"the copy memory.before-schema-{NEXT}.db made before a migration",)


def test_a_migration_that_fails_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    def fail(database: Database) -> None:
        add_mood(database)
        database.execute("SELECT * FROM absent")

    with opened(tmp_path) as world:
        world.remember("Kept.")

    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        open_sqlite(tmp_path / FILE_NAME, migrations=next_schema(fail))

    assert "mood" not in columns(tmp_path / FILE_NAME)
    with opened(tmp_path) as world:
        assert world.bodies("kept") == ["Kept."]


def test_a_store_of_a_newer_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    open_sqlite(tmp_path / FILE_NAME, migrations=next_schema(add_mood)).close()

    with pytest.raises(StoreTooNewError, match=f"has schema {NEXT}, this program knows up to {NEXT - 1}; it was left"):
        open_sqlite(tmp_path / FILE_NAME)
    assert versions(tmp_path / FILE_NAME) == [*RELEASED, NEXT]


def test_several_openings_at_once_migrate_once(tmp_path: Path) -> None:
    with opened(tmp_path):
        pass
    applied: list[int] = []

    def migrate(database: Database) -> None:
        applied.append(1)
        add_mood(database)

    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: open_sqlite(tmp_path / FILE_NAME, migrations=next_schema(migrate)), range(4)))
    for store in stores:
        store.close()

    assert applied == [1]
    assert versions(tmp_path / FILE_NAME) == [*RELEASED, NEXT]


def test_several_first_openings_at_once_make_one_store(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: open_sqlite(tmp_path / FILE_NAME), range(4)))
    for number, store in enumerate(stores, start=1):
        World(store, first_id=number).remember(f"Opening {number}.")
    found = sorted(World(stores[0]).everything())
    for store in stores:
        store.close()

    assert versions(tmp_path / FILE_NAME) == RELEASED
    assert found == [f"Opening {number}." for number in range(1, 5)]


def test_a_store_of_every_earlier_release_opens_with_its_memories(tmp_path: Path) -> None:
    for released in range(1, len(MIGRATIONS)):
        folder = tmp_path / str(released)
        folder.mkdir()
        store = open_sqlite(folder / FILE_NAME, migrations=MIGRATIONS[:released])
        World(store).remember("Kept.")
        store.close()

        with opened(folder, first_id=100) as world:
            assert world.bodies("kept") == ["Kept."]
            world.remember("New.")
        assert versions(folder / FILE_NAME) == RELEASED
        assert backup_names(folder / FILE_NAME) == tuple(
            f"memory.before-schema-{version}.db" for version in RELEASED[released:]
        )
