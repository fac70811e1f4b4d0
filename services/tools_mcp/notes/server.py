"""The notes server's tools: definitions only; what they do is in `notebook`, how it is said in `wording`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult
from pydantic import BeforeValidator, Field

from service_runtime.mcp_server import new_server
from service_runtime.settings import Settings
from service_runtime.tool_arguments import NOT_NULL, NUMBER, OptionalText, OptionalTextList, Text
from tools_mcp.arguments import Cursor, Key, Limit
from tools_mcp.errors import ConflictError
from tools_mcp.notes.frontmatter import clean_tags
from tools_mcp.notes.index import Filter
from tools_mcp.notes.looking import section_of
from tools_mcp.notes.model import Mode, NoteAnswer, NoteList, NoteText
from tools_mcp.notes.names import TRASH
from tools_mcp.notes.notebook import Notebook, WriteFields, open_notebook
from tools_mcp.notes.wording import answer_text, bounded_answer, list_text, read_answer, row, text_part
from tools_mcp.paging import clamp, decode_cursor, encode_cursor, first_page
from tools_mcp.tool_definition import Kind, add_tool, answer

_INSTRUCTIONS = "The person's notes, kept as Markdown files. An id is the file's path without .md."
_Id = Annotated[str, Field(min_length=1, max_length=1000)]
_Title = Annotated[str, Field(min_length=1, max_length=300)]
_NewTitle = Annotated[str, Field(max_length=300), NOT_NULL] | None
_Section = Annotated[Annotated[str, Field(max_length=300)] | None, Field(description="A heading")]
_Body = Annotated[str, Field(max_length=100_000)]
_Piece = Annotated[str, Field(min_length=1, max_length=20_000)]
_Replacement = Annotated[str, Field(max_length=20_000)]
_TAG_CHARACTERS = 200  # of one that is looked for: files may have longer ones than those written here
_Mode = Annotated[Mode, BeforeValidator(lambda value: "create" if value is None else value)]
_Count = Annotated[Annotated[int, Field(ge=1, le=10_000)] | None, NUMBER]
_Hash = Annotated[str, Field(max_length=64), NOT_NULL] | None


def build(settings: Settings) -> "FastMCP[Any]":
    """Return the notes server of one home.

    Raises:
        SetupError: The home cannot be made or the configured zone is unknown.
    """
    zone = settings.zone()
    notebook = open_notebook(settings.home.folder("notes", for_reading=True), zone)

    @asynccontextmanager
    async def lifespan(_: "FastMCP[Any]") -> AsyncIterator[dict[str, Any]]:
        try:
            yield {}
        finally:
            notebook.index.close()

    server = new_server("notes", _INSTRUCTIONS, lifespan)
    tools = NoteTools(notebook, zone)
    add_tool(server, tools.write, "notes_write", Kind.CHANGE, NoteAnswer)
    add_tool(server, tools.read, "notes_read", Kind.READ, NoteText)
    add_tool(server, tools.search, "notes_search", Kind.READ, NoteList)
    add_tool(server, tools.list_notes, "notes_list", Kind.READ, NoteList)
    add_tool(server, tools.edit, "notes_edit", Kind.CHANGE, NoteAnswer)
    add_tool(server, tools.move, "notes_move", Kind.CHANGE, NoteAnswer)
    add_tool(server, tools.delete, "notes_delete", Kind.DELETE, NoteAnswer)
    return server


@dataclass(frozen=True)
class NoteTools:
    """One method per tool; its docstring is the description that models read."""

    notebook: Notebook
    zone: ZoneInfo

    def write(
        self,
        *,
        title: _Title,
        body: _Body,
        folder: OptionalText = None,
        tags: OptionalTextList = (),
        mode: _Mode = "create",
        expected_hash: _Hash = None,
        idempotency_key: Key = None,
    ) -> ToolResult:
        """Write a Markdown note. append and replace change the note with this title, or create it."""
        fields = WriteFields(title, body, folder, tags, mode, expected_hash)
        return _answer(self.notebook.write(fields, idempotency_key))

    def read(
        self,
        *,
        id: OptionalText = None,  # noqa: A002 - the argument's public name
        title: OptionalText = None,
        section: _Section = None,
        cursor: Cursor = None,
    ) -> ToolResult:
        """Read a note by id or title with its links and backlinks, a long one in parts."""
        note = self.notebook.read(id, title)
        text = note.body if not section else section_of(note, section)
        start = 0
        if cursor:
            start, seen = decode_cursor(cursor, "text", (int, str))
            if seen != f"{note.content_hash}{section or ''}":
                raise ConflictError("The note changed while it was read in parts; read it again without cursor.")
        around = None if cursor else self.notebook.surroundings(note)
        model, following = text_part(note, text, max(0, start), around, self.zone)
        model.section = section or None
        if following is not None:
            model.next_cursor = encode_cursor("text", following, f"{note.content_hash}{section or ''}")
        return read_answer(model)

    def search(
        self,
        *,
        query: Text,
        tags: OptionalTextList = (),
        folder: OptionalText = None,
        limit: Limit = None,
        cursor: Cursor = None,
    ) -> ToolResult:
        """Search notes by words; text in double quotes is one phrase."""
        count = clamp(limit, 10, 50)
        (offset,) = decode_cursor(cursor, "matches", (int,)) if cursor else (0,)
        matches, matched = self.notebook.search(query, self._filter(folder, tags), count + 1, max(0, offset))
        rows = [row(match.listed, self.zone, match.snippet) for match in matches]
        page = first_page(rows, count, lambda one: len(one.model_dump_json().encode()))
        following = encode_cursor("matches", offset + len(page)) if len(page) < len(rows) else None
        model = NoteList(notes=list(page), next_cursor=following, matched=matched)
        return answer(model, list_text(model))

    def list_notes(
        self,
        *,
        folder: OptionalText = None,
        tags: OptionalTextList = (),
        limit: Limit = None,
        cursor: Cursor = None,
    ) -> ToolResult:
        """List notes, last modified first; folder .trash lists deleted ones."""
        count = clamp(limit, 20, 100)
        after = decode_cursor(cursor, "notes", (int, str)) if cursor else None
        if folder == TRASH:
            listed = self.notebook.trashed(count + 1, after)
        else:
            listed = self.notebook.newest(self._filter(folder, tags), count + 1, after)
        page = first_page(listed, count, lambda one: len(row(one, self.zone).model_dump_json().encode()))
        last = page[-1] if len(page) < len(listed) else None
        following = encode_cursor("notes", last.modified_at_ms, last.id) if last else None
        unnamed = None if cursor or folder == TRASH else len(self.notebook.index.unnamed) or None
        model = NoteList(notes=[row(one, self.zone) for one in page], next_cursor=following, unnamed=unnamed)
        return answer(model, list_text(model))

    def edit(
        self,
        *,
        id: _Id,  # noqa: A002 - the argument's public name
        find: _Piece,
        replace: _Replacement,
        expected_count: _Count = None,
        expected_hash: _Hash = None,
        idempotency_key: Key = None,
    ) -> ToolResult:
        """Replace text in a note, only if it occurs expected_count (1) times."""
        count = 1 if expected_count is None else expected_count
        changed = self.notebook.edit(id, find, replace, count, expected_hash=expected_hash, key=idempotency_key)
        return _answer(changed)

    def move(
        self,
        *,
        id: _Id,  # noqa: A002 - the argument's public name
        folder: OptionalText = None,
        title: _NewTitle = None,
        expected_hash: _Hash = None,
        idempotency_key: Key = None,
    ) -> ToolResult:
        """Move or rename a note and update the links to it, or bring one back from .trash."""
        return _answer(self.notebook.move(id, folder, title, expected_hash=expected_hash, key=idempotency_key))

    def delete(
        self,
        *,
        id: _Id,  # noqa: A002 - the argument's public name
        expected_hash: _Hash = None,
        idempotency_key: Key = None,
    ) -> ToolResult:
        """Move a note to .trash; notes_move brings it back."""
        return _answer(self.notebook.delete(id, expected_hash=expected_hash, key=idempotency_key))

    def _filter(self, folder: str | None, tags: tuple[str, ...]) -> Filter:
        return Filter("/".join(self.notebook.vault.folder(folder)), clean_tags(tags, most=_TAG_CHARACTERS))


def _answer(model: NoteAnswer) -> ToolResult:
    return answer(bounded_answer(model), answer_text(model))
