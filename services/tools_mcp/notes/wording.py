"""The notes' answers: domain values to models and short texts. Pure."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from tools_mcp.notes.model import Listed, Note, NoteAnswer, NoteList, NoteRow, NoteText
from tools_mcp.texts import cut

_PART_BYTES = 16_000  # of a body in one answer, as JSON; it is in there twice, as data and as text
_TITLE_BYTES = 300
_TAGS = 20
_TAG_BYTES = 80


def row(listed: Listed, snippet: str | None = None) -> NoteRow:
    """Return a note as a list shows it."""
    return NoteRow(
        id=listed.id,
        title=cut(listed.title, _TITLE_BYTES),
        tags=_tags(listed.tags),
        modified=_utc(listed.modified_at_ms),
        snippet=snippet or None,
    )


def list_text(model: NoteList) -> str:
    """Return the text that goes with a page of notes."""
    lines = [_line(note) for note in model.notes] or ["No notes."]
    if model.matched == "any":
        lines.insert(0, "No note has all of these words; these have some of them.")
    if model.next_cursor:
        lines.append("There are more; ask again with next_cursor.")
    return "\n".join(lines)


def text_part(note: Note, start: int) -> tuple[NoteText, int | None]:
    """Return the part of a note's body from a character on, and where the next one starts if there is one."""
    part = note.body[start : start + _PART_BYTES]
    while (size := len(json.dumps(part, ensure_ascii=False).encode())) > _PART_BYTES:
        part = part[: min(len(part) - 1, len(part) * _PART_BYTES // size)]
    model = NoteText(
        id=note.id,
        title=cut(note.title, _TITLE_BYTES),
        body=part,
        tags=_tags(note.tags),
        created=cut(note.created, _TAG_BYTES) or None,
        modified=_utc(note.modified_at_ms),
        content_hash=note.content_hash,
    )
    end = start + len(part)
    return model, end if end < len(note.body) else None


def answer_text(model: NoteAnswer) -> str:
    """Return what became of a note in words."""
    done = {
        "created": "Created",
        "exists": "Already there with this text",
        "appended": "Appended to",
        "replaced": "Replaced the text of",
        "edited": f"Replaced {model.replacements} places in",
        "deleted": "Moved to the trash:",
    }
    return f"{done[model.status]} {cut(model.title, _TITLE_BYTES)} [{model.id}]"


def _line(note: NoteRow) -> str:
    tags = "".join(f" #{tag}" for tag in note.tags)
    snippet = f": {note.snippet}" if note.snippet else ""
    return f"{note.title}{tags} [{note.id}]{snippet}"


def _tags(tags: Sequence[str]) -> list[str]:
    return [cut(tag, _TAG_BYTES) for tag in tags[:_TAGS]]


def _utc(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"
