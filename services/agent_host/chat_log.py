"""Every message and reply of a home, in one SQLite file: what is resumed, searched and consolidated."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from agent_host.private_store import Column, open_for_reading, open_private
from agent_host.providers.protocol import JsonValue
from agent_host.tool_note import without_notes

UNANSWERED: Final = "(This message got no answer.)"
"""What a later prompt has in place of a reply that was not the model's."""
TITLE_CHARACTERS: Final = 60
EXCERPT_CHARACTERS: Final = 160
_LEAD: Final = 40

CHAT_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS chat_log (
    id INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    source TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    content TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS chat_log_by_session ON chat_log (session_id, id);
"""
CHAT_COLUMNS: Final[tuple[Column, ...]] = (
    ("chat_log", "consolidated", "INTEGER NOT NULL DEFAULT 0"),
    ("chat_log", "meta", "TEXT NOT NULL DEFAULT '{}'"),
)
"""What builds before the consolidation did not have: their rows are open, and say nothing of what was read."""
CHAT_INDEXES: Final = """
CREATE INDEX IF NOT EXISTS chat_log_open ON chat_log (id) WHERE consolidated = 0;
CREATE INDEX IF NOT EXISTS chat_log_unanswered ON chat_log (id) WHERE consolidated = 2;
"""

_OPEN: Final = 0
_UNANSWERED: Final = 2
"""What `consolidated` says of a message whose reply is not there yet; 1 is a row that was read."""
_INSERT: Final = (
    "INSERT INTO chat_log (session_id, turn_id, source, role, content, meta, created_at_ms, consolidated)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_ANSWERED: Final = "UPDATE chat_log SET consolidated = ? WHERE session_id = ? AND turn_id = ? AND role = 'user'"
_SESSIONS: Final = """
SELECT chat_log.session_id, chat_log.content, chat_log.source, counted.turns, counted.last_at_ms
FROM chat_log JOIN (
    SELECT min(id) AS first_id, max(id) AS last_id, count(DISTINCT turn_id) AS turns, max(created_at_ms) AS last_at_ms
    FROM chat_log GROUP BY session_id
) AS counted ON chat_log.id = counted.first_id
ORDER BY counted.last_id DESC LIMIT ?
"""
_TAIL: Final = """
SELECT role, content, meta FROM chat_log WHERE session_id = :session AND turn_id IN (
    SELECT turn_id FROM chat_log WHERE session_id = :session GROUP BY turn_id ORDER BY max(id) DESC LIMIT :turns
) ORDER BY id
"""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SessionSummary:
    """A session in a list. `title` is the beginning of its first message, on one line."""

    session_id: str
    title: str
    source: str
    turns: int
    last_at_ms: int


@dataclass(frozen=True)
class Found:
    """A row that holds every word that was searched for, as an excerpt around the first of them."""

    session_id: str
    role: str
    excerpt: str
    created_at_ms: int


@dataclass(frozen=True)
class Unanswered:
    """A message without a reply: its turn runs now, or the host died in it."""

    session_id: str
    turn_id: str
    source: str
    message: str
    at_ms: int


class PastRow(NamedTuple):
    """A row as a prompt has it; `outside`: it is the reply of a turn that read words of somebody else."""

    role: str
    words: str
    outside: bool = False


class ChatLog:
    """The log of one home; mode 0600. Several processes may read it at once."""

    def __init__(self, path: Path, *, for_reading: bool = False) -> None:
        """Opens the file, making it when it is missing; `for_reading` leaves it as it is, for a read-only disk.

        Raises:
            ConfigurationError: it is no database, or cannot be opened.
        """
        self._connection = (
            open_for_reading(path) if for_reading else open_private(path, CHAT_SCHEMA, CHAT_COLUMNS, CHAT_INDEXES)
        )
        self._connection.create_function("shown", 1, _shown, deterministic=True)

    def begin(self, session_id: str, turn_id: str, source: str, message: str, *, at_ms: int) -> None:
        """Stores a message whose turn starts, as `store` does; until the reply is there no consolidation reads it."""
        self._insert([(session_id, turn_id, source, "user", message, "{}", at_ms, _UNANSWERED)])

    def store(
        self,
        session_id: str,
        turn_id: str,
        source: str,
        exchange: tuple[str, str],
        *,
        at_ms: int,
        meta: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """Stores a reply, and its message unless that is there; durable against a crash of this process on return.

        `meta` goes with the reply. A store that refuses them costs the history on disk, never the turn: it is logged.
        """
        about = json.dumps(meta or {}, ensure_ascii=False)
        message, reply = exchange
        rows = [
            (session_id, turn_id, source, "user", message, "{}", at_ms, _OPEN),
            (session_id, turn_id, source, "assistant", reply, about, at_ms, _OPEN),
        ]
        self._insert(rows, answered=(_OPEN, session_id, turn_id))

    def unanswered(self) -> list[Unanswered]:
        """Returns the messages without a reply, oldest first; for the host of this home, while no turn runs."""
        rows = self._connection.execute(
            "SELECT session_id, turn_id, source, content, created_at_ms FROM chat_log"
            " WHERE consolidated = 2 ORDER BY id"
        ).fetchall()
        return [Unanswered(*row) for row in rows]

    def _insert(self, rows: Sequence[tuple[str | int, ...]], answered: tuple[str | int, ...] | None = None) -> None:
        """Inserts rows, but for the first when it is the message that `answered` marks as having its reply."""
        try:
            with self._connection:
                known = answered is not None and self._connection.execute(_ANSWERED, answered).rowcount
                self._connection.executemany(_INSERT, rows[1:] if known else rows)
        except sqlite3.Error as error:
            logger.warning("the conversation is not kept on disk: %s", error)

    def rows(self, session_id: str) -> list[tuple[str, str]]:
        """Returns (role, content) of a session, oldest first."""
        return self._connection.execute(
            "SELECT role, content FROM chat_log WHERE session_id = ? ORDER BY id", (session_id,)
        ).fetchall()

    def tail(self, session_id: str, turns: int) -> list[PastRow]:
        """Returns the rows of a session's last turns, oldest first, as a prompt has them.

        Where a reply was not the model's, as one that tells of a failure, its words are what the model had said.
        """
        rows = self._connection.execute(_TAIL, {"session": session_id, "turns": turns}).fetchall()
        return [
            PastRow(role, words_of(content, meta), _members(meta).get("outside") is True)
            for role, content, meta in rows
        ]

    def sessions(self, limit: int) -> list[SessionSummary]:
        """Returns the sessions, the one talked in last first."""
        rows = self._connection.execute(_SESSIONS, (limit,)).fetchall()
        return [SessionSummary(session, _title(first), source, turns, at) for session, first, source, turns, at in rows]

    def session(self, session_id: str) -> SessionSummary | None:
        """Returns one session, None when there is none of this id."""
        return next((one for one in self.sessions(-1) if one.session_id == session_id), None)

    def search(self, words: str, limit: int) -> list[Found]:
        """Returns the rows that show every one of the words, in any case and any language, newest first.

        The notes about tools are no words of anybody, and are not searched. A word is found inside a longer one too.
        Without a word there is nothing to find.
        """
        wanted = [word.casefold() for word in words.split()]
        if not wanted:
            return []
        rows = self._connection.execute(
            "SELECT session_id, role, content, created_at_ms FROM chat_log"  # noqa: S608 - only marks are put together
            f" WHERE {' AND '.join(['instr(shown(content), ?)'] * len(wanted))} ORDER BY id DESC LIMIT ?",
            (*wanted, limit),
        ).fetchall()
        return [Found(session, role, _excerpt(content, wanted[0]), at) for session, role, content, at in rows]

    def open_rows(self) -> int:
        """Returns how many rows have not been consolidated yet."""
        (count,) = self._connection.execute("SELECT count(*) FROM chat_log WHERE consolidated = 0").fetchone()
        return int(count)

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()


def words_of(content: str, meta: str) -> str:
    """Returns the words of a row as a model reads them: its own where `meta` has them, else what was stored."""
    said = _members(meta).get("said")
    return said if isinstance(said, str) else content


def _members(meta: str) -> Mapping[str, JsonValue]:
    try:
        members = json.loads(meta)
    except (ValueError, RecursionError):
        return {}
    return members if isinstance(members, dict) else {}


def _title(message: str) -> str:
    title = " ".join(message.split())
    return title if len(title) <= TITLE_CHARACTERS else title[:TITLE_CHARACTERS].rstrip()


def _shown(content: str) -> str:
    """Returns what a person sees of a row, case folded."""
    return without_notes(content).casefold()


def _excerpt(content: str, word: str) -> str:
    text = " ".join(without_notes(content).split())
    start = max(0, text.casefold().find(word) - _LEAD)
    end = start + EXCERPT_CHARACTERS
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
