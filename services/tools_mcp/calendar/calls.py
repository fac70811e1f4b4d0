"""Which calls were done already: the idempotency keys of calendar writes, and what was answered to them.

Kept for thirty days in a file of this machine. It is not the only guard: a new event's id comes from its key, so that
two servers over one calendar keep one event, and the other writes end the same when they are done twice. So a file
that cannot be read or written stops nothing.
"""

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from tools_mcp.errors import ConflictError
from tools_mcp.locking import FolderLock

_KEPT = timedelta(days=30)
_WAIT_S = 5.0
Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True)
class Call:
    """A call with its key: the tool and what it was asked for, in the form in which equal calls are equal."""

    key: str | None
    tool: str
    arguments: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What the key is kept as; the key itself may be a secret."""
        return hashlib.sha256((self.key or "").encode()).hexdigest()

    @property
    def asked(self) -> str:
        """The hash of what the call asks for."""
        told = json.dumps([self.tool, {name: value for name, value in self.arguments.items() if value is not None}])
        return hashlib.sha256(told.encode()).hexdigest()


@dataclass(frozen=True)
class Calls:
    """The calls to one calendar."""

    path: Path
    lock: FolderLock
    now: Callable[[], datetime]

    def once(self, call: Call, model: type[Answer], act: Callable[[], tuple[Answer, str]]) -> tuple[Answer, str]:
        """Do something, unless a call with this key did it before: then return what was answered.

        Calls with keys wait for each other, in every process on this machine.

        Raises:
            ConflictError: The key came with another call.
            StoreError: The folder cannot be locked; nothing was done.
        """
        if call.key is None:
            return act()
        with self.lock.held():
            for asked, answered in self._known(call):
                if asked != call.asked:
                    raise ConflictError("This idempotency_key came with another call; send a new key for a new call.")
                told = json.loads(answered)
                return model.model_validate(told["answer"]), str(told["text"])
            answer, text = act()
            self._keep(call, json.dumps({"answer": answer.model_dump(mode="json"), "text": text}))
        return answer, text

    def _known(self, call: Call) -> list[tuple[str, str]]:
        with contextlib.suppress(sqlite3.Error, OSError), self._opened() as connection:
            return connection.execute("SELECT asked, answer FROM calls WHERE name = ?", (call.name,)).fetchall()
        return []

    def _keep(self, call: Call, answer: str) -> None:
        at = self.now().timestamp()
        with contextlib.suppress(sqlite3.Error, OSError), self._opened() as connection:
            connection.execute("DELETE FROM calls WHERE at < ?", (at - _KEPT.total_seconds(),))
            connection.execute("REPLACE INTO calls VALUES (?, ?, ?, ?)", (call.name, call.asked, answer, at))

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        self.path.touch(mode=0o600)
        with contextlib.closing(sqlite3.connect(self.path, timeout=_WAIT_S)) as connection, connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS calls (name TEXT PRIMARY KEY, asked TEXT, answer TEXT, at REAL)"
            )
            yield connection


def calls_in(folder: Path, now: Callable[[], datetime]) -> Calls:
    """Return the calls that are kept in a calendar's folder; nothing is read."""
    return Calls(folder / ".calls", FolderLock(folder / ".calls.lock", "calendar"), now)
