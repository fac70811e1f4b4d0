"""Who is at work on a ledger, so that one which nobody uses can be closed under nobody's hands."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from receipt_writer.errors import WriterStoppedError


class Uses:
    """Counts the open calls of one ledger; changed on the event loop only.

    Attributes:
        are_over: Whether the ledger is closed, or about to be: no call may touch it any more.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        """Begin with a ledger that was just opened; `now_s` never steps back."""
        self.are_over = False
        self._now_s, self._open, self._last_s = now_s, 0, now_s()

    @contextmanager
    def a_use(self) -> Iterator[None]:
        """Count a call for as long as the block takes.

        Raises:
            WriterStoppedError: The ledger was closed between the call's beginning and its request.
        """
        if self.are_over:
            raise WriterStoppedError("Your ledger was closed, since nobody used it; send this again, which opens it.")
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            self._last_s = self._now_s()

    def are_none_for(self, idle_s: float) -> bool:
        """Say whether no call is open, and none was for so many seconds."""
        return not self._open and self._now_s() - self._last_s >= idle_s

    def end(self) -> None:
        """Let no further call at the ledger."""
        self.are_over = True
