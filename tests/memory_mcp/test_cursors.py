from __future__ import annotations

import pytest

from memory_mcp.cursors import cursor, place_of
from memory_mcp.errors import InvalidArgumentError

QUESTION = ("list", "global", None)


@pytest.mark.parametrize("place", [(10,), (1_790_000_000_000, 7), (-5, 3)])
def test_a_cursor_gives_its_place_back(place: tuple[int, ...]) -> None:
    assert place_of(cursor(QUESTION, place), QUESTION, numbers=len(place)) == place


@pytest.mark.parametrize("text", [None, "", "  "])
def test_no_cursor_is_the_beginning(text: str | None) -> None:
    assert place_of(text, QUESTION, numbers=1) == ()


@pytest.mark.parametrize(
    "text",
    [
        *(cursor(QUESTION, (place,)) for place in (10**30, 2**63, -1, -3)),
        *("zzz", "null", "W10", "eyJhIjogMX0", "é", "W1wiYVwiXQ", cursor(QUESTION, (1, 2)), cursor(("other",), (1,))),
    ],
)
def test_what_is_no_cursor_of_this_question_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="does not belong to this request; send the next_cursor"):
        place_of(text, QUESTION, numbers=1)


@pytest.mark.parametrize("place", [(10**30, 1), (1, 10**30), (-(10**30), 1), (5, -1)])
def test_a_crafted_place_that_no_list_has_is_refused(place: tuple[int, ...]) -> None:
    with pytest.raises(InvalidArgumentError, match="does not belong to this request"):
        place_of(cursor(QUESTION, place), QUESTION, numbers=2)
