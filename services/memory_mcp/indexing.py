"""What of a memory a search can find. Pure."""

from __future__ import annotations

from memory_mcp.model import Content
from memory_mcp.moments import date_words
from memory_mcp.terms import IndexedText, indexed


def index_text(content: Content) -> IndexedText:
    """Returns what of a memory is found by a search: its date in words, its subject, tags and body."""
    date = date_words(content.happened.text) if content.happened else ""
    return indexed((date, content.subject or "", " ".join(content.tags), content.body))
