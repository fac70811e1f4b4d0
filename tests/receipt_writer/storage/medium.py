"""A page cache over a medium: what a process reads, and what is left of it when the power goes."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from pathlib import Path

from receipt_writer.storage.filesystem import OsFileSystem


@dataclass
class CachedFiles(OsFileSystem):
    """The real files are the page cache; the medium knows only what a sync that succeeded brought there.

    A sync that fails leaves its pages in the cache and marks them clean, as Linux does: the next sync of the same file
    succeeds without writing them. Names (renames, links) reach the medium at once.
    """

    failing_sync: str = ""
    _paths: dict[int, Path] = field(default_factory=dict)
    _dirty: dict[Path, list[tuple[int, bytes]]] = field(default_factory=dict)
    _medium: dict[Path, bytearray] = field(default_factory=dict)

    def cut_power(self) -> None:
        """Leave in the folder only what the medium holds."""
        for path, content in self._medium.items():
            if path.exists():
                path.write_bytes(content)
        self._dirty.clear()

    def open(self, path: Path, *, append: bool = False) -> int:
        handle = super().open(path, append=append)
        self._paths[handle] = path
        self._medium.setdefault(path, bytearray())
        return handle

    def create(self, path: Path) -> int:
        handle = super().create(path)
        self._paths[handle] = path
        self._medium[path] = bytearray()
        return handle

    def write(self, handle: int, data: bytes) -> int:
        appends = self._paths[handle].suffix == ".jsonl"
        offset = self.size(handle) if appends else os.lseek(handle, 0, os.SEEK_CUR)
        written = super().write(handle, data)
        self._touch(handle, offset, data[:written])
        return written

    def write_at(self, handle: int, data: bytes, offset: int) -> int:
        written = super().write_at(handle, data, offset)
        self._touch(handle, offset, data[:written])
        return written

    def sync(self, handle: int) -> None:
        path = self._paths[handle]
        pages = self._dirty.pop(path, [])
        if self.failing_sync == path.name:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        content = self._medium[path]
        for offset, data in pages:
            content.extend(bytes(max(0, offset + len(data) - len(content))))
            content[offset : offset + len(data)] = data
        del content[self.size(handle) :]

    def replace(self, source: Path, target: Path) -> None:
        super().replace(source, target)
        self._medium[target] = self._medium.pop(source)

    def link(self, source: Path, target: Path) -> None:
        super().link(source, target)
        self._medium[target] = self._medium[source]

    def remove(self, path: Path) -> None:
        super().remove(path)
        self._medium.pop(path, None)

    def _touch(self, handle: int, offset: int, data: bytes) -> None:
        self._dirty.setdefault(self._paths[handle], []).append((offset, bytes(data)))
