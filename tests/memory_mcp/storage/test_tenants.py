"""Two tenants in one PostgreSQL database: nothing that one of them calls shows or changes what the other keeps."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from fastmcp import Client
from psycopg import sql

from memory_mcp.app import build
from memory_mcp.scopes import parse_scope
from memory_mcp.storage.postgres import open_postgres
from memory_mcp.storage.postgres_schema import SCHEMA
from service_runtime.settings import load_settings
from tests.memory_mcp.serving import call
from tests.postgres_server import PostgresServer

SECRETS = ("zanzibarcode", "quaggasubject", "numbattag", "okapiscope", "axolotlchat", "dugongkey", "kakapo.example")
OURS = {
    "body": "The zanzibarcode is 4711.",
    "subject": "quaggasubject",
    "tags": ["numbattag"],
    "scope": "project:okapiscope",
    "episode": "axolotlchat",
    "idempotency_key": "dugongkey",
    "source_url": "https://kakapo.example/page",
}
GUESSES = {
    **OURS,
    "query": " ".join(SECRETS),
    "include_retired": True,
    "origin": "prometheus",
    "trust": "web",
    "limit": 50,
}


@asynccontextmanager
async def tenant(server: PostgresServer, role: str, home: Path) -> AsyncIterator[Client[Any]]:
    """A client of a memory server whose address logs in as a role."""
    address = server.address(role, server.shared_database())
    environ = {"PROMETHEUS_HOME": str(home / role), "PROMETHEUS_MEMORY_STORE": address}
    async with Client(build(load_settings(environ, home))) as client:
        yield client


def guessed(schema: dict[str, Any], memory_id: str) -> dict[str, Any]:
    """Arguments for a tool that aim at the other tenant's memory, with every argument it takes that we can guess."""
    known = GUESSES | {"id": memory_id, "supersedes": memory_id, "ids": [memory_id]}
    taken = {name: known[name] for name in schema["properties"] if name in known}
    return taken | {name: SECRETS[0] for name in schema.get("required", ()) if name not in taken}


async def test_no_tool_shows_or_changes_what_another_tenant_keeps(postgres: PostgresServer, tmp_path: Path) -> None:
    owner, stranger = postgres.new_role(), postgres.new_role()
    async with tenant(postgres, owner, tmp_path) as ours, tenant(postgres, stranger, tmp_path) as theirs:
        memory_id = (await call(ours, "memory_remember", **OURS))["memory"]["id"]
        before = await call(ours, "memory_get", id=memory_id)

        tools = await theirs.list_tools()
        assert len(tools) >= 7
        for tool in tools:
            if tool.name == "memory_remember":
                continue  # it would store what it is asked about; the next test is about that
            for arguments in (guessed(tool.input_schema, memory_id), _required_only(tool.input_schema, memory_id)):
                answer = await theirs.call_tool_mcp(tool.name, arguments)
                shown = _without_echo(json.dumps(answer.model_dump(mode="json")), arguments)
                assert not [secret for secret in SECRETS if secret in shown], (tool.name, arguments)
        for resource in await theirs.list_resources():
            assert not [secret for secret in SECRETS if secret in str(await theirs.read_resource(resource.uri))]
        with pytest.raises(Exception, match="There is no memory"):
            await theirs.read_resource(f"memory://{memory_id}")

        assert await call(ours, "memory_get", id=memory_id) == before


def _required_only(schema: dict[str, Any], memory_id: str) -> dict[str, Any]:
    """The fewest arguments a tool takes."""
    arguments = guessed(schema, memory_id)
    return {name: arguments[name] for name in schema.get("required", ())}


def _without_echo(shown: str, arguments: dict[str, Any]) -> str:
    """What an answer shows, less the arguments that it repeats."""
    for value in arguments.values():
        for told in value if isinstance(value, list) else [value]:
            shown = shown.replace(json.dumps(str(told))[1:-1], "").replace(quote(str(told), safe=""), "")
    return shown


async def test_two_tenants_may_say_the_same_in_the_same_place_under_the_same_key(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    roles = postgres.new_role(), postgres.new_role()
    async with tenant(postgres, roles[0], tmp_path) as one, tenant(postgres, roles[1], tmp_path) as other:
        first = await call(one, "memory_remember", **OURS)
        second = await call(other, "memory_remember", **OURS)
        assert (first["deduped"], second["deduped"]) == (False, False)
        assert first["memory"]["id"] != second["memory"]["id"]

        await call(other, "memory_forget", id=second["memory"]["id"], hard=True)

        found = await call(one, "memory_search", query="zanzibarcode")
        assert [entry["id"] for entry in found["entries"]] == [first["memory"]["id"]]
        assert (await call(other, "memory_search", query="zanzibarcode"))["entries"] == []


async def test_the_rank_of_a_tenants_memories_does_not_depend_on_what_others_keep(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    roles = postgres.new_role(), postgres.new_role()
    async with tenant(postgres, roles[0], tmp_path) as one, tenant(postgres, roles[1], tmp_path) as other:
        for body in ("A cat and a dog.", "A dog and a bird."):
            await call(one, "memory_remember", body=body)
        before = await call(one, "memory_search", query="cat dog", explain=True)
        for number in range(30):
            await call(other, "memory_remember", body=f"A cat {number}.")

        after = await call(one, "memory_search", query="cat dog", explain=True)
        assert after["entries"] == before["entries"]


def test_the_database_itself_holds_tenants_apart_whatever_statement_they_send(postgres: PostgresServer) -> None:
    owner = postgres.new_role()
    database = postgres.new_database(owner)
    with closing(open_postgres(postgres.address(owner, database))) as store, store.writing() as writer:
        writer._scope(parse_scope("project:okapiscope"))

    guarded = (
        "SELECT relname, relrowsecurity AND relforcerowsecurity FROM pg_class WHERE relkind = 'r' AND relnamespace = "
    )
    tables = dict(postgres.operator(f"{guarded}'{SCHEMA}'::regnamespace", database=database))
    assert tables.pop("schema_version") is False
    assert len(tables) == 7
    assert all(tables.values())

    stranger = postgres.new_role()
    with psycopg.connect(postgres.address(stranger, database), autocommit=True) as connection:
        for table in tables:
            name = sql.Identifier(SCHEMA, table)
            assert connection.execute(sql.SQL("SELECT * FROM {}").format(name)).fetchall() == []
            assert connection.execute(sql.SQL("DELETE FROM {}").format(name)).rowcount == 0
            taken = sql.SQL("UPDATE {} SET tenant = current_user").format(name)
            assert connection.execute(taken).rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            connection.execute(
                "INSERT INTO prometheus_memory.scope (tenant, key, name) VALUES (%s, 'x', 'x')", (owner,)
            )
        for statement in ("SET row_security = off", "SET prometheus.tenant = 'x'"):
            connection.execute(statement)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT * FROM prometheus_memory.scope").fetchall()
