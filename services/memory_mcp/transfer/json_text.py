"""JSON from outside, read within bounds. Pure."""

from __future__ import annotations

import json
from typing import Any

from memory_mcp.errors import InvalidArgumentError

MAX_CONTAINERS = 4_000_000
"""Objects and lists in one document: each takes many times its bytes in memory."""


def decoded(data: bytes) -> str:
    """Returns a file's text; UTF-8 with or without a mark, bytes that are no UTF-8 as replacement characters."""
    return data.decode("utf-8-sig", errors="replace")


def parsed(text: str, where: str) -> Any:
    """Returns what a JSON document says.

    Raises:
        InvalidArgumentError: It is no JSON, nested too deeply, or has too many parts.
    """
    if text.count("{") + text.count("[") > MAX_CONTAINERS:
        raise InvalidArgumentError(f"{where} has over {MAX_CONTAINERS:,} objects and lists; split it.")
    try:
        return json.loads(text)
    except RecursionError as error:
        raise InvalidArgumentError(f"{where} is nested too deeply to be an export.") from error
    except ValueError as error:
        raise InvalidArgumentError(f"{where} is no JSON; send the file as it was exported.") from error
