"""Which format something to import has, and reading it in that format. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memory_mcp.errors import InvalidArgumentError
from memory_mcp.transfer import front_matter
from memory_mcp.transfer.bundle import Bundle
from memory_mcp.transfer.formats import basic_memory, chats, markdown, mem0, own, reference_server
from memory_mcp.transfer.items import Batch, Manner
from memory_mcp.transfer.json_text import decoded, parsed

AUTO = "auto"
READERS: Mapping[str, Callable[[Bundle, Manner], Batch]] = {
    own.NAME: own.read,
    markdown.OWN: markdown.read_own,
    reference_server.NAME: reference_server.read,
    markdown.CLAUDE_CODE: markdown.read_claude_code,
    markdown.PLAIN: markdown.read_plain,
    chats.CHATGPT: chats.read_chatgpt,
    chats.CLAUDE: chats.read_claude,
    mem0.NAME: mem0.read,
    basic_memory.NAME: basic_memory.read,
}
"""Every format that can be imported, by its name."""

_LINES = (".jsonl", ".ndjson")


def read(bundle: Bundle, manner: Manner, format_name: str | None = None) -> Batch:
    """Reads what is to be imported, in its own format or the one that is named.

    Raises:
        InvalidArgumentError: The format is unknown or cannot be told, or it has no memory in it.
    """
    name = (format_name or AUTO).strip().lower() or AUTO
    if name != AUTO and name not in READERS:
        raise InvalidArgumentError(
            f"There is no format {name[:40]!r}; send {AUTO} or one of {', '.join(READERS)}.",
        )
    if not bundle.files:
        raise InvalidArgumentError("There is nothing in it that can be imported; send Markdown, JSON or JSON lines.")
    chosen = detected(bundle) if name == AUTO else name
    if chosen is None:
        raise InvalidArgumentError(
            f"What this is cannot be told from what is in it; name its format: {', '.join(READERS)}.",
        )
    batch = READERS[chosen](bundle, manner)
    if not batch.items and batch.skipped:
        first = batch.skipped[0]
        raise InvalidArgumentError(
            f"Nothing in it can be imported as {chosen} ({first.where}: {first.reason}); correct it or name another "
            "format.",
        )
    return batch


def detected(bundle: Bundle) -> str | None:
    """Returns the format of what is in a bundle, none when it cannot be told."""
    for name, data in bundle.files.items():
        text = decoded(data)
        found = _of_lines(text) if name.lower().endswith((*_LINES, ".json")) else None
        if found is None and name.lower().endswith(".json"):
            found = _of_document(_document(text, name))
        if found:
            return found
    return _of_markdown({name: decoded(data) for name, data in bundle.files.items() if _is_markdown(name)})


def _of_lines(text: str) -> str | None:
    """Returns the format of JSON lines, by the first line that is JSON: later ones may be damaged, or it may be."""
    for line in text.lstrip().split("\n", 20)[:20]:
        try:
            first = parsed(line, "line") if line.strip() else None
        except InvalidArgumentError:
            continue
        if own.is_header(first) or (isinstance(first, dict) and {"id", "created_at_ms", "body"} <= {*first}):
            return own.NAME
        if reference_server.is_line(first):
            return reference_server.NAME
    return None


def _document(text: str, name: str) -> Any:
    try:
        return parsed(text, name)
    except InvalidArgumentError:
        return None


def _of_document(document: Any) -> str | None:
    if document is None:
        return None
    return mem0.NAME if mem0.rows_of(document) else chats.format_of(document)


def _of_markdown(files: Mapping[str, str]) -> str | None:
    if not files:
        return None
    fields = [_fields(name, text) for name, text in files.items()]
    if any(markdown.is_own(each) for each in fields):
        return markdown.OWN
    if any(basic_memory.is_note(text) for text in files.values()):
        return basic_memory.NAME
    return markdown.CLAUDE_CODE if any(fields) else markdown.PLAIN


def _fields(name: str, text: str) -> Mapping[str, Any]:
    try:
        return front_matter.split(text, name).fields
    except InvalidArgumentError:
        return {}


def _is_markdown(name: str) -> bool:
    return name.lower().endswith(markdown.ENDINGS)
