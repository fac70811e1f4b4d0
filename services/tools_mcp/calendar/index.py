"""What was read of the calendar files, kept between starts: a cache that may be deleted at any time.

One row per file: its stamp (mtime, size, inode, ctime) and the facts of its series. It is left out whatever fails.
"""

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tools_mcp.calendar.facts import FORMAT, Facts, as_json, from_json

Stamp: TypeAlias = tuple[int, int, int, int]
"""Modification time in nanoseconds, size in bytes, inode, and the time of any change, which nobody can set back."""
Read: TypeAlias = tuple[tuple[Facts, ...], int]
"""The series of a file, and how many others in it cannot be read; a file that is no calendar counts as one."""

_WAIT_S = 1.0


@dataclass(frozen=True)
class Index:
    """The index file. `reader` says how files were read; facts of another reader are dropped."""

    path: Path
    reader: str

    def load(self) -> dict[str, tuple[Stamp, Read]]:
        """Return what is known of each file; nothing when there is no usable index."""
        known: dict[str, tuple[Stamp, Read]] = {}
        try:
            with self._opened() as connection:
                rows = connection.execute("SELECT name, modified, size, inode, changed, series FROM files").fetchall()
            for name, modified, size, inode, changed, series in rows:
                told = json.loads(series)
                facts = tuple(from_json(one) for one in told["series"])
                known[name] = (modified, size, inode, changed), (facts, int(told["broken"]))
        except (sqlite3.Error, ValueError, KeyError, TypeError, OSError):
            self._drop()
            return {}
        return known

    def update(self, read: Mapping[str, tuple[Stamp, Read]], gone: Iterable[str]) -> None:
        """Remember what was read of files, and forget those that are gone."""
        rows = [
            (name, *stamp, json.dumps({"series": [as_json(one) for one in facts], "broken": broken}))
            for name, (stamp, (facts, broken)) in read.items()
        ]
        with contextlib.suppress(sqlite3.Error, OSError, UnicodeEncodeError), self._opened() as connection:
            connection.executemany("DELETE FROM files WHERE name = ?", [(name,) for name in gone])
            connection.executemany("REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)", rows)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        if not self.path.exists():
            self.path.touch(mode=0o600)
        with contextlib.closing(sqlite3.connect(self.path, timeout=_WAIT_S)) as connection, connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("CREATE TABLE IF NOT EXISTS told (reader TEXT PRIMARY KEY)")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS files "
                "(name TEXT PRIMARY KEY, modified INTEGER, size INTEGER, inode INTEGER, changed INTEGER, series TEXT)"
            )
            reader = f"{FORMAT} {self.reader}"
            if connection.execute("SELECT reader FROM told").fetchall() != [(reader,)]:
                connection.execute("DELETE FROM files")
                connection.execute("DELETE FROM told")
                connection.execute("INSERT INTO told VALUES (?)", (reader,))
            yield connection

    def _drop(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                self.path.with_name(self.path.name + suffix).unlink()
