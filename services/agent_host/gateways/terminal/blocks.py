"""Markdown that arrives in pieces, cut into blocks that can be rendered for good. Pure but for the parser it uses.

A block is finished when the next one begins: no later line of Markdown can change it then. Items of an outermost list
count as blocks, so that a long list does not wait for its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")  # a line as Markdown counts them
_SHORT: Final = 2_000
"""Characters of a block that is parsed at each of its lines; a longer one when it has grown by a part of its length."""
_GROWTH: Final = 8
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True)
class Block:
    """The source of one block; `spaced` says that a blank line stands before it."""

    source: str
    spaced: bool


class Blocks:
    """Takes the pieces of one text; what `feed` and `end` return, put together, is all of it."""

    def __init__(self, parser: MarkdownIt) -> None:
        self._parser = parser
        self._open = ""
        self._spaced = False
        self._seen = 0  # characters of the open block in which no end was found

    @property
    def tail(self) -> Block:
        """What has arrived of the block that is not finished."""
        return Block(self._open, self._spaced)

    def feed(self, text: str) -> list[Block]:
        """Takes the next piece and returns the blocks that it finishes."""
        self._open += text
        complete = self._open.rfind("\n") + 1
        if complete <= self._seen + self._patience or self._is_inside_a_fence(complete):
            return []
        self._seen = complete
        starts = self._starts(self._open[:complete])
        return self._taken(starts[1:]) if len(starts) > 1 else []

    def end(self) -> list[Block]:
        """Returns what is left, as blocks, and is ready for another text."""
        starts = self._starts(self._open)
        blocks = self._taken([*starts[1:], len(self._open)]) if self._open.strip() else []
        self._open, self._spaced, self._seen = "", False, 0
        return blocks

    @property
    def _patience(self) -> int:
        """How many characters an open block must grow by until it is parsed again, which takes long for a long one."""
        return self._seen // _GROWTH if self._seen > _SHORT else 0

    def _is_inside_a_fence(self, complete: int) -> bool:
        """Tells, without parsing it again, that a code block goes on: no new line could close it."""
        opened = _FENCE.match(self._open)
        if opened is None or self._seen == 0:
            return False
        return not any(line.lstrip().startswith(opened[1]) for line in self._new_lines(complete))

    def _new_lines(self, complete: int) -> list[str]:
        return _LINE.findall(self._open[self._seen : complete])

    def _taken(self, ends: list[int]) -> list[Block]:
        blocks, start = [], 0
        for end in ends:
            source = self._open[start:end]
            blocks.append(Block(source, self._spaced))
            self._spaced = not _is_item(source) or source.endswith("\n\n") or not _is_item(self._open[end:])
            start = end
        self._open, self._seen = self._open[start:], 0
        return blocks

    def _starts(self, text: str) -> list[int]:
        """Returns where the blocks of a text begin, the first at 0 whatever stands before it."""
        lines = _LINE.findall(text)
        offsets = [0]
        for line in lines:
            offsets.append(offsets[-1] + len(line))
        return [0, *(offsets[line] for line in sorted(set(self._first_lines(text))) if line > 0)][: len(lines) + 1]

    def _first_lines(self, text: str) -> Iterator[int]:
        first = True
        for token in self._parser.parse(text):
            is_block = token.level == 0 and token.nesting >= 0 and not token.type.endswith("list_open")
            if (is_block or (token.level == 1 and token.type == "list_item_open")) and token.map:
                if not first:
                    yield token.map[0]
                first = False


_ITEM: Final = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")


def _is_item(source: str) -> bool:
    return _ITEM.match(source) is not None
