"""The file calls of the store, behind one small object that a test can wrap, fail or record (reliability 2.3)."""

import fcntl
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

_MODE = 0o600
_COPIED_BYTES = 1 << 20


class FileSystem(Protocol):
    """Thin file calls: each is one system call, raises `OSError`, and hides nothing. Handles are plain integers."""

    def open(self, path: Path, *, append: bool = False) -> int:
        """Open for reading and writing, creating the file (mode 0600) when it is missing."""
        ...

    def open_to_read(self, path: Path) -> int:
        """Open an existing file for reading only."""
        ...

    def create(self, path: Path) -> int:
        """Create a file (mode 0600) that must not exist yet."""
        ...

    def write(self, handle: int, data: bytes) -> int:
        """Write at the handle's position, or at the end when it was opened to append; may write less than asked."""
        ...

    def write_at(self, handle: int, data: bytes, offset: int) -> int:
        """Overwrite in place; may write less than asked."""
        ...

    def read_at(self, handle: int, length: int, offset: int) -> bytes:
        """Read up to `length` bytes."""
        ...

    def size(self, handle: int) -> int:
        """Return the file's length in bytes."""
        ...

    def truncate(self, handle: int, length: int) -> None:
        """Cut the file to a length in bytes."""
        ...

    def sync(self, handle: int) -> None:
        """Return only when the file's content and length are on the medium."""
        ...

    def close(self, handle: int) -> None:
        """Give the handle back."""
        ...

    def replace(self, source: Path, target: Path) -> None:
        """Rename, over an existing file if there is one."""
        ...

    def link(self, source: Path, target: Path) -> None:
        """Give a file a second name, which must not exist yet."""
        ...

    def remove(self, path: Path) -> None:
        """Delete a file; nothing happens when there is none."""
        ...

    def sync_folder(self, folder: Path) -> None:
        """Return only when the names in the folder are on the medium."""
        ...

    def lock(self, handle: int) -> bool:
        """Take the exclusive lock of a file without waiting; False when another process has it."""
        ...

    def is_at(self, handle: int, path: Path) -> bool:
        """Say whether a path leads to the very file of a handle."""
        ...


class OsFileSystem:
    """The real thing, on a POSIX system."""

    def open(self, path: Path, *, append: bool = False) -> int:
        """Open for reading and writing, creating the file (mode 0600) when it is missing."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | (os.O_APPEND if append else 0)
        return os.open(path, flags, _MODE)

    def open_to_read(self, path: Path) -> int:
        """Open an existing file for reading only."""
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def create(self, path: Path) -> int:
        """Create a file (mode 0600) that must not exist yet."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)

    def write(self, handle: int, data: bytes) -> int:
        """Write at the handle's position or end."""
        return os.write(handle, data)

    def write_at(self, handle: int, data: bytes, offset: int) -> int:
        """Overwrite in place."""
        return os.pwrite(handle, data, offset)

    def read_at(self, handle: int, length: int, offset: int) -> bytes:
        """Read up to `length` bytes."""
        return os.pread(handle, length, offset)

    def size(self, handle: int) -> int:
        """Return the file's length in bytes."""
        return os.fstat(handle).st_size

    def truncate(self, handle: int, length: int) -> None:
        """Cut the file to a length in bytes."""
        os.ftruncate(handle, length)

    def sync(self, handle: int) -> None:
        """Force content and length to the medium; on macOS only F_FULLFSYNC reaches beyond the drive's cache."""
        if sys.platform == "darwin":
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(handle)

    def close(self, handle: int) -> None:
        """Give the handle back."""
        os.close(handle)

    def replace(self, source: Path, target: Path) -> None:
        """Rename, over an existing file if there is one."""
        source.replace(target)

    def link(self, source: Path, target: Path) -> None:
        """Give a file a second name, which must not exist yet."""
        os.link(source, target)

    def remove(self, path: Path) -> None:
        """Delete a file; nothing happens when there is none."""
        path.unlink(missing_ok=True)

    def sync_folder(self, folder: Path) -> None:
        """Force the folder's names to the medium."""
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def lock(self, handle: int) -> bool:
        """Take the exclusive lock without waiting; it ends with the process, however that ends."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def is_at(self, handle: int, path: Path) -> bool:
        """Say whether a path leads to the very file of a handle."""
        try:
            return os.path.samestat(os.fstat(handle), path.stat())
        except FileNotFoundError:
            return False


def write_all(files: FileSystem, handle: int, data: bytes) -> None:
    """Write every byte; a short write is followed by the rest, so that its error (full disk) shows itself.

    Raises:
        OSError: The disk refused; a part of `data` may be in the file.
    """
    _write_rest(data, lambda part, _: files.write(handle, part))


def write_all_at(files: FileSystem, handle: int, data: bytes, offset: int) -> None:
    """Overwrite every byte in place, as `write_all` writes.

    Raises:
        OSError: The disk refused; a part of `data` may be in the file.
    """
    _write_rest(data, lambda part, done: files.write_at(handle, part, offset + done))


def _write_rest(data: bytes, write: Callable[[bytes, int], int]) -> None:
    done = 0
    while done < len(data):
        written = write(data[done:] if done else data, done)
        if written <= 0:  # a disk that takes nothing and names no error would be asked for ever
            raise OSError("the disk takes no more bytes")
        done += written


def replace_file(files: FileSystem, path: Path, data: bytes) -> None:
    """Replace a file: after a crash it holds the old bytes or the new, never a part.

    Temporary file, sync, rename, sync of the folder. A temporary file left by a crash is overwritten.

    Raises:
        OSError: The disk refused; the old file stands.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    handle = files.open(temporary)
    try:
        files.truncate(handle, 0)
        write_all(files, handle, data)
        files.sync(handle)
    finally:
        files.close(handle)
    files.replace(temporary, path)
    files.sync_folder(path.parent)


def renew_file(files: FileSystem, path: Path) -> None:
    """Put a copy in a file's place, durably: whoever has the old file open writes to a file without a name from now on.

    Nothing happens when there is none.

    Raises:
        OSError: The disk refused; the old file stands.
    """
    try:
        old = files.open_to_read(path)
    except FileNotFoundError:
        return
    temporary = path.with_name(f".{path.name}.tmp")
    with ExitStack() as opened:
        opened.callback(files.close, old)
        new = files.open(temporary)
        opened.callback(files.close, new)
        files.truncate(new, 0)
        position = 0
        while part := files.read_at(old, _COPIED_BYTES, position):
            write_all(files, new, part)
            position += len(part)
        files.sync(new)
    files.replace(temporary, path)
    files.sync_folder(path.parent)


def create_file(files: FileSystem, path: Path, data: bytes) -> None:
    """Create a file with its whole content, never over an existing one: after a crash it is complete or absent.

    Raises:
        FileExistsError: The name is taken.
        OSError: The disk refused.
    """
    temporary = path.with_name(f".{path.name}.new")
    files.remove(temporary)  # left by a crash
    handle = files.create(temporary)
    try:
        write_all(files, handle, data)
        files.sync(handle)
    finally:
        files.close(handle)
    try:
        files.link(temporary, path)
    finally:
        files.remove(temporary)
    files.sync_folder(path.parent)


def read_whole(files: FileSystem, path: Path) -> bytes | None:
    """Return a small file's bytes, None when it does not exist.

    Raises:
        OSError: The disk refused.
    """
    try:
        handle = files.open_to_read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return files.read_at(handle, files.size(handle), 0)
    finally:
        files.close(handle)
