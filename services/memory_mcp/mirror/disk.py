"""Replacing many files at once, each whole or not at all."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

_ORPHAN = re.compile(r"\.(?:MEMORY(?:\.current)?|mem_[0-9a-f]{20})\.md\.[a-z0-9_]{8}\.tmp")
"""What `replace_all` calls its temporary files, for the files of a mirror."""


def remove_orphans(folder: Path) -> None:
    """Removes the temporary files of writers that were killed; whoever calls it keeps other writers out.

    Raises:
        OSError: The disk refused.
    """
    for entry in os.scandir(folder) if folder.is_dir() else ():
        if _ORPHAN.fullmatch(entry.name):
            Path(entry.path).unlink(missing_ok=True)


def replace_all(files: Mapping[Path, bytes], may_replace: Callable[[Path], bool]) -> tuple[Path, ...]:
    """Replaces files of one folder (mode 0600): after a crash each holds the old bytes or the new, never a part.

    All are written before the first is made durable, so that the disk can do most of it in one go: one at a time ten
    thousand files take minutes. `may_replace` is asked when nothing but the rename is left to do, so that it sees what
    a person saved while the disk worked; the paths it refuses keep their bytes and are returned.

    Raises:
        OSError: The disk refused; no temporary file stays.
    """
    written: dict[Path, tuple[int, str]] = {}
    refused: list[Path] = []
    try:
        for path, data in files.items():
            descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
            written[path] = (descriptor, name)
            with os.fdopen(os.dup(descriptor), "wb") as file:
                file.write(data)
        for path, (descriptor, name) in written.items():
            os.fsync(descriptor)
            if may_replace(path):
                Path(name).replace(path)
            else:
                refused.append(path)
    finally:
        for descriptor, name in written.values():
            os.close(descriptor)
            Path(name).unlink(missing_ok=True)
    for folder in {path.parent for path in files}:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    return tuple(refused)
