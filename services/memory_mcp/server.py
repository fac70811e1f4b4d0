"""The memory server's tools: definitions only. `memory` and `search` do the work, `wording` says what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from fastmcp import Context, FastMCP
from fastmcp.tools.base import ToolResult
from pydantic import Field

from memory_mcp import answers, arguments, intake, wording
from memory_mcp.memory import MemoryService
from memory_mcp.mirror import pages
from memory_mcp.search import MemorySearch, Request
from memory_mcp.tool_definition import ADD, FORGET, READ, add_tool, result
from memory_mcp.transfer.tools import TransferTools
from service_runtime.mcp_server import client_name
from service_runtime.tool_arguments import OptionalFlag, OptionalText, OptionalTextList

INSTRUCTIONS = "What one person and their agents know: facts, references, decisions and episodes, kept on this machine."


@dataclass(frozen=True)
class MemoryTools:
    """One method per tool; its docstring is the description that models read."""

    memory: MemoryService
    finder: MemorySearch
    zone: ZoneInfo

    def remember(
        self,
        ctx: Context,
        *,
        body: arguments.Body,
        kind: arguments.Kind = None,
        scope: arguments.Scope = None,
        subject: OptionalText = None,
        tags: OptionalTextList = (),
        happened_at: arguments.Time = None,
        source_url: arguments.Url = None,
        trust: arguments.Stated = None,
        episode: Annotated[OptionalText, Field(description="Key of its conversation")] = None,
        supersedes: Annotated[OptionalText, Field(description="Id it replaces")] = None,
        idempotency_key: OptionalText = None,
    ) -> ToolResult:
        """Store a memory, the same text in the same scope once; a replaced memory stays readable."""
        content = intake.content(
            self.zone,
            body=body,
            kind=kind,
            scope=scope,
            subject=subject,
            tags=tags,
            happened_at=happened_at,
            source_url=source_url,
        )
        done = self.memory.remember(
            content,
            intake.origin(client_name(ctx), source_url, trust),
            episode=episode,
            supersedes=supersedes,
            idempotency_key=idempotency_key,
        )
        answer = answers.remember_answer(done, self.zone)
        return result(answer, wording.remember_text(answer))

    def search(
        self,
        *,
        query: arguments.Query,
        scope: arguments.SearchScope = None,
        kind: arguments.Kind = None,
        tags: OptionalTextList = (),
        after: OptionalText = None,
        before: OptionalText = None,
        limit: arguments.Number = None,
        cursor: OptionalText = None,
        include_retired: Annotated[OptionalFlag, Field(description="Superseded memories too")] = None,
        explain: Annotated[OptionalFlag, Field(description="Parts of each score")] = None,
    ) -> ToolResult:
        """Find memories by what they say, best first; nothing when no memory is about the query."""
        found = self.finder.search(
            Request(query, scope, kind, tags, after, before, limit, cursor, include_retired=bool(include_retired)),
        )
        answer = answers.search_answer(found, self.zone, explain=bool(explain))
        return result(answer, wording.search_text(answer))

    def get(
        self,
        *,
        id: arguments.Id,  # noqa: A002 - the argument's name on the wire
        start: Annotated[arguments.Number, Field(description="Character to begin at")] = None,
    ) -> ToolResult:
        """Read one memory whole, with its origin, trust and history."""
        answer = answers.get_answer(self.memory.get(id), self.zone, max(0, start or 0))
        return result(answer, wording.get_text(answer))

    def recall(self, *, query: arguments.Query, token_budget: arguments.Number = None) -> ToolResult:
        """Give what is known about a query as one block, newest first, with dates and ids."""
        answer = answers.recall_answer(self.finder.recall(query, token_budget))
        return result(answer, wording.recall_text(answer))

    def newest(
        self,
        *,
        scope: arguments.SearchScope = None,
        kind: arguments.Kind = None,
        origin: OptionalText = None,
        trust: arguments.Trust = None,
        limit: arguments.Number = None,
        cursor: OptionalText = None,
    ) -> ToolResult:
        """List memories, newest first."""
        page = self.memory.newest(scope, kind, limit, cursor, intake.source(origin, trust))
        answer = answers.list_answer(page, self.zone)
        return result(answer, wording.list_text(answer))

    def update(
        self,
        ctx: Context,
        *,
        id: arguments.Id,  # noqa: A002 - the argument's name on the wire
        body: arguments.Body | None = None,
        subject: OptionalText = None,
        tags: arguments.NewTags = None,
        scope: OptionalText = None,
        idempotency_key: OptionalText = None,
    ) -> ToolResult:
        """Correct a memory: a new version gets a new id, the old one stays readable."""
        changes = intake.changes(body, subject, tags, scope)
        done = self.memory.update(id, changes, intake.origin(client_name(ctx)), idempotency_key=idempotency_key)
        answer = answers.remember_answer(done, self.zone)
        return result(answer, wording.remember_text(answer))

    def forget(
        self,
        ctx: Context,
        *,
        id: arguments.Id,  # noqa: A002 - the argument's name on the wire
        hard: Annotated[OptionalFlag, Field(description="Erase the text for good")] = None,
    ) -> ToolResult:
        """Take a memory out of every search; memory_get still shows it unless erased."""
        done = self.memory.forget(id, intake.origin(client_name(ctx)), hard=bool(hard))
        answer = answers.forget_answer(done, self.zone)
        return result(answer, wording.forget_text(answer))

    def index(self) -> str:
        """Read the newest memories as MEMORY.md has them, a line each."""
        return self.memory.index()

    def prompt(self, query: str) -> str:
        """Put what is remembered about something into the conversation."""
        block = self.finder.recall(query).block or wording.NOTHING_FOUND
        return f"What is remembered about {query} (data with dates and ids; it may be old or wrong):\n\n{block}"

    def resource(self, id: str) -> str:  # noqa: A002 - the name in the resource's address
        """Read one memory as text."""
        return wording.get_text(answers.get_answer(self.memory.get(id), self.zone, 0))


def define(server: FastMCP[Any], tools: MemoryTools, transfer: TransferTools) -> None:
    """Defines tools, resources and the prompt on a server, in the order in which they are listed."""
    add_tool(server, tools.remember, "memory_remember", ADD, answers.RememberAnswer)
    add_tool(server, tools.search, "memory_search", READ, answers.SearchAnswer)
    add_tool(server, tools.get, "memory_get", READ, answers.GetAnswer)
    add_tool(server, tools.recall, "memory_recall", READ, answers.RecallAnswer)
    add_tool(server, tools.newest, "memory_list", READ, answers.ListAnswer)
    add_tool(server, tools.update, "memory_update", ADD, answers.RememberAnswer)
    add_tool(server, tools.forget, "memory_forget", FORGET, answers.ForgetAnswer)
    transfer.define(server)
    server.resource(f"memory://{pages.INDEX_NAME}", name=pages.INDEX_NAME, mime_type="text/markdown")(tools.index)
    server.resource("memory://{id}", name="memory", mime_type="text/plain")(tools.resource)
    server.prompt(tools.prompt, name="recall", description="What is remembered about something")
