"""The full text index over the vault: SQLite FTS5, derived from the files and rebuilt from them at will.

A file is read again when its time, size or inode changed, or when it was so fresh at the last look that a change
within the same tick of the clock could have gone unseen. The threads of a process share one connection and take turns;
processes share nothing but the file.
"""

import contextlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tools_mcp.disk import as_store_error
from tools_mcp.errors import NotFoundError, StoreBusyError, ToolsError
from tools_mcp.notes.model import Listed, Note
from tools_mcp.notes.queries import segmented
from tools_mcp.notes.vault import Vault
from tools_mcp.texts import folded

_VERSION = 1
_FRESH_NS = 2_000_000_000  # the coarsest clock among file systems ticks every two seconds
_SCHEMA = (
    "DROP TABLE IF EXISTS notes",
    "DROP TABLE IF EXISTS texts",
    (
        "CREATE TABLE notes (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL,"
        " folded TEXT NOT NULL, folder TEXT NOT NULL, tags TEXT NOT NULL,"
        " tag_words TEXT NOT NULL, modified INTEGER NOT NULL,"
        " stamp TEXT NOT NULL)"
    ),
    "CREATE INDEX notes_folded ON notes (folded)",
    "CREATE INDEX notes_modified ON notes (modified)",
    "CREATE VIRTUAL TABLE texts USING fts5 (title, tags, body, tokenize = 'porter unicode61 remove_diacritics 2')",
)
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Filter:
    """Which notes count: those in a folder or below it, with all of the tags."""

    folder: str = ""
    tags: tuple[str, ...] = ()

    def sql(self) -> tuple[str, list[str | int]]:
        """Return the condition on `notes` and its values."""
        conditions, values = ["1"], list[str | int]()
        if self.folder:
            conditions.append("(folder = ? OR substr(folder, 1, ?) = ?)")
            values += [self.folder, len(self.folder) + 1, f"{self.folder}/"]
        for tag in self.tags:
            conditions.append("instr(tag_words, ?)")
            values.append(f" {tag.casefold()} ")
        return " AND ".join(conditions), values


@dataclass
class NoteIndex:
    """The index file; deleting it loses nothing."""

    path: Path
    vault: Vault
    now_ns: Callable[[], int] = time.time_ns
    _connection: sqlite3.Connection | None = field(default=None, repr=False)
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def close(self) -> None:
        """Close the file; the next operation opens it again."""
        with self._turn:
            self._forget_connection()

    def refresh(self) -> int:
        """Bring the index up to date with the files and return how many notes there are.

        Raises:
            StoreError: The vault cannot be read.
        """
        return self._with(self._refresh)

    def search(self, query: str, chosen: Filter, limit: int, offset: int) -> list[Listed]:
        """Return the notes that match an FTS5 query, best first; title counts most, then tags."""
        condition, values = chosen.sql()
        sql = (
            "SELECT id, notes.title, notes.tags, modified FROM texts JOIN notes ON notes.key = texts.rowid "  # noqa: S608 - constants
            f"WHERE texts MATCH ? AND {condition} ORDER BY bm25(texts, 6.0, 3.0, 1.0), id LIMIT ? OFFSET ?"
        )
        return self._rows(sql, [query, *values, limit, offset])

    def newest(self, chosen: Filter, limit: int, after: tuple[int, str] | None) -> list[Listed]:
        """Return notes, last modified first, those after a position of modification time (ms) and id."""
        condition, values = chosen.sql()
        if after:
            condition += " AND (modified < ? OR (modified = ? AND id > ?))"
            values += [after[0], after[0], after[1]]
        sql = f"SELECT id, title, tags, modified FROM notes WHERE {condition} ORDER BY modified DESC, id LIMIT ?"  # noqa: S608
        return self._rows(sql, [*values, limit])

    def titled(self, title: str, folder: str | None) -> list[str]:
        """Return the ids of the notes with this title, letter case aside; in one folder only when it is given."""
        sql = "SELECT id, title, tags, modified FROM notes WHERE folded = ? AND (? IS NULL OR folder = ?) ORDER BY id"
        return [found.id for found in self._rows(sql, [folded(title), folder, folder])]

    def _rows(self, sql: str, values: Sequence[str | int | None]) -> list[Listed]:
        rows = self._with(lambda connection: connection.execute(sql, values).fetchall())
        return [Listed(note_id, title, tuple(json.loads(tags)), modified) for note_id, title, tags, modified in rows]

    def _with(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Run work on the index; one that is damaged is thrown away and built anew."""
        with self._turn:
            try:
                return work(self._open())
            except sqlite3.OperationalError as error:  # locked for too long, or the disk is full: the file is fine
                raise StoreBusyError("The notes index is busy or the disk is full; try again.") from error
            except sqlite3.DatabaseError:
                self._forget_connection()
                for suffix in ("", "-wal", "-shm"):
                    self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
                self._refresh(self._open())
                return work(self._open())

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            with as_store_error("notes", "read"):
                self.path.touch(mode=0o600)
            connection = sqlite3.connect(self.path, timeout=10, isolation_level=None, check_same_thread=False)
            try:
                _prepare(connection)
            except sqlite3.Error:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _forget_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _refresh(self, connection: sqlite3.Connection) -> int:
        known: dict[str, str] = dict(connection.execute("SELECT id, stamp FROM notes"))
        found = {note_id: " ".join(map(str, stamp)) for note_id, stamp in self.vault.scan()}
        gone = known.keys() - found.keys()
        changed = [note_id for note_id, stamp in found.items() if known.get(note_id) != stamp]
        if gone or changed:
            with _transaction(connection):
                for note_id in gone:
                    _forget(connection, note_id)
                for note_id in changed:
                    self._take(connection, note_id, found[note_id])
        return len(found)

    def _take(self, connection: sqlite3.Connection, note_id: str, stamp: str) -> None:
        _forget(connection, note_id)
        modified_ns = int(stamp.split(maxsplit=1)[0])
        try:
            note = self.vault.read(note_id)
        except NotFoundError:
            return
        except ToolsError:  # too large or no text: listed by its name, so that it does not vanish
            note = Note(note_id, note_id.rpartition("/")[2], "", (), "", "", "", modified_ns // 1_000_000)
        fresh = self.now_ns() - modified_ns < _FRESH_NS
        tags = f" {' '.join(note.tags)} ".casefold()
        row = (
            *(note.id, note.title, folded(note.title), note.folder, json.dumps(note.tags), tags),
            *(note.modified_at_ms, f"{stamp} fresh" if fresh else stamp),
        )
        connection.execute(
            "INSERT INTO notes (id, title, folded, folder, tags, tag_words, modified, stamp) VALUES (?,?,?,?,?,?,?,?)",
            row,
        )
        connection.execute(
            "INSERT INTO texts (rowid, title, tags, body) VALUES (last_insert_rowid(), ?, ?, ?)",
            (segmented(note.title), tags, segmented(note.body)),
        )


def _prepare(connection: sqlite3.Connection) -> None:
    """Make the tables when they are missing or of another version, unless another process was faster."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    if connection.execute("PRAGMA user_version").fetchone() == (_VERSION,):
        return
    with _transaction(connection):
        if connection.execute("PRAGMA user_version").fetchone() == (_VERSION,):
            return
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_VERSION}")


def _forget(connection: sqlite3.Connection, note_id: str) -> None:
    connection.execute("DELETE FROM texts WHERE rowid = (SELECT key FROM notes WHERE id = ?)", (note_id,))
    connection.execute("DELETE FROM notes WHERE id = ?", (note_id,))


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    with connection:  # commits, or rolls back when the block fails
        yield
