"""Text as a terminal shows it: Markdown, tables and the moving lines, rendered by rich into strings. Writes nothing."""

from __future__ import annotations

import shutil
from typing import Final, TextIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from agent_host.gateways.screen import Rows, printable
from agent_host.gateways.terminal.blocks import Block, Blocks
from agent_host.gateways.terminal.markdown import SafeMarkdown, markdown_parser

NARROWEST: Final = 8
"""Columns below which lines are not made to fit: the terminal breaks them."""
_FRAMES: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ASCII_FRAMES: Final = "|/-\\"
_STACKED: Final = 50
"""Columns of a terminal below which a table shows its second column under its first."""
_SIMPLE_TAIL: Final = 4_000
"""Characters of an unfinished block beyond which it is shown as it stands until it is finished."""
_WARM_UP: Final = "# a\n\n* b `c` [d](https://e)\n\n```python\nf = 1\n```\n\n|g|h|\n|-|-|\n|i|j|\n"


class Painter:
    """Renders for one terminal, whose size is looked at each time."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, force_terminal=True, highlight=False, markup=False, emoji=False)
        self._parser = markdown_parser()
        self._blocks = Blocks(self._parser)
        self._has_blocks = False
        self._tail: tuple[Block, int, list[str]] | None = None
        encoding = (getattr(stream, "encoding", None) or "utf-8").lower()
        self._frames = _FRAMES if encoding.startswith("utf") else _ASCII_FRAMES

    def fed(self, text: str) -> str:
        """Takes a piece of a reply and returns the blocks that it finishes, rendered."""
        return "".join(self._block(block) for block in self._blocks.feed(text))

    def ended(self) -> str:
        """Returns what is left of the reply, rendered, and is ready for another."""
        rendered = "".join(self._block(block) for block in self._blocks.end())
        self._has_blocks = False
        return rendered

    def plain(self, text: str, style: str = "") -> str:
        """Returns lines broken between words."""
        return self._rendered(Text(text, style))

    def table(self, rows: Rows) -> str:
        """Returns two columns; one under the other where there is little room."""
        width = self._width()
        if width < _STACKED:
            return "".join(self.plain(name) + self._indented(value) for name, value in rows)
        grid = Table.grid(padding=(0, 2))
        grid.add_column(overflow="fold", max_width=width // 2)
        grid.add_column(overflow="fold")
        for name, value in rows:
            grid.add_row(Text(name), Text(value))
        return self._rendered(grid)

    def moving(self, doing: str, frame: int) -> list[str]:
        """Returns the unfinished block, as much of its end as fits, and the line that says what is going on."""
        width, height = self._width(), shutil.get_terminal_size().lines
        spinner = Text(f"{self._frames[frame % len(self._frames)]} {doing}", "dim", overflow="ellipsis", no_wrap=True)
        spinner.truncate(max(1, width - 1), overflow="ellipsis")
        room = max(0, height - 3)
        tail = self._open_block(room)[-room:] if room else []
        return [*tail, self._rendered(spinner).rstrip("\n")]

    def _open_block(self, room: int) -> list[str]:
        """Renders the unfinished block, once for each state of it."""
        block, width = self._blocks.tail, self._width()
        if not block.source.strip():
            return []
        if self._tail is None or self._tail[:2] != (block, width):
            self._tail = (block, width, self._tail_lines(block, room))
        return self._tail[2]

    def _tail_lines(self, block: Block, room: int) -> list[str]:
        if len(block.source) <= _SIMPLE_TAIL:
            return self._block(block, is_open=True).splitlines()
        last = "\n".join(block.source[-_SIMPLE_TAIL:].splitlines()[-room:])
        return self.plain(printable(last)).splitlines()

    def _block(self, block: Block, *, is_open: bool = False) -> str:
        before = "\n" if block.spaced and self._has_blocks else ""
        rendered = self._rendered(SafeMarkdown(block.source, self._parser))
        if not is_open:
            self._has_blocks = True
        return before + rendered.strip("\n") + "\n"

    def _indented(self, value: str) -> str:
        lines = self._rendered(Text(value), self._width() - 2).splitlines()
        return "".join(f"  {line}\n" for line in lines)

    def _rendered(self, what: RenderableType, width: int | None = None) -> str:
        """Returns what rich makes of it, the blanks at the ends of lines left out."""
        with self._console.capture() as capture:
            self._console.print(what, width=width or self._width(), crop=False)
        return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())

    def _width(self) -> int:
        return max(NARROWEST, self._console.width)


def warm_up() -> None:
    """Renders a little of everything, so that what rich imports at its first use is there."""
    import io

    painter = Painter(io.StringIO())
    painter.fed(_WARM_UP)
    painter.ended()
