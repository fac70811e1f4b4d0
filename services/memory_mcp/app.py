"""The composition root: the store, clock and ids of the memory server. FastMCP is imported when it is built."""

from __future__ import annotations

import importlib.util
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from memory_mcp.embedding.background import Meaning
from memory_mcp.embedding.choice import chosen, try_model
from memory_mcp.errors import DatabaseSetupError, EmbeddingError, StoreError
from memory_mcp.memory import MemoryService
from memory_mcp.mirror.protocol import UNMIRRORED
from memory_mcp.removal import Removal
from memory_mcp.search import MemorySearch
from memory_mcp.storage.protocol import MemoryStore, Searched
from memory_mcp.storage.sqlite import FILE_NAME, open_sqlite
from memory_mcp.transfer.service import Gate, Transfer
from memory_mcp.weights import parsed_weights
from service_runtime.errors import SetupError
from service_runtime.mcp_server import McpService, Option, new_server
from service_runtime.settings import Settings

if TYPE_CHECKING:
    from fastmcp import FastMCP

    from memory_mcp.mirror.files import FileMirror

_ID_BYTES = 10
_TRACE_ID_BYTES = 8
_CHECK_S = 20.0
"""How long `--check` looks at a store at most."""
_STORE = "MEMORY_STORE"
_WEIGHTS = "MEMORY_WEIGHTS"
_MIRROR = "MEMORY_MIRROR"
_IMPORT_FOLDER = "MEMORY_IMPORT_FOLDER"


def memory_service(commands: Mapping[str, str] | None = None) -> McpService:
    """Returns the memory server as the runner takes it; `commands` are what its help says it can do besides."""
    return McpService(
        name="memory",
        command="memory-mcp",
        build=build,
        check=check,
        options=(Option("--store", _STORE, "ADDRESS", "postgresql://ROLE@HOST/DATABASE (else one SQLite file)"),),
        where=where,
        epilog="\n".join(["commands:", *(f"  {name:<8} {what}" for name, what in (commands or {}).items())]),
    )


def build(settings: Settings) -> FastMCP[Any]:
    """Opens the store and returns the server; the store is closed when the server ends.

    Raises:
        ServiceError: The home or the store cannot be used.
    """
    from memory_mcp.server import INSTRUCTIONS, MemoryTools, define
    from memory_mcp.transfer.tools import TransferTools

    parts = open_parts(settings)

    @asynccontextmanager
    async def lifespan(_: FastMCP[Any]) -> AsyncIterator[dict[str, Any]]:
        try:
            if parts.meaning is not None:
                parts.meaning.start()
            yield {}
        finally:
            parts.close()

    server = new_server("memory", INSTRUCTIONS, lifespan)
    transfer = TransferTools(parts.transfer, near=parts.gate(any_path=True), far=parts.gate(any_path=False))
    define(server, MemoryTools(parts.memory, parts.search, parts.zone), transfer)
    return server


@dataclass(frozen=True)
class Parts:
    """The services over one open store, for the server and for the command line."""

    settings: Settings
    zone: ZoneInfo
    store: MemoryStore
    mirror: FileMirror | None
    search: MemorySearch
    memory: MemoryService
    removal: Removal
    transfer: Transfer
    meaning: Meaning | None

    def gate(self, *, any_path: bool) -> Gate:
        """Returns which paths may be imported: any, or those in the import folder that was set."""
        folder = self.settings.get(_IMPORT_FOLDER)
        try:
            allowed = Path(folder).expanduser() if folder else None
        except RuntimeError as error:
            raise SetupError(f"The import folder {folder!r} names an unknown user; set a full path.") from error
        return Gate(any_path=any_path, folder=allowed, mirror=self.mirror.folder if self.mirror else None)

    def close(self) -> None:
        """Ends the work in the background, writes what the mirror lacks, as far as there is time, closes the store."""
        if self.meaning is not None:
            self.meaning.stop()
        if self.mirror is not None:
            self.mirror.close()
        self.store.close()


def open_parts(settings: Settings) -> Parts:
    """Opens the store and everything over it.

    Raises:
        ServiceError: The home or the store cannot be used.
    """
    zone = settings.zone()
    store = _open(settings)
    mirror = _mirror(settings, store)
    shown = mirror or UNMIRRORED
    load = chosen(settings)
    meaning = Meaning(store, load) if load else None
    search = MemorySearch(
        store,
        zone,
        lambda: f"rt_{secrets.token_hex(_TRACE_ID_BYTES)}",
        parsed_weights(settings.get(_WEIGHTS)),
        meaning.of_query if meaning else None,
    )
    return Parts(
        settings=settings,
        zone=zone,
        store=store,
        mirror=mirror,
        search=search,
        memory=MemoryService(store, search, zone, now_ms, new_id, mirror=shown),
        removal=Removal(store, shown, now_ms),
        transfer=Transfer(store, zone, now_ms, new_id, mirror=shown),
        meaning=meaning,
    )


def now_ms() -> int:
    """Returns the time in ms since 1970 UTC."""
    return time.time_ns() // 1_000_000


def new_id() -> str:
    """Returns the id of a new memory."""
    return f"mem_{secrets.token_hex(_ID_BYTES)}"


def _mirror(settings: Settings, store: MemoryStore) -> FileMirror | None:
    """Returns the mirror beside a SQLite store; none for a database of many hosts, or when it is switched off.

    It needs POSIX locks, so there is none on Windows either.
    """
    off = (settings.get(_MIRROR) or "").lower() in {"off", "no", "0", "false"}
    if off or settings.get(_STORE) is not None or importlib.util.find_spec("fcntl") is None:
        return None
    from memory_mcp.mirror.files import FileMirror

    return FileMirror(store, settings.home.folder("memory"))


def check(settings: Settings) -> str:
    """Opens the store, looks whether it is whole, says how much is in it, and closes it.

    Raises:
        ServiceError: The home, the store or a setting cannot be used.
    """
    parsed_weights(settings.get(_WEIGHTS))
    store = _open(settings)
    try:
        whole = store.verify(_CHECK_S)
        with store.reading() as reader:
            memories = reader.totals(Searched()).memories
        good = "is good" if whole else f"opens, and {_CHECK_S:.0f} s were too short to look at all of it"
        about = _about_meaning(settings, store)
        return f"The memory store {good}: {memories} memories that searches can find.{about}"
    finally:
        store.close()


def _about_meaning(settings: Settings, store: MemoryStore) -> str:
    """Says whether searches go by meaning too, and if not though they should, why; words find things in any case."""
    load = chosen(settings)
    if load is None:
        return ""
    try:
        store.prepare_vectors()
        try_model(settings, load)
    except (StoreError, EmbeddingError) as error:
        return f" {error}"
    return " Searches go by meaning too."


def where(settings: Settings) -> str:
    """Says where the memories are: the folder, or the database without its password.

    Raises:
        ServiceError: The address cannot be read.
    """
    address = settings.get(_STORE)
    if address is None:
        return str(settings.home.path / "memory")
    return str(_postgres().shown_address(address))


def _open(settings: Settings) -> MemoryStore:
    address = settings.get(_STORE)
    if address is None:
        return open_sqlite(settings.home.folder("memory") / FILE_NAME)
    store: MemoryStore = _postgres().open_postgres(address)
    return store


def _postgres() -> ModuleType:
    try:
        from memory_mcp.storage import postgres
    except ImportError as error:
        raise DatabaseSetupError(
            "A PostgreSQL store needs the extra `postgres`; install it with pip install 'prometheus-agent[postgres]'.",
        ) from error
    return postgres
