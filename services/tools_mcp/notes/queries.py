"""Words to look for: from what a person types to FTS5 queries that cannot fail, and the passage around a match. Pure.

What counts as a word is what it is to the memory server: letter case, accents and compatible forms aside, `don't` and
`dont` the same, `Anna's` found by `Anna`, `1,000` by `1000`; words joined as in `POL-358`, `38.101` or `multi-agent`
are looked for as one first and by their parts if that finds nothing. Scripts without spaces (Chinese, Japanese, Korean,
Thai, Lao, Khmer, Burmese) are indexed as pairs of characters, so that a word of two is found inside a sentence.
There is no query language but double quotes: nothing else in a query is an operator.
"""

import re
import unicodedata
from dataclasses import dataclass

from tools_mcp.notes.common_words import COMMON_WORDS

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+"
)
_TERM = re.compile(r'"([^"]+)"|(\S+)')
_WORD = re.compile(r"[^\W_]+")
_CONTRACTED = re.compile(r"(?<=\w)['\u2019](?:s|d|m|ll|re|ve)\b|(?<=n)['\u2019](?=t\b)|(?<=\d),(?=\d{3})")
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_SENTENCE_END = re.compile(r"[.!?:]\s+\Z")
_MOST_TERMS = 32
_WIDTH = 240
_SHORTEST_STEM, _ENDING = 4, 2
_LATIN = (*range(0xC0, 0x250), *range(0x1E00, 0x1F00))
_PLAIN_LETTERS = {
    code: base for code in _LATIN if len(base := unicodedata.normalize("NFKD", chr(code))[:1].lower()) == 1
}


@dataclass(frozen=True)
class Query:
    """FTS5 queries for the same words, strictest first; `words` are what a passage should show."""

    all_words: str
    any_word: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class _Term:
    """What is looked for together, and its parts where it is joined of several."""

    text: str
    parts: tuple[str, ...]


def indexed(text: str) -> str:
    """Return a text as the index takes it; runs of unspaced script become pairs, and the last character once more."""
    return _UNSPACED.sub(lambda run: f" {' '.join([*_pairs(run[0]), run[0][-1]])} ", _folded(text))


def read_query(text: str) -> Query | None:
    """Return the query for what a person typed; none when there is no letter or digit in it.

    Words that say how something is asked are left out when there are others. Every term is a quoted string for FTS5, so
    no character in it is an operator. A text in double quotes is one term.
    """
    shouted = text.isupper()
    found: list[tuple[_Term, bool]] = []
    for match in _TERM.finditer(text.replace("\0", " ")):
        plain = _folded(match[1] or match[2])
        if words := _WORD.findall(plain):
            is_name = not shouted and _is_name(text, match.start(2))
            is_common = not match[1] and not is_name and "".join(words) in COMMON_WORDS
            found.append((_Term(plain, _parts(words)), not is_common))
    if not found:
        return None
    telling = [term for term, is_telling in found if is_telling] or [term for term, _ in found]
    chosen = telling[:_MOST_TERMS]
    single = [part for term in chosen for part in (term.text, *term.parts) if part not in COMMON_WORDS]
    either = list(dict.fromkeys(map(_quoted, single)))[: 2 * _MOST_TERMS]
    shown = (word for term in chosen for word in (*_WORD.findall(term.text), *term.parts))
    return Query(
        " AND ".join(dict.fromkeys(_quoted(term.text) for term in chosen)),
        " OR ".join(either),
        tuple(dict.fromkeys(shown)),
    )


def passage(body: str, words: tuple[str, ...]) -> str:
    """Return about 240 characters around the first place with one of the words, every match marked `<<…>>`."""
    flat = _flat(body)
    longest_first = sorted(map(_flat, words), key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)))
    found = pattern.search(flat)
    if found is None:  # the index looks for stems: `meetings` finds `meeting`
        pattern = re.compile("|".join(re.escape(_stem(word)) + r"\w*" for word in longest_first))
        found = pattern.search(flat)
    start = max(0, found.start() - _WIDTH // 3) if found else 0
    pieces, at = [], start
    for match in pattern.finditer(flat, start, start + _WIDTH):
        if match[0]:
            pieces += [body[at : match.start()], f"<<{body[match.start() : match.end()]}>>"]
            at = match.end()
    marked = " ".join("".join([*pieces, body[at : start + _WIDTH]]).split())
    return f"{'…' if start else ''}{marked}{'…' if start + _WIDTH < len(body) else ''}"


def _folded(text: str) -> str:
    """Return a text in the form in which words are compared; SQLite itself leaves accents and endings aside."""
    plain = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    return _ORDINAL.sub(r"\1", _CONTRACTED.sub("", plain))


def _flat(text: str) -> str:
    """Return a text of the same length without capitals and Latin accents."""
    lower = text.lower()
    return (lower if len(lower) == len(text) else text).translate(_PLAIN_LETTERS)


def _stem(word: str) -> str:
    return word[: max(_SHORTEST_STEM, len(word) - _ENDING)]


def _parts(words: list[str]) -> tuple[str, ...]:
    """Return what a joined term is made of: its words, and the pairs of an unspaced run."""
    parts: list[str] = []
    for word in words:
        at = 0
        for run in _UNSPACED.finditer(word):
            parts += [word[at : run.start()], *(_pairs(run[0]) or run[0])]
            at = run.end()
        parts.append(word[at:])
    kept = tuple(part for part in parts if part)
    return kept if len(kept) > 1 else ()


def _pairs(run: str) -> list[str]:
    return [run[index : index + 2] for index in range(len(run) - 1)]


def _quoted(text: str) -> str:
    """Return one FTS5 string; a single character of an unspaced script looks for pairs that begin with it."""
    single = len(text) == 1 and _UNSPACED.fullmatch(text)
    plain = _UNSPACED.sub(lambda run: f" {' '.join(_pairs(run[0]) or [run[0]])} ", text).replace('"', " ")
    return f'"{plain}"{"*" if single else ""}'


def _is_name(text: str, start: int) -> bool:
    """Tell whether a word has a capital that its place in the sentence does not explain; `I` is no name."""
    if start < 0 or not text[start].isupper() or text[start : start + 2].strip() == "I":
        return False
    before = text[:start]
    return bool(before.strip()) and not _SENTENCE_END.search(before)
