"""Writing an export to disk: a file, a zip archive, or a folder of Markdown; or printing it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from memory_mcp.errors import InvalidArgumentError
from memory_mcp.model import Memory, Status
from memory_mcp.transfer import giving_out
from memory_mcp.transfer.formats import markdown, own
from memory_mcp.transfer.service import export_format

_FILE_MODE = 0o600


def write(memories: Iterable[Memory], path: str | None, format_name: str | None) -> str:
    """Writes an export and returns what to say about it; without a path it is printed, and nothing is said.

    A file is replaced whole or not at all; a folder has to be new or empty.

    Raises:
        InvalidArgumentError: The place cannot be written, or Markdown is to be printed.
    """
    counts: Counter[Status] = Counter()
    target = Path(path).expanduser() if path else None
    chosen = export_format(format_name or _format_of(target))
    counted = _counting(memories, counts)
    if target is None:
        if chosen != own.NAME:
            raise InvalidArgumentError("Markdown is many files; name a folder or a .zip file to write them to.")
        for line in giving_out.jsonl(counted):
            sys.stdout.buffer.write(line.encode())
        return ""
    try:
        if chosen == own.NAME:
            _replace(target, lambda file: _write_lines(file, counted))
        elif target.suffix.lower() == ".zip":
            data = giving_out.zipped(giving_out.markdown_files(counted))
            _replace(target, lambda file: _write_bytes(file, data))
        else:
            _fill(target, counted)
    except OSError as error:
        why = (error.strerror or "the disk failed").lower()
        raise InvalidArgumentError(f"The export cannot be written to {path}: {why}.") from error
    return f"{path}: {counts.total()} memories ({giving_out.in_words(counts)}).\n"


def _format_of(target: Path | None) -> str:
    if target is None or target.suffix.lower() in {".jsonl", ".ndjson", ".json"}:
        return own.NAME
    return markdown.OWN if target.suffix.lower() == ".zip" or not target.suffix else own.NAME


def _counting(memories: Iterable[Memory], counts: Counter[Status]) -> Iterator[Memory]:
    for memory in memories:
        counts[memory.status] += 1
        yield memory


def _write_lines(descriptor: int, memories: Iterable[Memory]) -> None:
    with os.fdopen(os.dup(descriptor), "w", encoding="utf-8", newline="") as file:
        file.writelines(giving_out.jsonl(memories))


def _write_bytes(descriptor: int, data: bytes) -> None:
    """Writes all of it: `os.write` alone may write a part and say so, as it does on a disk that fills."""
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(data)


def _replace(target: Path, fill: Callable[[int], object]) -> None:
    """Writes a file (mode 0600) beside the target and puts it in its place when it is whole."""
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        try:
            fill(descriptor)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _fill(folder: Path, memories: Iterable[Memory]) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidArgumentError(f"{folder} is there already and not empty; name a new folder, or a .zip file.")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, text in giving_out.markdown_files(memories):
        path = folder / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
