"""Waking those who wait for a ledger to grow."""

import asyncio


class Growth:
    """Told after every commit and every checkpoint; wakes everybody who waits, and keeps nothing.

    Take `next` first, look at the ledger, and only then wait for what was taken: so nothing is missed in between.
    """

    def __init__(self) -> None:
        self._next = asyncio.Event()

    @property
    def next(self) -> asyncio.Event:
        """The event that the next growth sets."""
        return self._next

    def tell(self) -> None:
        """Say that the ledger grew."""
        grown, self._next = self._next, asyncio.Event()
        grown.set()
