"""The words of a reply that claim something: without code, addresses and marks; cut into sentences. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)(`{1,3})[^`\n]{1,2000}\1(?!`)")
_LINK = re.compile(r"!?\[([^\[\]\n]{0,1000})\]\([^()\n]{0,2000}\)")
_ADDRESS = re.compile(r"<?\b(?:https?://|www\.|mailto:)[^\s>)\]]+>?", re.IGNORECASE)
_EMPHASIS = re.compile(r"\*+|(?<![^\W_])_+|_+(?![^\W_])|~~")
_NUMBERED = re.compile(r"^[ \t]*\d{1,3}[.)][ \t]+", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?]) (?=[^\w\s]{0,3}[A-Z\d])| [;|] ")


def any_of(*phrases: str) -> re.Pattern[str]:
    """Returns a pattern that finds any of some phrases, each an expression, as whole words in any case."""
    return re.compile("|".join(rf"(?<!\w)(?:{phrase})(?!\w)" for phrase in phrases), re.IGNORECASE)


def plain(text: str) -> str:
    """Returns a text without code, addresses, emphasis and the numbers of its lists; links keep their words."""
    text = text.replace("\u2019", "'")
    for pattern, left in ((_FENCED, " "), (_INLINE, " "), (_LINK, r"\1"), (_ADDRESS, " "), (_EMPHASIS, "")):
        text = pattern.sub(left, text)
    return _NUMBERED.sub("", text)


def sentences(text: str) -> Iterator[str]:
    """Yields the sentences of a plain text; each line ends one."""
    for line in text.splitlines():
        yield from (one for one in _SENTENCE.split(" ".join(line.split())) if one)


def names(text: str, name: str) -> bool:
    """Tells whether a text holds a name as whole words, in any case; `search_web` is found as `search web` too."""
    words = re.findall(r"[^\W_]+", name)
    if not words:
        return False
    pattern = r"(?<![^\W_])" + r"[\s_.:-]+".join(map(re.escape, words)) + r"(?![^\W_])"
    return re.search(pattern, text, re.IGNORECASE) is not None
