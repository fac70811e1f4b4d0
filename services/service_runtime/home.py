"""The home folder: where a person's data lives, one private sub-folder per service."""

import errno
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from service_runtime.errors import SetupError


@dataclass(frozen=True)
class Home:
    """The root of all data of one person; nothing is created before a service asks for its folder."""

    path: Path

    def folder(self, service: str, *, for_reading: bool = False) -> Path:
        """Create `<home>/<service>` (mode 0700) when it is missing and return it.

        With `for_reading` one that is there is returned on a read-only disk too: some services have a use for that.

        Raises:
            SetupError: The folder cannot be made or written; the sentence says what to set instead.
        """
        folder = self.path / service
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)  # fails where it is not ours or the disk is read-only
        except (OSError, ValueError) as error:  # ValueError: a NUL character in the name
            if for_reading and getattr(error, "errno", None) == errno.EROFS and folder.is_dir():
                return folder
            why = getattr(error, "strerror", None) or "the name is not possible"
            why = "a file is in the way" if isinstance(error, FileExistsError) else why.lower()
            raise SetupError(
                f"The home folder cannot be used at {str(getattr(error, 'filename', folder))!r}: {why}; "
                "set PROMETHEUS_HOME or pass --home with a folder you can write to."
            ) from error
        return folder


_KEPT = 40  # characters of a name in that of its temporary file, so that the longest one has room too
LEFTOVER = re.compile(r"\..+\.[a-z0-9_]{8}\.tmp")
"""What `secure_write` calls its temporary files."""


def secure_write(path: Path, data: bytes, check: Callable[[], None] | None = None) -> None:
    """Replace a file (mode 0600) with `data`: after a crash it holds the old bytes or the new, never a part.

    Temporary file in the same folder, fsync, rename, fsync of the folder. `check` is called when the new bytes are
    safe and nothing but the rename is left to do, and may raise to keep the old file: what another program did while
    the disk worked is seen by it.

    Raises:
        OSError: The disk refused. No temporary file stays, and the old file is untouched, unless it was the folder's
            fsync that failed: then the new one is in place, and only a power cut may still bring the old one back.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:_KEPT]}.", suffix=".tmp", dir=path.parent)  # made 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        if check is not None:
            check()
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)  # it is gone when it was renamed
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
