"""Notes as the notes server returned them, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from textwrap import indent

from agent_host.providers.offline.results import as_mapping, date_of, rows_of, text_of
from agent_host.providers.offline.routine import Outcome, Scene
from agent_host.providers.offline.times.format import show_day
from agent_host.providers.offline.wording import bullets, clip
from agent_host.providers.protocol import JsonValue

_LONGEST_SNIPPET = 160
_LONGEST_BODY = 4000


@dataclass(frozen=True)
class Note:
    """One note as a tool returned it; `text` is its body or a snippet of it."""

    id: str
    title: str
    text: str
    changed: date | None


def read_note(row: JsonValue, scene: Scene) -> Note:
    """Reads one note; the marks of a snippet are taken out."""
    identifier = as_mapping(row).get("id") or text_of(row, "path")
    text = text_of(row, "body", "content", "markdown", "text", "snippet", "excerpt")
    changed = date_of(row, scene.zone, "updated_at", "modified_at", "changed_at", "updated", "modified", "created_at")
    title = text_of(row, "title", "name") or "(no title)"
    return Note(str(identifier or ""), title, text.replace("<<", "").replace(">>", ""), changed)


def read_notes(outcome: Outcome, scene: Scene) -> tuple[Note, ...]:
    """Reads the notes of a search or a list, in their order."""
    return tuple(read_note(row, scene) for row in rows_of(outcome, "notes", "results", "entries", "hits", "items"))


def note_lines(notes: Iterable[Note], scene: Scene) -> str:
    """Returns notes as a list of titles with a piece of their text."""
    return bullets(_line(note, scene) for note in notes)


def _line(note: Note, scene: Scene) -> str:
    dated = f" ({show_day(note.changed, scene.today)})" if note.changed else ""
    text = clip(note.text, _LONGEST_SNIPPET)
    return f"{note.title}{dated}{f': {text}' if text else ''}"


def whole_note(row: Mapping[str, JsonValue], scene: Scene) -> str:
    """Returns a note with its text, set in by two spaces; a very long one is cut and says by how much."""
    note = read_note(row, scene)
    dated = f", {show_day(note.changed, scene.today)}" if note.changed else ""
    body = note.text.strip()
    left_out = len(body) - _LONGEST_BODY
    rest = f"\n… {left_out} more characters" if left_out > 0 else ""
    quoted = indent(body[:_LONGEST_BODY] or "(empty)", "  ")
    return f"Note “{note.title}”{dated}:\n{quoted}{rest}"
