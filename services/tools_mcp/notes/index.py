"""The full text index over the vault: SQLite FTS5, derived from the files and rebuilt from them at will.

A file is read again when its times, size or inode changed, or when it was so fresh at the last look that a change
within the same tick of the clock could have gone unseen; it is indexed again when its content hash changed. The threads
of a process share one connection and take turns; processes share nothing but the file. Where that file cannot be
written, on a full or a read-only disk, the index is kept in memory, so that reading and searching go on.
"""

import contextlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tools_mcp.errors import InvalidInputError, NotFoundError, StoreBusyError
from tools_mcp.notes.links import Name, links_of, names_of, sought
from tools_mcp.notes.model import Listed, Note
from tools_mcp.notes.names import NoteId, explains
from tools_mcp.notes.queries import indexed
from tools_mcp.notes.vault import Vault
from tools_mcp.texts import folded

_VERSION = 5
_FRESH_NS = 2_000_000_000  # the coarsest clock among file systems ticks every two seconds
_SCHEMA = (
    "DROP TABLE IF EXISTS notes",
    "DROP TABLE IF EXISTS texts",
    "DROP TABLE IF EXISTS names",
    "DROP TABLE IF EXISTS links",
    (
        "CREATE TABLE notes (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL,"
        " folded TEXT NOT NULL, file TEXT NOT NULL, folder TEXT NOT NULL, tags TEXT NOT NULL,"
        " tag_words TEXT NOT NULL, modified INTEGER NOT NULL,"
        " stamp TEXT NOT NULL, hash TEXT NOT NULL)"
    ),
    "CREATE TABLE names (note INTEGER NOT NULL, name TEXT NOT NULL, kind INTEGER NOT NULL)",
    "CREATE TABLE links (note INTEGER NOT NULL, name TEXT NOT NULL)",
    "CREATE INDEX names_name ON names (name)",
    "CREATE INDEX names_note ON names (note)",
    "CREATE INDEX links_name ON links (name)",
    "CREATE INDEX links_note ON links (note)",
    "CREATE INDEX notes_folded ON notes (folded)",
    "CREATE INDEX notes_file ON notes (file)",
    "CREATE INDEX notes_modified ON notes (modified)",
    "CREATE VIRTUAL TABLE texts USING fts5 (title, tags, body, tokenize = 'porter unicode61 remove_diacritics 2')",
)
_UNWRITABLE = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR}
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
            conditions.append("(instr(tag_words, ?) OR instr(tag_words, ?))")  # the tag, or one nested below it
            values += [f" {tag.casefold()} ", f" {tag.casefold()}/"]
        return " AND ".join(conditions), values


@dataclass
class NoteIndex:
    """The index file; deleting it loses nothing."""

    path: Path
    vault: Vault
    now_ns: Callable[[], int] = time.time_ns
    unnamed: tuple[str, ...] = ()
    """Files that were not taken up at the last look because of their names."""
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
        return self._called("folded", title, folder)

    def filed(self, name: str, folder: str | None) -> list[str]:
        """Return the ids of the notes whose file has this name and whose title is another one."""
        return self._called("file", name, folder)

    def _called(self, column: str, name: str, folder: str | None) -> list[str]:
        sql = f"SELECT id FROM notes WHERE {column} = ? AND (? IS NULL OR folder = ?) ORDER BY id"  # noqa: S608 - constants
        values = [folded(name), folder, folder]
        return [row[0] for row in self._with(lambda connection: connection.execute(sql, values).fetchall())]

    def names(self, names: Collection[str]) -> list[Name]:
        """Return every note that has one of these (folded) names."""
        sql = "SELECT name, kind, id FROM names JOIN notes ON key = note WHERE name IN (SELECT value FROM json_each(?))"
        wanted = json.dumps(sorted(names))
        return [Name(*row) for row in self._with(lambda connection: connection.execute(sql, [wanted]).fetchall())]

    def linking(self, names: Collection[str]) -> list[str]:
        """Return the ids of the notes with a link that has one of these (folded) names as its target."""
        sql = (
            "SELECT DISTINCT id FROM links JOIN notes ON key = note"
            " WHERE name IN (SELECT value FROM json_each(?)) ORDER BY id"
        )
        wanted = json.dumps(sorted(names))
        return [row[0] for row in self._with(lambda connection: connection.execute(sql, [wanted]).fetchall())]

    def _rows(self, sql: str, values: Sequence[str | int | None]) -> list[Listed]:
        rows = self._with(lambda connection: connection.execute(sql, values).fetchall())
        return [Listed(note_id, title, tuple(json.loads(tags)), modified) for note_id, title, tags, modified in rows]

    def _with(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Run work on the index; one that is damaged is thrown away and built anew, one that cannot be written left."""
        with self._turn:
            try:
                return work(self._open())
            except OSError:
                return self._in_memory(work)
            except sqlite3.OperationalError as error:  # the file itself is fine
                if _kind(error) in _UNWRITABLE:
                    return self._in_memory(work)
                raise StoreBusyError("The notes index is busy; try again.") from error
            except sqlite3.DatabaseError:
                return self._anew(work)

    def _anew(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        self._forget_connection()
        try:
            for suffix in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            self._refresh(self._open())
            return work(self._open())
        except (OSError, sqlite3.OperationalError):
            return self._in_memory(work)

    def _in_memory(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        self._forget_connection()
        self._connection = _connected(":memory:")
        self._refresh(self._connection)
        return work(self._connection)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.touch(mode=0o600)
            self._connection = _connected(str(self.path))
        return self._connection

    def _forget_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _refresh(self, connection: sqlite3.Connection) -> int:
        known = {row[0]: row[1:] for row in connection.execute("SELECT id, stamp, hash FROM notes")}
        files = self.vault.files()
        self.unnamed = files.unnamed
        found = {note_id: " ".join(map(str, stamp)) for note_id, stamp in files.notes.items()}
        gone = known.keys() - found.keys()
        changed = [note_id for note_id, stamp in found.items() if known.get(note_id, ("",))[0] != stamp]
        if gone or changed:
            with _transaction(connection):
                for note_id in gone:
                    _forget(connection, note_id)
                for note_id in changed:
                    self._take(connection, note_id, found[note_id], known.get(note_id, ("", ""))[1])
        return len(found)

    def _take(self, connection: sqlite3.Connection, note_id: str, stamp: str, known_hash: str) -> None:
        modified_ns = int(stamp.split(maxsplit=1)[0])
        fresh = self.now_ns() - modified_ns < _FRESH_NS
        mark = f"{stamp} fresh" if fresh else stamp
        try:
            note = self.vault.find(note_id)
        except (NotFoundError, InvalidInputError):  # gone, or a link now
            _forget(connection, note_id)
            return
        if known_hash and note.content_hash == known_hash:  # touched, or copied over itself
            update = "UPDATE notes SET stamp = ?, modified = ? WHERE id = ?"
            connection.execute(update, (mark, note.modified_at_ms, note_id))
            return
        _forget(connection, note_id)
        _insert(connection, note, mark)


def _connected(place: str) -> sqlite3.Connection:
    connection = sqlite3.connect(place, timeout=10, isolation_level=None, check_same_thread=False)
    try:
        _prepare(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _kind(error: sqlite3.Error) -> int:
    """Return what SQLite calls an error; the higher bits only say more of it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _insert(connection: sqlite3.Connection, note: Note, stamp: str) -> None:
    tags = f" {' '.join(note.all_tags)} ".casefold()
    row = (
        *(note.id, note.title, folded(note.title), _other_name(note), note.folder, json.dumps(note.all_tags), tags),
        *(note.modified_at_ms, stamp, note.content_hash),
    )
    insert = (
        "INSERT INTO notes (id, title, folded, file, folder, tags, tag_words, modified, stamp, hash)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
    key = connection.execute(insert, row).lastrowid
    names = [(key, name.name, name.kind) for name in names_of(note.id, note.title, note.aliases)]
    connection.executemany("INSERT INTO names (note, name, kind) VALUES (?, ?, ?)", names)
    targets = [(key, name) for name in sorted(sought(links_of(note)))]
    connection.executemany("INSERT INTO links (note, name) VALUES (?, ?)", targets)
    called = "\n".join((note.title, *note.aliases))
    connection.execute(
        "INSERT INTO texts (rowid, title, tags, body) VALUES (?, ?, ?, ?)",
        (key, indexed(called), indexed(tags), indexed(note.body)),
    )


def _other_name(note: Note) -> str:
    """Return what a note's file is called, when its title does not say so: somebody renamed the file."""
    stem = NoteId.read(note.id).stem
    return "" if explains(note.title, stem) else folded(stem)


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
    for table, column in (("texts", "rowid"), ("names", "note"), ("links", "note")):
        connection.execute(
            f"DELETE FROM {table} WHERE {column} = (SELECT key FROM notes WHERE id = ?)",  # noqa: S608 - constants
            (note_id,),
        )
    connection.execute("DELETE FROM notes WHERE id = ?", (note_id,))


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    with connection:  # commits, or rolls back when the block fails
        yield
