"""The folder of Markdown files: reading, compare-and-swap writing, and never a step outside.

Hidden files and folders (`.obsidian`, `.trash`, our own state) and symbolic links are not notes.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from service_runtime.home import remove_leftovers, secure_write
from tools_mcp.disk import as_store_error
from tools_mcp.errors import ConflictError, InvalidInputError, NotFoundError
from tools_mcp.notes import markdown
from tools_mcp.notes.frontmatter import split
from tools_mcp.notes.model import Note
from tools_mcp.notes.names import TRASH, file_stem, id_parts
from tools_mcp.texts import shown

MOST_BYTES = 1_000_000
"""The largest note that is read or written."""

STATE = ".prometheus"
"""The hidden folder in the vault with our own state."""

Stamp = tuple[int, int, int, int]


@dataclass(frozen=True)
class Vault:
    """The notes of one person."""

    root: Path

    def scan(self) -> Iterator[tuple[str, Stamp]]:
        """Yield each note's id with modification time (ns), size, inode and change time (ns).

        The last one changes although a program sets the modification time back, as some that synchronise files do.

        Raises:
            StoreError: The folder cannot be read.
        """
        with as_store_error("notes", "read"):
            yield from _scan(self.root, "")

    def scan_trash(self) -> Iterator[tuple[str, Stamp]]:
        """Yield the deleted notes in the same way.

        Raises:
            StoreError: The folder cannot be read.
        """
        trash = self.root / TRASH
        with as_store_error("notes", "read"):
            if trash.is_dir() and not trash.is_symlink():
                yield from _scan(trash, f"{TRASH}/")

    def read(self, note_id: str) -> Note:
        """Return a note.

        Raises:
            InvalidInputError: The id leads out of the vault, or the file is too large or no text.
            NotFoundError: There is no such note.
            StoreError: The file cannot be read.
        """
        path = self._path(note_id)
        data = self._bytes(path)
        if data is None:
            raise NotFoundError(f"No note has the id {shown(note_id)}; take the id from notes_search or notes_list.")
        if len(data) > MOST_BYTES:
            raise InvalidInputError(f"The note {shown(note_id)} has more than {MOST_BYTES} bytes; split it first.")
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"The note {shown(note_id)} is not UTF-8 text; save it as UTF-8 first.") from error
        parts = split(text)
        plain = "/".join(id_parts(note_id))
        title = parts.title or plain.rpartition("/")[2]
        with as_store_error("notes", "read"):
            modified_at_ms = path.stat().st_mtime_ns // 1_000_000
        digest = hashlib.sha256(data).hexdigest()
        return Note(
            id=plain,
            title=title,
            body=parts.body,
            tags=parts.tags,
            created=parts.created,
            header=parts.header,
            content_hash=digest,
            modified_at_ms=modified_at_ms,
            aliases=parts.aliases,
            inline_tags=markdown.tags(parts.body),
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
        data = self._bytes(self._path(note_id))
        return None if data is None else hashlib.sha256(data).hexdigest()

    def write(self, note_id: str, text: str, expected: str | None) -> str:
        """Replace a note's file and return its new hash; `expected` is the old one, none for a file that is not there.

        Call it with the vault locked: the lock keeps our own processes apart, the hash every other program. The hash is
        looked at when the new bytes are safe on the disk and only the rename is left.

        Raises:
            InvalidInputError: The note would become too large, or it is in the trash.
            ConflictError: The file is not what was expected.
            StoreError: The file cannot be written; the old one is untouched.
        """
        if note_id.startswith(f"{TRASH}/"):
            raise InvalidInputError(f"The note {shown(note_id)} is in the trash; bring it back with notes_move first.")
        data = text.encode()
        if len(data) > MOST_BYTES:
            raise InvalidInputError(f"The note would have {len(data)} bytes; keep it under {MOST_BYTES}.")
        path = self._path(note_id)

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
        source, target = self._path(old), self._path(new)
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
        if but.rpartition("/")[0] == "/".join(folder):
            taken.discard(f"{but.rpartition('/')[2]}.md".casefold())
        names = (f"{stem}{_number(number)}" for number in range(1, 10_000))
        return "/".join([*folder, next(name for name in names if f"{name}.md".casefold() not in taken)])

    def new_id(self, folder: tuple[str, ...], title: str) -> str:
        """Return an unused id for a title."""
        return self.free_id(folder, file_stem(title))

    def trash_id(self, note_id: str) -> str:
        """Return an unused id in the trash, in the same folder there."""
        *folder, stem = id_parts(note_id)
        return self.free_id((TRASH, *folder), stem)

    def _path(self, note_id: str) -> Path:
        *folder, stem = id_parts(note_id)
        path = self._checked(tuple(folder)) / f"{stem}.md"
        with as_store_error("notes", "read"):
            if path.is_symlink():
                raise InvalidInputError(f"{shown(note_id)} leads through a link, and notes stay inside their folder.")
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

    def _bytes(self, path: Path) -> bytes | None:
        with as_store_error("notes", "read"):
            return path.read_bytes() if path.is_file() else None

    def _make_folders(self, folder: Path) -> None:
        missing = [place for place in (folder, *folder.parents) if not place.exists()]
        for place in reversed(missing):
            place.mkdir(mode=0o700, exist_ok=True)


def _number(number: int) -> str:
    """Return what tells files of the same name apart: nothing for the first one, then ` 2`, ` 3` and so on."""
    return f" {number}" if number > 1 else ""


def _scan(folder: Path, prefix: str) -> Iterator[tuple[str, Stamp]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            if entry.is_dir():
                yield from _scan(Path(entry.path), f"{prefix}{entry.name}/")
            elif entry.name.endswith(".md") and _is_id(note_id := f"{prefix}{entry.name[: -len('.md')]}"):
                with contextlib.suppress(FileNotFoundError):  # gone since the folder was read
                    facts = entry.stat()
                    yield note_id, (facts.st_mtime_ns, facts.st_size, facts.st_ino, facts.st_ctime_ns)


@lru_cache(maxsize=20_000)  # every look at the vault asks it of every file
def _is_id(text: str) -> bool:
    try:
        id_parts(text)
    except InvalidInputError:
        return False
    return True
