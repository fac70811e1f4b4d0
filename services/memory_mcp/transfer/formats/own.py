"""Our own export as JSON lines: a line that says what it is, then a memory a line. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from memory_mcp.errors import InvalidArgumentError
from memory_mcp.model import Memory
from memory_mcp.transfer.bundle import Bundle
from memory_mcp.transfer.fields import fields_of, kept_of
from memory_mcp.transfer.items import Batch, Collector, Manner
from memory_mcp.transfer.json_text import decoded, parsed

NAME = "jsonl"
HEADER = {"format": "prometheus-memory", "version": 1}


def is_header(line: Any) -> bool:
    """Returns whether a first line is that of our own export."""
    return isinstance(line, dict) and line.get("format") == HEADER["format"]


def lines_of(memories: Iterable[Memory]) -> Iterator[str]:
    """Yields the lines of an export, each with its line end."""
    yield json.dumps(HEADER) + "\n"
    for memory in memories:
        yield json.dumps(fields_of(memory), ensure_ascii=False) + "\n"


def read(bundle: Bundle, manner: Manner) -> Batch:
    """Reads an export back.

    Raises:
        InvalidArgumentError: A newer program wrote it.
    """
    found = Collector(NAME, "unknown", manner)
    for name, data in bundle.files.items():
        for number, line in enumerate(decoded(data).split("\n"), start=1):
            where = f"{name} line {number}"
            if not line.strip():
                continue
            try:
                fields = parsed(line, "The line")
                if is_header(fields):
                    _check_version(fields)
                elif isinstance(fields, dict):
                    found.put(kept_of(fields, manner, where))
                else:
                    found.skip(where, "It is no object.")
            except _NewerError:
                raise
            except InvalidArgumentError as error:
                found.skip(where, str(error))
    return found.batch()


class _NewerError(InvalidArgumentError):
    """The export says that a newer program wrote it."""


def _check_version(header: dict[str, Any]) -> None:
    if header.get("version") != HEADER["version"]:
        raise _NewerError(
            f"The export has version {header.get('version')!r}, this program knows {HEADER['version']}; nothing was "
            "imported, update prometheus-agent.",
        )
