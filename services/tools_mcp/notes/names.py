"""Titles to file names, and ids to places inside the vault. Pure: no disk.

A note's id is its path in the vault without `.md`, parts separated by `/`. Files that are there keep the name they
have, as long as it stays inside; new ones get a name that works on Linux, macOS and Windows and in Obsidian, whatever
the title was. The title itself is kept in the note's front matter.
"""

import hashlib
import os
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

from tools_mcp.errors import InvalidInputError
from tools_mcp.texts import folded, shown

SUFFIX = ".md"
TRASH = ".trash"
"""The one hidden folder with notes in it: where deleted ones go, as in Obsidian."""
MOST_CHARACTERS = 990
"""Of an id, without the trash: it still fits into an argument of 1,000 when it is there."""
FILE_BYTES = 255
"""The longest name that file systems take."""

_NAME_BYTES = 120  # of a new name: room for a number, the suffix and a few folders on every system
_IS_WINDOWS = os.name == "nt"
_FORBIDDEN = re.compile(r'[<>:"/\\|?*#^\[\]]')  # Windows refuses the first nine, Obsidian's links the others
_DEVICES = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³])(?=\s*(\.|$))", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:")
_ENCODED = re.compile(r"%(?=2e|2f|5c|00)", re.IGNORECASE)
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters, line ends, and bytes of a name that are no UTF-8."""


@dataclass(frozen=True)
class NoteId:
    """A note's place inside the vault, checked: its folders and the name of its file."""

    folder: tuple[str, ...]
    file: str

    @classmethod
    def read(cls, text: str) -> "NoteId":
        """Return the place that an id names, with `.md` or without it; it may be one in the trash.

        Raises:
            InvalidInputError: It is no id inside the vault.
        """
        trash = (TRASH,) if text.startswith(f"{TRASH}/") else ()
        *folder, name = _parts(text[len(TRASH) + 1 :] if trash else text, "id")
        file = name if is_note(name) else f"{name}{SUFFIX}"
        if len(file.encode()) > FILE_BYTES:
            raise _no_place(text, "id")
        return cls((*trash, *folder), file)

    @property
    def stem(self) -> str:
        """The file's name without `.md`."""
        return self.file[: -len(SUFFIX)]

    @property
    def is_trashed(self) -> bool:
        """Whether it is in the trash."""
        return self.folder[:1] == (TRASH,)

    def __str__(self) -> str:
        """Return the id; a file such as `x.MD` or `x.md.md` has its whole name in it, so that no two have the same."""
        is_plain = self.file.endswith(SUFFIX) and not is_note(self.stem)
        return "/".join((*self.folder, self.stem if is_plain else self.file))


def is_note(name: str) -> bool:
    """Say whether a file is a note by its name."""
    return name.lower().endswith(SUFFIX)


def file_stem(title: str) -> str:
    """Return the file name for a title, without `.md`: at most 120 bytes, the same title always the same name."""
    plain = unicodedata.normalize("NFC", title)
    stem = " ".join(_FORBIDDEN.sub("-", _UNSEEN.sub(" ", plain)).split())
    stem = _ENCODED.sub("-", stem).strip(". ")
    while is_note(stem):
        stem = stem[: -len(SUFFIX)].rstrip(". ")
    stem = _DEVICES.sub(r"\1_", stem, count=1) if _DEVICES.match(stem) else stem
    if len(stem.encode()) > _NAME_BYTES:
        mark = hashlib.sha256(plain.encode(errors="replace")).hexdigest()[:8]
        short = stem.encode()[: _NAME_BYTES - len(mark) - 1].decode(errors="ignore").rstrip(". ")
        stem = f"{short}-{mark}"
    return stem or "untitled"


def explains(title: str, stem: str) -> bool:
    """Say whether a file is called like its title, but for what names cannot hold and a number at the end."""
    named, expected = folded(stem), folded(file_stem(title))
    return named in {expected, folded(title)} or re.fullmatch(rf"{re.escape(expected)} \d+", named) is not None


def folder_parts(folder: str | None, is_there: Callable[[tuple[str, ...]], bool]) -> tuple[str, ...]:
    """Return the parts of a folder argument as they are on disk; the vault itself has none.

    A folder that is there keeps its name, a new one gets a safe one.

    Raises:
        InvalidInputError: It would lead out of the vault, is hidden, or is new and no folder on Windows.
    """
    text = (folder or "").strip().removesuffix("/")
    parts: tuple[str, ...] = ()
    for part in _parts(text, "folder") if text else ():
        if is_there((*parts, part)):
            parts = (*parts, part)
        elif _DRIVE.match(part) or _DEVICES.match(part):
            raise InvalidInputError(
                f"A new folder cannot be called {shown(part)}, a device or drive to Windows; send another name."
            )
        else:
            parts = (*parts, file_stem(part))
    return parts


def _parts(path: str, what: str) -> list[str]:
    """Return the parts of a path that stays inside the vault, whoever reads it: also once its `%2e` are dots."""
    parts = path.split("/")
    is_odd = len(path) > MOST_CHARACTERS or "\\" in path or _UNSEEN.search(path)
    if is_odd or any(map(_leads_out, parts)) or ("%" in path and _is_way_out(unquote(path))):
        raise _no_place(path, what)
    return parts


def _leads_out(part: str) -> bool:
    """Say whether a part of a path is hidden, none, too long, or a drive, a stream or a device to Windows."""
    plain = part.strip()
    is_windows = _IS_WINDOWS and (":" in part or _DEVICES.match(plain) is not None)
    return not plain or plain.startswith(".") or len(part.encode()) > FILE_BYTES or is_windows


def _is_way_out(decoded: str) -> bool:
    parts = [part.strip() for part in decoded.replace("\\", "/").split("/")]
    return "\0" in decoded or not parts[0] or ".." in parts


def _no_place(path: str, what: str) -> InvalidInputError:
    return InvalidInputError(
        f"{what} {shown(path)} is no place inside the notes folder; send one such as 'work/ideas', without '..', "
        "a leading dot or slash, or backslashes."
    )
