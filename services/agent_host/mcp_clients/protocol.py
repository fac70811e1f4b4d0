"""The tool seam: what the loop needs of MCP servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from agent_host.mcp_clients.approval import Answer
from agent_host.mcp_clients.permissions import Reason
from agent_host.providers.protocol import JsonValue, ToolSpec

BY_HOST: Final[Mapping[str, str]] = {"caller": "host"}
"""In `meta`: the host makes this call for the person, and no model asked for it. No model can write it."""


@dataclass(frozen=True)
class Permission:
    """What was decided of a call before it was sent, and why; `answer` is set when somebody was to be asked."""

    granted: bool
    reason: Reason
    answer: Answer | None


@dataclass(frozen=True)
class ToolOutcome:
    """What one tool call came to.

    `content` is what the model reads: the structured output as JSON text when the tool gave one, else its text.
    A failed call is a value, not an exception: `is_error` is set and `content` says what went wrong. `permission` is
    None for a call that no rule was asked about. `outside`: it holds words of somebody whom neither the person nor this
    product speaks for.
    """

    server: str
    tool: str
    content: str
    structured: JsonValue | None
    is_error: bool
    duration_ms: int
    permission: Permission | None = None
    outside: bool = False


class ToolBox(Protocol):
    """The tools of every connected MCP server."""

    async def specs(self) -> tuple[ToolSpec, ...]:
        """Returns the tools that can be offered now, in a stable order. May wait for servers that are starting."""
        ...

    async def call(self, name: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str]) -> ToolOutcome:
        """Calls a tool by its model-facing name. `meta` goes along in the request's `_meta`.

        Never raises for a failure of the tool, the server or the connection: what it raises all the same is a fault of
        this program, and `calling` turns it into a failed call. Cancelling cancels the call.
        """
        ...

    def problems(self) -> tuple[str, ...]:
        """Returns one sentence for each server that cannot be used, with what to do."""
        ...

    async def close(self) -> None:
        """Disconnects and ends the servers this host started; safe to call twice."""
        ...
