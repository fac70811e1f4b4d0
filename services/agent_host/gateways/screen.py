"""The seam to what a person sees of a conversation, and how text becomes safe to show."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from agent_host.tracing.events import TurnEvent
    from agent_host.turn import TurnResult


Rows: TypeAlias = Sequence[tuple[str, str]]
"""A table of two columns: what it is, and what is said of it."""

_CONTROLS: Final = (*range(9), *range(11, 32), 127, *range(128, 160))
_TURNING: Final = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))  # these make text read in another order than it has
_ESCAPED: Final = {code: f"\\x{code:02x}" for code in _CONTROLS} | {code: f"\\u{code:04x}" for code in _TURNING}


class Screen(Protocol):
    """Shows a conversation. Whatever comes from models, tools and people is made harmless before it is shown."""

    def say(self, text: str) -> None:
        """Shows one or more whole lines."""
        ...

    def table(self, rows: Rows) -> None:
        """Shows two columns."""
        ...

    def working(self, doing: str = "thinking") -> AbstractContextManager[None]:
        """Shows that something runs, for as long as it does, and in a word what."""
        ...

    def held(self) -> AbstractContextManager[None]:
        """Keeps still, while a person is asked something in the middle of a turn."""
        ...

    def show(self, event: TurnEvent) -> None:
        """Takes one event of the running turn."""
        ...

    def finish(self, result: TurnResult) -> None:
        """Ends the turn: what of the reply was not shown yet, and the receipt line."""
        ...


def printable(text: str) -> str:
    """Returns the text with control characters spelled out, so that it cannot steer a terminal or hide its order."""
    return text.translate(_ESCAPED)


def one_line(text: str, most: int) -> str:
    """Returns the text on one line, at most so many characters of it, safe to show."""
    line = printable(" ".join(text[: most * 2 + 200].split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def table(rows: Rows) -> str:
    """Returns two aligned columns."""
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in rows)
