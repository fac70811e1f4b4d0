"""What is in the folder of notes: Markdown files by id, and the other files that notes link to.

Hidden files and folders (`.obsidian`, `.trash`, our own state) and symbolic links are none of it.
"""

import contextlib
import os
import posixpath
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tools_mcp.errors import InvalidInputError
from tools_mcp.notes.names import MOST_CHARACTERS, NoteId, is_note
from tools_mcp.texts import folded

Stamp = tuple[int, int, int, int]
"""Modification time (ns), size, inode and change time (ns) of a file."""


@dataclass(frozen=True)
class Files:
    """What is in the vault: notes by id, and the paths of Markdown files whose names no id can have."""

    notes: Mapping[str, Stamp]
    unnamed: tuple[str, ...]


def markdown_files(top: Path, prefix: str) -> Files:
    """Return the notes in a folder and below it; `prefix` is what their ids begin with.

    Raises:
        OSError: The folder cannot be read.
    """
    notes, unnamed, folders = dict[str, Stamp](), list[str](), [(str(top), prefix)]
    while folders:
        folder, prefix = folders.pop()
        try:
            listing = os.scandir(folder)
        except FileNotFoundError:
            if folder == str(top):
                raise
            continue  # gone since the folder above was read
        with listing as entries:
            for entry in entries:
                path = prefix + entry.name
                if entry.name.startswith(".") or entry.is_symlink():
                    continue
                if entry.is_dir() and len(path) <= MOST_CHARACTERS:
                    folders.append((entry.path, f"{path}/"))
                elif entry.is_dir():
                    unnamed.append(path)
                elif is_note(entry.name):
                    note_id = _id_of(path)
                    if note_id is None:
                        unnamed.append(path)
                        continue
                    with contextlib.suppress(FileNotFoundError):  # gone since the folder was read
                        facts = entry.stat()
                        notes[note_id] = (facts.st_mtime_ns, facts.st_size, facts.st_ino, facts.st_ctime_ns)
    return Files(notes, tuple(sorted(unnamed)))


def attached(root: Path, targets: Collection[str], folder: str) -> set[str]:
    """Return those targets of links in a folder that are other files: by their path, or by their name anywhere."""
    wanted = {target: folded(target.lstrip("/")) for target in targets}
    names = {whole.rpartition("/")[2] for whole in wanted.values()}
    found = set[str]()
    for place, inside, files in os.walk(root):
        inside[:] = [name for name in inside if not name.startswith(".")]
        prefix = Path(place).relative_to(root).as_posix()
        paths = [folded(posixpath.join(prefix, name)) for name in files if folded(name) in names]
        for target, whole in wanted.items():
            near = folded(posixpath.normpath(posixpath.join(folder, target)))
            if any(path.removeprefix("./") == near or f"/{path}".endswith(f"/{whole}") for path in paths):
                found.add(target)
    return found


@lru_cache(maxsize=20_000)  # every look at the vault asks it of every file
def _id_of(path: str) -> str | None:
    try:
        return str(NoteId.read(path))
    except InvalidInputError:
        return None
