"""Pages of a list: a clamped limit, an opaque cursor, and an answer that stays under 40 kB ("Rules for all tools")."""

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from tools_mcp.errors import InvalidInputError

PAGE_BYTES = 18_000
"""What the rows of one page may take as JSON; the text that goes along takes about as much again."""

_MOST = 1 << 53
Row = TypeVar("Row")


def clamp(limit: int | None, default: int, most: int) -> int:
    """Return the limit to use: the default when there is none, else the nearest of 1 to `most`."""
    return default if limit is None else min(max(limit, 1), most)


def encode_cursor(kind: str, *position: str | int) -> str:
    """Return the cursor for a position; `kind` names the list it belongs to."""
    packed = json.dumps([kind, *position], separators=(",", ":"), ensure_ascii=False).encode()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def decode_cursor(cursor: str, kind: str, shape: tuple[type, ...]) -> Any:
    """Return the position in a cursor of this kind, its parts of the given types.

    Raises:
        InvalidInputError: It is no cursor of this list.
    """
    try:
        parts = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, RecursionError):
        parts = None
    if isinstance(parts, list) and parts[:1] == [kind] and _fits(parts[1:], shape):
        return tuple(parts[1:])
    raise InvalidInputError("The cursor is not one of this list; send next_cursor of the last answer, or leave it out.")


def _fits(parts: list[Any], shape: tuple[type, ...]) -> bool:
    small = all(abs(part) < _MOST for part in parts if isinstance(part, int))
    return small and [type(part) for part in parts] == list(shape)


def json_size(row: BaseModel) -> int:
    """Return the bytes that a row takes in an answer: bytes and not characters, which outside ASCII differ."""
    return len(row.model_dump_json(exclude_none=True).encode())


def first_page(rows: Sequence[Row], limit: int, size_of: Callable[[Row], int]) -> Sequence[Row]:
    """Return the rows that fit on one page: at most `limit`, at most `PAGE_BYTES`, but always one when there is one."""
    total = 0
    for count, row in enumerate(rows[:limit]):
        total += size_of(row)
        if count and total > PAGE_BYTES:
            return rows[:count]
    return rows[:limit]
