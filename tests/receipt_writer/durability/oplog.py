"""Every storage call of a run, written down, and every disk that a power cut may leave of it (ALICE, OSDI'14).

POSIX promises little between two syncs, and this model promises no more: a write that was not synced may be lost, kept,
or kept in part; a name that was not synced in its folder may be missing; nothing keeps any of them in order.
"""

from __future__ import annotations

import errno
import hashlib
import os
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from receipt_writer.storage.filesystem import OsFileSystem

SECTOR_BYTES = 512
FOLDER = -1
"""Stands for a folder where a name's file would be."""


@dataclass(frozen=True)
class Write:
    """Bytes for a place in a file; the file's number stays the same whatever names it has."""

    file: int
    offset: int
    data: bytes


@dataclass(frozen=True)
class Cut:
    """A file's new length."""

    file: int
    length: int


@dataclass(frozen=True)
class Names:
    """One atomic change of a folder: names that now lead to a file, or to none."""

    folder: Path
    entries: tuple[tuple[str, int | None], ...]


@dataclass(frozen=True)
class Sync:
    """A sync of a file's content that succeeded, or failed: then the kernel takes its pages for written."""

    file: int
    failed: bool = False


@dataclass(frozen=True)
class SyncFolder:
    """A sync of a folder's names."""

    folder: Path


Op = Write | Cut | Names | Sync | SyncFolder


@dataclass
class RecordingFiles(OsFileSystem):
    """Real files, and a log of what was asked of them. `fail_sync` names the one file whose next sync fails."""

    log: list[Op] = field(default_factory=list)
    fail_sync: str = ""
    _numbers: dict[Path, int] = field(default_factory=dict)
    _handles: dict[int, tuple[int, Path, bool]] = field(default_factory=dict)
    _folders: set[Path] = field(default_factory=set)
    _one_at_a_time: threading.RLock = field(default_factory=threading.RLock)

    def make_folders(self, root: Path, folder: Path) -> None:
        """Make a folder below a root that is on the medium already."""
        self._folders.add(root)
        folder.mkdir(parents=True, exist_ok=True)
        self._know(folder)

    def abandon(self) -> None:
        """Give every handle back without another word to the disk, as the end of a process does."""
        for handle in list(self._handles):
            self.close(handle)

    def open(self, path: Path, *, append: bool = False) -> int:
        with self._one_at_a_time:
            return self._opened(super().open(path, append=append), path, append=append)

    def open_to_read(self, path: Path) -> int:
        return self._opened(super().open_to_read(path), path)

    def create(self, path: Path) -> int:
        with self._one_at_a_time:
            return self._opened(super().create(path), path)

    def write(self, handle: int, data: bytes) -> int:
        with self._one_at_a_time:
            number, _, appends = self._handles[handle]
            offset = super().size(handle) if appends else os.lseek(handle, 0, os.SEEK_CUR)
            written = super().write(handle, data)
            self.log.append(Write(number, offset, bytes(data[:written])))
            return written

    def write_at(self, handle: int, data: bytes, offset: int) -> int:
        with self._one_at_a_time:
            written = super().write_at(handle, data, offset)
            self.log.append(Write(self._handles[handle][0], offset, bytes(data[:written])))
            return written

    def truncate(self, handle: int, length: int) -> None:
        with self._one_at_a_time:
            super().truncate(handle, length)
            self.log.append(Cut(self._handles[handle][0], length))

    def sync(self, handle: int) -> None:
        with self._one_at_a_time:
            number, path, _ = self._handles[handle]
            fails = path.name == self.fail_sync
            self.log.append(Sync(number, fails))
            if fails:
                self.fail_sync = ""
                raise OSError(errno.EIO, os.strerror(errno.EIO))

    def close(self, handle: int) -> None:
        with self._one_at_a_time:
            self._handles.pop(handle, None)
            super().close(handle)

    def replace(self, source: Path, target: Path) -> None:
        with self._one_at_a_time:
            super().replace(source, target)
            self._name(target.parent, (source.name, None), (target.name, self._numbers.pop(source)))

    def link(self, source: Path, target: Path) -> None:
        with self._one_at_a_time:
            super().link(source, target)
            self._name(target.parent, (target.name, self._numbers[source]))

    def remove(self, path: Path) -> None:
        with self._one_at_a_time:
            super().remove(path)
            if self._numbers.pop(path, None) is not None:
                self._name(path.parent, (path.name, None))

    def sync_folder(self, folder: Path) -> None:
        with self._one_at_a_time:
            self.log.append(SyncFolder(folder))

    def _opened(self, handle: int, path: Path, *, append: bool = False) -> int:
        if path not in self._numbers:
            self._name(path.parent, (path.name, len(self.log)))
        self._handles[handle] = (self._numbers[path], path, append)
        return handle

    def _name(self, folder: Path, *entries: tuple[str, int | None]) -> None:
        self._know(folder)
        for name, number in entries:
            if number is not None:
                self._numbers[folder / name] = number
        self.log.append(Names(folder, entries))

    def _know(self, folder: Path) -> None:
        if folder not in self._folders and self._folders:
            self._know(folder.parent)
            self._folders.add(folder)
            self.log.append(Names(folder.parent, ((folder.name, FOLDER),)))


@dataclass
class Disk:
    """What a medium holds: contents by file number, names by folder."""

    contents: dict[int, bytes] = field(default_factory=dict)
    names: dict[Path, dict[str, int]] = field(default_factory=dict)

    def copy(self) -> Disk:
        return Disk(dict(self.contents), {folder: dict(names) for folder, names in self.names.items()})

    def take(self, op: Op) -> None:
        """Let a change reach the medium whole."""
        if isinstance(op, Names):
            names = self.names.setdefault(op.folder, {})
            for name, number in op.entries:
                if number is None:
                    names.pop(name, None)
                else:
                    names[name] = number
        elif isinstance(op, Cut):
            self.contents[op.file] = self.contents.get(op.file, b"")[: op.length].ljust(op.length, b"\0")
        elif isinstance(op, Write):
            self._put(op.file, op.offset, op.data)

    def take_part(self, op: Op, chance: random.Random) -> None:
        """Let a part of a change reach the medium: a prefix, or some sectors and holes between them."""
        if not isinstance(op, Write):
            self.take(op)
        elif chance.random() < 0.5:
            self._put(op.file, op.offset, op.data[: chance.randrange(len(op.data) + 1)])
        else:
            whole = self.contents.get(op.file, b"")
            if chance.random() < 0.5:  # the new length got there first
                self._put(op.file, len(whole), bytes(max(0, op.offset + len(op.data) - len(whole))))
            start = op.offset
            while start < op.offset + len(op.data):
                end = min((start // SECTOR_BYTES + 1) * SECTOR_BYTES, op.offset + len(op.data))
                if chance.random() < 0.5:
                    self._put(op.file, start, op.data[start - op.offset : end - op.offset])
                start = end

    def files(self, folder: Path) -> Iterator[tuple[Path, bytes]]:
        """Yield what can be reached by name below a folder."""
        for name, number in sorted(self.names.get(folder, {}).items()):
            if number == FOLDER:
                yield from self.files(folder / name)
            else:
                yield folder / name, self.contents.get(number, b"")

    def _put(self, file: int, offset: int, data: bytes) -> None:
        old = self.contents.get(file, b"").ljust(offset, b"\0") if data else self.contents.get(file, b"")
        self.contents[file] = old[:offset] + data + old[offset + len(data) :]


@dataclass(frozen=True)
class CrashState:
    """One disk that a cut after the first `ops` calls may leave."""

    ops: int
    disk: Disk
    how: str

    def key(self, root: Path) -> bytes:
        """Tell states apart by what a process would find."""
        digest = hashlib.sha256()
        for path, content in self.disk.files(root):
            digest.update(b"%d %d " % (len(str(path)), len(content)) + os.fsencode(path) + content)
        return digest.digest()

    def write_to(self, root: Path, place: Path) -> None:
        """Make the state real below `place`, which stands for the run's root."""
        for path, content in self.disk.files(root):
            target = place / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            target.touch(mode=0o600)
            target.write_bytes(content)


def crash_states(log: list[Op], seed: int, mixtures: int) -> Iterator[CrashState]:
    """Yield disks for a cut after each call: nothing unsynced kept, all, all but one, one only, random mixtures."""
    chance = random.Random(seed)  # noqa: S311 -- which writes survive is no secret
    medium, waiting = Disk(), list[tuple[Op, bool]]()
    for ops, op in enumerate(log, 1):
        happen(medium, waiting, op)
        yield CrashState(ops, medium.copy(), "nothing unsynced")
        if not waiting:
            continue
        everything = [one for one, _ in waiting]
        yield CrashState(ops, _with(medium, everything), "everything")
        for left_out in everything:
            yield CrashState(ops, _with(medium, [one for one in everything if one is not left_out]), "all but one")
            yield CrashState(ops, _with(medium, [left_out]), "one only")
        for _ in range(mixtures):
            disk = medium.copy()
            for one in everything:
                luck = chance.random()
                if luck < 0.4:
                    disk.take(one)
                elif luck < 0.8:
                    disk.take_part(one, chance)
            yield CrashState(ops, disk, "a mixture")


def happen(medium: Disk, waiting: list[tuple[Op, bool]], op: Op) -> None:
    """Let one call happen: a change waits, a sync brings what waits for it to the medium."""
    if isinstance(op, Sync):
        mine = [pair for pair in waiting if isinstance(pair[0], Write | Cut) and pair[0].file == op.file]
        for pair in mine:
            waiting.remove(pair)
        if op.failed:
            waiting.extend((one, True) for one, _ in mine)  # believed clean: no later sync writes them
        else:
            waiting.extend(pair for pair in mine if pair[1])
            for one, believed_clean in mine:
                if not believed_clean:
                    medium.take(one)
    elif isinstance(op, SyncFolder):
        for pair in [pair for pair in waiting if isinstance(pair[0], Names) and pair[0].folder == op.folder]:
            waiting.remove(pair)
            medium.take(pair[0])
    else:
        waiting.append((op, False))


def _with(medium: Disk, ops: list[Op]) -> Disk:
    disk = medium.copy()
    for op in ops:
        disk.take(op)
    return disk
