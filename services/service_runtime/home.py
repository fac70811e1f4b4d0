"""The home folder: where a person's data lives, one private sub-folder per service."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from service_runtime.errors import SetupError


@dataclass(frozen=True)
class Home:
    """The root of all data of one person; nothing is created before a service asks for its folder."""

    path: Path

    def folder(self, service: str) -> Path:
        """Create `<home>/<service>` (mode 0700) when it is missing and return it.

        Raises:
            SetupError: The folder cannot be made or written; the sentence says what to set instead.
        """
        folder = self.path / service
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)  # fails where it is not ours or the disk is read-only
        except (OSError, ValueError) as error:  # ValueError: a NUL character in the name
            why = getattr(error, "strerror", None) or "the name is not possible"
            why = "a file is in the way" if isinstance(error, FileExistsError) else why.lower()
            raise SetupError(
                f"The home folder cannot be used at {str(getattr(error, 'filename', folder))!r}: {why}; "
                "set PROMETHEUS_HOME or pass --home with a folder you can write to."
            ) from error
        return folder


def secure_write(path: Path, data: bytes) -> None:
    """Replace a file (mode 0600) with `data`: after a crash it holds the old bytes or the new, never a part.

    Temporary file in the same folder, fsync, rename, fsync of the folder.

    Raises:
        OSError: The disk refused. No temporary file stays, and the old file is untouched, unless it was the folder's
            fsync that failed: then the new one is in place, and only a power cut may still bring the old one back.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)  # made 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
