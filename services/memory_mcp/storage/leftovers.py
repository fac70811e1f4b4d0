"""What a salvage that was killed leaves beside a store: copies with the text of memories."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

SALVAGING = ".salvage-"
"""How the folders begin in which a salvage looks at a copy."""


def salvaged_name(path: Path) -> str:
    """Returns the name of the new store that a salvage writes before it is put in place."""
    return f".{path.stem}.salvaged{path.suffix}"


def remove_leftovers(path: Path, before_s: float) -> tuple[str, ...]:
    """Removes what was written before a time (Unix seconds); returns the names of what could not be removed.

    A salvage at work refuses to put its store in place when it finds it gone or the store changed, so nothing is lost.
    """
    left = []
    for entry in _leftovers(path):
        with contextlib.suppress(OSError):
            if entry.lstat().st_mtime >= before_s:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
            continue
        if entry.exists():
            left.append(entry.name)
    return tuple(left)


def _leftovers(path: Path) -> Iterator[Path]:
    yield from path.parent.glob(f"{SALVAGING}*")
    yield from path.parent.glob(f"{salvaged_name(path)}*")
