"""One chain as a file of lines: finding its sound end, streaming it, reading by id, appending."""

from array import array
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import accumulate, islice
from pathlib import Path

from receipt_writer.format.canonical import MAX_LINE_BYTES
from receipt_writer.storage.filesystem import FileSystem, write_all, write_all_at

_CHUNK_BYTES = 1 << 20


class ChainFile:
    """The lines of one chain. The line break 0x0A is the only separator (spec section 3). Calls may raise `OSError`.

    Known lines are those streamed by `lines` or appended since. One thread makes lines known, others read meanwhile.
    """

    def __init__(self, files: FileSystem, path: Path, *, writable: bool) -> None:
        self.path = path
        self._files = files
        self._handle = files.open(path, append=True) if writable else files.open_to_read(path)
        self._ends = array("Q")  # where line 1, 2, 3, … ends: one value a line, so that no reader sees half a step

    @property
    def size(self) -> int:
        """Number of known lines."""
        return len(self._ends)

    @property
    def end_bytes(self) -> int:
        """Where the last known line ends."""
        return self._ends[-1] if self._ends else 0

    def length_bytes(self) -> int:
        """Return the file's length, known lines or not."""
        return self._files.size(self._handle)

    def sound_end(self, committed_bytes: int | None) -> int:
        """Return where the part ends that may hold entries; what follows is a torn write.

        An unterminated last line is torn. Beyond a known commit point, where nothing was acknowledged, so is all from
        the first NUL byte's line on: a line never holds one, but a disk that loses power leaves holes of them. Any
        other damage is left in, for the replay to refuse: a complete bad line is never cut. Lines that are
        known already are not read again.
        """
        position = end = self.end_bytes if committed_bytes is None else committed_bytes
        while chunk := self._files.read_at(self._handle, _CHUNK_BYTES, position):
            hole = -1 if committed_bytes is None else chunk.find(b"\0")
            line_break = chunk.rfind(b"\n", 0, len(chunk) if hole < 0 else hole)
            if line_break >= 0:
                end = position + line_break + 1
            if hole >= 0:
                break
            position += len(chunk)
        return end

    def lines(self, end_bytes: int, known: int = 0) -> Iterator[bytes]:
        """Yield the lines behind the first `known` up to an offset, remembering where each ends."""
        del self._ends[known:]
        return self.further_lines(end_bytes)

    def further_lines(self, end_bytes: int) -> Iterator[bytes]:
        """Yield the lines from behind the known ones up to an offset, remembering where each ends."""
        position = line_end = self.end_bytes
        rest = b""
        while position < end_bytes:
            chunk = self._files.read_at(self._handle, min(_CHUNK_BYTES, end_bytes - position), position)
            if not chunk:
                return
            position += len(chunk)
            *complete, rest = (rest + chunk).split(b"\n")
            for line in complete:
                line_end += len(line) + 1
                self._ends.append(line_end)
                yield line
            if len(rest) > MAX_LINE_BYTES:  # no entry is that long: let the reader refuse it, do not collect it
                yield rest
                return

    def know(self, lengths: Sequence[int]) -> None:
        """Take further lines as known without reading them, by their lengths in bytes without the line break."""
        ends = accumulate(lengths, lambda end, length: end + length + 1, initial=self.end_bytes)
        self._ends.extend(islice(ends, 1, None))

    def recognise(self, first_id: int, lengths: Sequence[int], digest: bytes) -> bytes | None:
        """Return the last of the lines from `first_id` on if they are those of these lengths and this SHA-256.

        Then they are known, and what stands behind them is not. `digest` covers the line breaks.
        """
        del self._ends[first_id - 1 :]
        start = self.end_bytes
        content = self.read_bytes(start, start + sum(lengths) + len(lengths))
        if sha256(content).digest() != digest:
            return None
        self.know(lengths)
        return content[-1 - lengths[-1] : -1]

    def read(self, first_id: int, count: int) -> list[bytes]:
        """Return up to `count` known lines from `first_id` on, without line breaks; `OSError` when some are gone."""
        last_id = min(first_id + count - 1, len(self._ends))
        if not 1 <= first_id <= last_id:
            return []
        start = self._ends[first_id - 2] if first_id > 1 else 0
        lines = self.read_bytes(start, self._ends[last_id - 1]).split(b"\n")[:-1]
        if len(lines) != last_id - first_id + 1:
            raise OSError("the file has become shorter")
        return lines

    def read_bytes(self, start: int, end: int) -> bytes:
        """Return the bytes of a part of the file; fewer when it is shorter by now."""
        parts = []
        while start < end and (part := self._files.read_at(self._handle, end - start, start)):
            parts.append(part)
            start += len(part)
        return b"".join(parts)

    def append(self, lines: Sequence[bytes]) -> None:
        """Write lines at the end in one call; they are not known, and not durable, before `sync` and `advance`."""
        write_all(self._files, self._handle, b"".join([line + b"\n" for line in lines]))

    def sync(self) -> None:
        """Return when the file's content is on the medium."""
        self._files.sync(self._handle)

    def advance(self, lines: Sequence[bytes]) -> None:
        """Make appended lines known."""
        self.know([len(line) for line in lines])

    def write_again(self, start: int, end: int) -> None:
        """Write a part of the file once more, in place, so that the next `sync` has to bring it to the medium.

        After a sync that failed, the kernel may hold pages that it believes are written: a further sync of them
        succeeds and does nothing. The bytes are the same, so a power cut in between changes nothing.
        """
        handle = self._files.open(self.path)  # a handle that appends cannot write in place
        try:
            while start < end:
                part = self.read_bytes(start, min(start + _CHUNK_BYTES, end))
                if not part:
                    raise OSError("the file has become shorter")
                write_all_at(self._files, handle, part, start)
                start += len(part)
        finally:
            self._files.close(handle)

    def cut(self, length_bytes: int) -> None:
        """Drop what follows an offset, durably."""
        self._files.truncate(self._handle, length_bytes)
        self._files.sync(self._handle)

    def close(self) -> None:
        """Give the handle back."""
        self._files.close(self._handle)
