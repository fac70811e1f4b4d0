"""Output whose encoding lacks a character: no locale may end a turn, or spoil a JSON document."""

from __future__ import annotations

import codecs
import io
from typing import Final, TextIO

_LOOK_ALIKES: Final = {
    "·": "-",
    "…": "...",
    "“": '"',
    "”": '"',
    "\u2018": "'",
    "\u2019": "'",
    "\u2013": "-",
    "—": "-",
    "•": "*",
    "▌": "|",
    "─": "-",
    "━": "=",
    "→": "->",
}
_TERMINAL: Final = "agent-host-look-alike"
_DOCUMENT: Final = "agent-host-escape"
_HIGHEST_OF_ONE: Final = 0xFFFF


def accept_every_character(stream: TextIO) -> None:
    """Has a stream write something for each character: at a terminal what looks like it, else its JSON escape."""
    if isinstance(stream, io.TextIOWrapper):
        codecs.register_error(_TERMINAL, _looking_alike)
        codecs.register_error(_DOCUMENT, _escaping)
        stream.reconfigure(errors=_TERMINAL if stream.isatty() else _DOCUMENT)


def escaped(character: str) -> str:
    r"""Returns `\\uXXXX`, two of them for a character beyond U+FFFF, as JSON and most languages read it."""
    code = ord(character)
    if code <= _HIGHEST_OF_ONE:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def _looking_alike(error: UnicodeError) -> tuple[str, int]:
    text, end = _lacking(error)
    return "".join(_LOOK_ALIKES.get(one) or escaped(one) for one in text), end


def _escaping(error: UnicodeError) -> tuple[str, int]:
    text, end = _lacking(error)
    return "".join(map(escaped, text)), end


def _lacking(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return error.object[error.start : error.end], error.end
