"""A program at a pseudo-terminal, and what a person would see there: its screen and what has scrolled away above it."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import pexpect
import pyte

TIMEOUT_S = 30.0
_READ_S = 0.2
_SCROLLED = 5_000  # rows
_JOINERS = {0x200D: None, 0xFE0F: None}  # pyte drops what follows them; they are in `raw`


class Terminal:
    """One program and its screen, which does not reflow its lines when its width changes, as xterm does not."""

    def __init__(self, child: pexpect.spawn[bytes], columns: int, rows: int) -> None:
        self.child = child
        self.raw = b""
        self._screen = pyte.HistoryScreen(columns, rows, history=_SCROLLED)
        self._stream = pyte.Stream(self._screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def rows(self) -> list[str]:
        """The rows, those that scrolled away first, without the blanks at their ends."""
        above = [self._row(row) for row in self._screen.history.top]
        return [*above, *(self._row(self._screen.buffer[number]) for number in range(self._screen.lines))]

    @property
    def text(self) -> str:
        """All rows as one text, without the empty ones at the end."""
        return "\n".join(self.rows).rstrip()

    @property
    def words(self) -> str:
        """All that can be read, with single spaces: how it was broken into rows does not matter."""
        return " ".join(self.text.split())

    @property
    def cursor_row(self) -> str:
        """The row the cursor stands in."""
        return self._row(self._screen.buffer[self._screen.cursor.y])

    @property
    def is_cursor_hidden(self) -> bool:
        """Tells whether the program hid the cursor."""
        return bool(self._screen.cursor.hidden)

    def colours(self) -> set[str]:
        """Returns the colours of what is on the screen."""
        return {cell.fg for row in self._screen.buffer.values() for cell in row.values()}

    def type(self, text: str) -> None:
        """Sends keys."""
        self.child.send(text.encode())

    def enter(self, text: str) -> None:
        """Sends keys and then the Enter key."""
        self.type(f"{text}\r")

    def wait(self, until: Callable[[], bool], what: str) -> None:
        """Reads on until something is so; a program that ends before has failed."""
        end = monotonic() + TIMEOUT_S
        while not until():
            if monotonic() > end or not self._read():
                raise AssertionError(f"not seen: {what}\n{self.text}")

    def see(self, words: str) -> None:
        """Waits for words, however they are broken into rows."""
        self.wait(lambda: words in self.words, words)

    def see_prompt(self) -> None:
        """Waits for an empty prompt."""
        self.wait(lambda: self.cursor_row == "you >", "an empty prompt")

    def resize(self, columns: int, rows: int) -> None:
        """Changes the size, as a person who drags the window's corner does."""
        self._screen.resize(rows, columns)
        self.child.setwinsize(rows, columns)

    def end(self) -> int | None:
        """Reads to the end and returns the exit status."""
        while self._read():
            pass
        self.child.wait()
        return self.child.exitstatus

    def _read(self) -> bool:
        try:
            data = self.child.read_nonblocking(65_536, _READ_S)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += data
        self._stream.feed(self._decoder.decode(data).translate(_JOINERS))
        return True

    def _row(self, cells: Mapping[int, pyte.screens.Char]) -> str:
        return "".join(cells[column].data for column in range(self._screen.columns)).rstrip()


@contextmanager
def terminal(
    command: Sequence[str | Path], environ: Mapping[str, str], folder: Path, *, columns: int = 100, rows: int = 40
) -> Iterator[Terminal]:
    """Runs a program at a terminal that understands colours and cursor movement, unless `environ` says otherwise."""
    child: pexpect.spawn[bytes] = pexpect.spawn(
        str(command[0]),
        [str(word) for word in command[1:]],
        cwd=str(folder),
        env={"PROMPT_TOOLKIT_NO_CPR": "1", **environ},  # nobody answers questions about the cursor here
        dimensions=(rows, columns),
    )
    child.delaybeforesend = None
    try:
        yield Terminal(child, columns, rows)
    finally:
        child.close(force=True)
