"""Reduces an English word to its stem, so that `meetings` finds `meeting` (M. F. Porter, 1980).

The index keeps stems, so one word must give the same stem for as long as a store lives. That is why the algorithm is
written out here and not asked of whichever library or database happens to be installed; the tests compare it with the
`porter` tokenizer of SQLite's FTS5. Pure: no state, no I/O.
"""

from __future__ import annotations

import re
from functools import lru_cache

STEMMED_LENGTHS = range(3, 65)
"""Letters a word must have to be stemmed; shorter and longer words stay as they are."""

_PLAIN_WORD = re.compile(r"[a-z]+\Z")
# A vowel is a, e, i, o, u, or y after a consonant.
_CONSONANT = r"(?:[^aeiouy]|(?<![^aeiou])y)"
_VOWEL = r"(?:[aeiou]|(?<=[^aeiou])y)"
_HAS_VOWEL = re.compile(_VOWEL)
_SEQUENCES = re.compile(rf"{_VOWEL}+{_CONSONANT}+")
_SHORT_SYLLABLE = re.compile(rf"{_CONSONANT}{_VOWEL}[^aeiouwxy]\Z")
_DOUBLE_CONSONANT = re.compile(rf"({_CONSONANT})\1\Z")

_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "logi": "log",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
}
_STEP_3 = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
_STEP_4 = dict.fromkeys(
    (
        *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou"),
        *("ism", "ate", "iti", "ous", "ive", "ize"),
    ),
    "",
)


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Returns the stem of a lower-case word; a word with anything but the letters a to z in it comes back unchanged."""
    if len(word) not in STEMMED_LENGTHS or not _PLAIN_WORD.match(word):
        return word
    word = _without_plural(word)
    word = _without_past_or_progressive(word)
    if word.endswith("y") and _HAS_VOWEL.search(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2, least_measure=1)
    word = _replaced(word, _STEP_3, least_measure=1)
    word = _replaced(word, _STEP_4, least_measure=2)
    return _tidied(word)


def _measure(text: str) -> int:
    """Counts the vowel-consonant sequences of a stem: Porter's m."""
    return len(_SEQUENCES.findall(text))


def _without_plural(word: str) -> str:
    """Step 1a: caresses, ponies, cats."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_past_or_progressive(word: str) -> str:
    """Step 1b: agreed, plastered, motoring, and the repair of what is left."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        rest = word.removesuffix(suffix)
        if rest != word and _HAS_VOWEL.search(rest):
            break
    else:
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if _DOUBLE_CONSONANT.search(rest) and rest[-1] not in "lsz":
        return rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _SHORT_SYLLABLE.search(rest) else rest


def _replaced(word: str, endings: dict[str, str], least_measure: int) -> str:
    """Replaces the longest ending that the word has, when enough of the word stays before it."""
    for length in range(7, 1, -1):
        ending = word[-length:]
        if ending not in endings or len(word) <= length:
            continue
        rest = word[:-length]
        if ending == "ion" and not rest.endswith(("s", "t")):
            return word
        return rest + endings[ending] if _measure(rest) >= least_measure else word
    return word


def _tidied(word: str) -> str:
    """Step 5: a final e and a double l go when enough stays."""
    if word.endswith("e"):
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _SHORT_SYLLABLE.search(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
