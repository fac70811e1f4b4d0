"""Splits a text into the pieces that BERT's uncased models read (WordPiece). Pure.

Written out here because the usual library for it brings a client of a model hub, and this server never downloads. The
tests hold it to what that library gives. The vocabulary is BERT's own (`NOTICE`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MAX_PIECES = 256
"""Pieces the model was trained to read, first and last mark included; the rest of a longer text is left out."""
_MAX_WORD_CHARACTERS = 100
_UNKNOWN, _FIRST, _LAST = "[UNK]", "[CLS]", "[SEP]"
_CONTINUED = "##"
_BLANKS = frozenset("\t\n\r")
_IDEOGRAPHS = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)),
    *((0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)
_SYMBOL_RANGES = ((33, 47), (58, 64), (91, 96), (123, 126))


@dataclass(frozen=True)
class WordPiece:
    """The pieces of texts, as numbers of a vocabulary."""

    vocabulary: Mapping[str, int]

    def pieces(self, text: str, limit: int = MAX_PIECES) -> list[int]:
        """Returns the numbers of a text's pieces between the first and the last mark, at most `limit` in all."""
        found = [self.vocabulary[_FIRST]]
        for word in words(text):
            found += self._of_word(word)
            if len(found) >= limit:
                break
        return [*found[: limit - 1], self.vocabulary[_LAST]]

    def _of_word(self, word: str) -> list[int]:
        """Returns the longest pieces from the left; a word that cannot be made of pieces is one unknown."""
        unknown = [self.vocabulary[_UNKNOWN]]
        if len(word) > _MAX_WORD_CHARACTERS:
            return unknown
        found, start = [], 0
        while start < len(word):
            mark = _CONTINUED if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if mark + word[start:end] in self.vocabulary), None)
            if end is None:
                return unknown
            found.append(self.vocabulary[mark + word[start:end]])
            start = end
        return found


def words(text: str) -> Iterator[str]:
    """Yields lower-case words without accents; punctuation marks and ideographs are words of their own."""
    spaced = "".join(_spaced(character) for character in text)
    plain = "".join(one for one in unicodedata.normalize("NFD", spaced) if unicodedata.category(one) != "Mn")
    for run in plain.lower().split():
        yield from _apart(run)


def _spaced(character: str) -> str:
    if character in _BLANKS or unicodedata.category(character) == "Zs":
        return " "
    if character in "\0\ufffd" or unicodedata.category(character) in {"Cc", "Cf", "Co"}:
        return ""
    number = ord(character)
    return f" {character} " if any(first <= number <= last for first, last in _IDEOGRAPHS) else character


def _apart(run: str) -> Iterator[str]:
    start = 0
    for at, character in enumerate(run):
        if _is_punctuation(character):
            if start < at:
                yield run[start:at]
            yield character
            start = at + 1
    if start < len(run):
        yield run[start:]


def _is_punctuation(character: str) -> bool:
    number = ord(character)
    in_ascii = any(first <= number <= last for first, last in _SYMBOL_RANGES)
    return in_ascii or unicodedata.category(character).startswith("P")
