"""Runs basic-memory for `memory_peers` and `memory_recall` as its users do: its MCP server on stdio, a folder of notes.

What is there already lies in the folder as Markdown, and its server indexes it once it has started; nothing is measured
before that is done. A note is acknowledged before its file is looked at, so each is also searched for at once.

It searches by words here. Its model is downloaded at first use, which a benchmark must not wait for, and it needs a
Python whose SQLite loads extensions.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp import Client

COMMAND = Path(__file__).parents[2] / "build" / "peers" / "basic-memory" / "bin" / "basic-memory"
NOT_INSTALLED = "not installed (make bench-peers; it needs Python 3.12 or newer)"
LARGEST = 10_000
TOO_MANY = f"more than {LARGEST:,} notes are not waited for, as it indexes some tens of files in a second"
_PATIENCE_S, _LOOK_S = 1_800, 0.5
_FOUND = 20
_FOLDER = "bench"


class RefusedError(RuntimeError):
    """It did not do what it was asked to: told in words where JSON was asked for, or as an error in it."""


class BasicMemory:
    """A running server, and how long it took to index what it found in its folder."""

    def __init__(self, client: Client, indexing_s: float) -> None:
        self._client = client
        self.indexing_s = indexing_s

    async def add(self, title: str, text: str) -> tuple[float, bool]:
        """Writes a note; returns the milliseconds until it was acknowledged, and whether a search found it at once."""
        started = time.perf_counter()
        await _asked(self._client, "write_note", title=title, content=text, directory=_FOLDER)
        took_ms = (time.perf_counter() - started) * 1000
        _, found = await self.search(text)
        return took_ms, title in found

    async def search(self, query: str) -> tuple[float, list[str]]:
        """Returns the milliseconds of a search and the titles found, best first."""
        started = time.perf_counter()
        answer = await _asked(self._client, "search_notes", query=query, search_type="text", page_size=_FOUND)
        took_ms = (time.perf_counter() - started) * 1000
        return took_ms, [note["title"] for note in answer["results"]]


@asynccontextmanager
async def basic_memory(notes: Mapping[str, str]) -> AsyncIterator[BasicMemory]:
    """Starts a server on notes by title, in a scratch folder that is its home too, and waits until it knows them all.

    Raises:
        TimeoutError: it had not indexed them after half an hour.
    """
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / "notes" / _FOLDER).mkdir(parents=True)
        for title, text in notes.items():
            (home / "notes" / _FOLDER / f"{title}.md").write_text(_note(title, text), encoding="utf-8")
        server = StdioServerParameters(command=str(COMMAND), args=["mcp"], env=_environ(home))
        started = time.perf_counter()
        async with AsyncExitStack() as stack:
            limit = await stack.enter_async_context(asyncio.timeout(_PATIENCE_S))
            log = stack.enter_context((home / "log").open("w"))
            client = await stack.enter_async_context(Client(stdio_client(server, log), read_timeout_seconds=300))
            while await _known(client) < len(notes):  # noqa: ASYNC110 - it tells nobody when it is done
                await asyncio.sleep(_LOOK_S)
            limit.reschedule(None)
            yield BasicMemory(client, time.perf_counter() - started)


def any_of(question: str) -> str:
    """Returns the words of a question OR-ed: as a phrase of its own, a note would have to hold every one of them."""
    return " OR ".join(re.findall(r"\w+", question))


def _note(title: str, text: str) -> str:
    return f"---\ntitle: {title}\ntype: note\npermalink: main/{_FOLDER}/{title}\n---\n\n{text}\n"


def _environ(home: Path) -> dict[str, str]:
    """Returns an environment in which it neither sees its user's notes and settings nor goes out."""
    # Under pytest it would take itself to be under test, and index nothing.
    own = ("BASIC_MEMORY_", "PYTEST_CURRENT_TEST")
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(own)}
    return kept | {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "BASIC_MEMORY_CONFIG_DIR": str(home / "config"),
        "BASIC_MEMORY_HOME": str(home / "notes"),
        "BASIC_MEMORY_AUTO_UPDATE": "false",
        "FASTMCP_CHECK_FOR_UPDATES": "off",
        "FASTMCP_SHOW_SERVER_BANNER": "false",
        "FASTMCP_LOG_LEVEL": "ERROR",
        "HF_HUB_OFFLINE": "1",
    }


async def _known(client: Client) -> int:
    try:
        answer = await _asked(client, "search_notes", note_types=["note"], page_size=1)
    except RefusedError as error:
        if "Project Index Required" in str(error):  # what it answers before its first look into the folder
            return 0
        raise
    return int(answer["total"])


async def _asked(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """Calls a tool for its answer as JSON; a refusal ends the measurement."""
    told = await client.call_tool(tool, {**arguments, "output_format": "json"})
    text = "".join(getattr(part, "text", "") for part in told.content)
    try:
        answer: dict[str, Any] = json.loads(text)
    except ValueError:
        raise RefusedError(f"basic-memory, {tool}: {text[:500]}") from None
    if "error" in answer:
        raise RefusedError(f"basic-memory, {tool}: {answer['error']}")
    return answer
