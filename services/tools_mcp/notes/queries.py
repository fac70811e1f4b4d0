"""Words to look for: from what a person types to FTS5 queries that cannot fail, and the passage around a match. Pure.

Scripts without spaces (Chinese, Japanese, Korean) are indexed as pairs of characters, so that a word of two characters
is found inside a sentence; see `segmented`.
"""

import re
from dataclasses import dataclass

_CJK = re.compile(
    r"[\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_TERM = re.compile(r'"([^"]+)"|(\S+)')
_WORD = re.compile(r"[^\W_]+")
_MOST_TERMS = 32
_WIDTH = 240
_COMMON_ENGLISH = """
a about an and are as at be been but by can could did do does for from had has have he her him his how i if in is it its
me my of on or our she should so than that the their them then there these they this to us was we were what when where
which who why will with would you your
"""
_COMMON = frozenset(_COMMON_ENGLISH.split())


@dataclass(frozen=True)
class Query:
    """FTS5 queries for the same words, strictest first; `words` are what a passage should show."""

    all_words: str
    any_word: str
    words: tuple[str, ...]


def segmented(text: str) -> str:
    """Return the text with each run of CJK characters as overlapping pairs, and its last character once more."""
    return _CJK.sub(lambda run: f" {' '.join([*_pairs(run[0]), run[0][-1]])} ", text)


def read_query(text: str) -> Query | None:
    """Return the query for what a person typed; none when there is no letter or digit in it.

    Every term is a quoted string for FTS5, so no character in it is an operator. A text in quotes is one term.
    """
    terms = [quoted or plain for quoted, plain in _TERM.findall(text.replace("\0", " "))]
    terms = [term for term in terms if _WORD.search(term)][:_MOST_TERMS]
    if not terms:
        return None
    telling = [term for term in terms if term.casefold() not in _COMMON]
    words = tuple(dict.fromkeys(word.casefold() for term in telling or terms for word in _WORD.findall(term)))
    return Query(" AND ".join(map(_term, terms)), " OR ".join(map(_term, telling)), words)


def passage(body: str, words: tuple[str, ...]) -> str:
    """Return about 240 characters around the first place with one of the words, every match marked `<<…>>`."""
    pattern = re.compile("|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)), re.IGNORECASE)
    found = pattern.search(body)
    start = max(0, found.start() - _WIDTH // 3) if found else 0
    cut = " ".join(body[start : start + _WIDTH].split())
    marked = pattern.sub(lambda match: f"<<{match[0]}>>", cut)
    return f"{'…' if start else ''}{marked}{'…' if start + _WIDTH < len(body) else ''}"


def _pairs(run: str) -> list[str]:
    return [run[index : index + 2] for index in range(len(run) - 1)]


def _term(text: str) -> str:
    """Return one FTS5 string; a single CJK character looks for pairs that begin with it."""
    single = len(text) == 1 and _CJK.fullmatch(text)
    plain = _CJK.sub(lambda run: f" {' '.join(_pairs(run[0]) or [run[0]])} ", text).replace('"', " ")
    return f'"{plain}"{"*" if single else ""}'
