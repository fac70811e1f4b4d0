from __future__ import annotations

import sqlite3
from itertools import product

import pytest

from memory_mcp.stemming import stem

_ROOTS = """
adjust agree allow argu bak bleed bud by caress cat commun compos conflat controll create cry day depend dy effect
enjoy electr fall feud fil fizz form format general happ hesit hiss hop hopeful hous inde intern lat li log matt meet
motor nation octopus oper plaster pon prob product radic rat relat replac rev roll sens sing siz sky start tann tie
trouble valenc viet vigil wait woo yes
"""
_ENDINGS = """
s es ies sses ed eed ing ings y e ement ment ent ion tion sion al ance ence er ers ic able ible ant ou ism ate iti ous
ive ize izer ization ational tional enci anci bli alli entli eli ousli ation ator alism iveness fulness ousness aliti
iviti biliti logi icate ative alize iciti ical ful ness ll tting lled
"""


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("meetings", "meet"),
        ("preferred", "prefer"),
        ("prefers", "prefer"),
        ("relational", "relat"),
        ("ponies", "poni"),
        ("hopping", "hop"),
        ("filing", "file"),
        ("happy", "happi"),
        ("sky", "sky"),
        ("controlling", "control"),
        ("adoption", "adopt"),
    ],
)
def test_words_of_one_family_meet_in_their_stem(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize("word", ["is", "a", "müller", "38", "cafe2", "x" * 65, "用户", ""])
def test_what_is_no_plain_english_word_stays_as_it_is(word: str) -> None:
    assert stem(word) == word


def test_the_stems_are_those_of_the_porter_tokenizer_of_sqlite() -> None:
    words = sorted({root + ending for root, ending in product(_ROOTS.split(), ["", *_ENDINGS.split()])})
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE words USING fts5(word, tokenize = 'porter unicode61')")
    connection.execute("CREATE VIRTUAL TABLE stems USING fts5vocab(words, 'instance')")
    connection.executemany("INSERT INTO words (rowid, word) VALUES (?, ?)", enumerate(words))
    theirs = dict(connection.execute("SELECT doc, term FROM stems"))
    connection.close()

    assert len(words) > 3000
    assert {word: stem(word) for word in words} == {word: theirs[number] for number, word in enumerate(words)}
