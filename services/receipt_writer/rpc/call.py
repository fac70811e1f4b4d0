"""What every RPC has of its call: the context's type, and a way to stop when the writer leaves."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import grpc.aio

from receipt_writer.errors import WriterStoppedError

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
"""One call, as its behaviour sees it: deadline, metadata, and where a stream's messages are read and written."""

GRACE_S = 0.1
"""What work that is under way gets to end in its own words when the writer leaves."""


async def unless_leaving(
    leaving: asyncio.Event, work: Coroutine[Any, Any, None], wake: Callable[[], None] | None = None
) -> None:
    """Do the work of a call, unless the writer leaves before it is done.

    Work that looks at `leaving` itself gets a moment to end in its own words; `wake` is called first, so that work
    which waits for something else looks up. What waits for a caller that takes nothing is cancelled then.

    Raises:
        WriterStoppedError: The writer left; the work was cancelled.
    """
    working, left = asyncio.ensure_future(work), asyncio.ensure_future(leaving.wait())
    try:
        await asyncio.wait({working, left}, return_when=asyncio.FIRST_COMPLETED)
        if wake:
            wake()
        if not working.done():
            await asyncio.wait({working}, timeout=GRACE_S)
        if not working.done():
            raise WriterStoppedError("The writer is shutting down; ask again when it is back.")
        working.result()
    finally:
        working.cancel()
        left.cancel()
