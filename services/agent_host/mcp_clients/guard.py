"""Decides before each call whether it may be made; remembers of a turn what it has read and what a person refused."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from agent_host.mcp_clients.approval import YESES, Answer, Approver, CallQuestion, Question
from agent_host.mcp_clients.permissions import Subject, permission
from agent_host.mcp_clients.protocol import Permission
from agent_host.mcp_clients.remote import RemoteTool, canonical
from agent_host.mcp_clients.server_config import ServerConfig
from agent_host.mcp_clients.standing import StandingPermissions
from agent_host.providers.protocol import JsonValue

_TURNS: Final = 64  # turns remembered; only the few that run now are ever asked for


@dataclass
class _Turn:
    """What the guard knows of a turn; a call is known by its server, tool and arguments."""

    has_read_others: bool = False
    refused: set[bytes] = field(default_factory=set)


class Guard:
    """Permission for the calls of one host. Questions are put one after another, however many calls run at once."""

    def __init__(self, approver: Approver, standing: StandingPermissions) -> None:
        self._approver = approver
        self._standing = standing
        self._asking = asyncio.Lock()
        self._turns: dict[str, _Turn] = {}

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
        """Returns whether a call may be made; asks when that is the rule, and about one call no more after a no.

        A call outside any turn, which has no `turn_id`, is made in the background: nobody is asked about it. `by_host`:
        no model asked for it.
        """
        async with self._asking:
            subject = self._subject(config, tool)
            after_others = self.read_others_words(turn_id)
            word, reason = permission(subject, after_untrusted=after_others, by_host=by_host)
            if word != "ask":
                return Permission(word == "allow", reason, None)
            if not turn_id:
                return Permission(granted=False, reason=reason, answer="unasked")
            refused, call = self._turn(turn_id).refused, canonical([config.name, tool.name, dict(arguments)])
            if call in refused:
                return Permission(granted=False, reason=reason, answer="no")
            does = next((line.strip() for line in tool.description.splitlines() if line.strip()), "")
            question = CallQuestion(config.name, tool.name, arguments, does, config.builtin, tool.destructive, reason)
            answer = await self._approver.ask(question)
            if answer == "always":
                self._standing.grant(config.name, tool.name, tool.hash)
            if answer == "no":
                refused.add(call)
            return Permission(answer in YESES, reason, answer)

    async def ask(self, question: Question) -> Answer:
        """Puts another question to the same person, one at a time with those about calls."""
        async with self._asking:
            return await self._approver.ask(question)

    def read_others_words(self, turn_id: str) -> bool:
        """Tells whether a turn has read what other people wrote."""
        return turn_id in self._turns and self._turns[turn_id].has_read_others

    def shown_others_words(self, turn_id: str) -> None:
        """Takes note that a turn has read what others wrote, be it a tool's answer or an earlier turn in its prompt."""
        if turn_id:
            self._turn(turn_id).has_read_others = True

    def _turn(self, turn_id: str) -> _Turn:
        turn = self._turns.setdefault(turn_id, _Turn())
        while len(self._turns) > _TURNS:
            del self._turns[next(iter(self._turns))]
        return turn

    def _subject(self, config: ServerConfig, tool: RemoteTool) -> Subject:
        always = self._standing.holds(config.name, tool.name, tool.hash)
        return Subject(
            config.name, tool.name, config.builtin, tool.read_only, tool.destructive, config.permissions, always
        )


def refusal(config: ServerConfig, tool: str, decided: Permission) -> str:
    """Returns, for the model, why a call was not made and what to do instead; one sentence."""
    start = f"{tool} of {config.name} was not called: "
    if decided.answer == "no":
        return f"{start}the person said no; go on without it, and do not ask for it again in this turn."
    if decided.answer == "unasked":
        return (
            f"{start}it needs a yes, and nobody can be asked here; say so, and that `permissions` of {config.name} "
            "in mcp.json can allow it."
        )
    return f"{start}mcp.json denies it; go on without it."
