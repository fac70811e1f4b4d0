"""A disk that can be held still: what happens while an entry is on its way to it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

from tests.receipt_writer.parts import Running, WatchedFiles

_PATIENCE_S = 20


class SlowFiles(WatchedFiles):
    """Real files; once `slow` was called, every sync of one file waits until `go`."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.syncs = 0
        self._name = name
        self._stands, self._may_go = threading.Event(), threading.Event()
        self._may_go.set()

    def slow(self) -> None:
        """Hold the next sync still."""
        self.syncs = 0
        self._stands.clear()
        self._may_go.clear()

    def go(self) -> None:
        """Let it go on, and those that follow."""
        self._may_go.set()

    async def stuck(self) -> None:
        """Return when a sync stands still."""
        assert await asyncio.to_thread(self._stands.wait, _PATIENCE_S)

    def sync(self, handle: int) -> None:
        if self._names[handle] == self._name:
            self.syncs += 1
            self._stands.set()
            assert self._may_go.wait(_PATIENCE_S)
        super().sync(handle)


@asynccontextmanager
async def standing(files: SlowFiles, first: Awaitable[Any]) -> AsyncIterator[None]:
    """Hold the disk still over the commit of one append alone, `first`; whatever is sent meanwhile waits in the queue.

    The block may let the disk go; its end does, also when the block fails, so that nobody waits for the writer.
    """
    files.slow()
    appended = asyncio.ensure_future(first)
    await files.stuck()
    try:
        yield
    finally:
        files.go()
        await appended


def waiting(one: Running) -> int:
    """Return how many commands wait in the writer's queue."""
    return len(one.service.writer._queue)


async def settled(one: Running, count: int) -> None:
    """Return when so many commands wait, and still no more do a few round trips later."""
    while waiting(one) < count:
        await one.health()
    for _ in range(20):
        await one.health()
    assert waiting(one) == count
