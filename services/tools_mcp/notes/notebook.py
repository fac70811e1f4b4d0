"""The notes service: what each tool does, over the vault and its index. The clock is passed in."""

import contextlib
import hashlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from service_runtime.settings import Settings
from tools_mcp.errors import ConflictError, InvalidInputError, NotFoundError
from tools_mcp.locking import FolderLock
from tools_mcp.notes import markdown
from tools_mcp.notes.frontmatter import clean_tags, new_header, split, with_tags, with_title
from tools_mcp.notes.index import NoteIndex
from tools_mcp.notes.looking import NoteReader
from tools_mcp.notes.model import Mode, Note, NoteAnswer, Status, each_once
from tools_mcp.notes.moving import Mover, Plan
from tools_mcp.notes.names import TRASH, NoteId, file_stem
from tools_mcp.notes.requests import Intent, RequestLog
from tools_mcp.notes.vault import STATE, Vault
from tools_mcp.texts import one_line, shown

TITLE_CHARACTERS = 300
_MOST_UNNAMED = 20
_LEFTOVER_S = 3600
"""How old a temporary file is when no writer can still need it."""


@dataclass(frozen=True)
class WriteFields:
    """The arguments of a write as the caller sent them."""

    title: str
    body: str
    folder: str | None = None
    tags: tuple[str, ...] = ()
    mode: Mode = "create"
    expected_hash: str | None = None


@dataclass(frozen=True)
class _Step:
    """A write that was checked: the note it goes to, its hash now, what is answered, and how it is done.

    `apply` returns what the answer says besides, once it is done; there is none when nothing has to be done.
    """

    note_id: str
    before: str | None
    answer: NoteAnswer
    apply: Callable[[], dict[str, Any]] | None


@dataclass(frozen=True)
class Notebook(NoteReader):
    """The notes of one person, to look at and to change."""

    lock: FolderLock
    requests: RequestLog
    mover: Mover
    now: Callable[[], datetime]

    def write(self, fields: WriteFields, key: str | None = None) -> NoteAnswer:
        """Create a note, or append to or replace the body of the one with this title.

        Append and replace create it when it is not there; create with the same text again changes nothing.

        Raises:
            InvalidInputError: A field cannot be used.
            ConflictError: Create, and there is such a note; or it is not what `expected_hash` says.
            NotFoundError: `expected_hash` was given and there is no such note.
            StoreError: The folder cannot be used.
        """
        title = one_line(fields.title, "title", TITLE_CHARACTERS)
        if not title:
            raise InvalidInputError("title is empty; send a few words that name the note.")
        _check_text(fields.body, "body")
        tags = clean_tags(fields.tags)
        return self._do("write", asdict(fields), key, lambda: self._written(fields, title, tags))

    def edit(
        self, note_id: str, find: str, replace: str, expected_count: int, *, expected_hash: str | None, key: str | None
    ) -> NoteAnswer:
        """Replace every place of a text in a note's body, when there are exactly as many as expected.

        Raises:
            InvalidInputError: The text is there more or less often.
            NotFoundError: There is no such note.
            ConflictError: The note is not what `expected_hash` says, or changed meanwhile.
        """
        _check_text(find, "find")
        _check_text(replace, "replace")
        arguments = {"id": note_id, "find": find, "replace": replace, "count": expected_count, "hash": expected_hash}

        def edited() -> _Step:
            note = self.vault.read(note_id)
            _check_hash(note, expected_hash)
            sought, put = (markdown.with_line_ends_of(text, note.body) for text in (find, replace))
            count = note.body.count(sought)
            if count != expected_count:
                raise InvalidInputError(
                    f"find {shown(find)} is {count} times in {shown(note.id)}, not {expected_count}, so nothing was "
                    "changed; send a longer piece of text, or expected_count."
                )
            text = note.header + note.body.replace(sought, put)
            return self._rewritten(note, text, "edited", note.all_tags, replacements=count)

        return self._do("edit", arguments, key, edited)

    def move(
        self,
        note_id: str,
        folder: str | None = None,
        title: str | None = None,
        *,
        expected_hash: str | None = None,
        key: str | None = None,
    ) -> NoteAnswer:
        """Move a note to another folder, give it another title, or both; a note in the trash comes back.

        Links keep meaning what they meant: those that would not are written anew.

        Raises:
            InvalidInputError: Neither folder nor title was given, or one cannot be used.
            NotFoundError: There is no such note.
            ConflictError: The folder has a note with the title, or the note is not what `expected_hash` says.
        """
        renamed = None if title is None else one_line(title, "title", TITLE_CHARACTERS)
        parts = None if folder is None else self.vault.folder(folder)
        if renamed == "":
            raise InvalidInputError("title is empty; send a few words that name the note, or leave it out.")
        if renamed is None and parts is None and not note_id.startswith(f"{TRASH}/"):
            raise InvalidInputError("Neither folder nor title was given; send where the note goes or its new title.")
        arguments = {"id": note_id, "folder": folder, "title": title, "hash": expected_hash}

        def moved() -> _Step:
            note = self.vault.find(note_id)
            _check_hash(note, expected_hash)
            return self._moved(note, parts, renamed)

        return self._do("move", arguments, key, moved)

    def delete(self, note_id: str, *, expected_hash: str | None = None, key: str | None = None) -> NoteAnswer:
        """Move a note to the trash.

        Raises:
            InvalidInputError: It is in the trash already.
            NotFoundError: There is no such note.
            ConflictError: The note is not what `expected_hash` says.
        """

        def deleted() -> _Step:
            note = self.vault.find(note_id)
            _check_hash(note, expected_hash)
            if note.id.startswith(f"{TRASH}/"):
                raise InvalidInputError(f"The note {shown(note.id)} is in the trash already; it stays there.")
            place = self.vault.trash_id(note.id)
            undo = f"notes_move with id {place}"
            answer = _answer(note, "deleted").model_copy(update={"undo": undo})
            return _Step(note.id, note.content_hash, answer, lambda: self._thrown_away(note.id, place))

        return self._do("delete", {"id": note_id, "hash": expected_hash}, key, deleted)

    def _do(self, tool: str, arguments: dict[str, Any], key: str | None, work: Callable[[], _Step]) -> NoteAnswer:
        """Do a write once per key: under the lock, written down before and marked done after."""
        arguments = {"tool": tool, **arguments}
        with self.lock.held():
            self.mover.recover()
            if key and (answered := self.requests.answered(key, arguments, self.vault.hash_of)):
                return NoteAnswer.model_validate(answered)
            step = work()
            if key:
                answer = step.answer.model_dump(mode="json")
                self.requests.intend(
                    key, arguments, Intent(step.note_id, step.before, step.answer.content_hash, answer)
                )
            told = step.answer.model_copy(update=step.apply() if step.apply else {})
            if key:
                self.requests.done(key, told.model_dump(mode="json"))
            return told

    def _written(self, fields: WriteFields, title: str, tags: tuple[str, ...]) -> _Step:
        self.index.refresh()
        parts = self.vault.folder(fields.folder)
        folder = None if fields.folder is None and fields.mode != "create" else "/".join(parts)
        advice = "send the folder of the one you mean, or change it by its id with notes_edit"
        found = self.only(self.called(title, folder, with_aliases=fields.mode != "create"), title, advice)
        if found is None:
            if fields.expected_hash:
                raise NotFoundError(f"No note has the title {shown(title)}; leave expected_hash out to create it.")
            text = new_header(title, tags, self.now().isoformat(timespec="seconds")) + fields.body
            note_id = self.vault.new_id(parts, title)
            made = _answer_for(note_id, title, each_once((*tags, *markdown.tags(fields.body))), "created", text)
            return _Step(note_id, None, made, lambda: self._put(note_id, text, None))
        note = self.vault.read(found)
        _check_hash(note, fields.expected_hash)
        if fields.mode == "create":
            _check_same(note, fields.body, tags)
            return _Step(note.id, note.content_hash, _answer(note, "exists"), None)
        is_all = fields.mode == "replace"
        body = fields.body if is_all else _joined(note, fields.body)
        wanted = (tags or note.tags) if is_all else each_once((*note.tags, *tags))
        header = note.header if wanted == note.tags else with_tags(note.header, wanted)
        status: Status = "replaced" if is_all else "appended"
        return self._rewritten(note, header + body, status, each_once((*wanted, *markdown.tags(body))))

    def _rewritten(
        self, note: Note, text: str, status: Status, tags: tuple[str, ...], replacements: int | None = None
    ) -> _Step:
        answer = _answer_for(note.id, note.title, tags, status, text).model_copy(update={"replacements": replacements})
        is_same = answer.content_hash == note.content_hash
        return _Step(
            note.id,
            note.content_hash,
            answer,
            None if is_same else lambda: self._put(note.id, text, note.content_hash),
        )

    def _moved(self, note: Note, parts: tuple[str, ...] | None, renamed: str | None) -> _Step:
        self.index.refresh()
        is_back = note.id.startswith(f"{TRASH}/")
        own_folder = note.folder.removeprefix(TRASH).removeprefix("/") if is_back else note.folder
        folder = own_folder if parts is None else "/".join(parts)
        title = renamed or note.title
        others = [other for other in self.index.titled(title, folder) if other != note.id]
        if others:
            raise ConflictError(
                f"A note with the title {shown(title)} is in this folder already, id {shown(others[0])}; send another "
                "folder or title."
            )
        stem = NoteId.read(note.id).stem
        if renamed is not None or (is_back and re.fullmatch(rf"{re.escape(file_stem(title))} \d+", stem)):
            stem = file_stem(title)
        is_told = renamed is not None and not note.unreadable and (split(note.header).title or stem != title)
        header = with_title(note.header, title) if is_told else note.header
        new_id = self.vault.free_id(tuple(folder.split("/")) if folder else (), stem, but=note.id)
        plan = self.mover.plan(note, new_id, header, title)
        status: Status = "restored" if is_back else "moved"
        if new_id == note.id and not plan.edits:
            return _Step(note.id, note.content_hash, _answer(note, "unchanged"), None)
        told = _answer(note, status).model_copy(update={"id": new_id, "title": title})
        if plan.own:
            told = _answer_for(new_id, title, note.all_tags, status, plan.own[0].text)
        undo = f"notes_move with id {new_id}, folder {note.folder or '/'} and title {note.title}"
        more = {"links_updated": sum(edit.links for edit in plan.edits), "undo": None if is_back else undo}
        return _Step(note.id, note.content_hash, told.model_copy(update=more), lambda: self._carried_out(plan))

    def _carried_out(self, plan: Plan) -> dict[str, Any]:
        left = self.mover.carry_out(plan)
        updated = sum(edit.links for edit in plan.edits if edit.note_id not in left)
        return {"links_updated": updated, "links_left": left}

    def _put(self, note_id: str, text: str, before: str | None) -> dict[str, Any]:
        self.vault.write(note_id, text, before)
        return {}

    def _thrown_away(self, note_id: str, place: str) -> dict[str, Any]:
        self.vault.move(note_id, place)
        return {}


def open_notebook(root: Path, zone: ZoneInfo) -> Notebook:
    """Return the notes in a folder; its own state is in the hidden folder `.prometheus` inside.

    What writers that were killed left there is removed. On a disk that takes nothing, notes can still be read.
    """
    state = root / STATE
    with contextlib.suppress(OSError):  # each write says why it cannot be done
        state.mkdir(mode=0o700, exist_ok=True)
    vault = Vault(root)
    vault.tidy(time.time() - _LEFTOVER_S)
    index = NoteIndex(state / "index.sqlite", vault)
    return Notebook(
        vault=vault,
        index=index,
        lock=FolderLock(state / "lock", "notes"),
        requests=RequestLog(state / "requests.sqlite", now_ms=lambda: time.time_ns() // 1_000_000),
        mover=Mover(vault, index, state / "move.json"),
        now=lambda: datetime.now(UTC).astimezone(zone),
    )


def check(settings: Settings) -> str:
    """Index every note and say in one sentence what is there.

    Raises:
        SetupError: The home cannot be written or the configured zone is unknown.
        StoreError: The folder cannot be read.
    """
    notebook = open_notebook(settings.home.folder("notes", for_reading=True), settings.zone())
    try:
        told = f"notes: {notebook.index.refresh()} notes"
        if unnamed := notebook.index.unnamed:
            more = ", …" if len(unnamed) > _MOST_UNNAMED else ""
            told += (
                f"; {len(unnamed)} files are left out because of their names, rename them without backslashes and "
                f"control characters: {', '.join(map(shown, unnamed[:_MOST_UNNAMED]))}{more}"
            )
        return told
    finally:
        notebook.index.close()


def _answer(note: Note, status: Status) -> NoteAnswer:
    return NoteAnswer(
        status=status,
        id=note.id,
        title=note.title,
        tags=list(note.all_tags),
        content_hash=note.content_hash,
        size_bytes=note.size_bytes,
    )


def _answer_for(note_id: str, title: str, tags: Sequence[str], status: Status, text: str) -> NoteAnswer:
    data = text.encode()
    return NoteAnswer(
        status=status,
        id=note_id,
        title=title,
        tags=list(tags),
        content_hash=hashlib.sha256(data).hexdigest(),
        size_bytes=len(data),
    )


def _joined(note: Note, addition: str) -> str:
    gap = "\n" if addition and note.body and not note.body.endswith("\n") else ""
    return note.body + markdown.with_line_ends_of(gap + addition, note.header + note.body)


def _check_same(note: Note, body: str, tags: Sequence[str]) -> None:
    """Refuse to create a note that is there with another text or without some of the tags."""
    if note.body != body:
        raise ConflictError(
            f"A note with the title {shown(note.title)} is there already, id {shown(note.id)}; send mode append or "
            "replace to change it, or another title."
        )
    known = {tag.casefold() for tag in note.all_tags}
    if new := [tag for tag in tags if tag.casefold() not in known]:
        raise ConflictError(
            f"The note {shown(note.id)} is there with this text but not tagged {shown(', '.join(new))}; send mode "
            "append with an empty body to add tags."
        )


def _check_hash(note: Note, expected: str | None) -> None:
    if expected and expected.lower() != note.content_hash:
        raise ConflictError(
            f"The note {shown(note.id)} changed since it was read; read it again and repeat the change with its "
            "new content_hash."
        )


def _check_text(text: str, what: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidInputError(f"{what} holds half of a surrogate pair; send whole Unicode characters.")
