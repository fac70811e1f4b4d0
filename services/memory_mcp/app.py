"""The composition root: the store, clock and ids of the memory server. FastMCP is imported when it is built."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from memory_mcp.errors import DatabaseSetupError
from memory_mcp.memory import MemoryService
from memory_mcp.search import MemorySearch
from memory_mcp.storage.protocol import MemoryStore, Searched
from memory_mcp.storage.sqlite import FILE_NAME, open_sqlite
from service_runtime.mcp_server import McpService, Option, new_server
from service_runtime.settings import Settings

if TYPE_CHECKING:
    from fastmcp import FastMCP

_ID_BYTES = 10
_TRACE_ID_BYTES = 8
_STORE = "MEMORY_STORE"


def memory_service() -> McpService:
    """Returns the memory server as the runner takes it."""
    return McpService(
        name="memory",
        command="memory-mcp",
        build=build,
        check=check,
        options=(Option("--store", _STORE, "ADDRESS", "postgresql://ROLE@HOST/DATABASE (else one SQLite file)"),),
        where=where,
    )


def build(settings: Settings) -> FastMCP[Any]:
    """Opens the store and returns the server; the store is closed when the server ends.

    Raises:
        ServiceError: The home or the store cannot be used.
    """
    from memory_mcp.server import INSTRUCTIONS, MemoryTools, define

    zone = settings.zone()
    store = _open(settings)
    search = MemorySearch(store, zone, lambda: f"rt_{secrets.token_hex(_TRACE_ID_BYTES)}")
    memory = MemoryService(
        store,
        search,
        zone,
        lambda: time.time_ns() // 1_000_000,
        lambda: f"mem_{secrets.token_hex(_ID_BYTES)}",
    )

    @asynccontextmanager
    async def lifespan(_: FastMCP[Any]) -> AsyncIterator[dict[str, Any]]:
        try:
            yield {}
        finally:
            store.close()

    server = new_server("memory", INSTRUCTIONS, lifespan)
    define(server, MemoryTools(memory, search, zone))
    return server


def check(settings: Settings) -> str:
    """Opens the store, says how much is in it, and closes it.

    Raises:
        ServiceError: The home or the store cannot be used.
    """
    store = _open(settings)
    try:
        with store.reading() as reader:
            memories = reader.totals(Searched()).memories
    finally:
        store.close()
    return f"The memory store is good: {memories} memories that searches can find."


def where(settings: Settings) -> str:
    """Says where the memories are: the folder, or the database without its password.

    Raises:
        ServiceError: The address cannot be read.
    """
    address = settings.get(_STORE)
    if address is None:
        return str(settings.home.path / "memory")
    from memory_mcp.storage.postgres import shown_address

    return shown_address(address)


def _open(settings: Settings) -> MemoryStore:
    address = settings.get(_STORE)
    if address is None:
        return open_sqlite(settings.home.folder("memory") / FILE_NAME)
    try:
        from memory_mcp.storage.postgres import open_postgres
    except ImportError as error:
        raise DatabaseSetupError(
            "A PostgreSQL store needs the extra `postgres`; install it with pip install 'prometheus-agent[postgres]'.",
        ) from error
    return open_postgres(address)
