"""A memory service over a real SQLite file, with a clock that ticks a second a call and ids in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from memory_mcp import intake
from memory_mcp.memory import MemoryService
from memory_mcp.mirror.protocol import UNMIRRORED, Mirror
from memory_mcp.model import Content, Found, Memory, Origin, Remembered, Trust
from memory_mcp.search import MemorySearch, Request
from memory_mcp.storage.sqlite import FILE_NAME, SqliteStore, open_sqlite
from memory_mcp.transfer.service import Gate, Transfer
from memory_mcp.transfer.taking_in import Taken
from memory_mcp.weights import Weights

ZONE = ZoneInfo("Europe/Berlin")
START_MS = 1_790_000_000_000
ORIGIN = Origin("prometheus", Trust.AGENT)


def memory_id(number: int) -> str:
    """The id that the world gives to its nth new memory, from 1."""
    return f"mem_{number:020x}"


def content(body: str, **fields: Any) -> Content:
    """The content of a memory, as the tools would read it."""
    return intake.content(ZONE, body=body, **fields)


@dataclass
class World:
    """The service, and shorter words for what tests do with it."""

    store: SqliteStore
    weights: Weights = field(default_factory=Weights)
    first_id: int = 1
    mirror: Mirror = UNMIRRORED

    def __post_init__(self) -> None:
        ticks, ids, searches = count(START_MS, 1000), count(self.first_id), count(1)
        self.search = MemorySearch(self.store, ZONE, lambda: f"rt_{next(searches)}", self.weights)
        self.memory = MemoryService(
            self.store, self.search, ZONE, lambda: next(ticks), lambda: memory_id(next(ids)), mirror=self.mirror
        )
        self.transfer = Transfer(
            self.store, ZONE, lambda: next(ticks), lambda: memory_id(next(ids)), mirror=self.mirror
        )

    def remember(self, body: str, *, key: str | None = None, **fields: Any) -> Remembered:
        """Remember a body; `episode` and `supersedes` go where the tool sends them."""
        placed = {name: fields.pop(name) for name in ("episode", "supersedes") if name in fields}
        return self.memory.remember(content(body, **fields), ORIGIN, idempotency_key=key, **placed)

    def stored(self, body: str, **fields: Any) -> Memory:
        """Remember a body and return the memory."""
        return self.remember(body, **fields).memory

    def find(self, query: str, **fields: Any) -> Found:
        """Search."""
        return self.search.search(Request(query, **fields))

    def bodies(self, query: str, **fields: Any) -> list[str]:
        """Search and return the bodies, best first."""
        return [hit.memory.content.body for hit in self.find(query, **fields).hits]

    def take_in(self, what: Path | str, **fields: Any) -> Taken:
        """Import a path of this machine, or a text."""
        gate = fields.pop("gate", Gate(any_path=True))
        if isinstance(what, Path):
            return self.transfer.take_in(gate=gate, path=str(what), **fields)
        return self.transfer.take_in(gate=gate, content=what, **fields)

    def all(self) -> list[Memory]:
        """Every memory, whatever its status, as it was stored."""
        with self.transfer.memories() as memories:
            return list(memories)

    def everything(self) -> list[str]:
        """The bodies of all live memories, newest first."""
        with self.store.reading() as reader:
            return [memory.content.body for memory in reader.newest(None, None, None, 1000)]


@contextmanager
def opened(folder: Path, first_id: int = 1) -> Iterator[World]:
    """A world in a folder, closed at the end of the block."""
    store = open_sqlite(folder / FILE_NAME)
    try:
        yield World(store, first_id=first_id)
    finally:
        store.close()
