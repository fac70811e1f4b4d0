"""One writer process a chain folder."""

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from receipt_writer.errors import FolderInUseError
from receipt_writer.storage.filesystem import FileSystem, write_all

LOCK_NAME = "lock"

_HOLDER_BYTES = 20


@dataclass(frozen=True)
class FolderLock:
    """The right to write to a folder. It ends with `release`, or with the process, however that ends."""

    folder: Path
    _files: FileSystem
    _handle: int

    def release(self) -> None:
        """Let another process have the folder."""
        self._files.close(self._handle)


def take_lock(files: FileSystem, folder: Path) -> FolderLock:
    """Take the folder for this process; its process id in the lock file is for people, the lock itself is the kernel's.

    Raises:
        FolderInUseError: Another writer has it; the sentence names the process.
        OSError: The lock file could not be opened.
    """
    handle = files.open(folder / LOCK_NAME)
    with ExitStack() as opened:
        opened.callback(files.close, handle)
        if not files.lock(handle):
            holder = files.read_at(handle, _HOLDER_BYTES, 0).decode("ascii", "replace").strip() or "unknown"
            raise FolderInUseError(
                f"The chains in {folder} belong to a running writer, process {holder}; stop it first."
            )
        files.truncate(handle, 0)
        write_all(files, handle, b"%d\n" % os.getpid())
        opened.pop_all()
    return FolderLock(folder, files, handle)
