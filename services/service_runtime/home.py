"""The home folder: where a person's data lives, one private sub-folder per service."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from service_runtime.errors import SetupError

_FOLDER_MODE = 0o700


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
            self.path.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
            folder.mkdir(mode=_FOLDER_MODE, exist_ok=True)
            folder.chmod(_FOLDER_MODE)  # fails where it is not ours or the disk is read-only
        except FileExistsError as error:
            raise _unusable(error.filename or folder, "a file is in the way") from error
        except OSError as error:
            raise _unusable(error.filename or folder, (error.strerror or "it failed").lower()) from error
        except ValueError as error:  # a NUL character in the name
            raise _unusable(folder, "the name is not possible") from error
        return folder


def secure_write(path: Path, data: bytes) -> None:
    """Replace a file (mode 0600) with `data`: after a crash it holds the old bytes or the new, never a part.

    Temporary file in the same folder, fsync, rename, fsync of the folder.

    Raises:
        OSError: The disk refused; the old file is untouched and no temporary file stays.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:  # mkstemp makes it 0600
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unusable(where: object, why: str) -> SetupError:
    return SetupError(
        f"The home folder cannot be used at {str(where)!r}: {why}; "
        "set PROMETHEUS_HOME or pass --home with a folder you can write to."
    )
