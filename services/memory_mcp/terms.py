"""What counts as a word, for memories and for queries alike: the index and the search agree because both read this.

A text becomes tokens; a token carries the terms under which it is filed.

* A word is folded (NFKC, lower case, no accents) and stemmed: `Müllers Meetings` → `muller`, `meet`.
* Words joined by `. - _ / : @ & +` are filed as each part and as the whole, so `POL-358` is found by `pol`, by `358`
  and, ranked first, by `POL-358`; `38.101` and `multi-agent` likewise. A short pair
  is filed run together too, so that `POL358` and `nodejs` find `POL-358` and `node.js`. `C++` and `C#` are words.
* Scripts written without spaces (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese) are filed as single characters
  and pairs, so that a two-character word is found inside a longer run.

There is no query language: nothing in a query can be an operator, so no query can be a syntax error. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from memory_mcp.stemming import stem
from memory_mcp.stop_words import STOP_WORDS

MAX_QUERY_TERMS = 32
"""Terms of a query that take part in a search; further ones are left out."""
MAX_COMPOUND_CHARACTERS = 64
"""Longer joined words (a URL with a path) are filed as their parts only."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f"
)
# \w leaves out combining marks: Latin accents written apart, and the vowel signs of the scripts of India.
_LETTER = rf"(?:(?![{_UNSPACED}_])\w|[\u0300-\u036f\u0900-\u0dff])"
_TOKEN = re.compile(
    rf"(?P<run>[{_UNSPACED}]+)|"
    rf"(?P<word>{_LETTER}+(?:(?:['\u2019]|(?<=\d),(?=\d{{3}})|[._\-/:@&+]{{1,3}}){_LETTER}+)*(?:\+\+|#)?)",
)
_JOINT = re.compile(r"[._\-/:@&+#'\u2019]+")
_CONTRACTED = re.compile(r"['\u2019](?:s|d|m|ll|re|ve)\Z|(?<=n)['\u2019](?=t\Z)|(?<=\d),(?=\d{3})")
_ACCENTS = re.compile("[\u0300-\u036f]")
_NAMING = ("++", "#")
"""At the end of a word they make another of it: `C`, `C++` and `C#` are three languages."""
_RUN_TOGETHER_CHARACTERS = 16
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)\Z")
_SENTENCE_END = re.compile(r"[.!?:]\s+[\"'(«“]*\Z")


class Token(NamedTuple):
    """One word of a text, where it stands, and the terms it is filed under.

    `parts` are the stems of its words (or the characters of an unspaced run); `compounds` are what only the joined form
    gives: the whole of `POL-358`, the pairs of an unspaced run. A query looks for the pairs of a run only: its single
    characters are too common to say anything.
    """

    start: int
    end: int
    parts: tuple[str, ...]
    compounds: tuple[str, ...] = ()
    is_stop_word: bool = False
    is_run: bool = False


@dataclass(frozen=True)
class QueryTerms:
    """What a query looks for.

    `parts` weigh in the relevance floor, `compounds` only add to a score. `names` are the parts that were written with
    a capital inside a sentence. `only_stop_words`: there was nothing else, so stop words are looked for.
    """

    parts: tuple[str, ...]
    compounds: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    only_stop_words: bool = False

    @property
    def all(self) -> tuple[str, ...]:
        """Returns parts and compounds, each once."""
        return self.parts + self.compounds

    @property
    def says_nothing(self) -> bool:
        """Returns whether there is no word that says what the query is about."""
        return self.only_stop_words or not self.parts


@dataclass(frozen=True)
class IndexedText:
    """A memory as the index sees it: how often each term occurs, and its length in words."""

    counts: dict[str, int]
    words: int


def tokens(text: str) -> Iterator[Token]:
    """Yields the tokens of a text in order; `start` and `end` are offsets into the text as it was given."""
    for match in _TOKEN.finditer(text):
        if match["run"]:
            yield _run_token(match.start(), fold(match["run"]))
        elif (filed := _filed_under(match["word"]))[0]:
            yield Token(match.start(), match.end(), *filed)


def indexed(parts: Iterable[str]) -> IndexedText:
    """Returns the terms of a memory made of several texts (date words, subject, tags, body)."""
    counts: Counter[str] = Counter()
    words = 0
    for text in parts:
        for token in tokens(text):
            counts.update(token.parts)
            counts.update(token.compounds)
            words += len(token.parts)
    return IndexedText(dict(counts), words)


def query_terms(query: str) -> QueryTerms:
    """Returns what to look for: content words, or the stop words when there is nothing else.

    A stop word written with a capital inside a sentence ("What does Will like?", "in May") is a name, so it stays.
    """
    shouted = query.isupper()
    found = [(token, not shouted and _is_name(query, token)) for token in tokens(query)]
    content = [(token, name) for token, name in found if name or not token.is_stop_word]
    chosen = content or found
    parts = tuple(dict.fromkeys(part for token, _ in chosen for part in _sought(token)))[:MAX_QUERY_TERMS]
    compounds = dict.fromkeys(whole for token, _ in chosen if not token.is_run for whole in token.compounds)
    return QueryTerms(
        parts=parts,
        compounds=tuple(compounds)[: MAX_QUERY_TERMS - len(parts)],
        names=frozenset(part for token, name in content if name for part in token.parts),
        only_stop_words=bool(found) and not content,
    )


def content_terms(text: str) -> frozenset[str]:
    """Returns the terms that say what a text is about, without stop words."""
    return frozenset(part for token in tokens(text) if not token.is_stop_word for part in _sought(token))


def fold(word: str) -> str:
    """Returns a word in the form in which words are compared: compatible characters, lower case, without accents."""
    if word.isascii():
        return word.lower()
    apart = unicodedata.normalize("NFKD", word).casefold()
    return "".join(unicodedata.normalize("NFKC", _ACCENTS.sub("", apart)).split())


@lru_cache(maxsize=20_000)
def _filed_under(written: str) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Returns the parts and compounds of a word, and whether it is a stop word; no parts when it is marks alone."""
    plain = _CONTRACTED.sub("", fold(written))
    pieces = [piece for piece in _JOINT.split(plain) if piece]
    parts = tuple(stem(_ORDINAL.sub(r"\1", piece)) for piece in pieces)
    if [plain] == pieces or not pieces:
        return parts, (), plain in STOP_WORDS
    if len(pieces) == 1 and plain.endswith(_NAMING):
        return (plain,), (), False
    whole = (plain, *_run_together(plain, pieces)) if len(plain) <= MAX_COMPOUND_CHARACTERS else ()
    return parts, whole, False


def _run_together(plain: str, pieces: list[str]) -> tuple[str, ...]:
    """Returns the word that people write without its joint: `pol358`, `nodejs`; two numbers would be another one."""
    together = "".join(pieces)
    joined = len(plain) == len(together) + 1 and plain[len(pieces[0])] in "-._"
    is_one = joined and together.isalnum() and not together.isdecimal()
    return (stem(together),) if is_one and len(together) <= _RUN_TOGETHER_CHARACTERS else ()


def _run_token(start: int, run: str) -> Token:
    pairs = tuple(run[at : at + 2] for at in range(len(run) - 1))
    return Token(start, start + len(run), tuple(run), pairs, is_run=True)


def _sought(token: Token) -> tuple[str, ...]:
    """Returns what is looked for of a token: the pairs of a run, the parts of a joined word that say something."""
    if token.is_run:
        return token.compounds or token.parts
    return tuple(part for part in token.parts if part not in STOP_WORDS) or token.parts


def _is_name(text: str, token: Token) -> bool:
    """Tells whether a token has a capital that its place in the sentence does not explain; `I` is no name."""
    if not text[token.start].isupper() or token.parts == ("i",):
        return False
    before = text[: token.start]
    return bool(before.strip("\"'(«“ ")) and not _SENTENCE_END.search(before)
