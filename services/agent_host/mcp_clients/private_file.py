"""A small file of the person's, replaced whole and readable by its owner only."""

from __future__ import annotations

import os
from pathlib import Path
from secrets import token_hex


def write_private(path: Path, text: str) -> None:
    """Writes a file so that a reader, or a crash, finds the old text or the new one; mode 0600.

    Raises:
        OSError: the disk refused.
    """
    path.parent.mkdir(mode=0o700, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{token_hex(4)}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
