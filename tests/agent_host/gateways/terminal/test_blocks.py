"""Markdown in pieces: nothing is lost, and a finished block is one that no later line changes."""

from __future__ import annotations

import random
from typing import Final, cast

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from agent_host.gateways.terminal.blocks import Block, Blocks
from agent_host.gateways.terminal.markdown import markdown_parser

PARSER: Final = markdown_parser()
TEXT: Final = """# Title

A paragraph
of two lines.

1. one
2. two

   with a second paragraph
10. ten

* a
  * nested
* b
```python
if x:

    y()
```
Setext
======

| a | b |
|---|---|
| 1 | 2 |

> quoted
> more

    indented code

~~~
# no title
```
~~~
***
The end"""


def cut(pieces: list[str]) -> list[Block]:
    blocks = Blocks(PARSER)
    found = [block for piece in pieces for block in blocks.feed(piece)]
    return [*found, *blocks.end()]


def sources(*pieces: str) -> list[str]:
    return [block.source for block in cut(list(pieces))]


@pytest.mark.parametrize("seed", range(25))
def test_however_it_is_cut_into_pieces_the_blocks_are_the_same_and_are_all_of_it(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - where to cut, not a secret
    cuts = sorted(chance.sample(range(1, len(TEXT)), chance.randrange(1, len(TEXT) - 1)))
    pieces = [TEXT[start:end] for start, end in zip([0, *cuts], [*cuts, len(TEXT)], strict=True)]

    assert "".join(sources(*pieces)) == TEXT
    assert cut(pieces) == cut([TEXT])


def test_blocks_and_outermost_items_are_finished_by_what_follows() -> None:
    found = [source.split("\n")[0] for source in sources(TEXT)]

    assert found == [
        "# Title",
        "A paragraph",
        "1. one",
        "2. two",
        "10. ten",
        "* a",
        "* b",
        "```python",
        "Setext",
        "| a | b |",
        "> quoted",
        "    indented code",
        "~~~",
        "***",
        "The end",
    ]


def test_a_block_is_open_until_then() -> None:
    blocks = Blocks(PARSER)

    assert blocks.feed("one\nstill one") == []
    assert blocks.tail == Block("one\nstill one", spaced=False)
    assert blocks.feed("\n\ntwo") == []
    assert [block.source for block in blocks.feed("\n")] == ["one\nstill one\n\n"]
    assert blocks.tail.source == "two\n"
    assert [block.source for block in blocks.end()] == ["two\n"]
    assert blocks.tail.source == ""
    assert blocks.end() == []


def test_a_code_block_ends_at_its_own_fence_alone() -> None:
    text = "````\n```\nx\n```\n# no title\n````\nafter\n"

    assert sources(*text) == ["````\n```\nx\n```\n# no title\n````\n", "after\n"]


def test_items_stand_together_unless_the_writer_spaced_them() -> None:
    assert [block.spaced for block in cut(["* a\n* b\n\n* c\n\ntext"])] == [False, False, True, True]


@pytest.mark.parametrize("odd", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_only_what_markdown_calls_a_line_break_is_one(odd: str) -> None:
    assert sources(f"a{odd}b\n\n", f"c{odd}d\r\n\r\n", "e\n") == [f"a{odd}b\n\n", f"c{odd}d\r\n\r\n", "e\n"]


@pytest.mark.parametrize("text", ["", "\n", "  \n\n", "\n\n# after blanks", "\r\nx", "a\x0cb\n\nc", "\u2028x\n\ny"])
def test_odd_texts_lose_nothing_but_blanks(text: str) -> None:
    assert "".join("".join(sources(*text)).split()) == "".join(text.split())


class _Counted:
    """A parser that finds no second block, and counts the characters that it was given."""

    def __init__(self) -> None:
        self.characters = 0

    def parse(self, text: str) -> list[Token]:
        self.characters += len(text)
        return []


def test_a_long_block_is_not_parsed_anew_at_each_of_its_lines() -> None:
    counted = _Counted()
    blocks = Blocks(cast("MarkdownIt", counted))
    pieces = ["| a cell | another |\n"] * 2_000

    assert [block for piece in pieces for block in blocks.feed(piece)] == []
    assert [block.source for block in blocks.end()] == ["".join(pieces)]
    assert counted.characters < 25 * sum(map(len, pieces))
