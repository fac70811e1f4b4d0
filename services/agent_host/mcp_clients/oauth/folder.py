"""The logins of a home: `host/logins`, a file for each address, readable by their owner only.

A login belongs to an address and not to a name: what is put in a server's place in `mcp.json` gets no other's token.
Several processes may share the folder; who refreshes a token holds the address's lock, as most servers take a refresh
token once.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from agent_host.mcp_clients.oauth.record import Login, login_of
from agent_host.mcp_clients.private_file import write_private

_LOOK_EVERY_S: Final = 0.02

logger = logging.getLogger(__name__)


class LoginFolder:
    """Reads and writes the records; each is read anew, as another process may have written it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, url: str) -> Login | None:
        """Returns what is kept for an address, None when nothing is or it cannot be read."""
        file = self._file(url, "json")
        try:
            login = login_of(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError):
            logger.warning("%s cannot be read; log in anew", file)
            return None
        return login if login.url == url else None

    def write(self, login: Login) -> None:
        """Keeps a login in place of what was kept for its address.

        Raises:
            OSError: the disk refused.
        """
        write_private(self._file(login.url, "json"), login.to_json())

    def forget(self, url: str) -> None:
        """Forgets what is kept for an address.

        Raises:
            OSError: the disk refused.
        """
        self._file(url, "json").unlink(missing_ok=True)

    def holds(self, url: str) -> bool:
        """Tells whether a person is logged in at an address, as far as is known."""
        login = self.read(url)
        return login is not None and login.tokens is not None

    def wants_login(self, url: str) -> bool:
        """Tells whether the server at an address asked for a login that is not there, or not any more."""
        login = self.read(url)
        return login is not None and login.tokens is None

    @asynccontextmanager
    async def lock(self, url: str) -> AsyncIterator[None]:
        """Holds an address alone among all tasks and processes while entered; waits for whoever holds it.

        Raises:
            OSError: the disk refused.
        """
        file = self._file(url, "lock")
        file.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not _locked(descriptor):  # noqa: ASYNC110 - another process may hold it
                await asyncio.sleep(_LOOK_EVERY_S)
            yield
        finally:
            os.close(descriptor)

    def _file(self, url: str, kind: str) -> Path:
        return self._path / f"{hashlib.sha256(url.encode()).hexdigest()[:32]}.{kind}"


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
