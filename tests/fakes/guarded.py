"""A `FakeToolBox` whose every call is decided by the real `Guard`, as the calls of connected servers are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from agent_host.mcp_clients.approval import Approver
from agent_host.mcp_clients.guard import Guard, refusal
from agent_host.mcp_clients.permissions import Word, brings_others_words
from agent_host.mcp_clients.protocol import BY_HOST, ToolOutcome
from agent_host.mcp_clients.remote import RemoteTool
from agent_host.mcp_clients.server_config import ServerConfig
from agent_host.mcp_clients.standing import StandingPermissions
from tests.fakes.toolbox import Arguments, FakeToolBox, Function

_WRITES = ("remember", "update", "save", "create", "write")
_SERVERS = {"report": "reports"}


class GuardedToolBox(FakeToolBox):
    """Built-in servers by the first word of a tool's name; `said` is what `mcp.json` says about their tools."""

    def __init__(
        self, functions: Mapping[str, Function], approver: Approver, said: Mapping[str, Word] | None = None
    ) -> None:
        super().__init__(functions)
        self.guard = Guard(approver, StandingPermissions(None))
        self._said = dict(said or {})

    async def call(self, name: str, arguments: Arguments, meta: Mapping[str, str]) -> ToolOutcome:
        """Calls a function once the guard allows it, and tells the guard what came back."""
        word, _, tool = name.partition("_")
        config = ServerConfig(_SERVERS.get(word, word), command="x", builtin=True, permissions=self._said)
        remote = RemoteTool(name, f"Does {name}.", {"type": "object"}, read_only=not tool.startswith(_WRITES))
        turn_id = meta.get("turn_id", "")
        by_host = meta.items() >= BY_HOST.items()
        decided = await self.guard.decide(config, remote, arguments, turn_id, by_host=by_host)
        if not decided.granted:
            words = refusal(config, name, decided)
            return ToolOutcome(config.name, name, words, None, is_error=True, duration_ms=0, permission=decided)
        outcome = await super().call(name, arguments, meta)
        outside = brings_others_words(config.name, outcome.structured, builtin=True)
        if outside:
            self.guard.shown_others_words(turn_id)
        return replace(outcome, server=config.name, tool=name, permission=decided, outside=outside)
