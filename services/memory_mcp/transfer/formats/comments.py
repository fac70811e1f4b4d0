"""HTML comments in Markdown, which are no memories. Pure; the time is linear in the text.

A comment is inside one line, or begins one and ends in a later one. What holds a line of MEMORY.md or another `<!--` is
none: memories may speak of comments, and what a person wrote below an open one must not be taken for a part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_mcp.mirror.pages import memory_of_line

_OPEN, _CLOSE = "<!--", "-->"
_INSIDE = re.compile(r"<!--(?:(?!<!--|-->).)*-->")


def without_comments(text: str) -> list[str]:
    """Returns the lines of a text; those of a comment are blank, so that the others keep their numbers."""
    return list(_lines(text.split("\n")))


def _lines(lines: list[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        end = _end(lines, at) if line.lstrip(" ").startswith(_OPEN) and _CLOSE not in line else None
        if end is not None:
            yield from [""] * (end - at)
            at, line = end, lines[end].partition(_CLOSE)[2]
        at += 1
        yield line if _OPEN not in line or memory_of_line(line) else _INSIDE.sub("", line)


def _end(lines: list[str], start: int) -> int | None:
    """Returns the line in which a comment ends, none when it is no comment."""
    if _OPEN in lines[start].lstrip(" ")[len(_OPEN) :]:
        return None
    for at in range(start + 1, len(lines)):
        line = lines[at]
        closed = line.find(_CLOSE)
        if memory_of_line(line) or (0 <= line.find(_OPEN) < (closed if closed >= 0 else len(line))):
            return None
        if closed >= 0:
            return at
    return None
