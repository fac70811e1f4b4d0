"""The folder of Markdown files: reading, compare-and-swap writing, and never a step outside.

Hidden files and folders (`.obsidian`, `.trash`, our own state) and symbolic links are not notes.
"""

import contextlib
import hashlib
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from service_runtime.home import secure_write
from tools_mcp.disk import as_store_error, remove_leftovers
from tools_mcp.errors import ConflictError, InvalidInputError, NotFoundError
from tools_mcp.notes import markdown
from tools_mcp.notes.files import Files, attached, markdown_files
from tools_mcp.notes.frontmatter import split
from tools_mcp.notes.model import Note
from tools_mcp.notes.names import (
    FILE_BYTES,
    SUFFIX,
    TRASH,
    NoteId,
    file_stem,
    folder_parts,
)
from tools_mcp.texts import shown

MOST_BYTES = 1_000_000
"""The largest note that is read or written."""

STATE = ".prometheus"
"""The hidden folder in the vault with our own state."""


@dataclass(frozen=True)
class Vault:
    """The notes of one person."""

    root: Path

    def files(self) -> Files:
        """Return every note with modification time (ns), size, inode and change time (ns), and what cannot be one.

        The last time changes although a program sets the modification time back, as some that synchronise files do.

        Raises:
            StoreError: The folder cannot be read.
        """
        with as_store_error("notes", "read"):
            return markdown_files(self.root, "")

    def trashed(self) -> Files:
        """Return the deleted notes in the same way.

        Raises:
            StoreError: The folder cannot be read.
        """
        trash = self.root / TRASH
        with as_store_error("notes", "read"):
            return markdown_files(trash, f"{TRASH}/") if trash.is_dir() and not trash.is_symlink() else Files({}, ())

    def attached(self, targets: Collection[str], folder: str) -> set[str]:
        """Return those targets of links in a folder that are other files: by their path, or by their name anywhere.

        Raises:
            StoreError: The folder cannot be read.
        """
        with as_store_error("notes", "read"):
            return attached(self.root, targets, folder)

    def folder(self, folder: str | None) -> tuple[str, ...]:
        """Return the parts of a folder argument as they are on disk, or as they will be.

        Raises:
            InvalidInputError: It would lead out of the vault or is hidden.
        """
        with as_store_error("notes", "read"):
            return folder_parts(folder, lambda parts: self.root.joinpath(*parts).is_dir())

    def read(self, note_id: str) -> Note:
        """Return a note.

        Raises:
            InvalidInputError: The id leads out of the vault, or the file is too large or no text.
            NotFoundError: There is no such note.
            StoreError: The file cannot be read.
        """
        note = self.find(note_id)
        if note.unreadable:
            raise InvalidInputError(f"The note {shown(note_id)} {note.unreadable}.")
        return note

    def find(self, note_id: str) -> Note:
        """Return a note; one that is too large or no text without its text, and `unreadable` says why.

        Raises:
            InvalidInputError: The id leads out of the vault.
            NotFoundError: There is no such note.
            StoreError: The file cannot be read.
        """
        place = NoteId.read(note_id)
        path = self._path(place)
        with as_store_error("notes", "read"):
            if not path.is_file():
                raise NotFoundError(
                    f"No note has the id {shown(note_id)}; take the id from notes_search or notes_list."
                )
            facts = path.stat()
            data = path.read_bytes() if facts.st_size <= MOST_BYTES else None
            digest = _digest(path) if data is None else hashlib.sha256(data).hexdigest()
        text, why = _text(data)
        parts = split(text)
        return Note(
            id=str(place),
            title=parts.title or place.stem,
            body=parts.body,
            tags=parts.tags,
            created=parts.created,
            header=parts.header,
            content_hash=digest,
            modified_at_ms=facts.st_mtime_ns // 1_000_000,
            aliases=parts.aliases,
            inline_tags=markdown.tags(parts.body),
            size_bytes=facts.st_size if data is None else len(data),
            unreadable=why,
        )

    def look(self, note_id: str) -> Note | None:
        """Return a note, or none when there is no such note or it is too large or no text.

        Raises:
            StoreError: The file cannot be read.
        """
        try:
            return self.read(note_id)
        except (NotFoundError, InvalidInputError):
            return None

    def hash_of(self, note_id: str) -> str | None:
        """Return the SHA-256 of a note's file, none when there is no file.

        Raises:
            InvalidInputError: The id leads out of the vault.
            StoreError: The file cannot be read.
        """
        path = self._path(NoteId.read(note_id))
        with as_store_error("notes", "read"):
            return _digest(path) if path.is_file() else None

    def write(self, note_id: str, text: str, expected: str | None) -> str:
        """Replace a note's file and return its new hash; `expected` is the old one, none for a file that is not there.

        Call it with the vault locked: the lock keeps our own processes apart, the hash every other program. The hash is
        looked at when the new bytes are safe on the disk and only the rename is left.

        Raises:
            InvalidInputError: The note would become too large, or it is in the trash.
            ConflictError: The file is not what was expected.
            StoreError: The file cannot be written; the old one is untouched.
        """
        place = NoteId.read(note_id)
        if place.is_trashed:
            raise InvalidInputError(f"The note {shown(note_id)} is in the trash; bring it back with notes_move first.")
        data = text.encode()
        if len(data) > MOST_BYTES:
            raise InvalidInputError(f"The note would have {len(data)} bytes; keep it under {MOST_BYTES}.")
        path = self._path(place)

        def unchanged() -> None:
            if self.hash_of(note_id) != expected:
                raise ConflictError(
                    f"The note {shown(note_id)} changed meanwhile; read it again and repeat the change."
                )

        with as_store_error("notes", "written"):
            self._make_folders(path.parent)
            secure_write(path, data, unchanged)
        return hashlib.sha256(data).hexdigest()

    def move(self, old: str, new: str) -> None:
        """Rename a note's file, making folders on the way; call it with the vault locked.

        Raises:
            ConflictError: Another file is there.
            StoreError: The file cannot be moved.
        """
        source, target = self._path(NoteId.read(old)), self._path(NoteId.read(new))
        with as_store_error("notes", "written"):
            self._make_folders(target.parent)
            if target.exists() and not target.samefile(source):
                raise ConflictError(f"The note {shown(new)} is there already; nothing was changed, try again.")
            source.rename(target)

    def tidy(self, before_s: float) -> int:
        """Remove what writers that were killed before a time (Unix seconds) left in any folder; return how many files.

        Folders that cannot be read are passed over: what is in them is in nobody's way.
        """
        removed = 0
        for folder, inside, _ in os.walk(self.root):  # neither errors nor links are followed
            inside[:] = [name for name in inside if not name.startswith(".") or name in {TRASH, STATE}]
            with contextlib.suppress(OSError):
                removed += remove_leftovers(Path(folder), before_s)
        return removed

    def free_id(self, folder: tuple[str, ...], stem: str, but: str = "") -> str:
        """Return an unused id for a file name; the file system may take letter case for the same.

        `but` is the id of a note that is about to leave its place.

        Raises:
            InvalidInputError: The folder is behind a link or below a file.
            StoreError: The folder cannot be read.
        """
        parent = self._checked(folder)
        with as_store_error("notes", "read"):
            taken = {entry.name.casefold() for entry in parent.iterdir()} if parent.is_dir() else set()
        if but and (leaving := NoteId.read(but)).folder == folder:
            taken.discard(leaving.file.casefold())
        files = (_numbered(stem, number) for number in range(1, 10_000))
        free = next(file for file in files if file.casefold() not in taken)
        return str(NoteId.read("/".join((*folder, free))))

    def new_id(self, folder: tuple[str, ...], title: str) -> str:
        """Return an unused id for a title."""
        return self.free_id(folder, file_stem(title))

    def trash_id(self, note_id: str) -> str:
        """Return an unused id in the trash, in the same folder there."""
        place = NoteId.read(note_id)
        return self.free_id((TRASH, *place.folder), place.stem)

    def _path(self, place: NoteId) -> Path:
        path = self._checked(place.folder) / place.file
        with as_store_error("notes", "read"):
            if path.is_symlink():
                told = shown(str(place))
                raise InvalidInputError(f"{told} leads through a link, and notes stay inside their folder.")
        return path

    def _checked(self, folder: tuple[str, ...]) -> Path:
        """Return a folder on the disk, there or not, after a look at every step of the way to it."""
        place = self.root
        with as_store_error("notes", "read"):
            for part in folder:
                place /= part
                told = shown("/".join(place.relative_to(self.root).parts))
                if place.is_symlink():
                    raise InvalidInputError(f"{told} leads through a link, and notes stay inside their folder.")
                if place.exists() and not place.is_dir():
                    raise InvalidInputError(f"{told} is a file, so no note can be below it; send another folder.")
        return place

    def _make_folders(self, folder: Path) -> None:
        missing = [place for place in (folder, *folder.parents) if not place.exists()]
        for place in reversed(missing):
            place.mkdir(mode=0o700, exist_ok=True)


def _numbered(stem: str, number: int) -> str:
    """Return a file's name; a number from the second one on tells files of the same name apart."""
    end = f" {number}{SUFFIX}" if number > 1 else SUFFIX
    return stem.encode()[: FILE_BYTES - len(end)].decode(errors="ignore") + end


def _text(data: bytes | None) -> tuple[str, str]:
    """Return a note's text, or none and why it cannot be read."""
    if data is None:
        return "", f"has more than {MOST_BYTES} bytes; split it first"
    try:
        return data.decode(), ""
    except UnicodeDecodeError:
        return "", "is not UTF-8 text; save it as UTF-8 first"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
