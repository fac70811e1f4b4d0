"""The data exports of ChatGPT and Claude: what they keep in memory, and the conversations. Pure.

Each message of a person or an assistant becomes a dated episode; those of one conversation keep their order, so that a
search finds the answer next to the question. What a tool or the program itself said is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memory_mcp.errors import InvalidArgumentError
from memory_mcp.transfer.bundle import Bundle
from memory_mcp.transfer.formats.markdown import add_paragraphs
from memory_mcp.transfer.items import Batch, Collector, Manner, text_of
from memory_mcp.transfer.json_text import decoded, parsed

CHATGPT = "chatgpt"
CLAUDE = "claude"

_TELLING = {"mapping", "chat_messages", "conversations_memory"}
_SPEAKERS = {"user": "User", "human": "User", "assistant": "Assistant"}


@dataclass(frozen=True)
class _Message:
    """A message of a conversation: who said it, what, and when as the export has it."""

    speaker: str
    text: str
    time: object


def format_of(document: Any) -> str | None:
    """Returns which of the two exports a document belongs to, none when it belongs to neither."""
    rows = document if isinstance(document, list) else [document]
    for row in rows[:5]:
        if isinstance(row, dict):
            if isinstance(row.get("mapping"), dict):
                return CHATGPT
            if isinstance(row.get("chat_messages"), list) or "conversations_memory" in row:
                return CLAUDE
    return CHATGPT if _kept_by_chatgpt(document) is not None else None


def read_chatgpt(bundle: Bundle, manner: Manner) -> Batch:
    """Reads the export of ChatGPT."""
    return _read(bundle, Collector(CHATGPT, "chatgpt", manner))


def read_claude(bundle: Bundle, manner: Manner) -> Batch:
    """Reads the export of Claude."""
    return _read(bundle, Collector(CLAUDE, "claude", manner))


def _read(bundle: Bundle, found: Collector) -> Batch:
    for name, data in bundle.files.items():
        if not name.lower().endswith(".json"):
            if name.lower().endswith((".md", ".txt")) and "memor" in name.lower():
                add_paragraphs(found, name, decoded(data))
            continue
        try:
            document = parsed(decoded(data), name)
        except InvalidArgumentError as error:
            found.skip(name, str(error))
            continue
        kept = _kept_by_chatgpt(document)
        for number, row in enumerate(kept if kept is not None else _rows(document), start=1):
            _add(found, f"{name} entry {number}", row)
    return found.batch()


def _rows(document: Any) -> list[Any]:
    """Returns conversations and memories; other files of the exports (users, projects, feedback) have none."""
    rows = document if isinstance(document, list) else [document]
    return [row for row in rows if isinstance(row, dict) and _TELLING & {*row}]


def _add(found: Collector, where: str, row: Any) -> None:
    if isinstance(row, str):
        add_paragraphs(found, where, row)
    elif isinstance(row.get("mapping"), dict):
        _add_messages(found, where, row, _chatgpt_messages(row))
    elif isinstance(row.get("chat_messages"), list):
        _add_messages(found, where, row, _claude_messages(row))
    elif "conversations_memory" in row:
        add_paragraphs(found, where, text_of(row, "conversations_memory") or "")
        projects = row.get("project_memories")
        for project, text in projects.items() if isinstance(projects, dict) else ():
            add_paragraphs(found, f"{where} project {project}", str(text), tags=[f"project {project}"[:64]])
    else:
        body = text_of(row, "content", "memory", "text")
        found.add(where, body, created_at=row.get("created_at") or row.get("updated_at"))


def _add_messages(found: Collector, where: str, row: Mapping[str, Any], messages: Iterator[_Message]) -> None:
    key = text_of(row, "conversation_id", "uuid", "id") or where
    for number, message in enumerate(messages, start=1):
        found.add(
            f"{where} message {number}",
            f"{message.speaker}: {message.text.strip()}",
            kind="episode",
            subject=text_of(row, "title", "name"),
            episode=key,
            happened_at=message.time,
            created_at=message.time,
        )


def _chatgpt_messages(row: Mapping[str, Any]) -> Iterator[_Message]:
    for message in _branch(row["mapping"], row.get("current_node")):
        author = message.get("author")
        speaker = _SPEAKERS.get(str(author.get("role")) if isinstance(author, dict) else "")
        text = _text_of_chatgpt(message.get("content"))
        if speaker and text.strip():
            yield _Message(speaker, text, message.get("create_time"))


def _claude_messages(row: Mapping[str, Any]) -> Iterator[_Message]:
    for message in row["chat_messages"]:
        speaker = _SPEAKERS.get(str(message.get("sender"))) if isinstance(message, dict) else None
        if speaker and (text := _text_of_claude(message)).strip():
            yield _Message(speaker, text, message.get("created_at"))


def _branch(mapping: Mapping[str, Any], last: object) -> Iterator[Mapping[str, Any]]:
    """Yields the messages that lead to the last one of a conversation, oldest first; other tries are left out."""
    if not isinstance(last, str) or last not in mapping:
        leaves = [key for key, node in mapping.items() if isinstance(node, dict) and not node.get("children")]
        last = leaves[-1] if leaves else None
    way: list[Mapping[str, Any]] = []
    seen: set[object] = set()
    while isinstance(last, str) and last not in seen and isinstance(node := mapping.get(last), dict):
        seen.add(last)
        if isinstance(message := node.get("message"), dict):
            way.append(message)
        last = node.get("parent")
    yield from reversed(way)


def _text_of_chatgpt(content: Any) -> str:
    if not isinstance(content, dict) or str(content.get("content_type")) not in {"text", "multimodal_text"}:
        return ""
    parts = content.get("parts")
    return "\n".join(part for part in (parts if isinstance(parts, list) else []) if isinstance(part, str))


def _text_of_claude(message: Mapping[str, Any]) -> str:
    parts = message.get("content")
    texts = [
        part["text"]
        for part in (parts if isinstance(parts, list) else [])
        if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
    ]
    return "\n".join(texts) or text_of(message, "text") or ""


def _kept_by_chatgpt(document: Any) -> list[Any] | None:
    """Returns the saved memories of ChatGPT: a list of texts or of objects with one, none when it is something else."""
    rows = document.get("memories") if isinstance(document, dict) else document
    if not isinstance(rows, list) or not rows:
        return None
    good = [row for row in rows if isinstance(row, str) or (isinstance(row, dict) and text_of(row, "content", "text"))]
    plain = not any(isinstance(row, dict) and {"mapping", "chat_messages", "uuid"} & {*row} for row in rows)
    return good if plain and good else None
