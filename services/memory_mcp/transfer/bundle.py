"""What an import reads, as files in memory: a text, a file, a folder or a zip archive, all within bounds.

Nothing outside is followed: no symbolic link, no hidden folder, no path that leads out of an archive. Sizes are those
of the bytes really read, whatever an archive says of itself.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from memory_mcp.errors import InvalidArgumentError

MAX_FILE_BYTES = 128 * 1024 * 1024
MAX_BYTES = 256 * 1024 * 1024
MAX_FILES = 50_000
ENDINGS = (".md", ".markdown", ".txt", ".json", ".jsonl", ".ndjson")
"""What a file that may be read ends with; a folder's and an archive's other files are left alone."""

_ZIP = b"PK\x03\x04"
_PIECE = 1 << 20


@dataclass(frozen=True)
class Bundle:
    """The files that were read, by their names with `/`; `name` says what they came from."""

    name: str
    files: Mapping[str, bytes]


def bundle_of_text(text: str) -> Bundle:
    """Returns a text as the one file it is; its ending is that of what it looks like."""
    first = text.lstrip("\ufeff \t\r\n")[:1]
    return Bundle("content", {"content.json" if first in {"{", "["} else "content.md": text.encode()})


def bundle_at(path: Path) -> Bundle:
    """Reads a file, a zip archive or a folder.

    Raises:
        InvalidArgumentError: It is not there, cannot be read, is of another kind, or is too large.
    """
    try:
        if path.is_dir():
            return Bundle(path.name, dict(_of_folder(path)))
        if not path.is_file():
            raise InvalidArgumentError("There is no such file or folder to import; send the path of one that exists.")
        with path.open("rb") as file:
            head = file.read(len(_ZIP))
            if head == _ZIP:
                return Bundle(path.name, _of_archive(path))
            if not path.name.lower().endswith(ENDINGS):
                raise InvalidArgumentError(
                    f"A file to import ends with {', '.join(ENDINGS)} or .zip; this one does not, nothing was read.",
                )
            return Bundle(path.name, {path.name: head + _bounded(file, MAX_FILE_BYTES)})
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
        raise InvalidArgumentError(
            "What is to be imported cannot be read; allow reading it, or send another."
        ) from error


def _of_folder(folder: Path) -> Iterator[tuple[str, bytes]]:
    count, total = 0, 0
    for root, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(root, name)
            if name.startswith(".") or not name.lower().endswith(ENDINGS) or path.is_symlink() or not path.is_file():
                continue
            with path.open("rb") as file:
                data = _bounded(file, MAX_FILE_BYTES)
            count, total = count + 1, total + len(data)
            _check(count, total)
            yield path.relative_to(folder).as_posix(), data


def _of_archive(path: Path) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    total = 0
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                name = PurePosixPath(info.filename)
                outside = name.is_absolute() or ".." in name.parts or "\\" in info.filename
                hidden = any(part.startswith((".", "__MACOSX")) for part in name.parts)
                if info.is_dir() or outside or hidden or not info.filename.lower().endswith(ENDINGS):
                    continue
                with archive.open(info) as file:
                    files[name.as_posix()] = data = _bounded(file, MAX_FILE_BYTES)
                total += len(data)
                _check(len(files), total)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InvalidArgumentError(
            "The zip archive is damaged, locked with a password or of an unknown kind; unpack it and send the folder.",
        ) from error
    return files


def _check(count: int, total: int) -> None:
    if count > MAX_FILES or total > MAX_BYTES:
        raise InvalidArgumentError(
            f"There is too much to import at once (at most {MAX_FILES:,} files and {MAX_BYTES >> 20} MiB together); "
            "send a smaller part.",
        )


def _bounded(file: IO[bytes], limit: int) -> bytes:
    """Reads a file to its end, or refuses it as soon as it is too large."""
    pieces: list[bytes] = []
    left = limit
    while piece := file.read(_PIECE):
        left -= len(piece)
        if left < 0:
            raise InvalidArgumentError(f"A file to import is over {limit >> 20} MiB; split it into smaller parts.")
        pieces.append(piece)
    return b"".join(pieces)
