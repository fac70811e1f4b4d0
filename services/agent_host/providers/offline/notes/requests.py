"""What can be done with notes, and how it is done."""

from __future__ import annotations

from dataclasses import dataclass

from agent_host.providers.offline.notes.replies import Note, note_lines, read_notes, whole_note
from agent_host.providers.offline.questions import WHAT_TO_NOTE
from agent_host.providers.offline.results import failure, object_of, text_of
from agent_host.providers.offline.routine import Call, Routine, Scene
from agent_host.providers.offline.wording import capitalised, clip, content_words, coverage, tidy

_LISTED = 20
_LONGEST_TITLE = 60
_SAME_TITLE = 0.99


def title_for(body: str) -> str:
    """Returns a title for a text without one: its first clause, cut at a word."""
    first = body.strip().splitlines()[0] if body.strip() else ""
    for sign in (". ", ": ", "; ", "! ", "? ", " - "):
        first = first.split(sign)[0]
    return capitalised(clip(tidy(first).rstrip(".!?"), _LONGEST_TITLE)) or "Note"


def _search(query: str) -> Call:
    return Call("notes_search", {"query": " ".join(content_words(query)) or query, "limit": _LISTED})


def _titled(notes: tuple[Note, ...], wanted: str) -> list[Note]:
    """Returns the notes whose title holds all wanted words."""
    return [note for note in notes if coverage(wanted, note.title) >= _SAME_TITLE]


@dataclass(frozen=True)
class TakeNote:
    """Write a note down; `title` is "" when the person gave none."""

    title: str
    body: str

    def run(self, _scene: Scene) -> Routine:
        """Creates the note; a note of that title that is there already is never overwritten."""
        body = self.body.strip()
        if not body:
            return WHAT_TO_NOTE
        title = capitalised(tidy(self.title)) or title_for(body)
        (outcome,) = yield (Call("notes_write", {"title": title, "body": body}),)
        if outcome.is_error:
            return f"{failure(outcome, 'write that note')}\nTo add to a note: “add … to my note {title}”."
        kept = text_of(object_of(outcome, "note"), "title") or title
        return f"Noted under “{kept}”: {clip(body, 200)}"


@dataclass(frozen=True)
class AppendNote:
    """Add a line to a note that may or may not exist."""

    title: str
    body: str

    def run(self, scene: Scene) -> Routine:
        """Appends to the note whose title fits; starts one when there is none."""
        (found,) = yield (_search(self.title),)
        notes = () if found.is_error else read_notes(found, scene)
        titled = _titled(notes, self.title)
        title = titled[0].title if titled else capitalised(tidy(self.title))
        mode = "append" if titled else "create"
        line = capitalised(tidy(self.body))
        (outcome,) = yield (Call("notes_write", {"title": title, "body": line, "mode": mode}),)
        if outcome.is_error:
            return failure(outcome, f"add that to “{title}”")
        return f"Added to “{title}”: {clip(line, 200)}" if titled else f"Started a note “{title}”: {clip(line, 200)}"


@dataclass(frozen=True)
class FindNote:
    """Find a note and show it; several are listed."""

    query: str

    def run(self, scene: Scene) -> Routine:
        """Searches; one note, or one with just that title, is read and shown whole."""
        if not content_words(self.query):
            return (yield from ListNotes().run(scene))
        (found,) = yield (_search(self.query),)
        if found.is_error:
            return failure(found, "search your notes")
        notes = read_notes(found, scene)
        if not notes:
            return f"I found no note about “{clip(self.query, 80)}”."
        titled = _titled(notes, self.query)
        one = notes[0] if len(notes) == 1 else titled[0] if len(titled) == 1 else None
        if one is None or not one.id:
            return f"Notes about “{clip(self.query, 80)}”:\n{note_lines(notes, scene)}"
        (read,) = yield (Call("notes_read", {"id": one.id}),)
        if read.is_error:
            return f"{failure(read, f'open “{one.title}”')}\n{note_lines([one], scene)}"
        others = f"\n\nAlso:\n{note_lines([note for note in notes if note != one], scene)}" if len(notes) > 1 else ""
        return f"{whole_note(object_of(read, 'note'), scene)}{others}"


@dataclass(frozen=True)
class DeleteNote:
    """Throw a note away."""

    query: str

    def run(self, scene: Scene) -> Routine:
        """Deletes the one note whose title fits; names the notes when it is not one."""
        (found,) = yield (_search(self.query),)
        if found.is_error:
            return failure(found, "search your notes, so I deleted nothing")
        notes = read_notes(found, scene)
        titled = _titled(notes, self.query)
        if len(titled) != 1:
            there = f" These are near:\n{note_lines(notes, scene)}" if notes else ""
            return f"No single note is titled “{clip(self.query, 80)}”, so I deleted nothing.{there}"
        (deleted,) = yield (Call("notes_delete", {"id": titled[0].id}),)
        if deleted.is_error:
            return failure(deleted, f"delete “{titled[0].title}”")
        return f"Deleted the note “{titled[0].title}”; the notes folder keeps it in its trash."


@dataclass(frozen=True)
class ListNotes:
    """Show which notes there are."""

    def run(self, scene: Scene) -> Routine:
        """Lists the notes."""
        (outcome,) = yield (Call("notes_list", {"limit": _LISTED}),)
        if outcome.is_error:
            return failure(outcome, "list your notes")
        notes = read_notes(outcome, scene)
        return f"Your notes:\n{note_lines(notes, scene)}" if notes else "You have no notes yet. Say “take a note: …”."
