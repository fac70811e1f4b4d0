"""What the mirrors say: a Markdown file per memory and MEMORY.md, in Claude Code's layout. Pure.

Each holds the hash of what we wrote in it, so that a change by hand is known without keeping a list: when the hash is
another, a person wrote there since.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from memory_mcp.model import UNTRUSTED, Kind, Memory
from memory_mcp.snippets import clip
from memory_mcp.transfer import front_matter
from memory_mcp.transfer.fields import fields_of

INDEX_NAME = "MEMORY.md"
BESIDE_NAME = "MEMORY.current.md"
"""Where the index goes while a person's changes to MEMORY.md have not been read back."""
FOLDER = "memory"
INDEX_LINES = 190
INDEX_BYTES = 24_000
"""Claude Code loads 200 lines or 25 kB of an index; what does not fit is still in its file and in the store."""

_NAME_CHARACTERS = 60
_LINE_CHARACTERS = 160
_HASH_LINE = re.compile(r"^content_hash: \"?([0-9a-f]{64})\"?\n", re.MULTILINE)
_INDEX_MARK = re.compile(r"\n<!-- content_hash: ([0-9a-f]{64}) -->\n\Z")
_INDEX_LINE = re.compile(r"- \[[^\n]*?\]\((?:memory/)?(mem_[0-9a-f]{20})\.md\)\s*[\u2013\u2014:-]+ (.*)")


def has_file(memory: Memory) -> bool:
    """Returns whether a live memory has a file of its own: every one but the episodes of conversations."""
    return memory.content.kind is not Kind.EPISODE


def file_name(memory_id: str) -> str:
    """Returns the name of a memory's file in the folder of the mirror."""
    return f"{memory_id}.md"


def file_of(memory: Memory) -> str:
    """Returns the file of a memory: front matter with everything known of it, then its text."""
    content = memory.content
    fields: dict[str, Any] = {
        "name": name_of(memory),
        "description": clip(content.body, _LINE_CHARACTERS) or None,
        "metadata": {"type": content.kind.value},
        **{name: value for name, value in fields_of(memory).items() if name != "body"},
    }
    text = front_matter.written(fields) + (f"\n{content.body}\n" if content.body else "")
    head, fence, rest = text.partition("\n---\n")
    return f'{head}\ncontent_hash: "{_hash(text)}"{fence}{rest}'


def is_ours(text: str) -> bool:
    """Returns whether a file is as we wrote it; false when a person changed it, or it was never ours."""
    found = _HASH_LINE.search(text)
    return bool(found) and found[1] == _hash(text[: found.start()] + text[found.end() :]) if found else False


def index_of(memories: Sequence[Memory], total: int) -> str:
    """Returns MEMORY.md: the newest of `total` memories, a line each, as many as Claude Code reads."""
    lines = ["# Memory", ""]
    size = 0
    for memory in memories[:INDEX_LINES]:
        line = index_line(memory)
        size += len(line.encode()) + 1
        if size > INDEX_BYTES:
            break
        lines.append(line)
    left = total - (len(lines) - 2)
    if left > 0:
        lines += ["", f"({left} more are in the store.)"]
    text = "\n".join([*lines, ""])
    return f"{text}\n<!-- content_hash: {_hash(text)} -->\n"


def index_is_ours(text: str) -> bool:
    """Returns whether MEMORY.md is as we wrote it."""
    found = _INDEX_MARK.search(text)
    return bool(found) and found[1] == _hash(text[: found.start()]) if found else False


def index_line(memory: Memory) -> str:
    """Returns the line of a memory in MEMORY.md."""
    name = name_of(memory).translate({ord("["): "(", ord("]"): ")"})
    target = f"{FOLDER}/{file_name(memory.id)}"
    return f"- [{name}]({target}) — {clip(memory.content.body, _LINE_CHARACTERS)}{_notes(memory)}"


def memory_of_line(line: str) -> str | None:
    """Returns the id of the memory that a line of MEMORY.md names, or none."""
    found = _INDEX_LINE.fullmatch(line.strip())
    return found[1] if found else None


def body_of_line(line: str, memory: Memory) -> str | None:
    """Returns the body that an edited line gives its memory; none when the line showed only the beginning of it."""
    found = _INDEX_LINE.fullmatch(line.strip())
    if not found or clip(memory.content.body, _LINE_CHARACTERS) != memory.content.body:
        return None
    return found[2].removesuffix(_notes(memory)).strip() or None


def name_of(memory: Memory) -> str:
    """Returns what a memory is called: its subject, else its first words."""
    return memory.content.subject or clip(memory.content.body, _NAME_CHARACTERS) or memory.id


def _notes(memory: Memory) -> str:
    """Returns what a line says beside the text: the day, and that other people wrote it."""
    date = f" ({memory.content.happened.text[:10]})" if memory.content.happened else ""
    return f"{date} (untrusted)" if memory.origin.trust in UNTRUSTED else date


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
