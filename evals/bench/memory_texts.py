"""Invented text with the word frequencies of natural language (Zipf), the same in every run."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import accumulate

SEED = 7


def invented_texts(number: int) -> list[str]:
    """Returns texts of 15 to 25 invented words, the nth most frequent word about 1/n as frequent as the first."""
    chance = random.Random(SEED)  # noqa: S311 - invented text, no secret
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    words = ["".join(chance.choices(syllables, k=3)) for _ in range(20_000)]
    weights = list(accumulate(1 / (place + 1) for place in range(len(words))))
    return [" ".join(chance.choices(words, cum_weights=weights, k=chance.randint(15, 25))) for _ in range(number)]


def questions(texts: Sequence[str], number: int) -> list[str]:
    """Returns six words of one text each, in another order."""
    chance = random.Random(SEED)  # noqa: S311 - invented text, no secret
    return [" ".join(chance.sample(chance.choice(texts).split(), 6)) for _ in range(number)]
