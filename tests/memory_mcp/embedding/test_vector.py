from __future__ import annotations

import math
import random

import pytest

from memory_mcp.embedding.vector import rounded


def test_the_largest_part_becomes_the_largest_byte_and_the_others_keep_their_share() -> None:
    assert list(rounded("m", [0.5, -0.25, 0.0]).parts) == [127, -64, 0]


def test_a_vector_made_longer_is_the_same_vector() -> None:
    assert rounded("m", [3.0, -1.0]) == rounded("m", [0.3, -0.1])


@pytest.mark.parametrize("values", [[], [0.0, 0.0]])
def test_an_empty_meaning_has_a_vector_too(values: list[float]) -> None:
    assert not any(rounded("m", values).parts)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_no_number_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        rounded("m", [1.0, bad])


def test_rounding_moves_a_cosine_by_less_than_a_hundredth() -> None:
    chance = random.Random(1)  # noqa: S311 - numbers to try, no secret
    for _ in range(50):
        one, other = ([chance.gauss(0, 1) for _ in range(384)] for _ in range(2))
        exact = _cosine(one, other)
        assert abs(_cosine(list(rounded("m", one).parts), list(rounded("m", other).parts)) - exact) < 0.01


def _cosine(one: list[float] | list[int], other: list[float] | list[int]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True)) / math.sqrt(
        sum(a * a for a in one) * sum(b * b for b in other)
    )
