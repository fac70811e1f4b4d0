"""A text's meaning as small whole numbers, the same for every store. Pure.

A cosine does not change when a vector is made longer, so a vector is stretched until its largest part is 127 and each
part rounded to a signed byte. That takes a quarter of the space, and sums of products of such numbers are exact in
any database's floating point, so that every store gives the same cosine. Rounding moves a cosine by less than .01.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

_LARGEST = 127


@dataclass(frozen=True)
class Vector:
    """The meaning of a text: the model that made it, and its parts as signed bytes."""

    model: str
    codes: bytes

    @property
    def parts(self) -> array[int]:
        """Returns the parts as whole numbers, -127 to 127."""
        return array("b", self.codes)


def rounded(model: str, values: Sequence[float]) -> Vector:
    """Returns a vector from what a model gave; all zero when there is nothing in it.

    Raises:
        ValueError: A value is no finite number.
    """
    if not all(map(math.isfinite, values)):
        raise ValueError("a part of a vector is no finite number")
    longest = max(map(abs, values), default=0.0)
    scale = _LARGEST / longest if longest else 0.0
    return Vector(model, array("b", (round(value * scale) for value in values)).tobytes())
