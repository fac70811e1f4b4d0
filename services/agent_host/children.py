"""The processes a host starts for itself, each ended with it: also after kill -9 of the host.

Every child holds the read end of a pipe as its stdin and ends when that pipe closes, which the system does for us
when the host is gone.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import platformdirs

from agent_host.errors import ConfigurationError

SOCKET_PATH_LIMIT = 100  # bytes; sockaddr_un holds 108 on Linux and 104 on macOS
_STOP_S = 5.0
_URI_CHARACTERS = frozenset("%?#")  # gRPC reads a target as a URI


class Child:
    """One Python module as a child process, restarted on demand."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._arguments = [sys.executable, "-P", "-m", *arguments]  # -P: a module in the working folder is not ours
        self._environment = dict(environment)
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def ensure(self) -> bool:
        """Starts the process unless it runs; returns whether it was started.

        Raises:
            OSError: it cannot be started.
        """
        if self._process is not None and self._process.poll() is None:
            return False
        with os.fdopen(os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as log:
            self._process = subprocess.Popen(
                self._arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=self._environment,
                start_new_session=True,  # Ctrl-C at the terminal is for the host alone
            )
        return True

    @property
    def exit_status(self) -> int | None:
        """The exit status, None while it runs or before it was started."""
        return None if self._process is None else self._process.poll()

    def stop(self) -> None:
        """Closes the child's stdin, waits for its orderly end, and kills it after `_STOP_S` seconds."""
        if self._process is None or self._process.stdin is None:
            return
        self._process.stdin.close()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def socket_path(folder: Path, name: str) -> Path:
    """Returns where a Unix socket lies: in `folder`, or in the system's runtime folder when that path cannot be one.

    A path cannot be one when it is too long, or has characters that gRPC reads otherwise.

    Raises:
        ConfigurationError: the runtime folder belongs to somebody else or is open to others.
    """
    path = folder / name
    if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT and not set(str(path)) & _URI_CHARACTERS:
        return path
    home_key = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    runtime = platformdirs.user_runtime_path("prometheus-agent", appauthor=False) / home_key
    runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
    owner = runtime.stat()
    if owner.st_uid != os.geteuid() or owner.st_mode & 0o077:
        raise ConfigurationError(f"{runtime} is open to others; remove it, or set PROMETHEUS_HOME to a shorter path.")
    return runtime / name
