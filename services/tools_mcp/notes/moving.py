"""Moving a note so that every link goes on meaning what it meant.

What can be refused is refused before anything changes. Then the plan of a move is written down before the first file is
touched and removed after the last. When a process dies in between, or the disk fails a note that links here, the next
one with the lock goes on with the plan; what it cannot finish stops no other write.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from service_runtime.home import secure_write
from tools_mcp.disk import as_store_error
from tools_mcp.errors import ConflictError, InvalidInputError, StoreError, ToolsError
from tools_mcp.notes import links
from tools_mcp.notes.index import NoteIndex
from tools_mcp.notes.links import Move, Names, links_of, names_of, sought
from tools_mcp.notes.model import Note
from tools_mcp.notes.vault import MOST_BYTES, Vault

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Edit:
    """A note whose text changes: its id (after the move), its content hash before, its whole text after."""

    note_id: str
    before: str
    text: str
    links: int
    """How many links in it are written anew."""


@dataclass(frozen=True)
class Plan:
    """A move in full: the file that is renamed, what it has to hold before, and the texts that change."""

    old: str
    new: str
    before: str
    edits: tuple[Edit, ...]
    left: tuple[str, ...] = ()
    """Notes with links that cannot be written anew."""

    @property
    def own(self) -> tuple[Edit, ...]:
        """The edit of the moved note itself, if it has one."""
        return tuple(edit for edit in self.edits if edit.note_id == self.new)

    @property
    def others(self) -> tuple[Edit, ...]:
        """The edits of notes that link here."""
        return tuple(edit for edit in self.edits if edit.note_id != self.new)


@dataclass(frozen=True)
class Mover:
    """Moves notes of one vault; call it with the vault locked."""

    vault: Vault
    index: NoteIndex
    journal: Path

    def plan(self, note: Note, new_id: str, header: str, title: str) -> Plan:
        """Return what a move changes. The index has to be up to date, and the new place one from the vault.

        Raises:
            InvalidInputError: The note would become too large.
            StoreError: A note cannot be read.
        """
        move = Move(note.id, new_id)
        called = names_of(new_id, title, note.aliases)
        touched = {name.name for name in (*names_of(note.id, note.title, note.aliases), *called)}
        sources = [self.vault.look(source) for source in self.index.linking(touched) if source != note.id]
        notes = [note, *(source for source in sources if source is not None)]
        before = self._names(notes, touched)
        after = before.after(move, called)
        edits, left = [], []
        for source in notes:
            is_moved = source.id == note.id
            place = move if is_moved else Move(source.id, source.id)
            body, in_body = links.kept(source.body, place, move, before, after)
            top, in_header = links.kept_header(header if is_moved else source.header, place, move, before, after)
            text = top + body
            is_too_large = len(text.encode()) > MOST_BYTES
            if is_too_large and is_moved:
                raise InvalidInputError(f"With its links written anew the note would have over {MOST_BYTES} bytes.")
            if is_too_large or in_header is None:
                left.append(place.new)
            if text != source.header + source.body and not is_too_large:
                edits.append(Edit(place.new, source.content_hash, text, in_body + (in_header or 0)))
        return Plan(note.id, new_id, note.content_hash, tuple(edits), tuple(left))

    def carry_out(self, plan: Plan) -> list[str]:
        """Do what a plan says and return the ids of the notes with links that were left as they are.

        Raises:
            ConflictError: Another file took the new place, or the note changed meanwhile; it is where it was.
            StoreError: The disk failed; the note is where it was.
        """
        with as_store_error("notes", "written"):
            secure_write(self.journal, json.dumps(asdict(plan), ensure_ascii=False).encode())
        try:
            self.vault.move(plan.old, plan.new)
        except ToolsError:
            self._forget()
            raise
        try:
            for edit in plan.own:
                self.vault.write(edit.note_id, edit.text, edit.before)
        except ToolsError:
            if self._is_taken_back(plan):
                raise
            return self._finish(plan, plan.edits)
        return self._finish(plan, plan.others)

    def recover(self) -> None:
        """Go on with a plan that was not finished, if there is one; what cannot be done yet is logged."""
        try:
            with as_store_error("notes", "read"):
                if not self.journal.exists():
                    return
                written = self.journal.read_bytes()
            plan = _decoded(written)
            if plan is None:
                self._forget()
            elif self.vault.hash_of(plan.old) == plan.before and self.vault.hash_of(plan.new) is None:
                self.carry_out(plan)
            else:
                self._finish(plan, plan.edits)
        except ToolsError as error:
            _LOG.warning("A move of an earlier call is not finished: %s", error)

    def _is_taken_back(self, plan: Plan) -> bool:
        try:
            self.vault.move(plan.new, plan.old)
        except ToolsError:
            return False
        self._forget()
        return True

    def _finish(self, plan: Plan, edits: Sequence[Edit]) -> list[str]:
        left, is_over = list(plan.left), True
        for edit in edits:
            try:
                is_done = self._edited(edit)
            except StoreError as error:
                _LOG.warning("The links in %r wait for the next write: %s", edit.note_id, error)
                is_done = is_over = False
            if not is_done:
                left.append(edit.note_id)
        if is_over:
            self._forget()
        return left

    def _edited(self, edit: Edit) -> bool:
        note = self.vault.look(edit.note_id)
        if note is None or note.content_hash != edit.before:
            return note is not None and note.header + note.body == edit.text
        try:
            self.vault.write(edit.note_id, edit.text, edit.before)
        except (ConflictError, InvalidInputError):
            return False
        return True

    def _forget(self) -> None:
        """Remove the plan; one that stays is found to be done, or impossible, by the next write."""
        try:
            self.journal.unlink(missing_ok=True)
        except OSError as error:
            _LOG.warning("The plan of a move cannot be removed: %s", error.strerror)

    def _names(self, notes: Sequence[Note], more: set[str]) -> Names:
        """Return every note that a link in these notes may mean, and every name a link might be given."""
        found = [link for note in notes for link in links_of(note)]
        first = self.index.names(sought(found) | more)
        files = {links.file_name(name.note_id) for name in first}
        return Names.of({*first, *self.index.names(files)})


def _decoded(written: bytes) -> Plan | None:
    try:
        members: dict[str, Any] = json.loads(written)
        edits = tuple(Edit(**edit) for edit in members.pop("edits"))
        return Plan(**members | {"edits": edits, "left": tuple(members["left"])})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
