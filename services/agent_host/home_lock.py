"""One host a home: an advisory lock that names its holder."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from agent_host.errors import HomeInUseError


class HomeLock:
    """Holds a home until `release`, or until this process ends, however it ends."""

    def __init__(self, path: Path, home: Path) -> None:
        """Takes the lock.

        Raises:
            HomeInUseError: another process holds it; the message names it.
        """
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._descriptor)
            raise HomeInUseError(
                f"Another agent host (process {holder}) uses {home}; "
                "end it first, or set PROMETHEUS_HOME to another folder."
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Lets the home go."""
        os.close(self._descriptor)
