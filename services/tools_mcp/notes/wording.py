"""The notes' answers: domain values to models and short texts. Pure."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

from fastmcp.tools.base import ToolResult
from mcp.types import TextContent

from tools_mcp.notes.looking import Surroundings
from tools_mcp.notes.model import Listed, Note, NoteAnswer, NoteList, NoteRow, NoteText
from tools_mcp.texts import cut

_PART_BYTES = 16_000  # of a body in one answer, as JSON; it is in there twice, as data and as text
_LINKS_BYTES = 700  # of each of the three lists of links, which are in there twice too
_TITLE_BYTES = 300
_TAGS = 20
_TAG_BYTES = 80


def row(listed: Listed, zone: tzinfo, snippet: str | None = None) -> NoteRow:
    """Return a note as a list shows it."""
    local, utc = _times(listed.modified_at_ms, zone)
    return NoteRow(
        id=listed.id,
        title=cut(listed.title, _TITLE_BYTES),
        tags=_tags(listed.tags),
        modified=local,
        modified_utc=utc,
        snippet=snippet or None,
    )


def list_text(model: NoteList) -> str:
    """Return the text that goes with a page of notes."""
    lines = [_line(note) for note in model.notes] or ["No notes."]
    if model.matched == "any":
        lines.insert(0, "No note has all of these words; these have some of them.")
    if model.next_cursor:
        lines.append("There are more; ask again with next_cursor.")
    if model.unnamed:
        lines.append(
            f"Left out because of backslashes or control characters in file names: {model.unnamed}; "
            "tools-mcp notes --check names them."
        )
    return "\n".join(lines)


def text_part(
    note: Note, text: str, start: int, around: Surroundings | None, zone: tzinfo
) -> tuple[NoteText, int | None]:
    """Return the part of a note's text from a character on, and where the next one starts if there is one."""
    part = text[start : start + _PART_BYTES]
    while (size := len(json.dumps(part, ensure_ascii=False).encode())) > _PART_BYTES:
        part = part[: min(len(part) - 1, len(part) * _PART_BYTES // size)]
    local, utc = _times(note.modified_at_ms, zone)
    model = NoteText(
        id=note.id,
        title=cut(note.title, _TITLE_BYTES),
        body=part,
        tags=_tags(note.all_tags),
        created=cut(note.created, _TAG_BYTES) or None,
        modified=local,
        modified_utc=utc,
        content_hash=note.content_hash,
    )
    if around:
        lists = [_bounded(ids) for ids in (around.links, around.missing, around.backlinks)]
        model.links, model.missing_links, model.backlinks = lists
        is_cut = [len(one) for one in lists] != [len(around.links), len(around.missing), len(around.backlinks)]
        model.more_links = is_cut or around.has_more or None
    end = start + len(part)
    return model, end if end < len(text) else None


def read_answer(model: NoteText) -> ToolResult:
    """Return the answer with a note's text: the text alone in one block, its links in words in another one."""
    told = (("Links to", model.links), ("Links to no note", model.missing_links), ("Linked from", model.backlinks))
    around = [f"{what}: {', '.join(ids)}" for what, ids in told if ids]
    texts = [model.body or "The note is empty.", *(["\n".join(around)] if around else [])]
    structured = model.model_dump(mode="json", exclude_none=True)
    return ToolResult(content=[TextContent(type="text", text=text) for text in texts], structured_content=structured)


def _bounded(ids: Sequence[str]) -> list[str]:
    total, kept = 0, list[str]()
    for note_id in ids:
        total += len(json.dumps(note_id, ensure_ascii=False).encode()) + 2
        if total > _LINKS_BYTES:
            break
        kept.append(note_id)
    return kept


def bounded_answer(model: NoteAnswer) -> NoteAnswer:
    """Return an answer that names no more notes than one answer holds."""
    return model.model_copy(update={"links_left": _bounded(model.links_left), "tags": _tags(model.tags)})


def answer_text(model: NoteAnswer) -> str:
    """Return what became of a note in words."""
    done = {
        "created": "Created",
        "exists": "Already there with this text",
        "appended": "Appended to",
        "replaced": "Replaced the text of",
        "edited": f"Replaced {model.replacements} places in",
        "moved": "Moved",
        "unchanged": "Already there:",
        "restored": "Brought back",
        "deleted": "Moved to the trash:",
    }
    lines = [f"{done[model.status]} {cut(model.title, _TITLE_BYTES)} [{model.id}]"]
    if model.links_updated:
        lines.append(f"Links written anew: {model.links_updated}.")
    if model.links_left:
        named = _bounded(model.links_left)
        left = ", ".join(named) + (
            f" and {len(model.links_left) - len(named)} more" if named != model.links_left else ""
        )
        lines.append(f"Links left as they were, because these notes could not be written: {left}.")
    if model.undo:
        lines.append(f"To take it back: {model.undo}.")
    return "\n".join(lines)


def _line(note: NoteRow) -> str:
    tags = "".join(f" #{tag}" for tag in note.tags)
    snippet = f": {note.snippet}" if note.snippet else ""
    return f"{note.title}{tags} [{note.id}]{snippet}"


def _tags(tags: Sequence[str]) -> list[str]:
    return [cut(tag, _TAG_BYTES) for tag in tags[:_TAGS]]


def _times(at_ms: int, zone: tzinfo) -> tuple[str, str]:
    """Return a moment as local time and as UTC."""
    moment = datetime.fromtimestamp(at_ms // 1000, zone)
    return moment.isoformat(), f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
