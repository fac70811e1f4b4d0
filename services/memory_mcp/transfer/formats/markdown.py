"""Memories as Markdown: Claude Code's folders, a plain MEMORY.md, and our own mirror and export. Pure.

A file with front matter is one memory. A file without is a list: each bullet, with what is indented below it, and each
paragraph is a memory, and the heading above is its subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from memory_mcp.errors import InvalidArgumentError
from memory_mcp.mirror import pages
from memory_mcp.transfer import front_matter
from memory_mcp.transfer.bundle import Bundle
from memory_mcp.transfer.fields import content_of, kept_of
from memory_mcp.transfer.formats.comments import without_comments
from memory_mcp.transfer.items import Batch, Collector, EditedFile, EditedLine, Kept, Manner, text_of
from memory_mcp.transfer.json_text import decoded

PLAIN = "memory-md"
CLAUDE_CODE = "claude-code"
OWN = "markdown"
ENDINGS = (".md", ".markdown", ".txt")

_BULLET = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+(.*)")
_HEADING = re.compile(r"#{1,6}\s+(.*)")
_LINK_LINE = re.compile(r"\[[^\]]*\]\(([^)\s]+\.md)\)(?:\s*[\u2013\u2014:-]+\s*(.*))?\Z", re.DOTALL)
_DATE = r"(\d{4}-\d\d-\d\d)"
_DATED = re.compile(rf"(?:\[{_DATE}\]\s*[-\u2013\u2014:]?|{_DATE}\s*[:\u2013\u2014])\s+(.+)", re.DOTALL)
_TITLES = {"memory", "memories", "memory.md", "claude.md"}
_KINDS = {"user": "fact", "feedback": "decision", "project": "fact", "reference": "reference"}
"""Claude Code's types of memories, and ours of the same meaning."""


@dataclass(frozen=True)
class _Piece:
    """A bullet or paragraph of a list: the line where it begins, the heading above it, its text."""

    line: int
    heading: str | None
    text: str


def read_plain(bundle: Bundle, manner: Manner) -> Batch:
    """Reads Markdown lists."""
    return _read(bundle, Collector(PLAIN, "MEMORY.md", manner))


def read_claude_code(bundle: Bundle, manner: Manner) -> Batch:
    """Reads a memory folder of Claude Code."""
    return _read(bundle, Collector(CLAUDE_CODE, "claude-code", manner))


def read_own(bundle: Bundle, manner: Manner) -> Batch:
    """Reads our own export or mirror.

    Its files are read in the order in which their memories were stored, so that one that replaces another comes later.
    """
    batch = _read(bundle, Collector(OWN, "markdown", manner))
    kept = sorted((item for item in batch.items if isinstance(item, Kept)), key=lambda item: item.number)
    others = [item for item in batch.items if not isinstance(item, Kept)]
    return Batch(batch.format, [*kept, *others], batch.skipped)


def is_own(fields: Mapping[str, Any]) -> bool:
    """Returns whether front matter is that of our own export or mirror."""
    return "content_hash" in fields and "id" in fields


def add_paragraphs(found: Collector, where: str, text: str, tags: list[str] | None = None) -> None:
    """Adds each bullet and paragraph of a text as a memory."""
    for piece in _pieces(text):
        _add_piece(found, f"{where} line {piece.line}", piece, tags or [])


def _read(bundle: Bundle, found: Collector) -> Batch:
    names = {PurePosixPath(name).name for name in bundle.files}
    for name, data in bundle.files.items():
        if not name.lower().endswith(ENDINGS):
            continue
        text = decoded(data)
        try:
            document = front_matter.split(text, name)
            if is_own(document.fields):
                _add_own(found, name, text, document)
            elif document.fields:
                _add_fact(found, name, document)
            elif not pages.index_is_ours(text):
                _add_list(found, name, text, names)
        except InvalidArgumentError as error:
            found.skip(name, str(error))
    return found.batch()


def _add_own(found: Collector, name: str, text: str, document: front_matter.Document) -> None:
    fields = {**document.fields, "body": document.body}
    if pages.is_ours(text):
        found.put(kept_of(fields, found.manner, name))
    else:
        kept = kept_of({**fields, "erased": None}, found.manner, name)
        found.put(EditedFile(name, kept.id, content_of(fields, found.manner), found.origin))


def _add_fact(found: Collector, name: str, document: front_matter.Document) -> None:
    fields = document.fields
    metadata = fields.get("metadata")
    kind = str((metadata if isinstance(metadata, dict) else {}).get("type") or fields.get("type") or "")
    found.add(
        name,
        document.body or text_of(fields, "description"),
        kind=_KINDS.get(kind.lower()),
        subject=text_of(fields, "name", "title") or PurePosixPath(name).stem,
        tags=[*([kind] if kind else []), *_listed(fields.get("tags"))],
        created_at=fields.get("created_at") or fields.get("created"),
    )


def _listed(tags: object) -> list[str]:
    words = tags.split(",") if isinstance(tags, str) else tags if isinstance(tags, list) else []
    return [str(word) for word in words]


def _add_list(found: Collector, name: str, text: str, names: set[str]) -> None:
    for piece in _pieces(text):
        where = f"{name} line {piece.line}"
        if memory_id := pages.memory_of_line(f"- {piece.text}"):
            found.put(EditedLine(where, memory_id, f"- {piece.text}", found.origin))
            continue
        link = _LINK_LINE.fullmatch(piece.text)
        if link and PurePosixPath(link[1]).name in names:
            if "\n" in piece.text and pages.memory_of_line(f"- {piece.text.partition(chr(10))[0]}"):
                found.skip(where, f"A line of the index holds one line of text; write the rest into {link[1]}.")
            continue  # a line of an index; the file it leads to is here
        if re.fullmatch(r"\(\d+ more are in the store\.\)", piece.text):
            continue
        _add_piece(found, where, piece, [])


def _add_piece(found: Collector, where: str, piece: _Piece, tags: list[str]) -> None:
    dated = _DATED.fullmatch(piece.text)
    date, text = ((dated[1] or dated[2]), dated[3]) if dated else (None, piece.text)
    found.add(where, text, subject=piece.heading, tags=tags, happened_at=date)


def _pieces(text: str) -> Iterator[_Piece]:
    """Yields the bullets and paragraphs of a list; what is indented belongs to what is above it."""
    heading: str | None = None
    start, lines, fenced = 0, list[str](), False
    for number, line in enumerate(without_comments(text), start=1):
        fence = line.lstrip().startswith(("```", "~~~"))
        above = _HEADING.fullmatch(line) if not fenced else None
        bullet = _BULLET.fullmatch(line) if not fenced else None
        inside = fenced or fence or line.startswith((" ", "\t"))
        ends = above or bullet or (not line.strip() and not fenced)
        if lines and ends and not (inside and not bullet):
            yield _Piece(start, heading, "\n".join(lines).strip())
            lines = []
        fenced ^= fence
        if above:
            heading = _heading(above[1].strip())
        elif line.strip() or (fenced and lines):
            start = start if lines else number
            lines.append(bullet[1] if bullet else line.rstrip())
    if lines:
        yield _Piece(start, heading, "\n".join(lines).strip())


def _heading(text: str) -> str | None:
    """Returns a heading without the `#` that may close it after a space; none for one that says nothing."""
    opened = text.rstrip("#")
    title = opened.rstrip() if not opened or opened[-1].isspace() else text
    return title if title and title.lower() not in _TITLES else None
