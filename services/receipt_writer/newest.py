"""The lines of a chain that were committed last, for those who follow it: they need not be read back from the disk."""

from collections import deque

MOST_BYTES = 1 << 17
"""What is held of one chain at most, unless its newest line alone is longer."""


class NewestLines:
    """The end of a chain, without a gap. Changed and asked on the event loop only."""

    def __init__(self) -> None:
        """Hold nothing: what stood in the chain before is read from the store."""
        self._lines: deque[bytes] = deque()
        self._held_bytes = 0
        self._last_id = 0

    def add(self, entry_id: int, line: bytes) -> None:
        """Take the next entry's line, which is durable; let the oldest go as far as there is too much."""
        self._lines.append(line)
        self._held_bytes += len(line)
        self._last_id = entry_id
        while self._held_bytes > MOST_BYTES and len(self._lines) > 1:
            self._held_bytes -= len(self._lines.popleft())

    def since(self, first_id: int) -> list[bytes]:
        """Return every line from an id on; none when the first of them is not held, or not there yet."""
        wanted = self._last_id + 1 - first_id
        if not 0 < wanted <= len(self._lines):
            return []
        return [self._lines[at] for at in range(-wanted, 0)]
