"""Titles to file names, and ids to places inside the vault. Pure: no disk.

A note's id is its path in the vault without `.md`, parts separated by `/`. File names work on Linux, macOS and Windows
and in Obsidian, whatever the title was; the title itself is kept in the note's front matter.
"""

import hashlib
import re
import unicodedata

from tools_mcp.errors import InvalidInputError
from tools_mcp.texts import shown

_NAME_BYTES = 120  # of the 255 a file system takes: room for a number, the suffix and a temporary name
_PART_BYTES = 240
_DEEPEST = 8
_FORBIDDEN = re.compile(r'[<>:"/\\|?*#^\[\]]')  # Windows refuses the first nine, Obsidian's links the others
_DEVICES = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³])(?=\s*(\.|$))", re.IGNORECASE)
_ENCODED = re.compile(r"%(?:2e|2f|5c|00)", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:")
TRASH = ".trash"
"""The one hidden folder with notes in it: where deleted ones go, as in Obsidian."""
_UNSEEN = {"Cc", "Cs", "Zl", "Zp"}


def file_stem(title: str) -> str:
    """Return the file name for a title, without `.md`: at most 120 bytes, the same title always the same name."""
    plain = unicodedata.normalize("NFC", title)
    visible = "".join(" " if unicodedata.category(character) in _UNSEEN else character for character in plain)
    stem = " ".join(_FORBIDDEN.sub("-", visible).split()).strip(". ")
    stem = _DEVICES.sub(r"\1_", stem, count=1) if _DEVICES.match(stem) else stem
    if len(stem.encode()) > _NAME_BYTES:
        mark = hashlib.sha256(plain.encode(errors="replace")).hexdigest()[:8]
        short = stem.encode()[: _NAME_BYTES - len(mark) - 1].decode(errors="ignore").rstrip(". ")
        stem = f"{short}-{mark}"
    return stem or "untitled"


def folder_parts(folder: str | None) -> tuple[str, ...]:
    """Return the parts of a folder argument as they are on disk; the vault itself has none.

    Raises:
        InvalidInputError: It would lead out of the vault, is hidden, or is too deep.
    """
    text = (folder or "").strip().removesuffix("/")
    if not text:
        return ()
    _check_inside(text, "folder")
    return tuple(file_stem(part) for part in text.split("/"))


def id_parts(note_id: str) -> tuple[str, ...]:
    """Return the parts of a note's id: its folders and its file name without `.md`. It may be one in the trash.

    Raises:
        InvalidInputError: It is no id inside the vault.
    """
    plain = note_id.removesuffix(".md")
    trash = (TRASH,) if plain.startswith(f"{TRASH}/") else ()
    inside = plain[len(TRASH) + 1 :] if trash else plain
    _check_inside(inside, "id")
    return (*trash, *inside.split("/"))


def _check_inside(path: str, what: str) -> None:
    parts = path.split("/")
    odd = "\\" in path or _ENCODED.search(path) or len(parts) > _DEEPEST
    unseen = any(unicodedata.category(character) in _UNSEEN for character in path)
    if odd or unseen or any(_leads_out(part) for part in parts):
        raise InvalidInputError(
            f"{what} {shown(path)} is no place inside the notes folder; send one such as 'work/ideas', without '..', "
            "a leading dot or slash, or backslashes."
        )


def _leads_out(part: str) -> bool:
    """Say whether a part of a path is hidden, none, too long, or a drive or a device to Windows."""
    plain = part.strip()
    is_windows = _DRIVE.match(plain) or _DEVICES.match(plain)
    return not plain or plain.startswith(".") or len(part.encode()) > _PART_BYTES or bool(is_windows)
