"""Giving memories out: as JSON lines, or as a folder of Markdown files in Claude Code's layout. Pure.

Both hold the whole history and can be imported again without loss. Live memories lie in `memory/`, those that were
superseded or forgotten in `history/`.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping

from memory_mcp.mirror import pages
from memory_mcp.model import Memory, Status
from memory_mcp.transfer.formats import markdown, own

FORMATS = (own.NAME, markdown.OWN)
HISTORY = "history"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def jsonl(memories: Iterable[Memory]) -> Iterator[str]:
    """Yields the lines of an export, each with its line end."""
    return own.lines_of(memories)


def markdown_files(memories: Iterable[Memory]) -> Iterator[tuple[str, str]]:
    """Yields the files of an export: their names with `/`, and their text; MEMORY.md comes last."""
    live: list[Memory] = []
    for memory in memories:
        is_live = memory.status is Status.LIVE
        if is_live:
            live.append(memory)
        yield f"{pages.FOLDER if is_live else HISTORY}/{pages.file_name(memory.id)}", pages.file_of(memory)
    newest = sorted(live, key=lambda memory: (memory.created_at_ms, memory.number), reverse=True)
    yield pages.INDEX_NAME, pages.index_of(newest, len(newest))


def zipped(files: Iterable[tuple[str, str]]) -> bytes:
    """Returns files as a zip archive, the same bytes for the same files."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files:
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), text.encode(), zipfile.ZIP_DEFLATED)
    return data.getvalue()


def in_words(counts: Mapping[Status, int]) -> str:
    """Says how many memories there are of each status that there are any of."""
    return ", ".join(f"{counts[status]} {status.value}" for status in Status if counts.get(status)) or "none"
