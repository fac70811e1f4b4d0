"""The last lines of a terminal, painted again and again while everything above them stays.

One write a change, so that nothing flickers: what is finished goes out once and scrolls like any text, and only the
lines below it are replaced. A terminal that is made narrower may leave a piece of the old lines; nothing is ever lost,
as no line is erased that was not painted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TextIO

_HIDE: Final = "\x1b[?25l"
_SHOW: Final = "\x1b[?25h"
_BEGIN: Final = "\x1b[?2026h"  # terminals that know it show the whole change at once; others ignore it
_END: Final = "\x1b[?2026l"
_ERASE_BELOW: Final = "\x1b[J"


class Region:
    """The lines that are replaced. `above` is text with its line breaks, which stays."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._painted: tuple[str, ...] = ()

    def paint(self, above: str, lines: Sequence[str]) -> None:
        """Writes what stays and then the lines, in the place of those of the last time."""
        if not above and tuple(lines) == self._painted:
            return
        joined = "\n".join(lines)
        cursor = _HIDE if lines else _SHOW
        self._stream.write(f"{_BEGIN}{cursor}{self._back()}{above}{joined}{_END}")
        self._stream.flush()
        self._painted = tuple(lines)

    def _back(self) -> str:
        """Returns what leads to the beginning of the first line and takes the lines away."""
        if not self._painted:
            return ""
        rows = len(self._painted) - 1
        up = f"\x1b[{rows}A" if rows else ""
        return f"\r{up}{_ERASE_BELOW}"
