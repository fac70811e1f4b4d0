"""Decides before each call whether it may be made, and remembers which turns have read other people's words."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from agent_host.mcp_clients.approval import Answer, Approver, CallQuestion, Question
from agent_host.mcp_clients.permissions import Subject, brings_others_words, permission
from agent_host.mcp_clients.protocol import Permission
from agent_host.mcp_clients.remote import RemoteTool
from agent_host.mcp_clients.server_config import ServerConfig
from agent_host.mcp_clients.standing import StandingPermissions
from agent_host.providers.protocol import JsonValue

_TURNS: Final = 64  # turns remembered; only the few that run now are ever asked for


class Guard:
    """Permission for the calls of one host. Questions are put one after another, however many calls run at once."""

    def __init__(self, approver: Approver, standing: StandingPermissions) -> None:
        self._approver = approver
        self._standing = standing
        self._asking = asyncio.Lock()
        self._tainted: dict[str, None] = {}

    @property
    def approver(self) -> Approver:
        """Who is asked."""
        return self._approver

    async def decide(
        self,
        config: ServerConfig,
        tool: RemoteTool,
        arguments: Mapping[str, JsonValue],
        turn_id: str,
        *,
        by_host: bool = False,
    ) -> Permission:
        """Returns whether a call may be made; asks when that is the rule.

        A call outside any turn, which has no `turn_id`, is made in the background: nobody is asked about it. `by_host`:
        no model asked for it.
        """
        async with self._asking:
            subject = self._subject(config, tool)
            word, reason = permission(subject, after_untrusted=turn_id in self._tainted, by_host=by_host)
            if word != "ask":
                return Permission(word == "allow", reason, None)
            if not turn_id:
                return Permission(granted=False, reason=reason, answer="unasked")
            does = next((line.strip() for line in tool.description.splitlines() if line.strip()), "")
            question = CallQuestion(config.name, tool.name, arguments, does, config.builtin, tool.destructive, reason)
            answer = await self._approver.ask(question)
            if answer == "always":
                self._standing.grant(config.name, tool.name, tool.hash)
            return Permission(answer in {"yes", "always"}, reason, answer)

    async def ask(self, question: Question) -> Answer:
        """Puts another question to the same person, one at a time with those about calls."""
        async with self._asking:
            return await self._approver.ask(question)

    def read_others_words(self, turn_id: str) -> bool:
        """Tells whether a turn has read what other people wrote."""
        return turn_id in self._tainted

    def saw(self, config: ServerConfig, structured: object, turn_id: str) -> None:
        """Takes note of an answer: a turn that has read other people's words stays one that has."""
        if turn_id and brings_others_words(config.name, structured, builtin=config.builtin):
            self._tainted[turn_id] = None
            while len(self._tainted) > _TURNS:
                del self._tainted[next(iter(self._tainted))]

    def _subject(self, config: ServerConfig, tool: RemoteTool) -> Subject:
        always = self._standing.holds(config.name, tool.name, tool.hash)
        return Subject(
            config.name, tool.name, config.builtin, tool.read_only, tool.destructive, config.permissions, always
        )


def refusal(config: ServerConfig, tool: str, decided: Permission) -> str:
    """Returns, for the model, why a call was not made and what to do instead; one sentence."""
    start = f"{tool} of {config.name} was not called: "
    answer: Answer | None = decided.answer
    if answer == "no":
        return f"{start}the person said no; go on without it, and do not ask for it again in this turn."
    if answer == "unasked":
        return (
            f"{start}it needs a yes, and nobody can be asked here; say so, and that `permissions` of {config.name} "
            "in mcp.json can allow it."
        )
    return f"{start}mcp.json denies it; go on without it."
