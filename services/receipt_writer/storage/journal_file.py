"""The intent journal as a file of lines that grows at its end, and is shortened in place while it is in use."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from receipt_writer.storage.filesystem import FileSystem, replace_file, write_all, write_all_at


class JournalFile:
    """The open journal of the one writer that owns the chains. Every call may raise `OSError`.

    Nothing here but `replace` goes by the file's name: a writer that hangs and lost its chains writes to a file without
    a name when it wakes up, also in the middle of `shorten`.
    """

    def __init__(self, files: FileSystem, path: Path) -> None:
        self._files, self._path = files, path
        self._end, self._anywhere = self._opened()

    def lines(self) -> list[bytes]:
        """Return the complete lines; an unterminated last one was never acknowledged."""
        length = self._files.size(self._end)
        return self._files.read_at(self._end, length, 0).split(b"\n")[:-1]

    def append(self, lines: Sequence[bytes]) -> None:
        """Add lines, durably."""
        write_all(self._files, self._end, _content(lines))
        self._files.sync(self._end)

    def shorten(self, lines: Sequence[bytes]) -> None:
        """Leave only these lines, durably; each of them, or an older row of its turn, is in the file already.

        They are added at the end first, then written over the beginning, and then the rest is cut off. A power cut in
        between leaves damaged lines at worst, and every line that matters behind or before them.
        """
        content, length = _content(lines), self._files.size(self._end)
        if content:
            self.append(lines)
        if len(content) > length:
            return  # nothing to be won, and the two copies would overlap
        if content:
            write_all_at(self._files, self._anywhere, content, 0)
            self._files.sync(self._anywhere)
        self._files.truncate(self._anywhere, len(content))
        self._files.sync(self._anywhere)

    def replace(self, lines: Sequence[bytes]) -> None:
        """Put a new file with these lines in the place of the journal, whole or not at all: for a start."""
        replace_file(self._files, self._path, _content(lines))
        former = self._end, self._anywhere
        self._end, self._anywhere = self._opened()
        for handle in former:
            self._files.close(handle)

    def close(self) -> None:
        """Give the handles back."""
        for handle in (self._end, self._anywhere):
            self._files.close(handle)

    def _opened(self) -> tuple[int, int]:
        with ExitStack() as opened:
            end = self._files.open(self._path, append=True)
            opened.callback(self._files.close, end)
            anywhere = self._files.open(self._path)  # a handle that appends cannot write in place
            opened.pop_all()
        return end, anywhere


def _content(lines: Sequence[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)
