"""Real files of which one chosen call fails: by an error, by a short write, or with the end of the process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from receipt_writer.storage.filesystem import OsFileSystem

T = TypeVar("T")

WRITES = ("write", "write_at")
SHORT = -1
KILL = -2


class KilledError(BaseException):
    """The process is gone: raised by this call and by every call after it, past every handler of ordinary errors."""


@dataclass(frozen=True)
class Fault:
    """What happens to call number `at` (from 1), and to all after it when it is `for_ever`.

    `kind` is an errno, SHORT (half of the bytes are written) or KILL (half of the bytes, and nothing ever again).
    """

    at: int
    kind: int
    for_ever: bool = False

    def hits(self, call: int) -> bool:
        """Say whether a call is one of those that fail."""
        return call == self.at or (call > self.at and (self.for_ever or self.kind == KILL))


@dataclass
class FailingFiles(OsFileSystem):
    """Counts every call and lets the fault happen; `names` are the calls that were made, in order."""

    fault: Fault | None = None
    names: list[str] = field(default_factory=list)
    struck: bool = False
    _handles: set[int] = field(default_factory=set)
    _one_at_a_time: threading.RLock = field(default_factory=threading.RLock)

    def abandon(self) -> None:
        """Give every handle back, as the end of a process does."""
        for handle in list(self._handles):
            self._handles.discard(handle)
            os.close(handle)

    def open(self, path: Path, *, append: bool = False) -> int:
        return self._opened(lambda: super(FailingFiles, self).open(path, append=append), "open")

    def open_to_read(self, path: Path) -> int:
        return self._opened(lambda: super(FailingFiles, self).open_to_read(path), "open_to_read")

    def create(self, path: Path) -> int:
        return self._opened(lambda: super(FailingFiles, self).create(path), "create")

    def write(self, handle: int, data: bytes) -> int:
        return self._written("write", data, lambda part: super(FailingFiles, self).write(handle, part))

    def write_at(self, handle: int, data: bytes, offset: int) -> int:
        return self._written("write_at", data, lambda part: super(FailingFiles, self).write_at(handle, part, offset))

    def read_at(self, handle: int, length: int, offset: int) -> bytes:
        return self._call("read_at", lambda: super(FailingFiles, self).read_at(handle, length, offset))

    def size(self, handle: int) -> int:
        return self._call("size", lambda: super(FailingFiles, self).size(handle))

    def truncate(self, handle: int, length: int) -> None:
        self._call("truncate", lambda: super(FailingFiles, self).truncate(handle, length))

    def sync(self, handle: int) -> None:
        self._call("sync", lambda: os.fstat(handle))  # the page cache is all that a restarted process sees

    def close(self, handle: int) -> None:
        if handle in self._handles:
            self._handles.discard(handle)
            super().close(handle)  # Linux closes whatever it answers
        self._call("close", lambda: None)

    def replace(self, source: Path, target: Path) -> None:
        self._call("replace", lambda: super(FailingFiles, self).replace(source, target))

    def link(self, source: Path, target: Path) -> None:
        self._call("link", lambda: super(FailingFiles, self).link(source, target))

    def remove(self, path: Path) -> None:
        self._call("remove", lambda: super(FailingFiles, self).remove(path))

    def sync_folder(self, folder: Path) -> None:
        assert folder.is_dir()
        self._call("sync_folder", lambda: None)

    def lock(self, handle: int) -> bool:
        return self._call("lock", lambda: super(FailingFiles, self).lock(handle))

    def _opened(self, act: Callable[[], int], name: str) -> int:
        handle = self._call(name, act)
        self._handles.add(handle)
        return handle

    def _written(self, name: str, data: bytes, act: Callable[[bytes], int]) -> int:
        with self._one_at_a_time:
            kind = self._count(name)
            if kind is None:
                return act(data)
            if kind == SHORT:
                return act(data[: len(data) // 2])
            if not self._is_dead():
                act(data[: len(data) // 2])
            raise _error(kind)

    def _call(self, name: str, act: Callable[[], T]) -> T:
        with self._one_at_a_time:
            kind = self._count(name)
            if kind is None or kind == SHORT:
                return act()
            raise _error(kind)

    def _count(self, name: str) -> int | None:
        self.names.append(name)
        if self.fault is None or not self.fault.hits(len(self.names)):
            return None
        self.struck = True
        return self.fault.kind

    def _is_dead(self) -> bool:
        return self.fault is not None and self.fault.kind == KILL and len(self.names) > self.fault.at


def _error(kind: int) -> BaseException:
    return KilledError() if kind == KILL else OSError(kind, os.strerror(kind))
