"""Words, numbers and signs of a sentence, with their places in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

_PATTERN = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*|[0-9]+|\S")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»")

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_NUMBERS = {word: value for value, word in enumerate(_SMALL)}
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}

Piece = TypeVar("Piece")
Match = tuple[int, Piece] | None
"""What a reader returns: the index after the last token it used and what it read, or None."""


@dataclass(frozen=True)
class Token:
    """One word, number or sign. `text` is case-folded, `raw` as typed; `joined` means no space stands before it."""

    text: str
    raw: str
    start: int
    end: int
    joined: bool
    quoted: bool


def tokenize(text: str) -> tuple[Token, ...]:
    """Splits a sentence; what stands in double quotes is marked, because it names things and tells no time."""
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    tokens: list[Token] = []
    last_end = -1
    for match in _PATTERN.finditer(text):
        start, end = match.span()
        inside = any(low <= start < high for low, high in quoted)
        word = match.group().casefold().replace("\u2019", "'")
        tokens.append(Token(word, match.group(), start, end, joined=start == last_end, quoted=inside))
        last_end = end
    return tuple(tokens)


def word_at(tokens: Sequence[Token], index: int) -> str:
    """Returns the case-folded token at an index, or "" outside the sentence."""
    return tokens[index].text if 0 <= index < len(tokens) else ""


def joined_at(tokens: Sequence[Token], index: int) -> bool:
    """Tells whether the token at an index follows the one before it without a space."""
    return 0 <= index < len(tokens) and tokens[index].joined


def words_at(tokens: Sequence[Token], index: int, *phrases: str) -> int | None:
    """Returns the index after the first of some phrases that stands at an index, or None."""
    for phrase in phrases:
        parts = phrase.split()
        if all(word_at(tokens, index + offset) == part for offset, part in enumerate(parts)):
            return index + len(parts)
    return None


def read_digits(tokens: Sequence[Token], index: int, longest: int = 4) -> int | None:
    """Returns the value of a plain number of at most `longest` digits, or None."""
    word = word_at(tokens, index)
    return int(word) if word.isascii() and word.isdigit() and len(word) <= longest else None


def read_number(tokens: Sequence[Token], index: int) -> Match[int]:
    """Reads a whole number in digits or words up to ninety-nine."""
    digits = read_digits(tokens, index)
    if digits is not None:
        return index + 1, digits
    word = word_at(tokens, index)
    if word in _TENS:
        after = index + 2 if word_at(tokens, index + 1) == "-" else index + 1
        ones = _NUMBERS.get(word_at(tokens, after), 0)
        return (after + 1, _TENS[word] + ones) if 0 < ones < 10 else (index + 1, _TENS[word])  # noqa: PLR2004 - a digit
    return (index + 1, _NUMBERS[word]) if word in _NUMBERS else None
