"""Notes of basic-memory: Markdown with front matter, observations and relations. Pure.

An observation (`- [category] text #tag (context)`) becomes a memory with the note's title as subject; a relation
(`- relates_to [[Other note]]`) becomes a sentence; the rest of the note is kept as a reference.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from memory_mcp.errors import InvalidArgumentError
from memory_mcp.normal_form import normalised
from memory_mcp.transfer import front_matter
from memory_mcp.transfer.bundle import Bundle
from memory_mcp.transfer.formats.markdown import ENDINGS
from memory_mcp.transfer.items import Batch, Collector, Manner, tags, text_of
from memory_mcp.transfer.json_text import decoded

NAME = "basic-memory"

_OBSERVATION = re.compile(r"[-*]\s+\[(?P<category>[^\[\]()]+)\]\s+(?P<text>\S.*)")
_TASK = {"x", "X", " ", "-"}
_RELATION = re.compile(r"[-*]\s+(?P<how>[^\[\s][^\[]*)?\[\[(?P<other>[^\]]+)\]\](?:\s*\((?P<context>.*)\))?")
"""Of a line without white space around it; no two parts that repeat can take the same character, so it is linear."""
_TAG = re.compile(r"(?<!\S)#([\w/-]+)")
_SECTION = re.compile(r"#{1,6}\s+(?:observations|relations)\s*", re.IGNORECASE)


def is_note(text: str) -> bool:
    """Returns whether a Markdown file is such a note: front matter with a permalink, or observations in it."""
    try:
        document = front_matter.split(text, "note")
    except InvalidArgumentError:
        return False
    if "permalink" in document.fields:
        return True
    lines = [line.strip() for line in document.body.split("\n")]
    return bool(document.fields) and any(_is_observation(line) for line in lines)


def read(bundle: Bundle, manner: Manner) -> Batch:
    """Reads the notes."""
    found = Collector(NAME, "basic-memory", manner)
    for name, data in bundle.files.items():
        if name.lower().endswith(ENDINGS):
            try:
                _note(found, name, front_matter.split(decoded(data), name))
            except InvalidArgumentError as error:
                found.skip(name, str(error))
    return found.batch()


def _note(found: Collector, name: str, document: front_matter.Document) -> None:
    title = text_of(document.fields, "title") or PurePosixPath(name).stem
    own_tags = tags(document.fields.get("tags"))
    created_at = document.fields.get("created") or document.fields.get("date")
    offset = document.head.count("\n") + 3 if document.head else 0
    prose: list[str] = []
    count = 0
    for number, line in enumerate(document.body.split("\n"), start=1 + offset):
        where, tidy = f"{name} line {number}", line.strip()
        relation = _RELATION.fullmatch(tidy)
        if _is_observation(tidy) and (observation := _OBSERVATION.fullmatch(tidy)):
            text = _TAG.sub("", observation["text"])
            text = " ".join(text.split())
            body = text if normalised(title) in normalised(text) else f"{title}: {text}"
            marks = [observation["category"], *_TAG.findall(observation["text"]), *own_tags]
            found.add(where, body, subject=title, tags=marks, created_at=created_at)
        elif relation:
            how = (relation["how"] or "relates to").strip().replace("_", " ")
            context = f" ({relation['context']})" if relation["context"] else ""
            body = f"{title} {how} {relation['other']}{context}"
            found.add(where, body, subject=title, tags=["relation", *own_tags], created_at=created_at)
        elif not _SECTION.fullmatch(tidy):
            prose.append(line)
            continue
        count += 1
    rest = "\n".join(prose).strip()
    if re.sub(r"(?m)^#{1,6}\s+.*$", "", rest).strip() or not count:
        found.add(name, rest or title, kind="reference", subject=title, tags=own_tags, created_at=created_at)


def _is_observation(line: str) -> bool:
    found = _OBSERVATION.fullmatch(line)
    return bool(found) and found["category"] not in _TASK if found else False
