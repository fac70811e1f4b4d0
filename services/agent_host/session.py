"""A conversation: what was said, on disk and in the prompt."""

from __future__ import annotations

import logging
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

from agent_host.private_store import open_private
from agent_host.providers.protocol import Message, Text

_SCHEMA = """
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
_INSERT = "INSERT INTO chat_log (session_id, turn_id, source, role, content, created_at_ms) VALUES (?, ?, ?, ?, ?, ?)"
_ROLES = ("user", "assistant")

logger = logging.getLogger(__name__)


class ChatLog:
    """Every message and reply of this home, in one SQLite file of mode 0600."""

    def __init__(self, path: Path) -> None:
        """Opens the file, making it when it is missing.

        Raises:
            ConfigurationError: it is no database, or cannot be opened.
        """
        self._connection = open_private(path, _SCHEMA)

    def store(self, session_id: str, turn_id: str, source: str, exchange: tuple[str, str], *, at_ms: int) -> None:
        """Stores a message and its reply; durable against a crash of this process when it returns.

        A store that refuses them costs the history on disk, never the turn: it is logged.
        """
        rows = [(session_id, turn_id, source, role, text, at_ms) for role, text in zip(_ROLES, exchange, strict=True)]
        try:
            with self._connection:
                self._connection.executemany(_INSERT, rows)
        except sqlite3.Error as error:
            logger.warning("the conversation is not kept on disk: %s", error)

    def rows(self, session_id: str) -> list[tuple[str, str]]:
        """Returns (role, content) of a session, oldest first."""
        return self._connection.execute(
            "SELECT role, content FROM chat_log WHERE session_id = ? ORDER BY id", (session_id,)
        ).fetchall()

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()


@dataclass
class Session:
    """One conversation as the prompt sees it: the rows of its last turns, tool calls included."""

    session_id: str
    history_turns: int
    turns: list[tuple[Message, ...]] = field(default_factory=list)

    def messages_with(self, text: str) -> tuple[Message, ...]:
        """Returns the rows of the last turns and the person's new message."""
        past = [message for turn in self.turns for message in turn]
        return (*past, Message("user", (Text(text),)))

    def last_words(self) -> tuple[str, ...]:
        """Returns what was said in the last two turns, oldest first, tool calls left out."""
        rows = [message for turn in self.turns[-2:] for message in turn]
        said = ("".join(block.text for block in row.blocks if isinstance(block, Text)).strip() for row in rows)
        return tuple(text for text in said if text)

    def add_turn(self, text: str, added: tuple[Message, ...]) -> None:
        """Keeps a finished turn; only the last `history_turns` stay in the prompt (agent.md row 8)."""
        self.turns.append((Message("user", (Text(text),)), *added))
        del self.turns[: -self.history_turns]
