"""A conversation as a Markdown document for people. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent_host.tool_note import without_notes

_TITLE_CHARACTERS: Final = 80
_SPEAKERS: Final = {"user": "You", "assistant": "Agent"}


def conversation_markdown(session_id: str, rows: Sequence[tuple[str, str]]) -> str:
    """Returns (role, content) rows, oldest first, as Markdown: what was said, without the notes about tools."""
    title = " ".join(rows[0][1].split())[:_TITLE_CHARACTERS] if rows else session_id
    parts = [f"# {title}", f"Session `{session_id}`, {sum(role == 'user' for role, _ in rows)} messages."]
    for role, content in rows:
        parts += [f"## {_SPEAKERS[role]}", without_notes(content).strip() or "(nothing)"]
    return "\n\n".join(parts) + "\n"
