"""One writer process a chain folder, and how another takes over from one that neither works nor ends.

The right to write is the kernel's lock on the file that the name `lock` leads to. It ends with its process, however
that ends, so a start after a crash needs nothing more. A holder that hangs keeps it. `--take-over` then puts a new lock
file in place of the old and copies of the chains in place of the chains. Whatever the old holder does when it wakes up
goes to files without a name, and before each acknowledgement it looks whether the name still leads to the file that it
locked: it never acknowledges what the new holder does not have (docs/adr/0009).
"""

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from receipt_writer.errors import FolderInUseError
from receipt_writer.storage.filesystem import FileSystem, read_whole, write_all

LOCK_NAME = "lock"

_HOLDER_BYTES = 20


@dataclass(frozen=True)
class FolderLock:
    """The right to write to a folder. It ends with `release`, with the process, or when another takes over.

    `was_taken_over` tells that the last holder may still be alive, with its files open.
    """

    folder: Path
    was_taken_over: bool
    _files: FileSystem
    _handle: int
    _path: Path

    def is_held(self) -> bool:
        """Say whether nobody has taken over since; `OSError` when that cannot be found out."""
        return self._files.is_at(self._handle, self._path)

    def release(self) -> None:
        """Let another process have the folder."""
        self._files.close(self._handle)


def take_lock(files: FileSystem, folder: Path, *, take_over: bool = False) -> FolderLock:
    """Take the folder for this process; its process id in the lock file is for people, the lock itself is the kernel's.

    `take_over` is the operator's word that the present holder, if there is one, is to lose it.

    Raises:
        FolderInUseError: Another writer has it; the sentence names the process.
        OSError: The lock file could not be opened.
    """
    path = folder / LOCK_NAME
    with ExitStack() as opened:
        handle = files.open(path)
        opened.callback(files.close, handle)
        is_ours = files.lock(handle) and files.is_at(handle, path)
        if not is_ours and not take_over:
            raise FolderInUseError(
                f"The chains in {folder} belong to a running writer, process {holder_of(files, folder)}; stop it first "
                "(if it hangs: serve --take-over)."
            )
        if is_ours:
            files.truncate(handle, 0)
            write_all(files, handle, _own_name())
            opened.pop_all()
            return FolderLock(folder, was_taken_over=False, _files=files, _handle=handle, _path=path)
    return FolderLock(folder, was_taken_over=True, _files=files, _handle=_replaced_lock(files, path), _path=path)


def holder_of(files: FileSystem, folder: Path) -> str:
    """Return the number of the process that holds a folder, for people; `OSError` when the file cannot be read."""
    content = read_whole(files, folder / LOCK_NAME) or b""
    return content[:_HOLDER_BYTES].decode("ascii", "replace").strip() or "unknown"


def running_holder(files: FileSystem, folder: Path) -> str | None:
    """Return the number of the process that owns a folder now, None when nobody does; nothing is changed.

    Raises:
        OSError: The lock file could not be looked at.
    """
    try:
        handle = files.open_to_read(folder / LOCK_NAME)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return None if files.lock(handle) else holder_of(files, folder)
    finally:
        files.close(handle)


def _replaced_lock(files: FileSystem, path: Path) -> int:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    files.remove(temporary)
    handle = files.create(temporary)
    with ExitStack() as opened:
        opened.callback(files.close, handle)
        files.lock(handle)
        write_all(files, handle, _own_name())
        files.replace(temporary, path)
        files.sync_folder(path.parent)
        opened.pop_all()
    return handle


def _own_name() -> bytes:
    return b"%d\n" % os.getpid()
