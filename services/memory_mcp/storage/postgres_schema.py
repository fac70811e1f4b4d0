"""The PostgreSQL schema: numbered migrations in one schema `prometheus_memory`, and who may see which rows.

Tenant is the role that is logged in. Every row carries it, by default and by force: row-level security shows and takes
the rows of `current_user` alone, for the owner of the tables too. Nothing that a caller of a tool sends takes part in
that. PostgreSQL's DDL is part of a transaction, so a migration happens whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from memory_mcp.errors import (
    DatabaseRightsError,
    DatabaseSetupError,
    DatabaseWithoutVectorsError,
    StoreTooNewError,
)

SCHEMA = "prometheus_memory"

_MIGRATION_LOCK = 0x6D656D6F7279  # "memory": one process migrates at a time
_ROWS, _VECTORS = "rows", "vectors"
_FOUND = """
SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = %(schema)s),
       EXISTS (SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                WHERE n.nspname = %(schema)s AND c.relname = 'schema_version')
"""
_ROLE = """
SELECT rolsuper OR rolbypassrls,
       (SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database())
  FROM pg_roles WHERE rolname = current_user
"""
_EXTENSION = """
SELECT n.nspname FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'vector'
"""
_ROW_TABLES = ("tenant", "scope", "episode", "memory", "posting", "index_total", "reply")
_ROWS_SQL = """
CREATE SCHEMA prometheus_memory;
CREATE TABLE schema_version (
  part text NOT NULL, version integer NOT NULL, applied_at_ms bigint NOT NULL, PRIMARY KEY (part, version));
CREATE TABLE tenant (tenant text COLLATE "C" PRIMARY KEY DEFAULT current_user, numbered bigint NOT NULL DEFAULT 0);
CREATE TABLE scope (
  tenant text COLLATE "C" NOT NULL DEFAULT current_user, id bigint GENERATED ALWAYS AS IDENTITY,
  key text COLLATE "C" NOT NULL, name text NOT NULL,
  PRIMARY KEY (tenant, id), UNIQUE (tenant, key));
CREATE TABLE episode (
  tenant text COLLATE "C" NOT NULL DEFAULT current_user, id bigint GENERATED ALWAYS AS IDENTITY,
  scope bigint NOT NULL, key text COLLATE "C" NOT NULL, next_position bigint NOT NULL, live_words bigint NOT NULL,
  PRIMARY KEY (tenant, id), UNIQUE (tenant, scope, key));
CREATE TABLE memory (
  tenant text COLLATE "C" NOT NULL DEFAULT current_user, number bigint NOT NULL, id text COLLATE "C" NOT NULL,
  scope bigint NOT NULL, kind text COLLATE "C" NOT NULL, created_at_ms bigint NOT NULL,
  happened_at_ms bigint, happened_text text, retired_at_ms bigint, superseded_by text COLLATE "C",
  forgotten_at_ms bigint, forgotten_by text, erased boolean NOT NULL DEFAULT false,
  episode bigint, position bigint, words integer NOT NULL, distinct_terms integer NOT NULL,
  origin text NOT NULL, trust text NOT NULL, last_seen_at_ms bigint NOT NULL, body_hash text COLLATE "C" NOT NULL,
  subject text, tags text[] COLLATE "C" NOT NULL, source_url text, body text NOT NULL,
  PRIMARY KEY (tenant, number), UNIQUE (tenant, id));
CREATE INDEX replaced ON memory (tenant, superseded_by);
CREATE UNIQUE INDEX one_live_body ON memory (tenant, scope, body_hash) WHERE retired_at_ms IS NULL;
CREATE UNIQUE INDEX one_live_place ON memory (tenant, episode, position) WHERE retired_at_ms IS NULL;
CREATE INDEX newest_in_scope ON memory (tenant, scope, created_at_ms, number) WHERE retired_at_ms IS NULL;
CREATE INDEX newest ON memory (tenant, created_at_ms, number) WHERE retired_at_ms IS NULL;
CREATE TABLE posting (
  tenant text COLLATE "C" NOT NULL DEFAULT current_user, scope bigint NOT NULL, live boolean NOT NULL,
  term text COLLATE "C" NOT NULL, memory bigint NOT NULL, count integer NOT NULL, words integer NOT NULL,
  episode bigint, position bigint,
  PRIMARY KEY (tenant, scope, live, term, memory) INCLUDE (count, words, episode, position));
CREATE TABLE index_total (
  tenant text COLLATE "C" NOT NULL DEFAULT current_user, scope bigint NOT NULL, live boolean NOT NULL,
  memories bigint NOT NULL, words bigint NOT NULL, PRIMARY KEY (tenant, scope, live));
CREATE TABLE reply (
  tenant text COLLATE "C" NOT NULL DEFAULT current_user, key text COLLATE "C" NOT NULL, request_hash text NOT NULL,
  memory_id text NOT NULL, deduped boolean NOT NULL, superseded text[] NOT NULL, created_at_ms bigint NOT NULL,
  PRIMARY KEY (tenant, key));
GRANT USAGE ON SCHEMA prometheus_memory TO PUBLIC;
GRANT SELECT ON schema_version TO PUBLIC;
"""
# A host without vectors forgets and supersedes too, so the database itself takes the vectors along.
_VECTORS_SQL = """
CREATE TABLE embedding (
  tenant text COLLATE "C" NOT NULL DEFAULT current_user, memory bigint NOT NULL, model text COLLATE "C" NOT NULL,
  scope bigint NOT NULL, live boolean NOT NULL, episode bigint, position bigint, vector {schema}.vector NOT NULL,
  PRIMARY KEY (tenant, memory));
CREATE FUNCTION follow_memory() RETURNS trigger LANGUAGE plpgsql SET search_path = prometheus_memory AS $$
BEGIN
  IF NEW.forgotten_at_ms IS NOT NULL THEN
    DELETE FROM embedding WHERE tenant = NEW.tenant AND memory = NEW.number;
  ELSE
    UPDATE embedding SET live = false WHERE tenant = NEW.tenant AND memory = NEW.number;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER vectors_follow AFTER UPDATE OF retired_at_ms, forgotten_at_ms ON memory FOR EACH ROW
  WHEN (NEW.retired_at_ms IS NOT NULL) EXECUTE FUNCTION follow_memory();
"""
_GUARD = """
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON {table} USING (tenant = current_user) WITH CHECK (tenant = current_user);
GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO PUBLIC;
"""

Connection = psycopg.Connection[tuple[Any, ...]]


@dataclass(frozen=True)
class Migration:
    """One step of the schema: its number, and what it does inside a transaction."""

    version: int
    apply: Callable[[Connection], None]


def bring_up_to_date(connection: Connection, now_ms: int, migrations: Sequence[Migration]) -> None:
    """Checks the role and the database, and applies the missing migrations; several hosts may do this at once.

    Raises:
        DatabaseRightsError: The role may read the rows of every tenant.
        DatabaseSetupError: The database is not in UTF-8, or its schema of our name is something else.
        StoreTooNewError: A newer program made the schema.
        psycopg.Error: The server refused; what was not committed did not happen.
    """
    _check_role(connection)
    _migrate(connection, _ROWS, now_ms, migrations)


def prepare_vectors(connection: Connection, now_ms: int) -> str:
    """Makes the table of vectors when it is missing; returns the schema in which the extension pgvector lies.

    Raises:
        DatabaseWithoutVectorsError: The extension is not in the database.
        StoreTooNewError: A newer program made the table.
        psycopg.Error: The server refused.
    """
    found = connection.execute(_EXTENSION).fetchone()
    if found is None:
        raise DatabaseWithoutVectorsError
    schema = str(found[0])
    _migrate(connection, _VECTORS, now_ms, [Migration(1, lambda open_: _first_vectors(open_, schema))])
    return schema


def _migrate(connection: Connection, part: str, now_ms: int, migrations: Sequence[Migration]) -> None:
    newest = migrations[-1].version
    found = _version(connection, part)
    if found > newest:
        raise StoreTooNewError(found, newest)
    for migration in (one for one in migrations if one.version > found):
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
            if _version(connection, part) < migration.version:  # another host may have been first
                connection.execute(f"SET LOCAL search_path = {SCHEMA}")
                migration.apply(connection)
                connection.execute("INSERT INTO schema_version VALUES (%s, %s, %s)", (part, migration.version, now_ms))


def _version(connection: Connection, part: str) -> int:
    """Returns the version of a part of the schema; 0 is not there."""
    schema, table = connection.execute(_FOUND, {"schema": SCHEMA}).fetchone() or (False, False)
    if not schema:
        return 0
    if not table:
        raise DatabaseSetupError(
            f"The PostgreSQL database has a schema {SCHEMA} that is no memory store, and it was left as it is; "
            "use another database.",
        )
    statement = f"SELECT coalesce(max(version), 0) FROM {SCHEMA}.schema_version WHERE part = %s"  # noqa: S608 - our name
    (version,) = connection.execute(statement, (part,)).fetchone() or (0,)
    return int(version)


def _check_role(connection: Connection) -> None:
    sees_all, encoding = connection.execute(_ROLE).fetchone() or (True, "")
    if sees_all:
        raise DatabaseRightsError(
            "The PostgreSQL role may read the rows of every tenant (SUPERUSER or BYPASSRLS); connect as a role without "
            "these, docs/how-to/memory-on-postgresql.md shows how to make one.",
        )
    if encoding != "UTF8":
        raise DatabaseSetupError(
            f"The PostgreSQL database keeps text as {encoding}; create one with ENCODING 'UTF8' and use that.",
        )


def _guard(connection: Connection, table: str) -> None:
    connection.execute(sql.SQL(_GUARD).format(table=sql.Identifier(table)), prepare=False)


def _first_rows(connection: Connection) -> None:
    """Tenants, scopes, conversations, memories, the index, and the replies kept for idempotency keys."""
    connection.execute(_ROWS_SQL, prepare=False)
    for table in _ROW_TABLES:
        _guard(connection, table)


def _first_vectors(connection: Connection, schema: str) -> None:
    """The vector of each memory that a search can find, with the model that made it."""
    connection.execute(sql.SQL(_VECTORS_SQL).format(schema=sql.Identifier(schema)), prepare=False)
    _guard(connection, "embedding")


MIGRATIONS = (Migration(1, _first_rows),)
"""Every step from an empty database to this program's schema, in order; a released step never changes."""
