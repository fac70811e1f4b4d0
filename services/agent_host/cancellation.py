"""Steps that must not be half done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

Result = TypeVar("Result")


async def to_the_end(step: Awaitable[Result]) -> tuple[Result, bool]:
    """Awaits a step to its end, however often this task is cancelled meanwhile.

    Returns the step's result and whether a cancellation came; the caller decides what that means, as the task itself
    is no longer being cancelled. An error of the step is raised.
    """
    inner = asyncio.ensure_future(step)
    cancelled = False
    while not inner.done():
        try:
            await asyncio.wait({inner})
        except asyncio.CancelledError:
            cancelled = take_back_cancellation() or cancelled
    return inner.result(), cancelled


def take_back_cancellation() -> bool:
    """Marks this task as not being cancelled; returns whether it was."""
    task = asyncio.current_task()
    was = task is not None and task.cancelling() > 0
    while task is not None and task.cancelling():
        task.uncancel()
    return was
