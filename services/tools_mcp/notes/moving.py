"""Moving a note so that every link goes on meaning what it meant.

The plan of a move is written down before the first file is touched and removed after the last. When a process dies in
between, the next one with the lock finishes the plan.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from service_runtime.home import secure_write
from tools_mcp.disk import as_store_error
from tools_mcp.errors import ConflictError, InvalidInputError
from tools_mcp.notes import links
from tools_mcp.notes.index import NoteIndex
from tools_mcp.notes.links import Move, Names, names_of, sought
from tools_mcp.notes.markdown import links as links_in
from tools_mcp.notes.model import Note
from tools_mcp.notes.vault import Vault


@dataclass(frozen=True)
class Edit:
    """A note whose text changes: its id (after the move), its content hash before, its whole text after."""

    note_id: str
    before: str
    text: str


@dataclass(frozen=True)
class Plan:
    """A move in full: the file that is renamed, what it has to hold before, and the texts that change."""

    old: str
    new: str
    before: str
    edits: tuple[Edit, ...]
    links: int
    """How many links the edits write anew."""


@dataclass(frozen=True)
class Mover:
    """Moves notes of one vault; call it with the vault locked."""

    vault: Vault
    index: NoteIndex
    journal: Path

    def plan(self, note: Note, new_id: str, header: str, title: str) -> Plan:
        """Return what a move changes. The index has to be up to date.

        Raises:
            StoreError: A note cannot be read.
        """
        move = Move(note.id, new_id)
        called = names_of(new_id, title, note.aliases)
        touched = {name.name for name in (*names_of(note.id, note.title, note.aliases), *called)}
        sources = [self.vault.look(source) for source in self.index.linking(touched) if source != note.id]
        notes = [note, *(source for source in sources if source is not None)]
        before = self._names(notes, touched)
        after = before.after(move, called)
        edits, total = [], 0
        for source in notes:
            is_moved = source.id == note.id
            place = move if is_moved else Move(source.id, source.id)
            body, count = links.kept(source.body, place, move, before, after)
            text = (header if is_moved else source.header) + body
            if text != source.header + source.body:
                edits.append(Edit(place.new, source.content_hash, text))
            total += count
        return Plan(note.id, new_id, note.content_hash, tuple(edits), total)

    def carry_out(self, plan: Plan) -> list[str]:
        """Do what a plan says and return the ids of the notes that changed meanwhile and were left as they are.

        Raises:
            ConflictError: Another file took the new place.
            StoreError: The disk failed; the plan stays and is finished later.
        """
        with as_store_error("notes", "written"):
            secure_write(self.journal, json.dumps(asdict(plan), ensure_ascii=False).encode())
        try:
            self.vault.move(plan.old, plan.new)
        except ConflictError:
            self._forget()
            raise
        return self._finish(plan)

    def recover(self) -> None:
        """Finish the plan of a process that died, if there is one.

        Raises:
            StoreError: The disk failed.
        """
        with as_store_error("notes", "read"):
            if not self.journal.exists():
                return
            written = self.journal.read_bytes()
        plan = _decoded(written)
        if plan is None:
            self._forget()
        elif self._hash(plan.old) == plan.before and self._hash(plan.new) is None:
            self.carry_out(plan)
        else:
            self._finish(plan)

    def _finish(self, plan: Plan) -> list[str]:
        left = [edit.note_id for edit in plan.edits if not self._edited(edit)]
        self._forget()
        return left

    def _edited(self, edit: Edit) -> bool:
        try:
            self.vault.write(edit.note_id, edit.text, edit.before)
        except (ConflictError, InvalidInputError):
            note = self.vault.look(edit.note_id)
            return note is not None and note.header + note.body == edit.text
        return True

    def _forget(self) -> None:
        with as_store_error("notes", "written"):
            self.journal.unlink(missing_ok=True)

    def _names(self, notes: Sequence[Note], more: set[str]) -> Names:
        """Return every note that a link in these notes may mean, and every name a link might be given."""
        found = [link for note in notes for link in links_in(note.body)]
        first = self.index.names(sought(found) | more)
        files = {links.file_name(name.note_id) for name in first}
        return Names.of({*first, *self.index.names(files)})

    def _hash(self, note_id: str) -> str | None:
        note = self.vault.look(note_id)
        return note.content_hash if note else None


def _decoded(written: bytes) -> Plan | None:
    try:
        members: dict[str, Any] = json.loads(written)
        edits = tuple(Edit(**edit) for edit in members.pop("edits"))
        return Plan(**members, edits=edits)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
