"""The tools `memory_import` and `memory_export`, and the exports as resources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastmcp import Context, FastMCP
from fastmcp.tools.base import ToolResult
from mcp.types import ResourceLink
from pydantic import BaseModel, Field

from memory_mcp.model import Status
from memory_mcp.scopes import ALL, parse_search_scope
from memory_mcp.tool_definition import ADD, READ, add_tool, result
from memory_mcp.transfer import giving_out
from memory_mcp.transfer.formats import markdown, own
from memory_mcp.transfer.service import MAX_CONTENT_CHARACTERS, Gate, Transfer, export_format
from memory_mcp.transfer.taking_in import Taken
from memory_mcp.transfer.told import SHOWN_SKIPPED, import_text
from service_runtime.tool_arguments import OptionalFlag, OptionalText

_MIME = {own.NAME: "application/jsonl", markdown.OWN: "application/zip"}
_Content = Annotated[str, Field(max_length=MAX_CONTENT_CHARACTERS)] | None
_LOCAL = {None, "stdio"}


class SkippedItem(BaseModel):
    """Something that was not imported, and why."""

    where: str
    reason: str


class ImportAnswer(BaseModel):
    """What came of an import: `known` were here already, `updated` are new versions of what was changed by hand."""

    format: str
    dry_run: bool
    new: int
    known: int
    updated: int
    skipped: int
    first_skipped: list[SkippedItem] | None = None


class ExportAnswer(BaseModel):
    """Where the export is read, and how many memories it holds, by status."""

    uri: str
    format: str
    scope: str
    live: int
    superseded: int
    forgotten: int
    erased: int


@dataclass(frozen=True)
class TransferTools:
    """One method per tool; its docstring is the description that models read.

    `near` says which paths a caller on this machine may name (over stdio), `far` those of a caller over HTTP.
    """

    transfer: Transfer
    near: Gate
    far: Gate

    def define(self, server: FastMCP[Any]) -> None:
        """Defines the tools and the resources of exports."""
        add_tool(server, self.take_in, "memory_import", ADD, ImportAnswer)
        add_tool(server, self.give_out, "memory_export", READ, ExportAnswer)
        for name, read in ((own.NAME, self.jsonl), (markdown.OWN, self.markdown)):
            address = f"memory://export/{name}/{{scope}}"
            server.resource(address, name=f"export as {name}", mime_type=_MIME[name])(read)

    def take_in(
        self,
        ctx: Context,
        *,
        path: Annotated[OptionalText, Field(description="File, folder, zip, or MEMORY.md as edited")] = None,
        content: _Content = None,
        format: OptionalText = None,  # noqa: A002 - its name on the wire
        dry_run: OptionalFlag = None,
    ) -> ToolResult:
        """Take in memories that other programs exported, all or none, each once."""
        gate = self.near if ctx.transport in _LOCAL else self.far
        done = self.transfer.take_in(gate=gate, path=path, content=content, format_name=format, dry_run=bool(dry_run))
        return result(_import_answer(done), import_text(done))

    def give_out(
        self,
        *,
        format: Literal["jsonl", "markdown"] | None = None,  # noqa: A002 - the argument's name on the wire
        scope: OptionalText = None,
    ) -> ToolResult:
        """Link to an export of all memories with their history."""
        name = export_format(format)
        wanted = parse_search_scope(scope)
        shown = wanted.name if wanted else ALL
        counts = self.transfer.counts(scope)
        uri = f"memory://export/{name}/{quote(shown, safe='')}"
        answer = ExportAnswer(
            uri=uri,
            format=name,
            scope=shown,
            live=counts[Status.LIVE],
            superseded=counts[Status.SUPERSEDED],
            forgotten=counts[Status.FORGOTTEN],
            erased=counts[Status.ERASED],
        )
        text = f"{counts.total()} memories ({shown}, {giving_out.in_words(counts)}) can be read at {uri}."
        return result(
            answer, text, ResourceLink(type="resource_link", name=f"memories.{name}", uri=uri, mime_type=_MIME[name])
        )

    def jsonl(self, scope: str) -> str:
        """Read all memories with their history as JSON lines."""
        return str(self.transfer.linked(own.NAME, scope))

    def markdown(self, scope: str) -> bytes:
        """Read all memories with their history as a zip archive of Markdown files."""
        data = self.transfer.linked(markdown.OWN, scope)
        return data.encode() if isinstance(data, str) else data


def _import_answer(done: Taken) -> ImportAnswer:
    shown = [SkippedItem(where=one.where[:200], reason=one.reason[:300]) for one in done.skipped[:SHOWN_SKIPPED]]
    return ImportAnswer(
        format=done.format,
        dry_run=done.dry_run,
        new=len(done.new),
        known=done.known,
        updated=len(done.updated),
        skipped=len(done.skipped),
        first_skipped=shown or None,
    )
