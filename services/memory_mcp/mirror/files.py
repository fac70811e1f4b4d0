"""The mirror on disk: written in the background after each change, each file whole or not at all.

What a person wrote there is never overwritten before `memory_import` has read it: a file that is not as we wrote it
stays, and a new MEMORY.md goes beside it. A process that was killed left a mark, and the next one looks for what is
missing.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from memory_mcp.errors import StoreError
from memory_mcp.mirror import pages
from memory_mcp.mirror.disk import remove_orphans, replace_all
from memory_mcp.model import Memory, Status
from memory_mcp.storage.protocol import MemoryStore, Reader, Searched

_LOG = logging.getLogger(__name__)
_OWN_FILE = re.compile(r"mem_[0-9a-f]{20}\.md\Z")
_MARK = ".mirror-open"
_GATHER_S = 0.2
"""Changes within this time are written together."""
_CLOSE_S = 1.0
"""How long an ending process goes on writing; what is left is written by the next."""
_AT_ONCE = 100


class FileMirror:
    """Keeps MEMORY.md and `memory/<id>.md` in a folder like the store; safe to use from several threads and processes.

    A disk that refuses is logged and costs no memory: the store is the truth, the mirror a copy for reading.
    """

    def __init__(self, store: MemoryStore, folder: Path) -> None:
        self._store = store
        self.folder = folder
        self._wake = threading.Condition()
        self._pending: set[str] = set()
        self._everything = False
        self._busy = False
        self._failed = False
        self._ending = False
        self._thread: threading.Thread | None = None
        self._writing = threading.Lock()
        self._mark: tuple[Path, IO[bytes]] | None = None
        with _logged():
            self._everything = _is_behind(folder)
            self._mark = _leave_mark(folder)
        if self._everything:
            self._start()

    def changed(self, memory_ids: Sequence[str]) -> None:
        """Notes that these memories are to be shown anew; returns at once."""
        with self._wake:
            self._pending.update(memory_ids)
            self._start()
            self._wake.notify_all()

    def purge(self, memory_ids: Sequence[str]) -> tuple[str, ...]:
        """Removes erased memories from the files now; returns, in words, where their text may remain."""
        with _logged():
            self._write(set(memory_ids), clean=True)
            left = [name for name in map(pages.file_name, memory_ids) if (self.folder / pages.FOLDER / name).exists()]
            edited = [f"the file {pages.FOLDER}/{name}, which somebody changed by hand" for name in left]
            index = self.folder / pages.INDEX_NAME
            if not _index_may_go(index):
                edited.append(f"{pages.INDEX_NAME}, which somebody changed by hand")
            return tuple(edited)
        return ("the files of the mirror, which could not be cleaned now",)

    def settled(self, folder: Path, files: Mapping[str, bytes]) -> None:
        """Removes files whose hand-made changes are in the store now, so that they are written anew."""
        with _logged(), self._writing:
            for name, data in files.items():
                path = Path(os.path.realpath(folder / name))
                index = path == Path(os.path.realpath(self.folder / pages.INDEX_NAME))
                edited = not (pages.index_is_ours if index else pages.is_ours)(_decoded(data))
                if edited and (index or _OWN_FILE.match(path.name)) and path.is_file() and path.read_bytes() == data:
                    path.unlink()
        with self._wake:
            self._everything = True

    def flush(self, timeout_s: float | None = None) -> bool:
        """Waits until everything noted is written; returns whether it is."""
        with self._wake:
            self._wake.notify_all()
            return self._wake.wait_for(self._is_idle, timeout_s)

    def close(self) -> None:
        """Writes what can be written in a second and ends; safe to call twice."""
        with self._wake:
            self._ending = True
            self._wake.notify_all()
        if self._thread is not None:
            self._thread.join(_CLOSE_S)
        if self._mark is not None:
            path, file = self._mark
            if self._is_idle() and not self._failed:  # else the mark tells the next process that something is missing
                path.unlink(missing_ok=True)
            file.close()
            self._mark = None

    def _is_idle(self) -> bool:
        return not (self._pending or self._everything or self._busy)

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="mirror", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._ending or not self._is_idle())
                if self._is_idle():
                    return
                self._wake.wait_for(lambda: self._ending, _GATHER_S)
                ids, all_of_them = self._pending, self._everything
                self._pending, self._everything, self._busy = set(), False, True
            done = False
            with _logged():
                self._write(None if all_of_them else ids)
                done = True
            with self._wake:
                self._busy, self._failed = False, self._failed or not done
                self._wake.notify_all()

    def _write(self, ids: set[str] | None, *, clean: bool = False) -> None:
        """Writes the files of some memories, or of all, and the index; all or `clean` removes leftovers."""
        with self._writing, _alone(self.folder):
            if clean or ids is None:
                remove_orphans(self.folder)
                remove_orphans(self.folder / pages.FOLDER)
            new: dict[Path, bytes] = {}
            for memory in self._all_memories() if ids is None else self._memories(sorted(ids)):
                if not isinstance(memory, Memory):
                    self._remove(memory)
                elif memory.status is not Status.LIVE or not pages.has_file(memory):
                    self._remove(memory.id)
                elif self._may_write(path := self.folder / pages.FOLDER / pages.file_name(memory.id)):
                    new[path] = pages.file_of(memory).encode()
                if len(new) >= _AT_ONCE:
                    replace_all(new, self._may_write)
                    new = {}
            replace_all(new, self._may_write)
            with self._store.reading() as reader:
                newest = reader.newest(None, None, None, pages.INDEX_LINES)
                total = reader.totals(Searched()).memories
            self._put_index(pages.index_of(newest, total), empty=not newest)
            if ids is None:
                _clear_marks(self.folder)

    def _memories(self, ids: Collection[str]) -> Iterator[Memory | str]:
        """Yields memories by id, a few in each view of the store, so that searches do not wait."""
        ordered = list(ids)
        for start in range(0, len(ordered), _AT_ONCE):
            with self._store.reading() as reader:
                found = [reader.memory(memory_id) or memory_id for memory_id in ordered[start : start + _AT_ONCE]]
            yield from found

    def _all_memories(self) -> Iterator[Memory | str]:
        """Yields every memory whose file is missing or should not be there.

        A file of a memory that the store does not know is left: it is of another store, perhaps of one that was lost.
        """
        folder = self.folder / pages.FOLDER
        there = {entry.name for entry in os.scandir(folder)} if folder.is_dir() else set()
        after = 0
        while True:
            with self._store.reading() as reader:
                page = _page(reader, after)
            if not page:
                break
            after = page[-1].number
            for memory in page:
                name = pages.file_name(memory.id)
                has, should = name in there, memory.status is Status.LIVE and pages.has_file(memory)
                there.discard(name)
                if has != should:
                    yield memory

    def _may_write(self, path: Path) -> bool:
        """Makes the folder of the files, and returns whether a file is not there or as we wrote it."""
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not path.exists() or pages.is_ours(_text(path)):
            return True
        _LOG.warning("%s was changed by hand and is kept; memory_import reads it back", path.name)
        return False

    def _put_index(self, text: str, *, empty: bool) -> None:
        path, beside = self.folder / pages.INDEX_NAME, self.folder / pages.BESIDE_NAME
        if not path.exists() and empty:
            return
        edited = not _index_may_go(path)
        if not edited and (not path.exists() or _text(path) != text):
            edited = bool(replace_all({path: text.encode()}, _index_may_go))
        if not edited:
            beside.unlink(missing_ok=True)
        elif not beside.exists() or _text(beside) != text:
            replace_all({beside: text.encode()}, lambda _: True)

    def _remove(self, memory_id: str) -> None:
        path = self.folder / pages.FOLDER / pages.file_name(memory_id)
        if path.exists() and pages.is_ours(_text(path)):
            path.unlink()


def _index_may_go(path: Path) -> bool:
    """Returns whether MEMORY.md is not there or as we wrote it."""
    return not path.exists() or pages.index_is_ours(_text(path))


def _page(reader: Reader, after: int) -> list[Memory]:
    return reader.every(after, _AT_ONCE)


def _text(path: Path) -> str:
    return _decoded(path.read_bytes())


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


@contextlib.contextmanager
def _logged() -> Iterator[None]:
    """Lets no failure of the mirror's disk, or of the store, reach a caller whose memory is stored."""
    try:
        yield
    except (OSError, StoreError) as error:
        _LOG.warning("the mirror could not be written and is behind the store: %s", error)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Holds the mirror of a folder against other processes."""
    with _private(folder / ".mirror.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_behind(folder: Path) -> bool:
    """Returns whether something may be missing: there is no mirror yet, or a process ended before it had written it."""
    return not (folder / pages.INDEX_NAME).exists() or any(map(_is_left, folder.glob(f"{_MARK}-*")))


def _leave_mark(folder: Path) -> tuple[Path, IO[bytes]]:
    path = folder / f"{_MARK}-{os.getpid()}-{time.monotonic_ns():x}"
    mark = _private(path)
    fcntl.flock(mark, fcntl.LOCK_EX)  # held while this process lives
    return path, mark


def _private(path: Path) -> IO[bytes]:
    """Opens a file of our own that nobody else may read."""
    return os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR, 0o600), "r+b")


def _is_left(mark: Path) -> bool:
    """Returns whether the process that made a mark is gone."""
    try:
        with mark.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return False  # it ended in an orderly way just now
    return True


def _clear_marks(folder: Path) -> None:
    for mark in folder.glob(f"{_MARK}-*"):
        if _is_left(mark):
            mark.unlink(missing_ok=True)
