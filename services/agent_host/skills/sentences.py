"""A message as sentences, clauses and words. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, TypeAlias

Clauses: TypeAlias = list[list[str]]
"""The words of a sentence as they were written, apart where a comma or a dash stands, or a "then"."""

_MOST_CLAUSES: Final = 60  # of a message; what comes after them decides nothing
_SHORT_WORDS: Final = 2  # of a piece such as "flights," that belongs to what follows
_SENTENCE: Final = re.compile(r"([.!?;:\n]+)(?:\s|$)")
_CLAUSE: Final = re.compile(r",\s*|\s[-\u2013\u2014]+\s|(?=\b(?:and )?then\b)")
_WORD: Final = re.compile(r"[^\W_]+(?:['.+&-][^\W_]+)*\+*")
_CONTRACTED: Final = (
    (re.compile(r"\b(what|who|how)'s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"\b(I|we)'d\b", re.IGNORECASE), r"\1 would"),
)
_LATER: Final = re.compile(
    r"(?:remind|add|put|block|todo|remember to|don't forget to|note to self|erinner|erinnere)\b", re.IGNORECASE
)
"""How a sentence begins of which nothing is asked now."""


def sentences(message: str) -> Iterator[Clauses]:
    """Gives the sentences of a message; of one that is only to be kept for later, its first clause alone."""
    text = plain(message)
    for short, whole in _CONTRACTED:
        text = short.sub(whole, text)
    parts = _SENTENCE.split(text)
    left, kept = _MOST_CLAUSES, False
    for sentence, end in zip(parts[::2], [*parts[1::2], ""], strict=True):
        clauses = [words for clause in _CLAUSE.split(sentence) if (words := _WORD.findall(clause))][:left]
        left -= len(clauses)
        later = bool(clauses and _LATER.match(" ".join(clauses[0])))
        if clauses and not kept:
            yield clauses[:1] if later else clauses
        kept = ":" in end and (later or kept)


def stretches(message: str) -> Iterator[list[str]]:
    """Gives the folded words of a message by clauses; a piece of one or two words goes with what follows it."""
    for sentence in _SENTENCE.split(message)[::2]:
        words: list[str] = []
        for clause in _CLAUSE.split(sentence):
            words += folded_words(clause)
            if len(words) > _SHORT_WORDS:
                yield words
                words = []
        yield words


def word_set(text: str) -> frozenset[str]:
    """Returns the words of a list that is written as a text."""
    return frozenset(text.split())


def folded_words(text: str) -> list[str]:
    """Returns the words of a text, case folded."""
    return _WORD.findall(plain(text).casefold())


def plain(text: str) -> str:
    """Returns a text in one way of writing accents and apostrophes."""
    return unicodedata.normalize("NFC", text).replace("\u2019", "'")
