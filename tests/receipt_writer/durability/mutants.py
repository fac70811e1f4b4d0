"""Nine ways to build a writer that loses receipts (reliability 2.1): each is a small change to a real piece."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from receipt_writer.app import Service, open_service
from receipt_writer.errors import StorageFailedError
from receipt_writer.index import ChainIndex
from receipt_writer.storage.chain_file import ChainFile
from receipt_writer.storage.filesystem import FileSystem, OsFileSystem
from receipt_writer.storage.jsonl import JsonlStore
from receipt_writer.storage.protocol import Batch
from tests.receipt_writer.durability.oplog import RecordingFiles

_BUFFER_BYTES = 8192


@dataclass
class WithoutFsync(RecordingFiles):
    """Writes, and trusts that the kernel will bring it to the medium some time."""

    def sync(self, handle: int) -> None:
        assert handle >= 0


@dataclass
class WithoutFolderFsync(RecordingFiles):
    """Syncs contents, and forgets that a name is a change of its folder."""

    def sync_folder(self, folder: Path) -> None:
        assert folder.is_dir()


@dataclass
class LateFsync(RecordingFiles):
    """Syncs a chain when the next commit syncs one: after the acknowledgement that should have waited for it."""

    _due: list[int] = field(default_factory=list)

    def sync(self, handle: int) -> None:
        if self._handles[handle][1].suffix != ".jsonl":
            super().sync(handle)
            return
        due, self._due = self._due, [handle]
        for one in due:
            if one in self._handles:
                super().sync(one)


@dataclass
class RetriedFsync(RecordingFiles):
    """Asks once more when a sync failed, and believes the answer."""

    def sync(self, handle: int) -> None:
        try:
            super().sync(handle)
        except OSError:
            super().sync(handle)


@dataclass
class Buffered(RecordingFiles):
    """Collects what is appended in a buffer of its own, as `open(…, "a")` does, and syncs what has left it."""

    _buffers: dict[int, bytes] = field(default_factory=dict)

    def write(self, handle: int, data: bytes) -> int:
        if not self._handles[handle][2]:
            return super().write(handle, data)
        self._buffers[handle] = self._buffers.get(handle, b"") + data
        if len(self._buffers[handle]) >= _BUFFER_BYTES:
            super().write(handle, self._buffers.pop(handle))
        return len(data)

    def size(self, handle: int) -> int:
        return super().size(handle) + len(self._buffers.get(handle, b""))

    def read_at(self, handle: int, length: int, offset: int) -> bytes:
        whole = super().read_at(handle, super().size(handle), 0) + self._buffers.get(handle, b"")
        return whole[offset : offset + length]

    def close(self, handle: int) -> None:
        if handle in self._buffers:
            super().write(handle, self._buffers.pop(handle))
        super().close(handle)


class Unlocked(OsFileSystem):
    """Takes every lock, whoever has it."""

    def lock(self, handle: int) -> bool:
        os.fstat(handle)
        return True


def acknowledges_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the store take note of a batch that it could not write, and answer as if it had."""
    really = JsonlStore.commit

    def commit(store: JsonlStore, batch: Batch) -> None:
        try:
            really(store, batch)
        except StorageFailedError:
            store._failed = False

    monkeypatch.setattr(JsonlStore, "commit", commit)


def cuts_a_complete_bad_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a start take a last line that says nothing sensible for a torn one."""
    really = ChainFile.sound_end

    def sound_end(file: ChainFile, committed_bytes: int | None) -> int:
        end = really(file, committed_bytes)
        whole = file.read_bytes(0, end)
        last = whole.rstrip(b"\n").rfind(b"\n") + 1
        return end if whole[last:].endswith(b'"}}\n') else last

    monkeypatch.setattr(ChainFile, "sound_end", sound_end)


def with_forgotten_keys(folder: Path, files: FileSystem | None = None, *arguments: Any, **options: Any) -> Service:
    """Open a service that knows only the requests of its own life."""
    service = open_service(folder, files, *arguments, **options)
    for index in service.ledger.indexes.values():
        _forget(index)
    return service


def _forget(index: ChainIndex) -> None:
    really, born = index.id_of, index.head.size

    def id_of(key: str) -> int | None:
        found = really(key)
        return found if found and found > born else None

    index.id_of = id_of  # type: ignore[method-assign]
