"""Every tool of every server, memory included: arguments that work, and what each tool is known to be.

A server or tool that is not in these tables fails `test_tool_rules`, so that none is left out of the rules.
"""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastmcp import Client, FastMCP

import memory_mcp.app
from service_runtime.logs import unexpected_only
from service_runtime.settings import Settings
from tests.tools_mcp.reports.samples import report
from tests.tools_mcp.running import WHO, call, settings
from tools_mcp.registry import SERVERS as TOOL_SERVERS

NOBODY = "http://127.0.0.1:9"
"""Where no server is: a search that asks there fails without a packet leaving this machine."""
QUIET = {"PROMETHEUS_SEARCH_PROVIDERS": "searxng", "PROMETHEUS_SEARXNG_URL": NOBODY}

Clients = Mapping[str, Client[Any]]


@dataclass(frozen=True)
class Known:
    """A server: how it is built here, and the words that start it as a process."""

    name: str
    build: Callable[[Settings], "FastMCP[Any]"]
    words: tuple[str, ...]


SERVERS = {
    "memory": Known("memory", memory_mcp.app.build, ("memory_mcp",)),
    **{server.name: Known(server.name, server.build, ("tools_mcp", server.name)) for server in TOOL_SERVERS},
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "memory_remember": {"body": "The design team meets on Mondays."},
    "memory_search": {"query": "design team"},
    "memory_get": {"id": "MEMORY"},
    "memory_recall": {"query": "design team"},
    "memory_list": {},
    "memory_update": {"id": "MEMORY", "body": "The design team meets on Tuesdays."},
    "memory_forget": {"id": "MEMORY"},
    "memory_import": {"content": "- The design team likes tea."},
    "memory_export": {},
    "calendar_create_event": {"title": "Lunch", "start": "2026-12-01T12:00"},
    "calendar_list_events": {},
    "calendar_get_event": {"id": "EVENT"},
    "calendar_update_event": {"id": "EVENT", "title": "Long lunch"},
    "calendar_delete_event": {"id": "EVENT"},
    "calendar_find_free": {"start": "2026-12-01", "end": "2026-12-01", "duration": "30"},
    "calendar_import": {
        "content": "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:other\r\nBEGIN:VEVENT\r\nUID:u1\r\n"
        "DTSTAMP:20260101T000000Z\r\nDTSTART:20261203T090000Z\r\nSUMMARY:Theirs\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    },
    "calendar_export": {"id": "EVENT"},
    "calendar_now": {},
    "notes_write": {"title": "Another note", "body": "words", "mode": "replace"},
    "notes_read": {"id": "A note"},
    "notes_search": {"query": "words"},
    "notes_list": {},
    "notes_edit": {"id": "A note", "find": "words", "replace": "letters"},
    "notes_move": {"id": "A note", "folder": "elsewhere"},
    "notes_delete": {"id": "A note"},
    "search_web": {"query": "words"},
    "search_fetch": {"url": f"{NOBODY}/page"},
    "search_status": {},
    "message_draft": {"to": ["Ana"], "body": "words"},
    "message_list": {},
    "message_discard": {"id": "MESSAGE"},
    "report_validate": {"markdown": "words"},
    "report_save": {"markdown": report()},
    "report_get": {"id": "REPORT"},
    "report_list": {},
    "report_render": {"id": "REPORT"},
    "report_diff": {"old": "REPORT", "new": "REPORT"},
}
NEEDS_THE_NETWORK = {"search_web", "search_fetch"}
READ_ONLY = {
    *("memory_search", "memory_get", "memory_recall", "memory_list", "memory_export"),
    *("calendar_list_events", "calendar_get_event", "calendar_find_free", "calendar_export", "calendar_now"),
    *("notes_read", "notes_search", "notes_list", "search_web", "search_fetch", "search_status", "message_list"),
    *("report_validate", "report_get", "report_list", "report_diff"),
}
DELETES = {"calendar_delete_event", "notes_delete", "message_discard", "memory_forget"}
OVERWRITES = {"calendar_update_event", "calendar_import", "notes_edit", "notes_write", "notes_move"}
PAGED = {
    *("calendar_list_events", "calendar_find_free", "notes_search", "notes_list", "message_list", "report_list"),
    *("memory_search", "memory_list", "search_status"),
}


def server_of(tool: str) -> str:
    """The server that has a tool: its name begins with the server's, in the singular for what is drafted."""
    domain = tool.partition("_")[0]
    return f"{domain}s" if domain in {"message", "report"} else domain


@asynccontextmanager
async def every_client(home: Path) -> AsyncIterator[Clients]:
    """One client per server in this process, all on one home."""
    told = settings(home, **QUIET)
    async with AsyncExitStack() as opened:
        log = logging.getLogger("fastmcp.server.server")  # as a server process has it: a refusal is no event
        log.addFilter(unexpected_only)
        opened.callback(log.removeFilter, unexpected_only)
        yield {
            name: await opened.enter_async_context(Client(server.build(told), client_info=WHO))
            for name, server in SERVERS.items()
        }


async def arguments_for(clients: Clients, tool: str) -> dict[str, Any]:
    """Arguments that work, with something there to work on."""
    client, example = clients[server_of(tool)], dict(EXAMPLES[tool])
    if server_of(tool) == "notes":
        await call(client, "notes_write", title="A note", body="words", mode="replace", folder="")
    for name, value in example.items():
        if isinstance(value, str) and value in _MADE_BY:
            maker, what, arguments = _MADE_BY[value]
            example[name] = (await call(client, maker, **arguments))[what]["id"]
    return example


_MADE_BY: dict[str, tuple[str, str, dict[str, Any]]] = {
    "MEMORY": ("memory_remember", "memory", {"body": "The team meets in the garden."}),
    "EVENT": ("calendar_create_event", "event", {"title": "Standup", "start": "2026-12-01T09:00"}),
    "MESSAGE": ("message_draft", "message", {"to": "Bo", "body": "words"}),
    "REPORT": ("report_save", "report", {"markdown": report()}),
}
