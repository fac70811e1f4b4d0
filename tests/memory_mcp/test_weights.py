from __future__ import annotations

import pytest

from memory_mcp.errors import InvalidArgumentError
from memory_mcp.weights import Weights, parsed_weights


@pytest.mark.parametrize("text", [None, "", " , ", ";"])
def test_nothing_changes_nothing(text: str | None) -> None:
    assert parsed_weights(text) == Weights()


def test_what_is_named_changes_and_the_rest_stays() -> None:
    assert parsed_weights("dense=0.8, floor = .15; pool=50") == Weights(dense=0.8, floor=0.15, pool=50)


@pytest.mark.parametrize(
    "text", ["dens=1", "dense", "dense=", "dense=x", "dense=nan", "dense=-1", "pool=0.5", "dense=inf", "=1"]
)
def test_what_cannot_be_read_is_refused_with_the_names_there_are(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"write NAME=NUMBER with one of saturation, .*, dense, "):
        parsed_weights(text)
