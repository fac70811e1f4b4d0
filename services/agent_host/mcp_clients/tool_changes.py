"""What a server changed of its tools, line by line: a person decides by reading it, not by the names alone. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from difflib import unified_diff
from typing import Final

from agent_host.mcp_clients.remote import RemoteTool

SHOWN_LINES: Final = 60
SHOWN_CHARACTERS: Final = 4_000


def difference(accepted: Iterable[RemoteTool], listed: Iterable[RemoteTool]) -> tuple[str, ...]:
    """Returns, for each tool that is not what it was, a line with its name and all of its lines that went or came.

    Those that went begin with `- `, those that came with `+ `; what stayed is left out.
    """
    before, now = {tool.name: tool for tool in accepted}, {tool.name: tool for tool in listed}
    lines: list[str] = []
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name), now.get(name)
        if old is not None and new is not None and old.hash == new.hash:
            continue
        what = "new" if old is None else "gone" if new is None else "changed"
        lines += [f"{name} ({what})", *_lines_between(_text(old), _text(new))]
    return tuple(lines)


def in_short(lines: tuple[str, ...], more: str) -> str:
    """Returns a difference as a text of at most `SHOWN_LINES` lines; `more` is how to see what was left out."""
    whole = "\n".join(lines)
    if len(lines) <= SHOWN_LINES and len(whole) <= SHOWN_CHARACTERS:
        return whole
    text = "\n".join(lines[:SHOWN_LINES])[:SHOWN_CHARACTERS]
    return f"{text}…\n(That is not all: {len(whole):,} characters changed; {more} shows them.)"


def _lines_between(old: list[str], new: list[str]) -> Iterator[str]:
    for line in list(unified_diff(old, new, lineterm="", n=0))[2:]:
        if not line.startswith("@@"):
            yield f"  {line[0]} {line[1:]}"


def _text(tool: RemoteTool | None) -> list[str]:
    """Returns all that the model or this host goes by."""
    if tool is None:
        return []
    schema = json.dumps(tool.input_schema, ensure_ascii=False, indent=1, sort_keys=True)
    kind = "only reads" if tool.read_only else "may delete or overwrite" if tool.destructive else "writes"
    return [f"it says that it {kind}", *tool.description.splitlines(), *f"takes {schema}".splitlines()]
