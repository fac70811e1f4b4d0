"""The SQLite schema: numbered migrations, a table of those applied, a copy of the file before each.

sqlite-utils writes the tables. It costs 0.18 s of CPU to import, so it is imported only when there is something to
migrate: at the first start and after an update, never in the way of a first reply.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memory_mcp.errors import StoreDamagedError, StoreTooNewError

if TYPE_CHECKING:
    from sqlite_utils import Database

_VERSION_TABLE = "schema_version"
_FILE_MODE = 0o600


@dataclass(frozen=True)
class Migration:
    """One step of the schema: its number, and what it does to a database inside a transaction."""

    version: int
    apply: Callable[[Database], None]


def bring_up_to_date(
    connection: sqlite3.Connection,
    path: Path,
    now_ms: Callable[[], int],
    migrations: Sequence[Migration],
) -> None:
    """Applies the missing migrations, each in its own transaction; several processes may do this at once.

    An empty file gets all of them in one, so that there is nothing in between to make a copy of.

    Raises:
        StoreTooNewError: A newer program wrote the file.
        StoreDamagedError: The file is a database of something else.
        sqlite3.Error: The database refused; what was not committed did not happen.
    """
    newest = migrations[-1].version
    found = _version(connection)
    if found > newest:
        raise StoreTooNewError(found, newest)
    steps = [migrations] if not found else [(one,) for one in migrations if one.version > found]
    for step in steps:
        _migrate(connection, path, now_ms, step)


def backup_names(path: Path) -> tuple[str, ...]:
    """Returns the names of the copies made before migrations; they keep what was in the store then."""
    return tuple(sorted(copy.name for copy in path.parent.glob(f"{path.stem}.before-schema-*{path.suffix}")))


def _migrate(
    connection: sqlite3.Connection,
    path: Path,
    now_ms: Callable[[], int],
    migrations: Sequence[Migration],
) -> None:
    from sqlite_utils import Database

    connection.execute("BEGIN IMMEDIATE")
    try:
        found = _version(connection)
        database = Database(connection, recursive_triggers=False, execute_plugins=False)
        for migration in migrations:
            if found >= migration.version:  # another process was first
                continue
            if found:
                _back_up(path, migration.version)
            migration.apply(database)
            database.table(_VERSION_TABLE).insert({"version": migration.version, "applied_at_ms": now_ms()})
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    """Returns the version of the schema; 0 is an empty file."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return 0
    if _VERSION_TABLE not in tables:
        raise StoreDamagedError
    (version,) = connection.execute("SELECT max(version) FROM schema_version").fetchone()
    return int(version)


def _back_up(path: Path, version: int) -> None:
    """Copies the database as the last commit left it; the write lock is held, so nothing is missed."""
    copy = path.with_name(f"{path.stem}.before-schema-{version}{path.suffix}")
    os.close(os.open(copy, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, _FILE_MODE))
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)


def _first_schema(database: Database) -> None:
    """Scopes, conversations, memories, the index, and the replies kept for idempotency keys."""
    database.table(_VERSION_TABLE).create({"version": int, "applied_at_ms": int}, pk="version")
    database.table("scope").create({"id": int, "key": str, "name": str}, pk="id", not_null=("key", "name"))
    database.table("scope").create_index(["key"], unique=True)
    database.table("episode").create(
        {"id": int, "scope": int, "key": str, "next_position": int, "live_words": int},
        pk="id",
        not_null=("scope", "key", "next_position", "live_words"),
    )
    database.table("episode").create_index(["scope", "key"], unique=True)
    _create_memories(database)
    _create_index(database)
    database.table("reply").create(
        {
            "key": str,
            "request_hash": str,
            "memory_id": str,
            "deduped": int,
            "superseded": str,
            "created_at_ms": int,
        },
        pk="key",
        not_null=("request_hash", "memory_id", "deduped", "superseded", "created_at_ms"),
    )


def _create_memories(database: Database) -> None:
    """One row per version of a memory; the body comes last, so that a filter need not read it."""
    columns = {
        "number": int,
        "id": str,
        "scope": int,
        "kind": str,
        "created_at_ms": int,
        "happened_at_ms": int,
        "happened_text": str,
        "retired_at_ms": int,
        "superseded_by": str,
        "forgotten_at_ms": int,
        "forgotten_by": str,
        "erased": int,
        "episode": int,
        "position": int,
        "words": int,
        "distinct_terms": int,
        "origin": str,
        "trust": str,
        "last_seen_at_ms": int,
        "body_hash": str,
        "subject": str,
        "tags": str,
        "source_url": str,
        "body": str,
    }
    required = ("id", "scope", "kind", "created_at_ms", "erased", "words", "distinct_terms", "origin", "trust")
    database.table("memory").create(
        columns, pk="number", not_null=(*required, "last_seen_at_ms", "body_hash", "tags", "body")
    )
    database.table("memory").create_index(["id"], unique=True)
    database.table("memory").create_index(["superseded_by"])
    for statement in (
        "CREATE UNIQUE INDEX one_live_body ON memory (scope, body_hash) WHERE retired_at_ms IS NULL",
        "CREATE UNIQUE INDEX one_live_place ON memory (episode, position) WHERE retired_at_ms IS NULL",
        "CREATE INDEX newest_in_scope ON memory (scope, created_at_ms, number) WHERE retired_at_ms IS NULL",
        "CREATE INDEX newest ON memory (created_at_ms, number) WHERE retired_at_ms IS NULL",
    ):
        database.execute(statement)


def _create_index(database: Database) -> None:
    """The terms of every memory that a search can find, and their totals; `live` is 0 for superseded memories."""
    database.execute(
        """CREATE TABLE posting (
             scope INTEGER NOT NULL, live INTEGER NOT NULL, term TEXT NOT NULL, memory INTEGER NOT NULL,
             count INTEGER NOT NULL, words INTEGER NOT NULL, episode INTEGER, position INTEGER,
             PRIMARY KEY (scope, live, term, memory)
           ) WITHOUT ROWID""",
    )
    database.table("index_total").create(
        {"scope": int, "live": int, "memories": int, "words": int},
        pk=("scope", "live"),
        not_null=("memories", "words"),
    )


def _vectors(database: Database) -> None:
    """The vector of each memory that a search can find; `stamp` grows with every change, so a cache can be kept.

    The database itself takes the vectors along when a memory is superseded or forgotten.
    """
    for statement in (
        """CREATE TABLE embedding (
             stamp INTEGER PRIMARY KEY AUTOINCREMENT, memory INTEGER NOT NULL UNIQUE, model TEXT NOT NULL,
             scope INTEGER NOT NULL, live INTEGER NOT NULL, episode INTEGER, position INTEGER, codes BLOB NOT NULL)""",
        "CREATE INDEX embedding_by_model ON embedding (model)",
        """CREATE TRIGGER vectors_of_forgotten AFTER UPDATE OF forgotten_at_ms ON memory
             WHEN NEW.forgotten_at_ms IS NOT NULL BEGIN
               DELETE FROM embedding WHERE memory = NEW.number;
             END""",
        """CREATE TRIGGER vectors_of_superseded AFTER UPDATE OF retired_at_ms ON memory
             WHEN NEW.retired_at_ms IS NOT NULL AND NEW.forgotten_at_ms IS NULL BEGIN
               REPLACE INTO embedding (memory, model, scope, live, episode, position, codes)
               SELECT memory, model, scope, 0, episode, position, codes FROM embedding WHERE memory = NEW.number;
             END""",
    ):
        database.execute(statement)


MIGRATIONS = (Migration(1, _first_schema), Migration(2, _vectors))
"""Every step from an empty file to this program's schema, in order; a released step never changes."""
