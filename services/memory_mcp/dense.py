"""What vectors add to the ranking: how near each memory is in meaning. Pure.

Cosines inside one scope are nearly flat, so their rank says little; what stands out above the scope's mean says
something. That is why the parts are mixed by their share of the best and never by reciprocal rank, which was measured
to find less than words alone (recall@10 .571 against .625 on LoCoMo).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Near(NamedTuple):
    """A memory and the cosine of its vector with the query's; its place as in a posting."""

    number: int
    cosine: float
    episode: int | None
    position: int | None


@dataclass(frozen=True)
class Nearness:
    """The nearest memories and those that were asked for, and the mean cosine of the searched part of the store."""

    mean: float = 0.0
    near: Sequence[Near] = ()


@dataclass(frozen=True)
class Closeness:
    """Per memory: its cosine, and its share of the best above the mean, 0 to 1."""

    cosines: Mapping[int, float] = field(default_factory=dict)
    shares: Mapping[int, float] = field(default_factory=dict)


def closeness(nearness: Nearness) -> Closeness:
    """Returns the dense part of each memory: cosine less the mean, not below 0, divided by the best.

    Where none stands above the mean, as when there is one memory alone, the mean is taken to be 0.
    """
    mean = nearness.mean if any(one.cosine > nearness.mean for one in nearness.near) else 0.0
    above = {one.number: max(0.0, one.cosine - mean) for one in nearness.near}
    best = max(above.values(), default=0.0)
    return Closeness(
        cosines={one.number: one.cosine for one in nearness.near},
        shares={number: part / best if best else 0.0 for number, part in above.items()},
    )
