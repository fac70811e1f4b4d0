"""The servers of `tools-mcp` by name. Listing them imports none of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from service_runtime.mcp_server import McpService
from service_runtime.settings import Settings

if TYPE_CHECKING:
    from fastmcp import FastMCP


@dataclass(frozen=True)
class Server:
    """A server of the command line: its name, what it is in a few words, and how to get it."""

    name: str
    summary: str
    build: Callable[[Settings], "FastMCP[Any]"]
    check: Callable[[Settings], str]
    commands: Mapping[str, Callable[[Sequence[str]], int]] = field(default_factory=dict)
    """What `tools-mcp NAME COMMAND` does instead of serving: the rest of the command line in, the exit status out."""

    def service(self) -> McpService:
        """Return the server as the runner takes it."""
        return McpService(self.name, f"tools-mcp {self.name}", self.build, self.check)


def _build_calendar(settings: Settings) -> "FastMCP[Any]":
    from tools_mcp.calendar.server import build

    return build(settings)


def _check_calendar(settings: Settings) -> str:
    from tools_mcp.calendar.agenda import check

    return check(settings)


def _import_calendar(arguments: Sequence[str]) -> int:
    from tools_mcp.calendar.commands import run_import

    return run_import(arguments)


def _export_calendar(arguments: Sequence[str]) -> int:
    from tools_mcp.calendar.commands import run_export

    return run_export(arguments)


def _build_notes(settings: Settings) -> "FastMCP[Any]":
    from tools_mcp.notes.server import build

    return build(settings)


def _check_notes(settings: Settings) -> str:
    from tools_mcp.notes.notebook import check

    return check(settings)


def _build_search(settings: Settings) -> "FastMCP[Any]":
    from tools_mcp.search.server import build

    return build(settings)


def _check_search(settings: Settings) -> str:
    from tools_mcp.search.web import check

    return check(settings)


def _build_messages(settings: Settings) -> "FastMCP[Any]":
    from tools_mcp.messages.server import build

    return build(settings)


def _check_messages(settings: Settings) -> str:
    from tools_mcp.messages.outbox import check

    return check(settings)


def _build_reports(settings: Settings) -> "FastMCP[Any]":
    from tools_mcp.reports.server import build

    return build(settings)


def _check_reports(settings: Settings) -> str:
    from tools_mcp.reports.store import check

    return check(settings)


SERVERS = (
    Server(
        "calendar",
        "events in a folder of iCalendar files or on a CalDAV server; `import FILE` and `export FILE` besides",
        _build_calendar,
        _check_calendar,
        {"import": _import_calendar, "export": _export_calendar},
    ),
    Server("notes", "Markdown notes in a folder that Obsidian can open", _build_notes, _check_notes),
    Server("search", "web search and pages, without a key or with your own provider", _build_search, _check_search),
    Server("reports", "research reports: checked, kept, compared, shown as a page", _build_reports, _check_reports),
    Server("messages", "drafts of messages in an outbox, never sent", _build_messages, _check_messages),
)
