"""A conversation as the prompt sees it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from agent_host.chat_log import PastRow
from agent_host.providers.protocol import Message, Text
from agent_host.tool_note import with_clipped_notes

_ROLES: Final[Mapping[str, Literal["user", "assistant"]]] = {"user": "user", "assistant": "assistant"}
_NOTHING: Final = "(nothing)"  # models take no blank text


@dataclass(frozen=True)
class PastTurn:
    """The rows of a turn; `outside`: it read words of somebody else, which its rows may hold."""

    rows: tuple[Message, ...]
    outside: bool = False


@dataclass
class Session:
    """One conversation as the prompt sees it: its last turns, tool calls included."""

    session_id: str
    history_turns: int
    turns: list[PastTurn] = field(default_factory=list)

    @classmethod
    def resumed(cls, session_id: str, history_turns: int, rows: Iterable[PastRow]) -> Session:
        """Returns a session out of its stored rows, oldest first: the last turns, notes clipped.

        What tools answered is not stored; the notes say which were used, and hold the beginning of it.
        """
        session = cls(session_id, history_turns)
        for role, text, outside in rows:
            message = Message(_ROLES[role], (Text(with_clipped_notes(text) or _NOTHING),))
            if message.role == "user" or not session.turns:
                session.turns.append(PastTurn((message,), outside))
            else:
                last = session.turns[-1]
                session.turns[-1] = PastTurn((*last.rows, message), last.outside or outside)
        del session.turns[:-history_turns]
        return session

    @property
    def shows_outside(self) -> bool:
        """Whether the next prompt shows a turn that read words of somebody else than the person."""
        return any(turn.outside for turn in self.turns)

    def messages_with(self, text: str) -> tuple[Message, ...]:
        """Returns the rows of the last turns and the person's new message."""
        past = [message for turn in self.turns for message in turn.rows]
        return (*past, Message("user", (Text(text),)))

    def last_words(self) -> tuple[str, ...]:
        """Returns what was said in the last two turns, oldest first, tool calls left out."""
        rows = [message for turn in self.turns[-2:] for message in turn.rows]
        said = ("".join(block.text for block in row.blocks if isinstance(block, Text)).strip() for row in rows)
        return tuple(text for text in said if text)

    def add_turn(self, text: str, added: tuple[Message, ...], *, outside: bool = False) -> None:
        """Keeps a finished turn; only the last `history_turns` stay in the prompt (agent.md row 8)."""
        self.turns.append(PastTurn((Message("user", (Text(text),)), *added), outside))
        del self.turns[: -self.history_turns]
