"""Text from callers, made safe to keep: bounded, without control characters, always encodable as UTF-8."""

import re
import unicodedata

from tools_mcp.errors import InvalidInputError

_SHOWN = 60
_LINE_END = re.compile(r"\r\n|[\r\x0b\x0c\x85\u2028\u2029]")


def one_line(text: str, what: str, most: int) -> str:
    """Return the text as a single trimmed line; every run of white space and control characters becomes one space.

    Raises:
        InvalidInputError: It is longer than `most` characters or is no valid Unicode.
    """
    _check_encodable(text, what)
    line = " ".join("".join(" " if _is_control(character) else character for character in text).split())
    return _bounded(line, what, most)


def many_lines(text: str, what: str, most: int) -> str:
    """Return the text with line feeds as line breaks, whatever broke them, and no control characters other than tab.

    Raises:
        InvalidInputError: It is longer than `most` characters or is no valid Unicode.
    """
    _check_encodable(text, what)
    plain = _LINE_END.sub("\n", text)
    return _bounded("".join(c for c in plain if c in "\n\t" or not _is_control(c)), what, most)


def same(one: str, other: str) -> bool:
    """Whether two titles are the same to a person: letter case, spacing and Unicode form aside."""
    return folded(one) == folded(other)


def folded(text: str) -> str:
    """Return the form of a text in which equal titles are equal."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def cut(text: str, most_bytes: int) -> str:
    """Return the text, or its beginning with an ellipsis, in at most `most_bytes` of UTF-8."""
    encoded = text.encode()
    if len(encoded) <= most_bytes:
        return text
    return encoded[: most_bytes - 3].decode(errors="ignore").rstrip() + "…"


def shown(text: str) -> str:
    """Return a caller's text for use in an error sentence: quoted, escaped and short."""
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def _bounded(text: str, what: str, most: int) -> str:
    if len(text) > most:
        raise InvalidInputError(f"{what} has {len(text)} characters; send at most {most}.")
    return text


def _check_encodable(text: str, what: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidInputError(f"{what} holds half of a surrogate pair; send whole Unicode characters.")


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Zl", "Zp"}
