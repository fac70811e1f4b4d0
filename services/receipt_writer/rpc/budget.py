"""How much callers may make the process hold: items of streams that are not answered, and calls that are open.

A caller that sends and never reads costs what these bounds let it, and no more. Nobody waits for another: a stream that
has nothing under way may always send one item, so those who read their answers go on whatever the others do.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from receipt_writer.errors import QueueFullError

STREAM_BYTES = 1 << 18
"""What one stream may have without an answer; beyond it the stream is not read (flow control)."""

PROCESS_BYTES = 1 << 23
"""What all streams of the process may have together; beyond it each has one item at a time."""

MOST_CALLS = 1_024
"""Calls of the contract that may be open at once, streams included."""

_RETRY_MS = 1_000


class Budget:
    """Counts the bytes of items that no answer was taken for, and the open calls. All of it on the event loop."""

    def __init__(self, process_bytes: int = PROCESS_BYTES, most_calls: int = MOST_CALLS) -> None:
        """Start with nothing held."""
        self._left_bytes, self._left_calls, self._most_calls = process_bytes, most_calls, most_calls

    @property
    def is_spent(self) -> bool:
        """Whether the streams hold all that they may."""
        return self._left_bytes <= 0

    def take(self, size_bytes: int) -> None:
        """Count an item; more may be taken than there is, since its bytes are there already."""
        self._left_bytes -= size_bytes

    def give_back(self, size_bytes: int) -> None:
        """Count what was answered, or given up with its stream."""
        self._left_bytes += size_bytes

    @contextmanager
    def a_call(self) -> Iterator[None]:
        """Count a call for as long as the block takes.

        Raises:
            QueueFullError: As many are open as may be.
        """
        if self._left_calls <= 0:
            raise QueueFullError(
                f"{self._most_calls} calls are open already; nothing was done, send this again in {_RETRY_MS} ms.",
                _RETRY_MS,
            )
        self._left_calls -= 1
        try:
            yield
        finally:
            self._left_calls += 1
