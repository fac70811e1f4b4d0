"""The notes service: what each tool does, over the vault and its index. The clock is passed in."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from service_runtime.settings import Settings
from tools_mcp.errors import ConflictError, InvalidInputError, NotFoundError
from tools_mcp.locking import FolderLock
from tools_mcp.notes.frontmatter import clean_tags, new_header, with_tags
from tools_mcp.notes.index import Filter, NoteIndex
from tools_mcp.notes.model import Listed, Mode, Note, NoteAnswer, Status
from tools_mcp.notes.names import folder_parts
from tools_mcp.notes.queries import passage, read_query
from tools_mcp.notes.requests import Intent, RequestLog
from tools_mcp.notes.vault import Vault
from tools_mcp.texts import one_line, shown

TITLE_CHARACTERS = 300
_STATE = ".prometheus"
_MOST_LISTED = 5


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
class Match:
    """A note that a search found."""

    listed: Listed
    snippet: str


@dataclass(frozen=True)
class _Change:
    """A write that was checked: the note it goes to, what it was, what it becomes."""

    note_id: str
    title: str
    tags: tuple[str, ...]
    status: Status
    before: str | None
    text: str
    replacements: int | None = None

    def answer(self) -> NoteAnswer:
        data = self.text.encode()
        return NoteAnswer(
            status=self.status,
            id=self.note_id,
            title=self.title,
            tags=list(self.tags),
            content_hash=hashlib.sha256(data).hexdigest(),
            size_bytes=len(data),
            replacements=self.replacements,
        )


@dataclass(frozen=True)
class Notebook:
    """The notes of one person."""

    vault: Vault
    index: NoteIndex
    lock: FolderLock
    requests: RequestLog
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

        def edited() -> _Change:
            note = self.vault.read(note_id)
            _check_hash(note, expected_hash)
            count = note.body.count(find)
            if count != expected_count:
                raise InvalidInputError(
                    f"find {shown(find)} is {count} times in {shown(note.id)}, not {expected_count}, so nothing was "
                    "changed; send a longer piece of text, or expected_count."
                )
            text = note.header + note.body.replace(find, replace)
            return _Change(note.id, note.title, note.tags, "edited", note.content_hash, text, count)

        return self._do("edit", arguments, key, edited)

    def read(self, note_id: str | None, title: str | None) -> Note:
        """Return a note by id, or by title when only one has it.

        Raises:
            InvalidInputError: Neither was given, or the id leads out of the vault.
            NotFoundError: There is no such note.
            ConflictError: Several notes have the title.
        """
        if note_id:
            return self.vault.read(note_id)
        if not title:
            raise InvalidInputError("Neither id nor title was given; send one of them.")
        self.index.refresh()
        found = self._only(self.index.titled(title, None), title)
        if found is None:
            raise NotFoundError(f"No note has the title {shown(title)}; look for it with notes_search.")
        return self.vault.read(found)

    def search(
        self, query: str, chosen: Filter, limit: int, offset: int
    ) -> tuple[list[Match], Literal["all", "any"] | None]:
        """Return the notes with all words of the query, else those with any telling one; best first."""
        words = read_query(query)
        if words is None:
            return [], None
        self.index.refresh()
        matched: Literal["all", "any"] = "all"
        found = self.index.search(words.all_words, chosen, limit, offset)
        if not found and words.any_word and not self.index.search(words.all_words, chosen, 1, 0):
            matched = "any"
            found = self.index.search(words.any_word, chosen, limit, offset)
        return [Match(listed, self._passage(listed.id, words.words)) for listed in found], matched if found else None

    def newest(self, chosen: Filter, limit: int, after: tuple[int, str] | None) -> list[Listed]:
        """Return notes, last modified first."""
        self.index.refresh()
        return self.index.newest(chosen, limit, after)

    def delete(self, note_id: str) -> NoteAnswer:
        """Move a note to the trash.

        Raises:
            NotFoundError: There is no such note.
        """
        with self.lock.held():
            note = self.vault.read(note_id)
            self.vault.trash(note.id)
        text = note.header + note.body
        return _Change(note.id, note.title, note.tags, "deleted", note.content_hash, text).answer()

    def _do(self, tool: str, arguments: dict[str, Any], key: str | None, work: Callable[[], _Change]) -> NoteAnswer:
        """Do a write once per key: under the lock, written down before and marked done after."""
        arguments = {"tool": tool, **arguments}
        with self.lock.held():
            if key and (answer := self.requests.answered(key, arguments, self._hash_of)):
                return NoteAnswer.model_validate(answer)
            change = work()
            answer_now = change.answer()
            if answer_now.content_hash == change.before:
                return answer_now
            if key:
                intent = Intent(
                    change.note_id, change.before, answer_now.content_hash, answer_now.model_dump(mode="json")
                )
                self.requests.intend(key, arguments, intent)
            self.vault.write(change.note_id, change.text, change.before)
            if key:
                self.requests.done(key)
            return answer_now

    def _written(self, fields: WriteFields, title: str, tags: tuple[str, ...]) -> _Change:
        self.index.refresh()
        parts = folder_parts(fields.folder)
        folder = None if fields.folder is None and fields.mode != "create" else "/".join(parts)
        found = self._only(self.index.titled(title, folder), title)
        if found is None:
            if fields.expected_hash:
                raise NotFoundError(f"No note has the title {shown(title)}; leave expected_hash out to create it.")
            header = new_header(title, tags, self.now().isoformat(timespec="seconds"))
            return _Change(self.vault.new_id(parts, title), title, tags, "created", None, header + fields.body)
        note = self.vault.read(found)
        _check_hash(note, fields.expected_hash)
        if fields.mode == "create":
            if note.body != fields.body:
                raise ConflictError(
                    f"A note with the title {shown(title)} is there already, id {shown(note.id)}; send mode append or "
                    "replace to change it, or another title."
                )
            return _Change(note.id, note.title, note.tags, "exists", note.content_hash, note.header + note.body)
        body = fields.body if fields.mode == "replace" else _joined(note.body, fields.body)
        header = with_tags(note.header, tags) if tags and tags != note.tags else note.header
        status: Status = "replaced" if fields.mode == "replace" else "appended"
        return _Change(note.id, note.title, tags or note.tags, status, note.content_hash, header + body)

    def _only(self, ids: list[str], title: str) -> str | None:
        if len(ids) > 1:
            listed = ", ".join(shown(note_id) for note_id in ids[:_MOST_LISTED])
            raise ConflictError(f"{len(ids)} notes have the title {shown(title)}; send one of these ids: {listed}.")
        return ids[0] if ids else None

    def _hash_of(self, note_id: str) -> str | None:
        try:
            return self.vault.read(note_id).content_hash
        except NotFoundError:
            return None

    def _passage(self, note_id: str, words: tuple[str, ...]) -> str:
        try:
            return passage(self.vault.read(note_id).body, words)
        except (NotFoundError, InvalidInputError):
            return ""


def open_notebook(root: Path, zone: ZoneInfo) -> Notebook:
    """Return the notes in a folder; its own state is in the hidden folder `.prometheus` inside."""
    state = root / _STATE
    state.mkdir(mode=0o700, exist_ok=True)
    vault = Vault(root)
    return Notebook(
        vault=vault,
        index=NoteIndex(state / "index.sqlite", vault),
        lock=FolderLock(state / "lock", "notes"),
        requests=RequestLog(state / "requests.sqlite", now_ms=lambda: time.time_ns() // 1_000_000),
        now=lambda: datetime.now(UTC).astimezone(zone),
    )


def check(settings: Settings) -> str:
    """Index every note and say in one sentence what is there.

    Raises:
        SetupError: The home cannot be written or the configured zone is unknown.
        StoreError: The folder cannot be read.
    """
    notebook = open_notebook(settings.home.folder("notes"), settings.zone())
    try:
        return f"notes: {notebook.index.refresh()} notes"
    finally:
        notebook.index.close()


def _joined(body: str, addition: str) -> str:
    gap = "" if not body or body.endswith("\n") else "\n"
    return f"{body}{gap}{addition}"


def _check_hash(note: Note, expected: str | None) -> None:
    if expected and expected.lower() != note.content_hash:
        raise ConflictError(
            f"The note {shown(note.id)} changed since it was read; read it again and repeat the change with its "
            "new content_hash."
        )


def _check_text(text: str, what: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidInputError(f"{what} holds half of a surrogate pair; send whole Unicode characters.")
