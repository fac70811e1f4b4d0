"""Reading memories out of a damaged SQLite file, page by page and without SQLite.

SQLite reads a table from its root downwards, so one bad page near the top hides everything below it. The rows
themselves lie in leaf pages, and each leaf page says all about its rows but where the rest of a long one is. So every
page is looked at by itself, and those that the write-ahead log has committed count like those of the file. Format:
https://www.sqlite.org/fileformat2.html, sections 1.6 (pages), 2.1 (records) and 4 (the log).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from memory_mcp.model import MEMORY_ID

COLUMNS = (
    *("number", "id", "scope", "kind", "created_at_ms", "happened_at_ms", "happened_text", "retired_at_ms"),
    *("superseded_by", "forgotten_at_ms", "forgotten_by", "erased", "episode", "position", "words", "distinct_terms"),
    *("origin", "trust", "last_seen_at_ms", "body_hash", "subject", "tags", "source_url", "body"),
)
"""Of the table of memories, in their order; a later schema can only add some at the end."""

_LEAF = 0x0D
_USUAL_PAGE_BYTES = 4096
_LOG_MAGIC = (0x377F0682, 0x377F0683)
_LOG_HEAD, _FRAME_HEAD = 32, 24
_SCOPE_COLUMNS, _EPISODE_COLUMNS = 3, 5
_NUMBER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_Value = int | float | str | bytes | None


@dataclass
class Carved:
    """What could be read: rows of memories by column, names of scopes and keys of conversations by number.

    A long text can have lost its end, or have something else in its place: its hash tells.
    """

    memories: dict[str, dict[str, _Value]] = field(default_factory=dict)
    scopes: dict[int, str] = field(default_factory=dict)
    episodes: dict[int, str] = field(default_factory=dict)


def carve(path: Path) -> Carved:
    """Reads everything that can be read of a store's file and its write-ahead log; changes neither.

    Raises:
        OSError: The disk refused.
    """
    found = Carved()
    log = path.with_name(f"{path.name}-wal")
    with path.open("rb") as file:
        pages = _Pages(file, log.read_bytes() if log.exists() else b"")
        for number in pages.numbers():
            for row, record, whole in _rows(pages, number):
                _sort_in(found, row, record, whole=whole)
    return found


def _sort_in(found: Carved, row: int, record: Sequence[_Value], *, whole: bool) -> None:
    """Tells from a record's shape which table it belongs to; what is of no use here is left."""
    if len(record) >= len(COLUMNS) - (0 if whole else 1) and isinstance(record[1], str) and MEMORY_ID.match(record[1]):
        fields = dict(zip(COLUMNS, record, strict=False))
        found.memories[record[1]] = {**fields, "number": row}
    elif whole and len(record) == _SCOPE_COLUMNS and record[0] is None and isinstance(record[2], str):
        found.scopes[row] = record[2]
    elif whole and len(record) == _EPISODE_COLUMNS and record[0] is None and isinstance(record[2], str):
        found.episodes[row] = record[2]


class _Pages:
    """The pages of a file as its last commit left them: those of the log before those of the file."""

    def __init__(self, file: IO[bytes], log: bytes) -> None:
        self._file = file
        file.seek(0)
        head = file.read(100)
        size = struct.unpack(">H", head[16:18])[0] if head.startswith(b"SQLite format 3\0") else 0
        size = 65536 if size == 1 else size
        self.size = size if size >= 512 and size & (size - 1) == 0 else _USUAL_PAGE_BYTES  # noqa: PLR2004 - the format's
        self.usable = self.size - (head[20] if size and len(head) > 20 else 0)  # noqa: PLR2004 - where it says so
        self._logged = _committed(log, self.size)
        file.seek(0, 2)
        self._count = (file.tell() + self.size - 1) // self.size

    def numbers(self) -> Iterator[int]:
        """Yields the numbers of all pages, from 1."""
        yield from range(1, max([self._count, *self._logged]) + 1)

    def page(self, number: int) -> bytes:
        """Returns a page, filled up with zeros where the file ends early."""
        if number in self._logged:
            return self._logged[number]
        if not 1 <= number <= self._count:
            return b""
        self._file.seek((number - 1) * self.size)
        return self._file.read(self.size).ljust(self.size, b"\0")


def _committed(log: bytes, page_size: int) -> dict[int, bytes]:
    """Returns the pages of a write-ahead log up to its last commit whose checksums hold."""
    if len(log) < _LOG_HEAD:
        return {}
    magic, _, size, _, salt_1, salt_2, sum_1, sum_2 = struct.unpack(">8I", log[:_LOG_HEAD])
    order = ">" if magic & 1 else "<"
    if magic not in _LOG_MAGIC or size != page_size or _checksum(log[:24], order, (0, 0)) != (sum_1, sum_2):
        return {}
    pages: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    running = (sum_1, sum_2)
    for at in range(_LOG_HEAD, len(log) - _FRAME_HEAD - size + 1, _FRAME_HEAD + size):
        number, commits, *salts, frame_1, frame_2 = struct.unpack(">6I", log[at : at + _FRAME_HEAD])
        data = log[at + _FRAME_HEAD : at + _FRAME_HEAD + size]
        running = _checksum(data, order, _checksum(log[at : at + 8], order, running))
        if salts != [salt_1, salt_2] or running != (frame_1, frame_2):
            break
        waiting[number] = data
        if commits:
            pages |= waiting
            waiting = {}
    return pages


def _checksum(data: bytes, order: str, start: tuple[int, int]) -> tuple[int, int]:
    one, two = start
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two


def _rows(pages: _Pages, number: int) -> Iterator[tuple[int, list[_Value], bool]]:
    """Yields the rows of a leaf page: number, values, and whether all of it is there."""
    page = pages.page(number)
    start = 100 if number == 1 else 0
    if len(page) < pages.size or page[start] != _LEAF:
        return
    (count,) = struct.unpack(">H", page[start + 3 : start + 5])
    for at in range(start + 8, min(start + 8 + 2 * count, pages.size - 1), 2):
        (cell,) = struct.unpack(">H", page[at : at + 2])
        if not start + 8 + 2 * count <= cell < pages.usable:
            continue
        try:
            length, after = _varint(page, cell)
            row, after = _varint(page, after)
            payload = _payload(pages, page, after, length)
            values = _record(payload)
        except (IndexError, ValueError, struct.error):
            continue  # what is left of a cell that was overwritten
        yield row, values, len(payload) == length


def _payload(pages: _Pages, page: bytes, at: int, length: int) -> bytes:
    """Returns a cell's payload, as far as the chain of its further pages leads."""
    most = pages.usable - 35
    if length <= most:
        return page[at : at + length]
    least = (pages.usable - 12) * 32 // 255 - 23
    local = least + (length - least) % (pages.usable - 4)
    local = local if local <= most else least
    parts, left = [page[at : at + local]], length - local
    following = int.from_bytes(page[at + local : at + local + 4], "big")
    seen: set[int] = set()
    while left > 0 and following and following not in seen:
        seen.add(following)
        further = pages.page(following)
        if not further or not any(further):
            break
        parts.append(further[4 : 4 + min(left, pages.usable - 4)])
        left -= len(parts[-1])
        following = int.from_bytes(further[:4], "big")
    return b"".join(parts)


def _record(payload: bytes) -> list[_Value]:
    """Returns the values of a record; the last is cut where the payload ends early."""
    size, at = _varint(payload, 0)
    if not 1 < size <= len(payload):
        raise ValueError(size)
    kinds = list[int]()
    while at < size:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    values = list[_Value]()
    for kind in kinds:
        if at > len(payload):
            break
        value, at = _value(payload, at, kind)
        values.append(value)
    return values


def _value(payload: bytes, at: int, kind: int) -> tuple[_Value, int]:
    if kind in {0, 8, 9}:
        return (None if kind == 0 else kind - 8), at
    if kind in _NUMBER_BYTES:
        end = at + _NUMBER_BYTES[kind]
        return int.from_bytes(payload[at:end], "big", signed=True), end
    if kind == 7:  # noqa: PLR2004 - the format's number for a float
        return struct.unpack(">d", payload[at : at + 8])[0], at + 8
    if kind < 12:  # noqa: PLR2004 - reserved by the format
        raise ValueError(kind)
    end = at + (kind - 12) // 2
    data = payload[at:end]
    return (data.decode("utf-8", errors="replace") if kind & 1 else data), end


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for step in range(8):
        byte = data[at + step]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:  # noqa: PLR2004 - the last byte has no high bit
            return value, at + step + 1
    value = value << 8 | data[at + 8]
    return value - (1 << 64) if value >> 63 else value, at + 9
