"""Cursors: where the next page begins, as an opaque word. Pure.

A cursor is bound to the question it belongs to by a hash, so that one from another search is refused, not misread.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence

from memory_mcp.errors import InvalidArgumentError

_QUESTION_CHARACTERS = 12
_MOST = 2**53
"""Any time in ms and any number of a memory is below; both databases can compare with it."""


def cursor(question: Sequence[object], place: Sequence[int]) -> str:
    """Returns the cursor for a place (one or two numbers) in the answer to a question."""
    return base64.urlsafe_b64encode(json.dumps([_digest(question), *place]).encode()).decode().rstrip("=")


def place_of(text: str | None, question: Sequence[object], *, numbers: int) -> tuple[int, ...]:
    """Returns the place a cursor stands for, as so many numbers; none or blank is the beginning, an empty tuple.

    The last of them is how many entries there were, or the number of a memory, so it is never negative.

    Raises:
        InvalidArgumentError: It is no cursor, or it belongs to another question.
    """
    if text is None or not text.strip():
        return ()
    try:
        digest, *place = json.loads(base64.urlsafe_b64decode(text.strip() + "=" * (-len(text.strip()) % 4)))
    except (ValueError, TypeError, binascii.Error) as error:
        raise _refused() from error
    possible = all(type(number) is int and abs(number) <= _MOST for number in place)
    if digest != _digest(question) or len(place) != numbers or not possible or place[-1] < 0:
        raise _refused()
    return tuple(place)


def _digest(question: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(question, default=str).encode()).hexdigest()[:_QUESTION_CHARACTERS]


def _refused() -> InvalidArgumentError:
    return InvalidArgumentError(
        "The cursor does not belong to this request; send the next_cursor of the same request, or none to start over.",
    )
