"""The messages server's tools: definitions only; what they do is in `outbox`. No tool sends anything."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC
from typing import Annotated, Any

from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult
from pydantic import BeforeValidator, Field, TypeAdapter

from service_runtime.mcp_server import new_server
from service_runtime.settings import Settings
from service_runtime.tool_arguments import LIST_FROM_JSON, OptionalText
from tools_mcp.arguments import Cursor, Id, Key, Limit
from tools_mcp.messages.model import Channel, Kept, MessageAnswer, MessageList, MessageRow
from tools_mcp.messages.outbox import MOST_BODY, MOST_TO, Asked, Outbox, open_outbox
from tools_mcp.paging import clamp, decode_cursor, encode_cursor, first_page, json_size
from tools_mcp.texts import cut
from tools_mcp.tool_definition import Kind, add_tool, answer

_INSTRUCTIONS = "Drafts of messages in the person's outbox. Nothing is ever sent from here; the person does that."
_BODY_BYTES = 2_000


_AS_LIST: TypeAdapter[Any] = TypeAdapter(Annotated[Any, LIST_FROM_JSON])


def _one_as_list(value: Any) -> Any:
    """Take a single recipient for a list of one, `[Sales] <a@b>` too; a JSON list in a string is read as that list."""
    read = _AS_LIST.validate_python(value)
    return [value] if isinstance(read, str) else read


_To = Annotated[
    tuple[Annotated[str, Field(max_length=320)], ...],
    Field(max_length=MOST_TO, description="names or addresses"),
    BeforeValidator(_one_as_list),
]
_Body = Annotated[str, Field(min_length=1, max_length=MOST_BODY)]
_Channel = Annotated[Channel, BeforeValidator(lambda value: "email" if value is None else value)]


def build(settings: Settings) -> "FastMCP[Any]":
    """Return the messages server of one home.

    Raises:
        SetupError: The home cannot be written or the configured zone is unknown.
    """
    outbox = open_outbox(settings)

    @asynccontextmanager
    async def lifespan(_: "FastMCP[Any]") -> AsyncIterator[dict[str, Any]]:
        yield {}

    server = new_server("messages", _INSTRUCTIONS, lifespan)
    tools = MessageTools(outbox)
    add_tool(server, tools.draft, "message_draft", Kind.ADD, MessageAnswer)
    add_tool(server, tools.list_messages, "message_list", Kind.READ, MessageList)
    add_tool(server, tools.discard, "message_discard", Kind.DELETE, MessageAnswer)
    return server


@dataclass(frozen=True)
class MessageTools:
    """One method per tool; its docstring is the description that models read."""

    outbox: Outbox

    def draft(
        self,
        *,
        to: _To,
        body: _Body,
        subject: OptionalText = None,
        channel: _Channel = "email",
        idempotency_key: Key = None,
    ) -> ToolResult:
        """Put a draft into the outbox. It is not sent."""
        status, kept = self.outbox.draft(Asked(to, subject, body, channel), idempotency_key)
        model = MessageAnswer(status=status, message=_row(kept))
        found = "This draft is there already" if status == "exists" else "Drafted"
        return answer(model, f"{found}, not sent: {_line(model.message)}")

    def list_messages(self, *, limit: Limit = None, cursor: Cursor = None) -> ToolResult:
        """List drafts, newest first."""
        after = decode_cursor(cursor, "messages", (str, str)) if cursor else None
        drafts = [one for one in self.outbox.newest() if after is None or _place(one) < after]
        count = clamp(limit, 20, 100)
        page = first_page([_row(one) for one in drafts], count, json_size)
        following = encode_cursor("messages", *_place(drafts[len(page) - 1])) if len(page) < len(drafts) else None
        model = MessageList(messages=list(page), next_cursor=following)
        lines = [f"{_line(row)}: {cut(row.body, 200)}" for row in page] or ["The outbox is empty."]
        lines += ["There are more; ask again with next_cursor."] if following else []
        return answer(model, "\n".join(lines))

    def discard(self, *, id: Id) -> ToolResult:  # noqa: A002 - the argument's public name
        """Move a draft to the trash."""
        model = MessageAnswer(status="discarded", message=_row(self.outbox.discard(id)))
        return answer(model, f"Moved to the trash, not sent: {_line(model.message)}")


def _row(kept: Kept) -> MessageRow:
    draft = kept.draft
    return MessageRow(
        id=kept.id,
        channel=draft.channel,
        to=[cut(one, 320) for one in draft.to[:MOST_TO]],
        subject=cut(draft.subject, 300) or None,
        body=cut(draft.body, _BODY_BYTES),
        created=draft.created_at.isoformat(),
        created_utc=f"{draft.created_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
    )


def _line(row: MessageRow) -> str:
    about = f" ({row.subject})" if row.subject else ""
    return f"{row.channel} to {cut(', '.join(row.to), 200)}{about} [{row.id}]"


def _place(kept: Kept) -> tuple[str, str]:
    return kept.draft.created_at.astimezone(UTC).isoformat(), kept.id
